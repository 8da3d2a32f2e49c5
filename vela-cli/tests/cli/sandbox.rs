//! The sandbox as the target: a whole life of an application, and of the sandbox itself.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{CommandOutput, PAGE, Person, site};

/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Looks until it holds.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_application_lives_from_up_to_delete() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    let said = person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    assert!(!said.err.contains("Target:"), "where it works is told on terminals only: {said:?}");
    assert!(said.err.contains("Application default/site: running"), "{said:?}");
    for words in ["component front (page)", "Deployment front", "Service front", "2/2", "healthy"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(!said.out.contains('\u{1b}'), "no colours in a pipe");

    let again = person.types(&["up", "-f", "site"]).ok();
    assert!(again.err.contains("Application default/site unchanged"), "{again:?}");

    let status: serde_json::Value =
        serde_json::from_str(&person.types(&["status", "site", "-o", "json"]).ok().out).unwrap();
    assert_eq!(status["status"]["status"], "running");
    assert_eq!(status["tree"]["children"][0]["name"], "front");
    let listed = person.types(&["ls"]).ok().out;
    assert!(listed.starts_with("APP") && listed.contains("front") && listed.contains("running"), "{listed}");

    person.types(&["delete", "site"]).ok();
    person.types(&["status", "site"]).fails(1, &["no application \"site\"", "vela ls -A"]);
    person.types(&["delete", "site"]).fails(1, &["no application \"site\""]);
}

#[test]
fn a_workload_is_shown_by_the_name_that_it_has_in_the_cluster() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    let annotated = "  name: site\n  annotations: {app.oam.dev/rollout-template: \"true\"}\n";
    let old = site(false).replace("v1beta1", "v1alpha2").replace("properties:", "settings:");
    person.write("site/app.yaml", old.replace("  name: site\n", annotated));
    let up = person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    let status = person.types(&["status", "site"]).ok();
    for out in [&up.out, &status.out] {
        assert!(out.contains("Deployment front-v1") && !out.contains("missing"), "{out}");
    }
}

#[test]
fn what_does_not_become_healthy_fails_with_the_reason() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(true));
    let said = person.types(&["up", "-f", "site", "--timeout", "2s"]);
    let said =
        said.fails(1, &["Application default/site does not run after 2 s", "front", "vela status site"]);
    assert!(said.out.contains("Deployment front"), "the tree is shown all the same: {said:?}");
}

/// Makes an object that only an API server finds wrong: the schema of its kind is the cluster's.
fn without_references() -> String {
    let page = PAGE
        .replace("kind: Service", "kind: HealthScope")
        .replace("apiVersion: v1\n", "apiVersion: core.oam.dev/v1alpha2\n");
    page.replace("spec: {selector: {app: {{context.name}}}, ports: [{port: 80}]}", "spec: {probe-timeout: 5}")
}

#[test]
fn a_final_failure_ends_the_wait_with_its_whole_reason_once() {
    let person = Person::new();
    person.write("site/page.yaml", without_references());
    person.write("site/app.yaml", site(false));
    // The time allowed is longer than any patience: the test would never end if it were waited for.
    let said = person.types(&["up", "-f", "site", "--timeout", "1h"]);
    let reason = "spec.workloadRefs: Required value";
    let said = said.fails(1, &["Application default/site failed", "front", reason]);
    let output = [said.err.as_str(), said.out.as_str()].concat();
    assert_eq!(output.matches(reason).count(), 1, "{said:?}");
    let status = person.types(&["status", "site"]).ok();
    assert_eq!(status.out.matches(reason).count(), 1, "{status:?}");
}

#[test]
fn logs_in_a_pipe_are_plain_text_with_reasons() {
    let person = Person::new();
    person.write("site/page.yaml", without_references());
    person.write("site/app.yaml", site(false));
    let mut command = person.command(&["up", "-f", "site"]);
    let said = CommandOutput::of(&command.env_remove("NO_COLOR").env("VELA_LOG", "info").output().unwrap());
    assert!(said.err.contains("is not applied: front: "), "{said:?}");
    assert!(!said.err.contains('\u{1b}'), "{said:?}");
}

#[test]
fn ctrl_c_says_what_was_done_and_leaves_it_usable() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(true));
    let log = person.path("log");
    let mut command = person.command(&["up", "-f", "site"]);
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let text = || std::fs::read_to_string(&log).unwrap();
    until("it waits for the application", || text().contains("… Application default/site: runningWorkflow"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130), "{}", text());
    assert!(text().contains("interrupted while waiting for Application default/site"), "{}", text());
    assert!(text().contains("everything was applied"), "{}", text());
    // The store was closed in order: the next command goes on from there.
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
}

#[test]
fn a_serving_sandbox_is_shared_stopped_and_reset() {
    let person = Person::new();
    person.types(&["sandbox", "kubeconfig"]).fails(1, &["vela sandbox run"]);
    assert!(person.types(&["sandbox", "status"]).ok().out.contains("at rest"));

    let log = person.path("log");
    let mut command = person.command(&["sandbox", "run"]);
    command.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    until("it serves", || std::fs::read_to_string(&log).unwrap().contains("serves at"));
    assert!(person.types(&["sandbox", "status"]).ok().out.contains("serving"));
    person.types(&["sandbox", "run"]).fails(1, &["serves already"]);

    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    // Another program finds it by the kubeconfig.
    let kubeconfig = person.write("kubeconfig", person.types(&["sandbox", "kubeconfig"]).ok().out);
    let listed = person.types(&["ls", "--kubeconfig", &kubeconfig]).ok();
    assert!(listed.out.contains("site"), "{listed:?}");

    person.types(&["sandbox", "stop"]).ok();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(person.types(&["ls"]).ok().out.contains("site"), "stopping keeps the data");
    person.types(&["sandbox", "reset"]).ok();
    assert!(person.types(&["ls"]).ok().err.contains("no application"), "a reset sandbox is empty");
}

#[test]
fn two_commands_at_once_take_turns() {
    let person = Person::new();
    person.write("page.yaml", PAGE);
    let start = |name: &str| {
        person.write(
            &format!("{name}.yaml"),
            site(false).replace("name: site", &format!("name: {name}")).replace("front", name),
        );
        let file = format!("{name}.yaml");
        let mut command = person.command(&["up", "-f", "page.yaml", "-f", &file, "--timeout", "60s"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start("one"), start("two")];
    for child in both {
        CommandOutput::of(&child.wait_with_output().unwrap()).ok();
    }
    let listed = person.types(&["ls"]).ok().out;
    assert!(listed.contains("one") && listed.contains("two"), "{listed}");
}

#[test]
fn a_final_failure_of_a_configuration_ends_the_wait() {
    let person = Person::new();
    let component = "apiVersion: core.oam.dev/v1alpha2\nkind: Component\nmetadata: {name: front}\nspec:\n  workload: {apiVersion: v1, \
                     kind: ConfigMap, data: {text: hello}}\n  parameters: [{name: text, required: true, fieldPaths: [data.text]}]\n";
    let configuration = |entry: &str| {
        format!(
            "apiVersion: core.oam.dev/v1alpha2\nkind: ApplicationConfiguration\nmetadata: {{name: shop}}\n\
             spec: {{components: [{entry}]}}\n"
        )
    };
    let values = "{componentName: front, parameterValues: [{name: text, value: good}]}";
    person.write("shop.yaml", [component, &configuration("{componentName: front}")].join("---\n"));
    // The time is never reached.
    let up = ["up", "-f", "shop.yaml", "--timeout", "1h"];
    let why = "required parameter \"text\" not specified (at spec.components[0].parameterValues)";
    person.types(&up).fails(1, &["ApplicationConfiguration default/shop failed", why]);
    person.write("shop.yaml", [component, &configuration(values)].join("---\n"));
    person.types(&up).ok();
}

#[test]
fn manifests_of_withdrawn_versions_use_their_successors() {
    let person = Person::new();
    let crd = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: foos.example.com}\n\
               spec:\n  group: example.com\n  version: v1\n  scope: Namespaced\n  names: {kind: Foo, plural: foos}\n";
    let foo = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: one}\nspec: {any: [1]}\n";
    let budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: two}\n\
                  spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n";
    person.write("old.yaml", [crd, foo, budget].join("---\n"));
    let said = person.types(&["up", "-f", "old.yaml"]).ok();
    let as_v1 = "(of apiextensions.k8s.io/v1beta1, which the cluster does not serve any more, as apiextensions.k8s.io/v1) created";
    assert!(said.err.contains(as_v1), "{said:?}");
    assert!(said.err.contains("Foo default/one created"), "{said:?}");
    assert!(said.err.contains("as policy/v1) created"), "{said:?}");
    let again = person.types(&["up", "-f", "old.yaml"]).ok();
    assert_eq!(again.err.matches("unchanged").count(), 3, "{again:?}");
    let gone = person.types(&["delete", "-f", "old.yaml"]).ok();
    for object in
        ["PodDisruptionBudget default/two", "Foo default/one", "CustomResourceDefinition /foos.example.com"]
    {
        assert!(gone.err.contains(&format!("{object}: deleted")), "{gone:?}");
    }
}

#[test]
fn a_sandbox_of_another_release_keeps_edits_and_its_record() {
    let person = Person::new();
    // The edit has the field manager of the installation: only a record tells that a user made it.
    let scaler = person.types(&["def", "get", "scaler"]).ok().out;
    let edited = person.write("scaler.yaml", scaler.replace("podDisruptive: false", "podDisruptive: true"));
    let kept = "TraitDefinition scaler kept: it was edited";
    person.types(&["def", "apply", &edited, "-n", "vela-system"]).ok();
    let plan = person.types(&["install", "--dry-run"]).ok();
    assert!(plan.out.contains(kept) && plan.out.contains("1 kept as edited"), "{plan:?}");

    // Another release installed something else, and remembers one object that this release has not.
    let old = person.write(
        "old.yaml",
        "apiVersion: core.oam.dev/v1beta1\nkind: TraitDefinition\nmetadata: {name: old, namespace: vela-system}\nspec:\n  schematic: {cue: {template: \"patch: metadata: labels: a: \\\"b\\\"\\n\"}}\n",
    );
    let record = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vela-installation, namespace: vela-system}\ndata:\n  \
        version: 0.0.9\n  flags: \"\"\n  objects: |\n    core.oam.dev/v1beta1 TraitDefinition vela-system old - 0\n    \
        core.oam.dev/v1beta1 TraitDefinition vela-system scaler other 1\n";
    let record = person.write("record.yaml", record);
    person.types(&["up", &old, &record]).ok();
    person.write("vela/sandbox/installed", "another 0\n");
    let said = person.types(&["ls"]).ok();
    assert!(said.err.contains("TraitDefinition scaler kept: it was deleted and made anew"), "{said:?}");
    let again = person.types(&["def", "get", "scaler"]).ok();
    assert!(again.out.contains("podDisruptive: true"), "{again:?}");
    assert!(!again.err.contains("kept"), "it is told once: {again:?}");

    let said = person.types(&["install", "--reset-definitions"]).ok();
    assert!(said.err.contains("TraitDefinition old taken away: this release has it no more"), "{said:?}");
    assert!(person.types(&["def", "get", "scaler"]).ok().out.contains("podDisruptive: false"));
}
