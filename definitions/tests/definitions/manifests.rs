//! Manifests carry what the tables say; no text lies beside them unused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use vela_definitions::{Kind, builtin, find};

#[test]
fn webservice_is_a_component_definition() {
    let manifest = find(Kind::Component, "webservice").unwrap().manifest("vela-system");
    assert_eq!(manifest["apiVersion"], "core.oam.dev/v1beta1");
    assert_eq!(manifest["kind"], "ComponentDefinition");
    assert_eq!(manifest["metadata"]["namespace"], "vela-system");
    assert_eq!(manifest["spec"]["workload"]["definition"]["kind"], "Deployment");
    let template = manifest["spec"]["schematic"]["cue"]["template"].as_str().unwrap();
    assert!(template.contains("parameter: {"));
    assert!(manifest["spec"]["status"]["healthPolicy"].as_str().unwrap().contains("isHealth:"));
}

#[test]
fn traits_say_where_they_may_go() {
    let scaler = find(Kind::Trait, "scaler").unwrap().manifest("default");
    assert_eq!(scaler["spec"]["appliesToWorkloads"][0], "deployments.apps");
    assert_eq!(scaler["spec"]["podDisruptive"], false);
    let expose = find(Kind::Trait, "expose").unwrap().manifest("default");
    assert_eq!(expose["spec"]["stage"], "PostDispatch");
    let manual = find(Kind::Trait, "manualscalertraits.core.oam.dev").unwrap().manifest("default");
    assert_eq!(manual["spec"]["workloadRefPath"], "spec.workloadRef");
}

#[test]
fn traits_of_0_3_name_their_kind_and_its_workload_reference() {
    for (name, resource, path) in [
        ("autoscale", "autoscalers.standard.oam.dev", "spec.workloadRef"),
        ("metrics", "metricstraits.standard.oam.dev", "spec.workloadRef"),
        ("rollout", "canaries.flagger.app", "spec.targetRef"),
        ("route", "routes.standard.oam.dev", "spec.workloadRef"),
    ] {
        let spec = find(Kind::Trait, name).unwrap().spec();
        assert_eq!(spec["definitionRef"]["name"], resource);
        assert_eq!(spec["workloadRefPath"], path);
        assert_eq!(spec["revisionEnabled"] == true, name == "rollout");
    }
}

#[test]
fn policies_are_policy_definitions() {
    let names: Vec<&str> =
        builtin().iter().filter(|one| one.kind == Kind::Policy).map(|one| one.name).collect();
    let expected = [
        "apply-once",
        "envbinding",
        "garbage-collect",
        "override",
        "read-only",
        "replication",
        "resource-update",
        "shared-resource",
        "take-over",
        "topology",
    ];
    assert_eq!(names, expected);
    let manifest = find(Kind::Policy, "topology").unwrap().manifest("vela-system");
    assert_eq!(manifest["kind"], "PolicyDefinition");
    assert!(manifest["spec"]["schematic"]["cue"]["template"].as_str().unwrap().contains("clusters?:"));
}

#[test]
fn steps_are_workflow_step_definitions() {
    let steps = builtin().iter().filter(|one| one.kind == Kind::WorkflowStep);
    assert_eq!(steps.count(), 36);
    let manifest = find(Kind::WorkflowStep, "suspend").unwrap().manifest("vela-system");
    assert_eq!(manifest["kind"], "WorkflowStepDefinition");
}

#[test]
fn names_are_unique_within_a_kind() {
    let mut seen = BTreeSet::new();
    for definition in builtin() {
        assert!(seen.insert((definition.kind, definition.name)), "{} twice", definition.name);
        assert!(definition.description.ends_with('.'), "{}", definition.name);
    }
}

#[test]
fn every_text_is_embedded() {
    let embedded: BTreeSet<&str> =
        builtin().iter().flat_map(|d| [d.template, d.status.health, d.status.message]).flatten().collect();
    for folder in ["components", "traits", "policies", "steps", "status"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(embedded.contains(text.as_str()), "{} is not embedded", path.display());
        }
    }
}
