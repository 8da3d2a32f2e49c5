//! `vela rollout simulate`: how a rollout will go, with pods that fail, hooks that say no and whatever is missing told.

use serde_json::Value;

use crate::{CommandOutput, Person};

fn application(image: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: shop\n  annotations: {{app.oam.dev/rollout-template: \"true\"}}\nspec:\n  components:\n    - name: front\n      type: webservice\n      properties: {{image: {image}, port: 80}}\n"
    )
}

fn rollout(between: &str, plan: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: AppRollout\nmetadata: {{name: release}}\nspec:\n{between}  rolloutPlan:\n{plan}"
    )
}

const BETWEEN: &str = "  sourceAppRevisionName: shop-v1\n  targetAppRevisionName: shop-v2\n";
const PLAN: &str = "    rolloutBatches: [{replicas: 1}, {replicas: 2}, {replicas: 2}]\n";

/// Files of a rollout in the order in which they are given.
fn files(person: &Person, rollout: &str) -> Vec<String> {
    vec![
        person.write("before.yaml", application("nginx:1")),
        person.write("after.yaml", application("nginx:2")),
        person.write("rollout.yaml", rollout),
    ]
}

fn simulate(person: &Person, files: &[String], options: &[&str]) -> CommandOutput {
    let mut words = vec!["rollout", "simulate"];
    for file in files {
        words.extend(["-f", file]);
    }
    words.extend(options);
    person.types(&words)
}

fn events(said: &CommandOutput) -> (Value, Vec<Value>) {
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let events = report["events"].as_array().unwrap().clone();
    (report, events)
}

#[test]
fn the_time_line_of_a_rollout_repeats_before_it_runs() {
    let person = Person::new();
    let files = files(&person, &rollout(BETWEEN, PLAN));
    let said = simulate(&person, &files, &[]).ok();
    crate::golden("simulate.txt", &said.out);
    assert_eq!(simulate(&person, &files, &[]).ok().out, said.out);
    assert!(!person.path("vela").exists(), "no sandbox is made");
    // A range is drawn from: another seed is another run, and the same one the same.
    let drawn = |seed: &str| {
        simulate(&person, &files, &["--latency", "2s..30s", "--seed", seed, "-o", "json"]).ok().out
    };
    assert_eq!(drawn("7"), drawn("7"));
    assert_ne!(drawn("7"), drawn("8"));
}

#[test]
fn a_pod_that_fails_stops_the_rollout_with_its_own_reason() {
    let person = Person::new();
    let files = files(&person, &rollout(BETWEEN, PLAN));
    for (fail, reason) in [
        ("pod=2@batch2", "CrashLoopBackOff"),
        ("pod=1@batch1:image", "ImagePullBackOff"),
        ("pod=2@batch3:unschedulable", "Unschedulable"),
    ] {
        let said = simulate(&person, &files, &["--fail", fail, "-o", "json"]);
        let said = said.fails(1, &["rollout release failed"]);
        let (report, events) = events(&said);
        let rollout = &report["rollouts"][0];
        assert_eq!(
            (&rollout["outcome"], &rollout["leastReady"]),
            (&"failed".into(), &5.into()),
            "{fail}: {rollout}"
        );
        assert!(rollout["toDo"].as_str().unwrap().contains("vela rollout undo release"), "{rollout}");
        let is_reported =
            |event: &&Value| event["kind"] == "waits" && event["message"].as_str().unwrap().contains(reason);
        let first = events.iter().find(is_reported).unwrap_or_else(|| panic!("{fail}: {}", said.out));
        let asked = events.iter().find(|event| event["kind"] == "asked").unwrap();
        let between = first["milliseconds"].as_u64().unwrap() - asked["milliseconds"].as_u64().unwrap();
        assert!(between <= 6000, "{fail}: told after {between} ms");
    }
    // A batch may do without it.
    let plan = "    rolloutBatches: [{replicas: 1}, {replicas: 2, maxUnavailable: 1}, {replicas: 2, maxUnavailable: 1}]\n";
    person.write("rollout.yaml", rollout(BETWEEN, plan));
    let said = simulate(&person, &files, &["--fail", "pod=2@batch2"]).ok();
    assert!(said.out.contains('✗') && said.out.contains("release succeeded"), "{}", said.out);
}

#[test]
fn what_a_rollout_waits_for_and_who_answers_no_are_told() {
    let person = Person::new();
    let hook = "    rolloutWebhooks: [{name: ask, type: initialize-rollout, url: \"http://example.com/ask\", expectedStatus: [204]}]\n";
    let files = files(&person, &rollout(BETWEEN, &format!("{PLAN}    batchPartition: 1\n{hook}")));
    let said = simulate(&person, &files, &[]).fails(1, &["rollout release waits for a person"]);
    assert!(said.out.contains("batch 2 is done"), "{}", said.out);
    assert!(
        said.out.contains("hook \"ask\" (initialize-rollout) would be called: POST http://example.com/ask"),
        "{}",
        said.out
    );
    assert!(said.out.contains("vela rollout promote release"), "{}", said.out);
    let said = simulate(&person, &files, &["--hook", "ask=fail", "--until", "2m"]);
    let said = said.fails(1, &["rollout release has not ended"]);
    assert!(said.out.contains("release has not ended after 2m00.0s (--until): "), "{}", said.out);
    assert!(said.out.contains("it is taken to answer 400"), "{}", said.out);
    simulate(&person, &files, &["--hook", "aks=fail"]).fails(1, &["--hook aks", "the hooks ask"]);
    // Each rollout follows the one before it: what waits is let go on.
    let more = person.write("more.yaml", rollout(BETWEEN, PLAN));
    let back = "  sourceAppRevisionName: shop-v2\n  targetAppRevisionName: shop-v1\n";
    let back = person.write("back.yaml", rollout(back, PLAN));
    let said = simulate(&person, &[files, vec![more, back]].concat(), &[]).ok();
    assert_eq!(said.out.matches("release succeeded").count(), 2, "{}", said.out);
}

#[test]
fn metrics_are_taken_to_pass_unless_they_are_to_fail() {
    let person = Person::new();
    let metric = |more: &str| {
        format!(
            "    canaryMetric: [{{name: errors, interval: 30s, metricsRange: {{max: \"5%\"}}, provider: {{address: \"http://prometheus:9090\"}}, query: \"up\"{more}}}]\n"
        )
    };
    let files = files(&person, &rollout(BETWEEN, &format!("{PLAN}{}", metric(""))));
    let said = simulate(&person, &files, &[]).ok();
    let words = "metric \"errors\" (canaryMetric[0]) would be measured: it is taken to be 0.05, inside its metricsRange";
    assert_eq!(said.out.matches(words).count(), 3, "once a batch: {}", said.out);
    let said = simulate(&person, &files, &["--metric", "errors=fail"])
        .fails(1, &["rollout release waits for a person"]);
    assert!(said.out.contains("is above metricsRange.max 0.05"), "{}", said.out);
    simulate(&person, &files, &["--metric", "error=fail"])
        .fails(1, &["--metric error", "the metrics errors"]);
    person.write("rollout.yaml", rollout(BETWEEN, &format!("{PLAN}{}", metric(", onFailure: Revert"))));
    let said = simulate(&person, &files, &["--metric", "errors=fail"]).fails(1, &["rollout release failed"]);
    assert!(said.out.contains("Rollout Reverted"), "{}", said.out);
}

#[test]
fn a_controller_that_is_killed_goes_on_where_it_was() {
    let person = Person::new();
    let files = files(&person, &rollout(BETWEEN, PLAN));
    let said = simulate(&person, &files, &["--kill-controller", "@batch2"]).ok();
    let at = |words: &str| said.out.find(words).unwrap_or_else(|| panic!("{words}: {}", said.out));
    assert!(at("the controller is killed") < at("another controller starts"));
    assert!(at("another controller starts") < at("batch 3 of 3 begins"));
    assert!(said.out.contains("at least 5 pods were ready"), "{}", said.out);
}

#[test]
fn the_plan_of_an_application_is_played_by_its_own_rollout() {
    let person = Person::new();
    let of = |name: &str, image: &str| {
        let text =
            application(image).replace("  annotations: {app.oam.dev/rollout-template: \"true\"}\n", "");
        person.write(name, format!("{text}  rolloutPlan:\n    rolloutStrategy: IncreaseFirst\n    rolloutBatches: [{{replicas: 1}}]\n"))
    };
    let files = [of("before.yaml", "nginx:1"), of("after.yaml", "nginx:2")];
    let said = simulate(&person, &files, &[]).ok();
    assert!(said.out.contains("rollout shop is applied: from shop-v1 to shop-v2"), "{}", said.out);
    assert!(
        said.out.contains("shop succeeded") && said.out.contains("at least 1 pods were ready"),
        "{}",
        said.out
    );
    simulate(&person, &files[1..], &[]).fails(1, &["after.yaml:", "spec.rolloutPlan", "-f before.yaml"]);
}

/// A component type of a kind whose pods stay in one object.
const SET: &str = r#"apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: set}
spec:
  workload: {definition: {apiVersion: "VERSION", kind: StatefulSet}}
  schematic:
    handlebars:
      template: |
        apiVersion: VERSION
        kind: StatefulSet
        spec:
          replicas: 4
          podManagementPolicy: Parallel
          selector: {matchLabels: {app: front}}
          template:
            metadata: {labels: {app: front}}
            spec: {containers: [{name: front, image: "{{parameter.image}}"}]}
"#;

#[test]
fn sets_of_numbered_pods_roll_out_by_their_partition() {
    for version in ["apps/v1", "apps.kruise.io/v1beta1"] {
        let person = Person::new();
        let plan = "    rolloutBatches: [{replicas: 1}, {replicas: 3}]\n";
        let mut files = files(&person, &rollout(BETWEEN, plan));
        for file in &files[..2] {
            let text = std::fs::read_to_string(file).unwrap();
            std::fs::write(file, text.replace("webservice", "set").replace(", port: 80", "")).unwrap();
        }
        files.insert(0, person.write("set.yaml", SET.replace("VERSION", version)));
        let said = simulate(&person, &files, &["-o", "json"]).ok();
        let rollout = &events(&said).0["rollouts"][0];
        assert_eq!(
            (&rollout["leastReady"], &rollout["mostPods"]),
            (&3.into(), &4.into()),
            "{version}: {rollout}"
        );
    }
}

#[test]
fn revisions_are_numbered_as_the_rollout_names_them() {
    let person = Person::new();
    let between = "  sourceAppRevisionName: shop-v7\n  targetAppRevisionName: shop-v8\n";
    let files = files(&person, &rollout(between, PLAN));
    let said = simulate(&person, &files, &[]).ok();
    assert!(said.out.contains("from shop-v7 to shop-v8"), "{}", said.out);
    simulate(&person, &files[1..], &[]).fails(
        1,
        &["rollout.yaml:5:", "there is no shop-v7", "taken for shop-v8", "give shop as it was in -v7"],
    );
}

#[test]
fn what_is_missing_or_wrong_is_told_with_its_place() {
    let person = Person::new();
    let files = files(&person, &rollout(BETWEEN, PLAN));
    simulate(&person, &files[..2], &[]).fails(1, &["after.yaml", "no AppRollout", "-f rollout.yaml"]);
    simulate(&person, &files[2..], &[]).fails(1, &["rollout.yaml:6:", "no Application \"shop\""]);
    let same = [files[0].clone(), person.write("same.yaml", application("nginx:1")), files[2].clone()];
    simulate(&person, &same, &[]).fails(1, &["same.yaml", "shop-v2 is not made", "differs"]);
    let bare =
        application("nginx:2").replace("  annotations: {app.oam.dev/rollout-template: \"true\"}\n", "");
    let bare = [files[0].clone(), person.write("bare.yaml", bare), files[2].clone()];
    simulate(&person, &bare, &[])
        .fails(1, &["bare.yaml:3:", "applies its workloads itself", "rollout-template"]);
    for (options, words) in [
        (["--fail", "pod=3@batch2"], "batch 2 has 2 pods"),
        (["--fail", "pod=1@batch4"], "the plan has 3 batches"),
    ] {
        simulate(&person, &files, &options).fails(1, &[words]);
    }
    for (options, words) in [
        (["--fail", "pod=3"], "expected pod=N@batchM"),
        (["--fail", "pod=3@batch1:rust"], "expected crash, image or unschedulable"),
        (["--latency", "9s..1s"], "write the shorter time first"),
        (["--until", "2y"], "write it like 90s"),
        (["--hook", "ask"], "expected NAME=fail"),
        (["--kill-controller", "2"], "expected @batchM"),
    ] {
        simulate(&person, &files, &options).fails(2, &[words]);
    }
    person
        .write("rollout.yaml", rollout(BETWEEN, "    rolloutBatches: [{replicas: 50%}, {replicas: 50%}]\n"));
    simulate(&person, &files, &[]).fails(1, &["rollout.yaml:8:", "how many pods", "--size"]);
    simulate(&person, &files, &["--size", "4"]).ok();
}

#[test]
fn the_examples_run_as_they_lie_there() {
    let examples = vela_testkit::cases::folder("examples/rollout");
    let person = Person::new();
    let of = |folder: &str, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| examples.join(folder).join(name).to_string_lossy().into_owned()).collect()
    };
    let deployment = of(
        "deployment-rollout",
        &["webservice-definition.yaml", "app-source.yaml", "app-target.yaml", "app-rollout-finish.yaml"],
    );
    let said = simulate(&person, &deployment, &[]).ok();
    assert!(said.out.contains("at least 5 pods were ready (the plan promises 5), at most 7"), "{}", said.out);
    let names = ["clonesetDefinition.yaml", "app-source.yaml", "app-target.yaml", "appRollout-pause.yaml"];
    let mut clone_set = of("cloneset-rollout", &names);
    let said = simulate(&person, &clone_set, &[]).fails(1, &["waits for a person"]);
    assert!(said.out.contains("2/3") && said.out.contains("batch 2 is done"), "{}", said.out);
    clone_set.extend(of("cloneset-rollout", &["appRollout-finish.yaml", "appRollout-revert.yaml"]));
    let said = simulate(&person, &clone_set, &[]).ok();
    assert_eq!(said.out.matches("rolling-example succeeded").count(), 2, "{}", said.out);
}
