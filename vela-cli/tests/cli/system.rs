//! `vela system`: what the controller is, and what is wrong with an installation.

use serde_json::{Value, json};

use crate::controller::Cluster;
use crate::definitions::LABEL;
use crate::sandbox::until;
use crate::{CommandOutput, Person};

/// What `vela system diagnose` finds, in the order of the checks.
fn findings(said: &CommandOutput) -> Vec<Value> {
    serde_json::from_str(&said.out).unwrap()
}

/// The messages about one part that are in this state, with how to mend each.
fn messages(findings: &[Value], about: &str, state: &str) -> Vec<String> {
    let of = findings.iter().filter(|one| one["about"] == about && one["state"] == state);
    of.map(|one| {
        format!("{} | {}", one["message"].as_str().unwrap(), one["mend"].as_str().unwrap_or_default())
    })
    .collect()
}

#[test]
fn the_sandbox_is_well_and_tells_so() {
    let person = Person::new();
    let said = person.types(&["system", "diagnose"]).ok();
    for words in [
        "✓ cluster: the local sandbox answers, Kubernetes v1.",
        "✓ kinds: all ",
        "✓ controller: the sandbox runs it itself.",
        "✓ definitions: all ",
    ] {
        assert!(said.out.contains(words), "{words:?} is not in\n{}", said.out);
    }
    assert!(!said.out.contains('✗'), "{said:?}");
    let info = person.types(&["system", "info"]).ok();
    assert!(
        info.out.contains("part of the sandbox") && info.out.contains(env!("CARGO_PKG_VERSION")),
        "{info:?}"
    );
    // A definition that was broken behind the back of admission is named.
    let cue = person.write("marked.cue", LABEL);
    let rendered =
        person.types(&["def", "render", &cue]).ok().out.replace("parameter.mark", "parameters.mark");
    let broken = person.write("sandbox.yaml", rendered);
    person.types(&["up", &broken]).fails(1, &["parameters"]);
}

#[test]
fn an_installation_without_a_running_controller_is_told() {
    let person = Person::new();
    let cluster = Cluster::new(&person);
    let target = ["--kubeconfig", &cluster.kubeconfig];
    let vela = |words: &[&str]| person.types(&[words, &target].concat());
    let json = |words: &[&str]| vela(&[words, &["-o", "json"]].concat());

    let bare = json(&["system", "diagnose"]).fails(1, &["things are wrong with this installation"]);
    let found = findings(&bare);
    assert!(messages(&found, "kinds", "wrong")[0].contains("applications.core.oam.dev"), "{found:?}");
    assert!(messages(&found, "controller", "wrong")[0].contains("--controller-image IMAGE"), "{found:?}");
    assert!(messages(&found, "definitions", "unknown")[0].contains("vela install"), "{found:?}");

    vela(&["install", "--controller-image", "registry:5000/vela-core:1.2.3", "--webhooks"]).ok();
    until("the controller is healthy", || vela(&["system", "info"]).ok().out.contains("healthy"));
    let info: Value = serde_json::from_str(&json(&["system", "info"]).ok().out).unwrap();
    let deployment = &info["controller"]["deployment"];
    assert_eq!(deployment["version"], "1.2.3");
    assert_eq!(deployment["health"], "healthy");
    assert!(deployment["arguments"].as_array().unwrap().contains(&json!("--use-webhook")), "{info}");
    let table = vela(&["system", "info"]).ok().out;
    for words in ["image", "registry:5000/vela-core:1.2.3", "--enable-leader-election"] {
        assert!(table.contains(words), "{words:?} is not in\n{table}");
    }

    // No controller ran, so no webhook has a CA bundle; everything else is as installed.
    let found = findings(&json(&["system", "diagnose"]).fails(1, &["wrong with this installation"]));
    let wrong: Vec<&Value> = found.iter().filter(|one| one["state"] == "wrong").collect();
    assert!(!wrong.is_empty() && wrong.iter().all(|one| one["about"] == "webhooks"), "{wrong:?}");
    assert!(messages(&found, "webhooks", "wrong")[0].contains("has no CA bundle"), "{found:?}");
    assert_eq!(messages(&found, "rights", "right").len(), 1, "{found:?}");
}
