//! `vela rollout`: what a plan will do, what is wrong with it, and a rollout on the sandbox.

use crate::Person;

const ROLLOUT: &str = "apiVersion: core.oam.dev/v1beta1
kind: AppRollout
metadata: {name: rolling}
spec:
  sourceAppRevisionName: shop-v1
  targetAppRevisionName: shop-v2
  rolloutPlan:
";

fn plan(person: &Person, plan: &str) -> String {
    person.write("rollout.yaml", format!("{ROLLOUT}{plan}"))
}

#[test]
fn a_plan_is_shown_before_anything_runs() {
    let person = Person::new();
    let file = plan(
        &person,
        "    rolloutBatches: [{replicas: 10%}, {replicas: 2, maxUnavailable: 1}, {replicas: 2}]\n    batchPartition: 1\n",
    );
    let said = person.types(&["rollout", "plan", "-f", &file, "--size", "5"]).ok();
    assert_eq!(
        said.out,
        "AppRollout rolling\n\
         batch 1 of 3: 1 pods → 5 old + 1 new → 4 old + 1 new\n\
         batch 2 of 3: 2 pods → 4 old + 3 new → 2 old + 3 new, 1 need not be ready, then waits for batchPartition\n\
         batch 3 of 3: 2 pods → 2 old + 5 new → 0 old + 5 new\n\
         at least 4 pods are available, and there are at most 7\n"
    );
    let file = plan(&person, "    targetSize: 7\n    numBatches: 3\n    rolloutStrategy: DecreaseFirst\n");
    let json = person.types(&["rollout", "plan", "-f", &file, "-o", "json"]).ok().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let pods: Vec<i64> =
        json[0]["batches"].as_array().unwrap().iter().map(|batch| batch["pods"].as_i64().unwrap()).collect();
    assert_eq!((pods, &json[0]["leastAvailable"]), (vec![2, 2, 3], &serde_json::json!(4)));
    assert!(!person.path("vela").exists(), "no sandbox is made");
}

#[test]
fn what_is_wrong_with_a_plan_is_told_with_its_place() {
    let person = Person::new();
    let words = |file: &str| person.types(&["rollout", "plan", "-f", file, "--size", "5"]);
    let file =
        plan(&person, "    rolloutBatches: [{replicas: 10%}, {replicas: -2}]\n    rolloutStrategy: Slowly\n");
    words(&file).fails(1, &["rollout.yaml:8:", "rolloutBatches[1].replicas", "\"Slowly\" is no strategy"]);
    let file = plan(&person, "    rolloutBatches: [{replicas: 10%}, {replicas: 2}]\n");
    words(&file).fails(1, &["rollout.yaml:8:", "1 + 2", "write replicas: 4 in the last batch"]);
    let file = plan(&person, "    targetSize: 4\n    rolloutBatches: [{replicas: 4}]\n");
    words(&file).fails(1, &["rollout.yaml:8:", "4 is less than the 5 pods"]);
    let file = plan(&person, "    rolloutBatches: [{replicas: 4}]\n");
    person.types(&["rollout", "plan", "-f", &file]).fails(1, &["how many pods are there now?", "--size"]);
    let file = person.write("none.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    words(&file).fails(1, &["no rollout plan"]);
}

#[test]
fn a_rollout_is_paused_resumed_promoted_and_shown() {
    let person = Person::new();
    person.types(&["rollout", "status", "rolling"]).fails(1, &["no rollout \"rolling\""]);
    let file = plan(
        &person,
        "    rolloutBatches: [{replicas: 1}, {replicas: 1}, {replicas: 2}]\n    batchPartition: 0\n",
    );
    person.types(&["up", "-f", &file, "--no-wait"]).ok();
    let shown = |words: &str| {
        let out = person.types(&["rollout", "status", "rolling"]).ok().out;
        assert!(out.contains(words), "{words}: {out}");
    };
    shown("shop-v2");
    person.types(&["rollout", "pause", "rolling"]).ok();
    shown("vela rollout resume");
    person.types(&["rollout", "resume", "rolling"]).ok();
    let said = person.types(&["rollout", "promote", "rolling"]).ok();
    assert!(said.err.contains("goes on to batch 2 of 3"), "{said:?}");
    let said = person.types(&["rollout", "promote", "rolling"]).ok();
    assert!(said.err.contains("goes on to the end"), "{said:?}");
    let said = person.types(&["rollout", "promote", "rolling", "--full"]).ok();
    assert!(said.err.contains("has no batchPartition"), "{said:?}");
    let said = person.types(&["rollout", "undo", "rolling"]).ok();
    assert!(said.err.contains("goes back from shop-v2 to shop-v1"), "{said:?}");
    shown("shop-v1");
    let said = person.types(&["rollout", "abandon", "rolling"]).ok();
    assert!(said.err.contains("stay as they stand"), "{said:?}");
    person.types(&["rollout", "history", "shop"]).fails(1, &["no revision of application \"shop\""]);
    person.write("site/page.yaml", crate::PAGE);
    person.write("site/app.yaml", crate::site(false));
    person.types(&["up", "-f", "site"]).ok();
    let history = person.types(&["rollout", "history", "site"]).ok().out;
    assert!(history.starts_with("REVISION") && history.contains("site-v1"), "{history}");
    person.types(&["rollout", "pause", "other"]).fails(1, &["no rollout \"other\""]);
}

const SHOP: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata:
  name: shop
  annotations: {app.oam.dev/rollout-template: \"true\"}
spec:
  components:
    - {name: front, type: webservice, properties: {image: \"nginx:1\"}}
";

#[test]
fn a_rollout_is_followed_to_where_it_waits_and_to_its_end() {
    let person = Person::new();
    let app = person.write("app.yaml", SHOP);
    person.types(&["up", "-f", &app]).ok();
    let rollout = |revisions: &str, plan: &str| {
        let head = "apiVersion: core.oam.dev/v1beta1\nkind: AppRollout\nmetadata: {name: release}";
        person.write("release.yaml", format!("{head}\nspec: {{{revisions}, rolloutPlan: {{{plan}}}}}\n"))
    };
    let first = rollout(
        "targetAppRevisionName: shop-v1",
        "targetSize: 3, rolloutBatches: [{replicas: 1}, {replicas: 1}]",
    );
    let said = person.types(&["up", "-f", &first]).ok();
    assert!(said.out.contains("rolloutSucceed") && said.out.contains("2 of 2"), "{said:?}");
    let app = person.write("app.yaml", SHOP.replace("nginx:1", "nginx:2"));
    person.types(&["up", "-f", &app]).ok();
    let second = rollout(
        "targetAppRevisionName: shop-v2, sourceAppRevisionName: shop-v1",
        "batchPartition: 0, rolloutBatches: [{replicas: 1}, {replicas: 2}]",
    );
    let said = person.types(&["up", "-f", &second]).ok();
    assert!(said.out.contains("batch 1 is done: `vela rollout promote release`"), "{said:?}");
    person.types(&["rollout", "promote", "release"]).ok();
    let said = person.types(&["rollout", "status", "release", "--watch"]).ok();
    assert!(said.out.contains("rolloutSucceed") && !said.out.contains("Why"), "{said:?}");
    person.types(&["rollout", "abandon", "release"]).fails(1, &["has succeeded", "vela rollout undo"]);
    // Batches that do not fit fail, with their reason.
    let wrong = rollout(
        "targetAppRevisionName: shop-v1, sourceAppRevisionName: shop-v2",
        "rolloutBatches: [{replicas: 20}, {replicas: 1}]",
    );
    person.types(&["up", "-f", &wrong]).fails(1, &["AppRollout", "failed", "batch size mismatch"]);
    person.types(&["rollout", "status", "release", "-w"]).fails(1, &["rollout release failed"]);
    // A metric that cannot be measured holds its batch until a user resumes the rollout.
    let gated = rollout(
        "targetAppRevisionName: shop-v2",
        "targetSize: 4, canaryMetric: [{name: errors, interval: 1s, metricsRange: {max: 1}, query: up, \
         provider: {address: \"http://127.0.0.1:1\"}}], rolloutBatches: [{replicas: 1}]",
    );
    person.types(&["up", "-f", &gated, "--no-wait"]).ok();
    let said = person.types(&["rollout", "status", "release", "--watch"]).ok();
    assert!(said.out.contains("canaryMetric[0]") && said.out.contains("Waits"), "{said:?}");
    let said = person.types(&["rollout", "promote", "release"]).ok();
    assert!(said.err.contains("waits for a metric"), "{said:?}");
    let said = person.types(&["rollout", "resume", "release"]).ok();
    assert!(said.err.contains("measures its batch anew"), "{said:?}");
}

#[test]
fn undone_or_paused_rollouts_are_applied_without_a_conflict() {
    let person = Person::new();
    let plan = "  rolloutPlan: {targetSize: 1, rolloutBatches: [{replicas: 1}]}\n";
    let shop = SHOP.replace("  annotations: {app.oam.dev/rollout-template: \"true\"}\n", "") + plan;
    let up = |image: &str| {
        let app = person.write("app.yaml", shop.replace("nginx:1", image));
        person.types(&["up", "-f", &app, "--timeout", "60s"]).ok()
    };
    up("nginx:1");
    up("nginx:2");
    person.types(&["rollout", "undo", "shop"]).ok();
    let said = up("nginx:2");
    assert!(said.err.contains("Application default/shop changed"), "{said:?}");
    person.types(&["rollout", "pause", "shop"]).ok();
    let said = up("nginx:2");
    assert!(said.err.contains("Application default/shop changed"), "the manifest says no pause: {said:?}");
    let again = up("nginx:2");
    assert!(again.err.contains("Application default/shop unchanged"), "{again:?}");
}
