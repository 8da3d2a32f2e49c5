//! Stages of traits: what is rendered before a component, with it, and when it is healthy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use vela_engine::render::stages::{Dispatched, Stages};
use vela_engine::render::{self, Inputs, State};
use vela_engine::{
    Diagnostics, Graph, Observed, Templates, dispatched, dry_run, graph, health, manifest, parse, plan,
    revision,
};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: note}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic: {cue: {template: 'output: {apiVersion: "v1", kind: "ConfigMap"}'}}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: first}
spec:
  stage: PreDispatch
  schematic: {cue: {template: 'outputs: first: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "first"}'}}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: beside}
spec:
  schematic: {cue: {template: 'outputs: beside: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "beside"}'}}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: last}
spec:
  stage: PostDispatch
  schematic:
    cue:
      template: |
        outputs: last: {
          apiVersion: "v1"
          kind: "ConfigMap"
          metadata: name: "last"
          data: {ip: context.output.status.ip, other: context.outputs.beside.metadata.uid}
        }
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: late-patch}
spec:
  stage: PostDispatch
  schematic: {cue: {template: 'patch: data: a: "b"'}}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: never}
spec:
  stage: Never
  schematic: {cue: {template: 'outputs: a: {apiVersion: "v1", kind: "ConfigMap"}'}}
"#;

fn application(traits: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n  components:\n  \
         - {{name: note, type: note, traits: [{traits}]}}\n"
    )
}

fn rendered(traits: &str, stages: Stages) -> Result<Graph, Diagnostics> {
    let snapshot = snapshots::of(DEFINITIONS);
    let documents = manifest::read("app.yaml", &application(traits)).unwrap();
    let app_file = parse::parse(&documents.as_slice()[0], &snapshot)?;
    let plan = plan::plan(revision::revision(app_file, None))?;
    let inputs = Inputs { stages, ..Inputs::default() };
    graph::graph(render::render(&plan, &Templates::new(), &inputs)?)
}

fn names(graph: &Graph) -> Vec<String> {
    let objects = graph.objects_of(0).iter();
    objects.map(|made| made.object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

const ALL: &str = "{type: last}, {type: beside}, {type: first}";

fn known(before: bool, live: Option<Json>) -> Stages {
    Stages::Known(BTreeMap::from([(0, Dispatched { before, live })]))
}

#[test]
fn objects_are_made_stage_by_stage() {
    let first = rendered(ALL, Stages::Known(BTreeMap::new())).unwrap();
    assert_eq!(names(&first), ["first"]);
    assert!(first.is_withheld(0));
    let second = rendered(ALL, known(true, None)).unwrap();
    assert_eq!(names(&second), ["note", "beside", "first"]);
    assert_eq!(second.deferred(0)[0].why, "Waiting for component to be healthy");
    let live =
        json!({"output": {"status": {"ip": "10.0.0.1"}}, "outputs": {"beside": {"metadata": {"uid": "u"}}}});
    let third = rendered("{type: beside}, {type: first}, {type: last}", known(true, Some(live))).unwrap();
    assert_eq!(names(&third), ["note", "beside", "first", "last"]);
    assert_eq!(third.objects_of(0)[3].object["data"], json!({"ip": "10.0.0.1", "other": "u"}));
    assert!(third.deferred(0).is_empty() && !third.is_withheld(0));
}

#[test]
fn a_trait_waits_for_a_missing_value_of_its_component() {
    let live = json!({"output": {"status": {}}, "outputs": {"beside": {"metadata": {"uid": "u"}}}});
    let graph = rendered("{type: beside}, {type: last}", known(true, Some(live))).unwrap();
    assert_eq!(names(&graph), ["note", "beside"]);
    assert!(graph.deferred(0)[0].why.contains("ip"), "{:?}", graph.deferred(0));
}

#[test]
fn a_preview_says_what_is_made_later() {
    let documents = manifest::read("app.yaml", &application(ALL)).unwrap();
    let snapshot = snapshots::of(DEFINITIONS);
    let rendered = dry_run::render(&documents.as_slice()[0], &snapshot, &Templates::new()).unwrap();
    let State::Ready(objects) = &rendered.components()[0].state else { unreachable!("it does not wait") };
    assert_eq!(objects.len(), 3, "{objects:?}");
    let text = dry_run::text(&rendered);
    assert!(text.contains("# trait last is made when the component is healthy: "), "{text}");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    for (traits, says) in [("{type: late-patch}", "in the cluster by then"), ("{type: never}", "PreDispatch")]
    {
        let live = json!({"output": {}, "outputs": {}});
        let found = rendered(traits, known(true, Some(live))).unwrap_err();
        assert!(found.to_string().contains(says), "{found}");
        assert_eq!(found.iter().next().unwrap().path, "spec.components[0].traits[0]");
    }
    // Who knows no stages patches as ever.
    assert_eq!(
        rendered("{type: late-patch}", Stages::Ignored).unwrap().objects_of(0)[0].object["data"],
        json!({"a": "b"})
    );
}

#[test]
fn a_component_is_as_far_as_its_objects_are() {
    let templates = Templates::new();
    let graph = rendered(ALL, known(true, None)).unwrap();
    let mut observed = Observed::new();
    graph.objects_of(0).iter().for_each(|made| observed.insert_named(made.key(), made.object.clone()));
    let of = |current: &BTreeSet<_>| dispatched(&graph, &observed, current, &templates)[&0].clone();
    let mut current: BTreeSet<_> = graph.objects_of(0).iter().map(|made| made.key()).collect();
    let far = of(&current);
    assert!(far.before);
    let live = far.live.unwrap();
    assert_eq!(live["output"]["metadata"]["name"], "note");
    assert_eq!(live["outputs"]["beside"]["metadata"]["name"], "beside");
    // What was written with another content says nothing about this one.
    current.retain(|key| key.name != "note");
    assert_eq!(of(&current), Dispatched { before: true, live: None });
    current.retain(|key| key.name != "first");
    assert_eq!(of(&current), Dispatched::default());
    let health = health::component(&graph, 0, &observed, &templates);
    assert!(health.is_dispatched() && !health.healthy);
    assert!(health.traits[0].pending && health.traits[0].late);
}
