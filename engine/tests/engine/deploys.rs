//! `deploy` steps: which components each applies, as which policies change them, where, and in which order.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use vela_engine::{Diagnostics, Document, Graph, Templates, graph, manifest, parse, plan, render, revision};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: web}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: image: parameter.image}
        parameter: image: *"none" | string
---
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: copies}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {
            apiVersion: "v1", kind: "ConfigMap"
            metadata: name: context.name + "-" + context.replicaKey
            data: image: context.replicaKey
        }
        parameter: {}
"#;

/// An application of `front`, which depends on `back`, with these policies and steps.
fn application(policies: &Json, steps: &Json) -> Document {
    let object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop", "namespace": "dev"},
        "spec": {
            "components": [
                {"name": "front", "type": "web", "properties": {"image": "a"}, "dependsOn": ["back"]},
                {"name": "back", "type": "web", "properties": {"image": "b"}},
            ],
            "policies": policies,
            "workflow": {"steps": steps},
        },
    });
    manifest::read("app.json", &object.to_string()).unwrap().as_slice()[0].clone()
}

fn meant(policies: &Json, steps: &Json) -> Result<Graph, Diagnostics> {
    let app_file = parse::parse(&application(policies, steps), &snapshots::of(DEFINITIONS))?;
    let plan = plan::plan(revision::revision(app_file, None))?;
    graph::graph(render::render(&plan, &Templates::default(), &render::Inputs::default())?)
}

fn deploy(name: &str, policies: &[&str]) -> Json {
    json!({"name": name, "type": "deploy", "properties": {"policies": policies}})
}

fn topology(name: &str, namespace: &str) -> Json {
    json!({"name": name, "type": "topology", "properties": {"clusters": ["local"], "namespace": namespace}})
}

fn image(name: &str, component: &str, image: &str) -> Json {
    let component = json!({"name": component, "properties": {"image": image}});
    json!({"name": name, "type": "override", "properties": {"components": [component]}})
}

fn selecting(name: &str, component: &str) -> Json {
    json!({"name": name, "type": "override", "properties": {"selector": [component]}})
}

/// What a step makes: each object with its image.
fn made(graph: &Graph, step: &str) -> Vec<String> {
    let nodes = graph.rendered().plan().nodes_of_step(step);
    let objects = nodes.iter().flat_map(|node| graph.objects_of(*node));
    let mut made: Vec<String> = objects
        .map(|one| format!("{} {}", one.key(), one.object["data"]["image"].as_str().unwrap()))
        .collect();
    made.sort();
    made
}

#[test]
fn each_step_deploys_what_its_policies_make_to_where_they_say() {
    let policies = json!([topology("test", "test"), topology("prod", "prod"), image("newer", "front", "c")]);
    let steps = json!([deploy("try", &["newer", "test"]), deploy("all", &["prod"])]);
    let graph = meant(&policies, &steps).unwrap();
    assert_eq!(made(&graph, "try"), ["ConfigMap test/back b", "ConfigMap test/front c"]);
    assert_eq!(made(&graph, "all"), ["ConfigMap prod/back b", "ConfigMap prod/front a"]);
    let plan = graph.rendered().plan();
    assert!(plan.workflow().is_some(), "a machine runs it");
    assert_eq!(plan.steps()[0].policies, ["newer", "test"]);
    // What depends on something waits for it at its own place.
    for step in ["try", "all"] {
        let nodes = plan.nodes_of_step(step);
        let named = |name: &str| {
            let component =
                |node: &&usize| plan.app_file().components()[plan.nodes()[**node].component].name == name;
            *nodes.iter().find(component).unwrap()
        };
        assert_eq!(plan.nodes()[named("front")].waits_for, BTreeSet::from([named("back")]), "{step}");
    }
    assert!(graph.warnings().is_empty(), "{}", graph.warnings());
}

#[test]
fn steps_may_deploy_a_part_each() {
    let policies = json!([selecting("first", "back"), selecting("then", "front")]);
    let graph = meant(&policies, &json!([deploy("one", &["first"]), deploy("two", &["then"])])).unwrap();
    assert_eq!(made(&graph, "one"), ["ConfigMap dev/back b"]);
    assert_eq!(made(&graph, "two"), ["ConfigMap dev/front a"]);
    assert_eq!(graph.len(), 2);

    let alone = meant(&policies, &json!([deploy("one", &["first"])])).unwrap();
    assert_eq!(alone.len(), 1);
    let said = alone.warnings().to_string();
    assert!(said.contains("no workflow step applies component \"front\""), "{said}");
    assert!(said.contains("no step goes by the override policy \"then\""), "{said}");
}

#[test]
fn one_place_named_twice_is_one() {
    let policies = json!([topology("here", "dev"), topology("again", "dev")]);
    let graph =
        meant(&policies, &json!([deploy("one", &["here", "again"]), deploy("two", &["here"])])).unwrap();
    assert_eq!(graph.len(), 2);
    assert_eq!(made(&graph, "one"), made(&graph, "two"));
}

#[test]
fn a_step_of_a_group_and_an_added_component_are_deployed() {
    let added = json!({"name": "more", "type": "override", "properties": {"components": [
        {"name": "third", "type": "web", "properties": {"image": "d"}}]}});
    let group = json!([{"name": "both", "type": "step-group", "subSteps": [deploy("in", &["more"])]}]);
    let graph = meant(&json!([added]), &group).unwrap();
    assert_eq!(
        made(&graph, "in"),
        ["ConfigMap dev/back b", "ConfigMap dev/front a", "ConfigMap dev/third d"]
    );
}

#[test]
fn what_is_wrong_with_a_deploy_step_is_told_with_its_place() {
    let policies = json!([topology("here", "dev"), image("newer", "front", "c")]);
    let first = |step: Json| {
        let errors = meant(&policies, &json!([step])).unwrap_err();
        let first = errors.iter().find(|found| found.is_error()).unwrap().clone();
        (first.path, format!("{} {}", first.message, first.hint.unwrap_or_default()))
    };
    let (path, said) = first(deploy("go", &["her"]));
    assert_eq!(path, "spec.workflow.steps[0].properties.policies[0]");
    assert!(said.contains("policy \"her\" not found") && said.contains("did you mean \"here\"?"), "{said}");
    let with = |field: &str, value: Json| {
        let mut step = deploy("go", &["here"]);
        step["properties"][field] = value;
        first(step)
    };
    assert!(with("parallelism", json!(0)).1.contains("parallelism cannot be smaller than 1"));
    assert!(with("auto", json!("no")).1.contains("expected true or false"));
    let mut slip = deploy("go", &["here"]);
    slip["properties"]["policiy"] = json!("here");
    let said = meant(&policies, &json!([slip])).unwrap().warnings().to_string();
    assert!(said.contains("policiy") && said.contains("policies"), "{said}");
    let clash = json!([deploy("one", &["here"]), deploy("two", &["newer", "here"])]);
    let errors = meant(&policies, &clash).unwrap_err().to_string();
    assert!(errors.contains("two steps deploy component \"front\" to one place"), "{errors}");
}

#[test]
fn a_replication_policy_makes_several_of_a_component() {
    let third = json!({"name": "more", "type": "override", "properties": {"components": [
        {"name": "third", "type": "copies"}]}});
    let replication = |keys: Json, selector: Json| json!({"name": "r", "type": "replication", "properties": {"keys": keys, "selector": selector}});
    let two = replication(json!(["east", "west"]), json!(["third"]));
    let graph = meant(&json!([third, two]), &json!([deploy("go", &["more", "r"])])).unwrap();
    let expected = [
        "ConfigMap dev/back b",
        "ConfigMap dev/front a",
        "ConfigMap dev/third-east east",
        "ConfigMap dev/third-west west",
    ];
    assert_eq!(made(&graph, "go"), expected);
    for one in graph.objects() {
        let metadata = &one.object["metadata"];
        let name = metadata["name"].as_str().unwrap();
        let key = ["east", "west"].into_iter().find(|key| name.ends_with(key));
        assert_eq!(metadata["labels"]["app.oam.dev/replicaKey"].as_str(), key, "{name}");
    }

    let wrong =
        |policy: Json| meant(&json!([policy]), &json!([deploy("go", &["r"])])).unwrap_err().to_string();
    assert!(wrong(replication(json!([]), json!(["front"]))).contains("a replication policy needs keys"));
    assert!(wrong(replication(json!(["East"]), json!(["front"]))).contains("cannot be part of the names"));
    assert!(wrong(replication(json!(["a", "a"]), json!(["front"]))).contains("used twice"));
    assert!(
        wrong(replication(json!(["a"]), json!(["frond"]))).contains("no component selected to replicate")
    );
    // Objects whose names lack the key would be one.
    let same = wrong(replication(json!(["a", "b"]), json!(["front"])));
    assert!(same.contains("is made twice"), "{same}");
    let unnamed = meant(&json!([replication(json!(["a"]), json!([]))]), &json!([deploy("go", &[])])).unwrap();
    let said = unnamed.warnings().to_string();
    assert!(said.contains("no step goes by the replication policy"), "{said}");
}

#[test]
fn steps_without_policies_apply_all_components() {
    let step =
        |type_: &str, properties: Json| json!([{"name": "go", "type": type_, "properties": properties}]);
    let both = ["ConfigMap dev/back b", "ConfigMap dev/front a"];
    let edges = |graph: &Graph| -> usize {
        graph.rendered().plan().nodes().iter().map(|node| node.waits_for.len()).sum()
    };
    for (type_, properties, ordered) in [
        ("apply-application", json!({}), 1),
        ("apply-application-in-parallel", json!({}), 0),
        ("deploy2runtime", json!({"clusters": ["local"]}), 1),
        ("apply-remaining", json!({}), 1),
    ] {
        let graph = meant(&json!([]), &step(type_, properties)).unwrap();
        assert_eq!(
            (made(&graph, "go"), edges(&graph)),
            (both.map(str::to_owned).to_vec(), ordered),
            "{type_}"
        );
        assert!(graph.warnings().is_empty(), "{type_}: {}", graph.warnings());
    }
    let steps = json!([
        {"name": "first", "type": "apply-component", "properties": {"component": "back"}},
        {"name": "go", "type": "apply-remaining", "properties": {"exceptions": ["back"]}},
    ]);
    let graph = meant(&json!([]), &steps).unwrap();
    assert_eq!((made(&graph, "go"), graph.len()), (vec!["ConfigMap dev/front a".to_owned()], 2));
}

#[test]
fn wrong_exceptions_and_clusters_are_told_at_their_place() {
    let wrong = |type_: &str, properties: Json| {
        let steps = json!([{"name": "go", "type": type_, "properties": properties}]);
        meant(&json!([]), &steps).unwrap_err().to_string()
    };
    let exception = wrong("apply-remaining", json!({"exceptions": ["frnt"]}));
    for words in
        ["\"frnt\", which does not exist", "did you mean \"front\"", "steps[0].properties.exceptions[0]"]
    {
        assert!(exception.contains(words), "{words}: {exception}");
    }
    assert!(
        wrong("apply-remaining", json!({"exceptions": "front"}))
            .contains("expected a list of names of components")
    );
    assert!(
        wrong("apply-remaining", json!({"exceptions": [1]}))
            .contains("expected the name of a component, found")
    );
    let elsewhere =
        json!([{"name": "go", "type": "deploy2runtime", "properties": {"clusters": ["beijing"]}}]);
    let document = application(&json!([]), &elsewhere);
    let shown =
        vela_engine::dry_run::render(&document, &snapshots::of(DEFINITIONS), &Templates::default()).unwrap();
    let said = shown.warnings().to_string();
    assert!(said.contains("other clusters are not supported yet"), "a preview shows the objects: {said}");
    let cluster = wrong("deploy2runtime", json!({"clusters": ["local", "beijing"]}));
    assert!(
        cluster.contains("other clusters are not supported yet") && cluster.contains("clusters[1]"),
        "{cluster}"
    );
}

/// Two environments: in the second one only `front` runs, with another image.
fn environments() -> Json {
    let prod = json!({"name": "prod", "placement": {"clusterSelector": {"name": "local"}, "namespaceSelector": {"name": "prod"}},
        "selector": {"components": ["front"]},
        "patch": {"components": [{"name": "front", "type": "web", "properties": {"image": "new"}}]}});
    json!([{"name": "where", "type": "env-binding", "properties": {"envs": [{"name": "test"}, prod]}}])
}

fn to(env: &str, more: Json) -> Json {
    let mut properties = json!({"env": env});
    properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{"name": "go", "type": "deploy2env", "properties": properties}])
}

#[test]
fn an_environment_has_its_place_its_components_and_changes() {
    let prod = ["ConfigMap prod/front new"].map(str::to_owned);
    for named in [json!({}), json!({"policy": "where"}), json!({"policy": ""})] {
        let graph = meant(&environments(), &to("prod", named)).unwrap();
        assert_eq!(made(&graph, "go"), prod);
    }
    let test = ["ConfigMap dev/back b", "ConfigMap dev/front a"].map(str::to_owned);
    for (parallel, edges) in [(false, 1), (true, 0)] {
        let graph = meant(&environments(), &to("test", json!({"parallel": parallel}))).unwrap();
        assert_eq!(made(&graph, "go"), test);
        let waits = |node: &vela_engine::plan::Node| node.waits_for.len();
        assert_eq!(graph.rendered().plan().nodes().iter().map(waits).sum::<usize>(), edges);
    }
}

#[test]
fn environments_without_a_workflow_are_all_deployed() {
    let graph = meant(&environments(), &json!([])).unwrap();
    let steps: Vec<(&str, &str)> =
        graph.rendered().plan().steps().iter().map(|step| (step.name.as_str(), step.type_)).collect();
    assert_eq!(steps, [("deploy-where-test", "deploy2env"), ("deploy-where-prod", "deploy2env")]);
    assert_eq!(graph.rendered().plan().workflow().unwrap().mode, vela_engine::workflow::Mode::Dag);
    assert_eq!(made(&graph, "deploy-where-prod"), ["ConfigMap prod/front new"]);
    assert_eq!(made(&graph, "deploy-where-test").len(), 2);
}

#[test]
fn wrong_environments_are_told_at_their_place() {
    let of = |policies: &Json, steps: &Json| {
        let found = meant(policies, steps).unwrap_err();
        let first = found.iter().next().unwrap();
        (first.path.clone(), first.to_string())
    };
    let step = "spec.workflow.steps[0].properties.env";
    let (path, text) = of(&environments(), &to("prd", json!({})));
    assert_eq!(path, step);
    assert!(
        text.contains("no environment \"where/prd\"") && text.contains("did you mean \"where/prod\"?"),
        "{text}"
    );
    assert!(of(&json!([]), &to("prod", json!({}))).1.contains("no env-binding policy"));
    let nameless = json!([{"name": "go", "type": "deploy2env"}]);
    assert!(of(&environments(), &nameless).1.contains("names no environment"));
    let number = json!([{"name": "go", "type": "deploy2env", "properties": {"env": 1}}]);
    assert!(of(&environments(), &number).1.contains("expected a string, found a number"));
    let env = |env: Json| {
        let policies = json!([{"name": "where", "type": "env-binding", "properties": {"envs": [{"name": "test"}, env]}}]);
        of(&policies, &to("test", json!({})))
    };
    let at = "spec.policies[0].properties.envs[1]";
    for (written, place, words) in [
        (json!({}), ".name", "needs a name"),
        (json!({"name": "test"}), ".name", "twice"),
        (
            json!({"name": "x", "placement": {"clusterSelector": {"name": "far"}}}),
            ".placement.clusterSelector.name",
            "other clusters",
        ),
        (
            json!({"name": "x", "placement": {"namespaceSelector": {"name": "A"}}}),
            ".placement.namespaceSelector.name",
            "name of a namespace",
        ),
        (
            json!({"name": "x", "placement": {"namespaceSelector": {"labels": {"a": "b"}}}}),
            ".placement.namespaceSelector.labels",
            "by labels",
        ),
        (
            json!({"name": "x", "selector": {"components": ["frnt"]}}),
            ".selector.components[0]",
            "did you mean \"front\"?",
        ),
        (
            json!({"name": "x", "patch": {"components": [{"name": "frnt"}]}}),
            ".patch.components[0].name",
            "did you mean \"front\"?",
        ),
    ] {
        let (path, text) = env(written);
        assert_eq!(path, format!("{at}{place}"), "{text}");
        assert!(text.contains(words), "{text}");
    }
}
