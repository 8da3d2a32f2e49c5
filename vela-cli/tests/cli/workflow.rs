//! `vela workflow` on the sandbox, `vela up` to versions and revisions, and previews of single steps.

use serde_json::{Value, json};

use crate::{PAGE, Person, site};

/// An application whose workflow waits for a person between its components.
const SHOP: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
    - {name: back, type: page, properties: {image: nginx:1, replicas: 1, paused: false}}
    - {name: front, type: page, properties: {image: nginx:1, replicas: 1, paused: false}}
  workflow:
    steps:
      - {name: back, type: apply-component, properties: {component: back}}
      - {name: hold, type: suspend}
      - {name: front, type: apply-component, properties: {component: front}}
";

const WAITS: &str = "step \"hold\" waits for `vela workflow resume shop`";

fn with_shop() -> Person {
    let person = Person::new();
    person.write("shop/page.yaml", PAGE);
    person.write("shop/app.yaml", SHOP);
    let said = person.types(&["up", "-f", "shop", "--timeout", "60s"]).ok();
    assert!(said.err.contains(WAITS), "{said:?}");
    person
}

/// What `vela status -o json` says of the workflow.
fn workflow(person: &Person, name: &str) -> Value {
    let status = person.types(&["status", name, "-o", "json"]).ok().out;
    let mut status: Value = serde_json::from_str(&status).unwrap();
    status["status"]["workflow"].take()
}

#[test]
fn a_workflow_waits_for_a_person_who_lets_it_go_on() {
    let person = with_shop();
    let status = person.types(&["status", "shop"]).ok().out;
    for words in ["Workflow", "├─ back", "hold", "suspending", "Suspended by field suspend", "to come"] {
        assert!(status.contains(words), "{words}: {status}");
    }
    let listed = person.types(&["workflow", "list"]).ok().out;
    assert!(listed.starts_with("APP") && listed.contains("suspending"), "{listed}");
    assert!(listed.contains("1 of 3") && listed.contains("shop-v1"), "{listed}");
    let all = person.types(&["workflow", "list", "-A", "-o", "json"]).ok().out;
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all[0]["stepsDone"], &all[0]["namespace"]), (&json!(1), &json!("default")), "{all}");

    let said = person.types(&["workflow", "resume", "shop", "--timeout", "60s"]).ok();
    assert!(said.err.contains("goes on") && said.err.contains("shop: running"), "{said:?}");
    let status = person.types(&["status", "shop"]).ok().out;
    assert!(status.contains("Deployment front") && !status.contains("to come"), "{status}");
    person.types(&["workflow", "resume", "shop"]).fails(1, &["not suspended", "vela status shop"]);
    person.types(&["workflow", "suspend", "shop"]).fails(1, &["is over"]);
    person.types(&["workflow", "terminate", "shop"]).fails(1, &["is over"]);
}

/// A step that ends its workflow.
const BREAKS: &str = "apiVersion: core.oam.dev/v1beta1
kind: WorkflowStepDefinition
metadata: {name: budget}
spec:
  schematic:
    cue:
      template: |
        import \"vela/builtin\"
        stop: builtin.#Break & {$params: message: \"the budget of \\(parameter.team) is spent\"}
        parameter: team: string
";

#[test]
fn a_step_that_ends_the_workflow_says_why() {
    let person = Person::new();
    person.write("shop/page.yaml", PAGE);
    person.write("shop/budget.yaml", BREAKS);
    let ends =
        SHOP.replace("{name: hold, type: suspend}", "{name: budget, type: budget, properties: {team: red}}");
    person.write("shop/app.yaml", ends);
    let said = person.types(&["up", "-f", "shop", "--timeout", "60s"]);
    let said =
        said.fails(1, &["step \"budget\": the budget of red is spent", "`vela workflow restart shop`"]);
    assert!(!said.err.contains("Ready: ;") && !said.err.contains("Workflow: ;"), "{said:?}");
    person.types(&["ls", "absent"]).fails(1, &["\"absent\" in namespace default of the local sandbox"]);
}

#[test]
fn an_ended_workflow_restarts_at_a_step_or_as_a_whole() {
    let person = with_shop();
    person.types(&["workflow", "terminate", "shop", "--step", "hold"]).fails(1, &["ends as a whole"]);
    person.types(&["workflow", "terminate", "shop"]).ok();
    let hold = workflow(&person, "shop")["steps"][1].clone();
    assert_eq!((&hold["phase"], &hold["reason"]), (&json!("failed"), &json!("Terminate")), "{hold}");
    person.types(&["workflow", "resume", "shop"]).fails(1, &["terminated", "restart it"]);
    let step = ["workflow", "restart", "shop", "--step"];
    person.types(&[&step[..], &["absent"]].concat()).fails(1, &["can not find step absent"]);
    person.types(&[&step[..], &["back"]].concat()).fails(1, &["non-failed step", "back is succeeded"]);

    let before = workflow(&person, "shop");
    let said = person.types(&[&step[..], &["hold", "--timeout", "60s"]].concat()).ok();
    assert!(said.err.contains("from step \"hold\"") && said.err.contains(WAITS), "{said:?}");
    let after = workflow(&person, "shop");
    assert_eq!(after["steps"][0]["id"], before["steps"][0]["id"], "what succeeded stays: {after}");
    assert_ne!(after["steps"][1]["id"], before["steps"][1]["id"], "the step is another one: {after}");

    let said = person.types(&["workflow", "restart", "shop", "--timeout", "60s"]).ok();
    assert!(said.err.contains("from its beginning") && said.err.contains(WAITS), "{said:?}");
    assert_ne!(workflow(&person, "shop")["steps"][0]["id"], after["steps"][0]["id"], "all begins anew");
}

#[test]
fn what_steps_came_to_is_told() {
    let person = with_shop();
    let logs = person.types(&["workflow", "logs", "shop"]).ok().out;
    for words in
        ["the workflow began for shop-v1", "back", "succeeded", "suspending (Suspend): Suspended by field"]
    {
        assert!(logs.contains(words), "{words}: {logs}");
    }
    let of_step = person.types(&["workflow", "logs", "shop", "--step", "back"]).ok().out;
    assert!(of_step.contains("succeeded") && !of_step.contains("hold"), "{of_step}");
    let debug = person.types(&["workflow", "debug", "shop", "--step", "back", "-o", "json"]).ok().out;
    let debug: Value = serde_json::from_str(&debug).unwrap();
    assert_eq!(debug[0]["properties"]["component"], "back", "{debug}");
    assert_eq!(debug[0]["phase"], "succeeded", "{debug}");
    for verb in ["logs", "debug"] {
        let said = person.types(&["workflow", verb, "shop", "--step", "absent"]);
        said.fails(1, &["no step \"absent\"", "steps that were looked at: back, hold"]);
    }
}

#[test]
fn what_cannot_be_steered_is_refused_with_the_reason() {
    let person = Person::new();
    let listed = person.types(&["workflow", "list"]).ok();
    assert!(listed.err.contains("No workflow has begun in namespace default"), "{listed:?}");
    for words in [
        &["workflow", "suspend", "site"][..],
        &["workflow", "resume", "site"],
        &["workflow", "terminate", "site"],
        &["workflow", "restart", "site"],
        &["workflow", "rollback", "site"],
        &["workflow", "logs", "site"],
        &["workflow", "debug", "site"],
    ] {
        person.types(words).fails(1, &["no application \"site\"", "vela ls -A"]);
    }
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    for verb in ["suspend", "resume", "terminate"] {
        let said = person.types(&["workflow", verb, "site"]);
        said.fails(1, &["only applies components", "controller.core.oam.dev/pause"]);
    }
    assert!(!person.types(&["status", "site"]).ok().out.contains("Workflow"), "its components say it all");
    person.types(&["workflow", "rollback", "site"]).fails(1, &["no other revision of site"]);
}

#[test]
fn an_application_goes_back_to_the_revision_before() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    for image in ["nginx:1", "nginx:2"] {
        person.write("site/app.yaml", site(false).replace("nginx:1", image));
        person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    }
    let said = person.types(&["workflow", "rollback", "site", "--timeout", "60s"]).ok();
    assert!(said.err.contains("goes back from site-v2 to the content of site-v1"), "{said:?}");
    let history = person.types(&["rollout", "history", "site"]).ok().out;
    assert!(history.contains("site-v3"), "what comes back is a revision of its own: {history}");
    let named = ["workflow", "rollback", "site", "--revision"];
    person.types(&[&named[..], &["site-v9"]].concat()).fails(1, &["no revision \"site-v9\"", "site-v3"]);
    person.types(&[&named[..], &["site-v3"]].concat()).fails(1, &["is at revision site-v3 already"]);
    // The file still says what it said.
    let said = person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    assert!(said.err.contains("Application default/site changed"), "{said:?}");
}

#[test]
fn an_application_is_published_and_goes_to_revisions() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "site", "-v", "one"]).fails(1, &["no application \"site\""]);
    let up = ["up", "--timeout", "60s", "--publish-version"];
    let said = person.types(&[&up[..], &["one", "-f", "site"]].concat()).ok();
    assert!(said.err.contains("Application default/site created"), "{said:?}");
    let said = person.types(&[&up[..], &["two", "site"]].concat()).ok();
    assert!(said.err.contains("Application default/site changed"), "{said:?}");
    let revision = |person: &Person| {
        let status = person.types(&["status", "site", "-o", "json"]).ok().out;
        let status: Value = serde_json::from_str(&status).unwrap();
        status["status"]["latestRevision"]["name"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(revision(&person), "site-v2", "another version is another revision, and was waited for");
    let said = person.types(&[&up[..], &["two", "site"]].concat()).ok();
    assert!(said.err.contains("Application default/site unchanged"), "{said:?}");
    person.types(&["up", "site", "--revision", "site-v1", "--timeout", "60s"]).ok();
    assert_ne!(revision(&person), "site-v2");

    // There is a folder of this name; with a revision or a version the name is that of the application.
    person.types(&["up", "site"]).ok();
    person.types(&["up", "site", "-r", "site-v9"]).fails(1, &["no revision \"site-v9\"", "site-v1"]);
    person.types(&["up", "site", "-f", "site"]).fails(1, &["is described twice"]);
    person.types(&["up", "-f", "site", "-r", "site-v1"]).fails(2, &["--revision"]);
    person.types(&["up", "-f", "site", "-v", "Not A Version"]).fails(2, &["lower-case letters"]);
    person
        .types(&["up", "-f", "site/page.yaml", "-v", "one"])
        .fails(1, &["no Application", "--publish-version"]);
}

/// One component, a place and a form for it, and a step for each.
const STEPS: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
    - {name: web, type: worker, properties: {image: nginx:1}}
  policies:
    - {name: near, type: topology, properties: {namespace: near}}
    - {name: newer, type: override, properties: {components: [{name: web, properties: {image: nginx:2}}]}}
  workflow:
    steps:
      - {name: first, type: deploy, properties: {policies: [near]}}
      - {name: look, type: suspend}
      - {name: second, type: deploy, properties: {policies: [newer]}}
      - {name: say, type: print-message-in-status, properties: {message: done}}
";

#[test]
fn a_dry_run_shows_what_each_deploy_step_would_make() {
    let person = Person::new();
    let file = person.write("app.yaml", STEPS);
    let words = ["dry-run", "--offline", "--allow-cross-namespace", "-f", &file];
    let said = person.types(&words);
    let (first, second) = said.out.split_once("# Step second (deploy): newer").unwrap();
    for words in ["# Step first (deploy): near", "with topology near", "namespace: near", "image: nginx:1"] {
        assert!(first.contains(words), "{words}: {first}");
    }
    for words in ["only with override policies", "namespace: default", "image: nginx:2"] {
        assert!(second.contains(words), "{words}: {second}");
    }
    assert!(!first.contains("nginx:2") && !second.contains("nginx:1"), "{}", said.out);
    assert!(said.err.contains("Step \"say\" (print-message-in-status) is passed over"), "{said:?}");
    let json = person.types(&[&words[..], &["-o", "json"]].concat()).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["items"].as_array().map(Vec::len), Some(2), "{json}");

    let file = person.write("wrong.yaml", STEPS.replace("[newer]", "[never]"));
    let said = person.types(&["dry-run", "--offline", "--allow-cross-namespace", "-f", &file]);
    said.fails(1, &["wrong.yaml:14:", "policy \"never\", which does not exist", "newer"]);
}

#[test]
fn a_dry_run_takes_separate_policies_and_workflows() {
    let person = Person::new();
    let app = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec:\n  components:\n    \
               - {name: web, type: worker, properties: {image: nginx:1}}\n";
    let policy = "apiVersion: core.oam.dev/v1alpha1\nkind: Policy\nmetadata: {name: newer}\ntype: override\n\
                  properties: {components: [{name: web, properties: {image: nginx:2}}]}\n";
    let workflow = "apiVersion: core.oam.dev/v1alpha1\nkind: Workflow\nmetadata: {name: slowly}\n\
                    steps: [{name: go, type: deploy, properties: {policies: [newer]}}]\n";
    let (policy, workflow) = (person.write("policy.yaml", policy), person.write("workflow.yaml", workflow));
    let plain = person.write("plain.yaml", app);
    let named = person.write("named.yaml", format!("{app}  workflow: {{ref: slowly}}\n"));
    let dry_run = |app: &str, more: &[&str]| {
        let words = ["dry-run", "--offline", "-f", app, "-f", &policy, "-f", &workflow];
        person.types(&[&words[..], more].concat())
    };
    let alone = dry_run(&plain, &[]).ok();
    assert!(alone.out.contains("image: nginx:1"), "{alone:?}");
    for title in ["Policy newer is passed over", "Workflow slowly is passed over"] {
        assert!(alone.err.contains(title), "{title}: {alone:?}");
    }
    for said in [dry_run(&plain, &["--merge"]), dry_run(&named, &[])] {
        assert!(
            said.out.contains("# Step go (deploy): newer") && said.out.contains("image: nginx:2"),
            "{said:?}"
        );
        assert!(!said.err.contains("is passed over"), "{said:?}");
    }
}

/// A step that must be quick, a person, and another step.
const SIMULATED: &str = "apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
    - {name: back, type: webservice, properties: {image: nginx:1}}
    - {name: front, type: webservice, properties: {image: nginx:1}}
  workflow:
    steps:
      - {name: back, type: apply-component, properties: {component: back}, timeout: 30s}
      - {name: hold, type: suspend}
      - {name: front, type: apply-component, properties: {component: front}}
";

#[test]
fn a_workflow_is_simulated_before_it_runs() {
    let person = Person::new();
    let file = person.write("shop.yaml", SIMULATED);
    let simulate = |more: &[&str]| {
        let words = ["workflow", "simulate", "-f", &file, "--latency", "5s"];
        person.types(&[&words[..], more].concat())
    };
    let report = |out: &str| serde_json::from_str::<Value>(out).unwrap();

    let waits = simulate(&["-o", "json"]).fails(1, &["shop waits for a person", "--resume-after"]);
    let waits = report(&waits.out);
    assert_eq!(waits["ended"][0]["outcome"], "waits", "{waits}");
    let said = waits["events"].to_string();
    for words in
        ["Application default/shop is applied", "the workflow begins for shop-v1", "suspending (Suspend)"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }

    let resumed = simulate(&["--resume-after", "10s", "-o", "json"]).ok().out;
    assert_eq!(
        simulate(&["--resume-after", "10s", "-o", "json"]).ok().out,
        resumed,
        "nothing depends on chance"
    );
    let resumed = report(&resumed);
    let after = resumed["ended"][0]["after"].as_f64().unwrap();
    assert!((20.0..60.0).contains(&after), "two pods and a person take their time: {resumed}");
    assert!(resumed["events"].to_string().contains("a user resumes it"), "{resumed}");
    let text = simulate(&["--resume-after", "10s"]).ok().out;
    assert!(text.contains("TIME") && text.contains("shop succeeded after"), "{text}");

    let failed = simulate(&["--fail", "back"]).fails(1, &["shop failed", "its timeout of 30s"]);
    assert!(failed.out.contains("failed (Timeout)"), "{failed:?}");
    simulate(&["--until", "2s"]).fails(1, &["is not done in time", "--until"]);
    simulate(&["--fail", "bak"]).fails(1, &["--fail bak", "there are back, front"]);
    person.write("other.yaml", SIMULATED.replace("{name: shop}", "{name: shop, namespace: other}"));
    simulate(&["-f", "other.yaml"]).fails(1, &["several namespaces: default, other"]);
    assert!(!person.path("vela").exists(), "no sandbox is made");
}

#[test]
fn show_lists_the_names_of_every_kind() {
    let person = Person::new();
    let names = person.types(&["show", "--offline", "-o", "name"]).ok().out;
    let names: Vec<&str> = names.lines().collect();
    for name in ["webservice", "scaler", "garbage-collect", "topology", "deploy", "suspend", "step-group"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(person.types(&["show", "--offline", "suspend", "-o", "name"]).ok().out, "suspend\n");
}
