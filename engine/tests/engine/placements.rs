//! Where components go: topology policies and the namespaces of steps, from the plan to the journal of the workflow.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use vela_engine::bounds::Bounds;
use vela_engine::{
    Diagnostics, Document, Graph, LOCAL, Observed, Templates, dry_run, graph, manifest, parse, plan, policy,
    render, revision, status, workflow,
};

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
        output: {apiVersion: "v1", kind: "ConfigMap", data: {
            namespace: context.namespace, cluster: context.cluster, image: parameter.image
        }}
        parameter: image: string
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: note}
spec:
  schematic:
    cue:
      template: |
        outputs: note: {apiVersion: "v1", kind: "ConfigMap", metadata: {
            name: context.name + "-note", namespace: "elsewhere"
        }}
        outputs: role: {apiVersion: "v1", kind: "PersistentVolume", metadata: name: context.name + context.namespace}
"#;

/// An application of two components, of which `front` waits for `back`, with more in its spec.
fn app(more: &str) -> Document {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop, namespace: dev}}\nspec:\n  \
         components:\n  \
         - {{name: front, type: web, properties: {{image: a}}, dependsOn: [back], traits: [{{type: note}}]}}\n  \
         - {{name: back, type: web, properties: {{image: b}}}}\n{more}"
    );
    manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone()
}

fn topology(properties: &str) -> String {
    format!("  policies:\n  - {{name: where, type: topology, properties: {properties}}}\n")
}

fn meant(application: &Document, bounds: Bounds) -> Result<Graph, Diagnostics> {
    let app_file = parse::parse(application, &snapshots::of(DEFINITIONS).within(bounds))?;
    let revision = revision::revision(app_file, revision::Previous::of(application).as_ref());
    let rendered = render::render(&plan::plan(revision)?, &Templates::default(), &render::Inputs::default())?;
    graph::graph(rendered)
}

fn keys(graph: &Graph) -> Vec<String> {
    let mut keys: Vec<String> = graph.objects().map(|object| object.key().to_string()).collect();
    keys.sort();
    keys
}

#[test]
fn a_topology_places_every_object_in_its_namespace() {
    assert!(policy::SUPPORTED.contains(&"topology"));
    let placed = meant(&app(&topology("{namespace: prod}")), Bounds::NONE).unwrap();
    // The trait's own namespace gives way, an object of the whole cluster has none.
    let expected = [
        "ConfigMap prod/back",
        "ConfigMap prod/front",
        "ConfigMap prod/front-note",
        "PersistentVolume frontprod",
    ];
    assert_eq!(keys(&placed), expected);
    let back = &placed.objects_of(1)[0].object;
    assert_eq!(back["data"], json!({"namespace": "prod", "cluster": LOCAL, "image": "b"}));
    assert_eq!(back["metadata"]["labels"]["app.oam.dev/namespace"], "dev", "whose it is");
    // Without one it stays where it is, and only the cluster is known.
    let local = meant(&app(&topology("{clusters: [local]}")), Bounds::SAFE);
    assert!(local.is_err(), "the trait names a namespace of its own");
    let unplaced = meant(&app(""), Bounds::NONE).unwrap();
    assert_eq!(unplaced.objects_of(1)[0].object["data"]["cluster"], "");
}

#[test]
fn every_way_to_say_local_is_understood() {
    let selected =
        r#"{clusterLabelSelector: {"cluster.core.oam.dev/control-plane": "true"}, namespace: prod}"#;
    for properties in [
        "{namespace: prod}",
        "{clusters: [local], namespace: prod}",
        "{clusters: [local, local], namespace: prod, allowEmpty: true}",
        "{clusterLabelSelector: {}, namespace: prod}",
        selected,
    ] {
        let placed = meant(&app(&topology(properties)), Bounds::NONE).unwrap();
        assert!(keys(&placed).contains(&"ConfigMap prod/back".to_owned()), "{properties}");
    }
}

#[test]
fn what_a_topology_cannot_do_is_told_with_place_and_advice() {
    let properties = "spec.policies[0].properties";
    for (written, code, field, words) in [
        ("{clusters: [far]}", "not_supported", ".clusters[0]", "clusters: [local]"),
        ("{clusters: [local, far]}", "not_supported", ".clusters[1]", "\"far\""),
        ("{clusters: []}", "not_supported", ".clusters", "nowhere"),
        ("{clusters: local}", "wrong_type", ".clusters", "a list"),
        ("{clusters: [1]}", "wrong_type", ".clusters[0]", "the name of a cluster"),
        ("{clusterLabelSelector: {region: eu}}", "not_supported", ".clusterLabelSelector", "other clusters"),
        ("{clusterLabelSelector: eu}", "wrong_type", ".clusterLabelSelector", "labels"),
        (
            "{clusterSelector: {region: eu}}",
            "not_supported",
            ".clusterSelector",
            "write clusterLabelSelector",
        ),
        ("{namespaces: prod}", "unknown_field", ".namespaces", "did you mean \"namespace\"?"),
        ("{namespace: 1}", "wrong_type", ".namespace", "a number"),
        ("{namespace: Prod}", "wrong_type", ".namespace", "\"Prod\""),
        ("{allowEmpty: maybe}", "wrong_type", ".allowEmpty", "true or false"),
    ] {
        let errors = meant(&app(&topology(written)), Bounds::NONE).unwrap_err();
        let first = errors.iter().next().unwrap();
        assert_eq!(
            (first.code.as_str(), first.path.as_str()),
            (code, &*format!("{properties}{field}")),
            "{errors}"
        );
        assert!(first.to_string().contains(words), "{written}: {first}");
        assert!(first.manifest.is_some(), "{written}: {first}");
    }
    let nowhere_else = meant(&app(&topology("{namespace: prod}")), Bounds::SAFE).unwrap_err();
    let first = nowhere_else.iter().next().unwrap();
    assert_eq!(first.path, "spec.policies[0].properties.namespace");
    assert!(first.to_string().contains("--allow-cross-namespace"), "{first}");
    // A preview shows the objects all the same.
    let far = app(&topology("{clusters: [far], namespace: prod}"));
    let shown = dry_run::render(&far, &snapshots::of(DEFINITIONS), &Templates::default()).unwrap();
    assert!(shown.warnings().iter().any(|warning| warning.path.ends_with("clusters[0]")));
    assert!(dry_run::text(&shown).contains("namespace: prod"));
}

#[test]
fn two_topologies_are_two_places() {
    let policies = "  policies:\n  \
        - {name: blue, type: topology, properties: {namespace: blue}}\n  \
        - {type: topology, properties: {namespace: green}}\n  \
        - {name: again, type: topology, properties: {clusters: [local], namespace: blue}}\n";
    let templates = Templates::default();
    let application = app(policies);
    let placed = meant(&application, Bounds::NONE).unwrap();
    let plan = placed.rendered().plan();
    let steps: Vec<(&str, &[usize])> =
        plan.steps().iter().map(|step| (step.name.as_str(), step.nodes.as_slice())).collect();
    let expected: [(&str, &[usize]); 3] =
        [("deploy-blue", &[0, 1]), ("deploy-topology-auto-gen-1", &[2, 3]), ("deploy-again", &[0, 1])];
    assert_eq!(steps, expected);
    assert_eq!(keys(&placed).len(), 8);
    assert_eq!(placed.waves(), [vec![1, 3], vec![0, 2]], "what waits, waits for its own place");

    // What is healthy at one place begins there what waits for it.
    let mut observed = Observed::new();
    observed.insert(placed.objects_of(3)[0].object.clone());
    assert_eq!(workflow::due(&placed, &observed, &templates), [1, 3, 2]);
    for object in placed.objects_of(2) {
        observed.insert(object.object.clone());
    }
    let written = status::status(&placed, &observed, &templates).to_json(None, Timestamp::UNIX_EPOCH);
    let services: Vec<(&Json, &Json, &Json)> = written["services"]
        .as_array()
        .unwrap()
        .iter()
        .map(|service| (&service["name"], &service["namespace"], &service["healthy"]))
        .collect();
    let service =
        |name: &str, namespace: &str, healthy: bool| (json!(name), json!(namespace), json!(healthy));
    let expected = [
        service("front", "blue", false),
        service("back", "blue", false),
        service("front", "green", true),
        service("back", "green", true),
    ];
    assert!(
        services.iter().zip(&expected).all(|(found, want)| *found == (&want.0, &want.1, &want.2)),
        "{written}"
    );
    let journal = &written["workflow"]["steps"];
    assert_eq!(journal[0]["phase"], "pending");
    assert_eq!((&journal[1]["phase"], &journal[1]["type"]), (&json!("succeeded"), &json!("deploy")));

    // What succeeded has succeeded, and keeps the times of that.
    let mut stored = application.value().clone();
    stored["status"] = written.clone();
    let placed = meant(&Document::from_object(stored), Bounds::NONE).unwrap();
    let later =
        status::status(&placed, &Observed::new(), &templates).to_json(Some(&written), Timestamp::UNIX_EPOCH);
    assert_eq!(later["workflow"]["steps"][1], written["workflow"]["steps"][1]);
    let preview = dry_run::render(&application, &snapshots::of(DEFINITIONS), &templates).unwrap();
    let heads = dry_run::text(&preview);
    assert!(heads.contains("# Application(shop with topology blue) -- Component(front)"), "{heads}");
}

#[test]
fn a_step_says_where_its_component_goes() {
    let steps = "  workflow:\n    steps:\n    \
        - {name: first, type: apply-component, properties: {component: back, namespace: prod}}\n    \
        - {name: again, type: apply-component, properties: {component: back, cluster: local}}\n    \
        - {name: last, type: apply-component, properties: {component: front, namespace: prod}}\n";
    let templates = Templates::default();
    let placed = meant(&app(steps), Bounds::NONE).unwrap();
    assert!(keys(&placed).contains(&"ConfigMap prod/back".to_owned()), "{:?}", keys(&placed));
    assert!(keys(&placed).contains(&"ConfigMap dev/back".to_owned()), "{:?}", keys(&placed));
    let written = status::status(&placed, &Observed::new(), &templates).to_json(None, Timestamp::UNIX_EPOCH);
    let steps = written["workflow"]["steps"].as_array().unwrap();
    let names: Vec<&Json> = steps.iter().map(|step| &step["name"]).collect();
    assert_eq!(names, ["first", "again", "last"]);
    assert_eq!(written["workflow"]["mode"], "StepByStep-DAG");
    assert_eq!(steps[2]["message"], "Pending on DependsOn: first, again");
    assert_eq!(workflow::due(&placed, &Observed::new(), &templates), [1]);

    let step = |place: &str| {
        format!(
            "  workflow: {{steps: [{{name: a, type: apply-component, properties: {{component: back, {place}}}}}]}}\n"
        )
    };
    let errors = meant(&app(&step("cluster: far")), Bounds::NONE).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().path, "spec.workflow.steps[0].properties.cluster");
    let errors = meant(&app(&step("namespace: prod")), Bounds::SAFE).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().path, "spec.workflow.steps[0].properties.namespace");
}

#[test]
fn a_topology_that_no_step_goes_by_is_told() {
    let steps = "  workflow:\n    steps:\n    \
        - {name: one, type: apply-component, properties: {component: back}}\n    \
        - {name: two, type: apply-component, properties: {component: front}}\n";
    let application = app(&(topology("{namespace: prod}") + steps));
    let placed = meant(&application, Bounds::NONE).unwrap();
    assert!(keys(&placed).contains(&"ConfigMap dev/back".to_owned()));
    let warnings = placed.warnings().to_string();
    assert!(warnings.contains("spec.policies[0]") && warnings.contains("no step goes by"), "{warnings}");
}

#[test]
fn an_application_that_is_rolled_out_stays_where_it_is() {
    let mut rolled = app(&topology("{namespace: prod}")).value().clone();
    rolled["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    let errors = meant(&Document::from_object(rolled.clone()), Bounds::NONE).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().path, "spec.policies[0].properties");
    rolled["spec"]["policies"][0]["properties"] = json!({"clusters": ["local"]});
    meant(&Document::from_object(rolled), Bounds::NONE).unwrap();
}
