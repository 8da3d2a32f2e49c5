//! Reconciles of 1, 10 and 100 components, in both forms: the price of a component must not depend on how many there are.

use serde_json::{Value as Json, json};
use vela_engine::application_configuration::{self as ac, revision};
use vela_engine::snapshot::Resource;
use vela_engine::{Document, Snapshot, Templates, graph, parse, plan, render};

use crate::measure;

const COUNTS: [usize; 3] = [1, 10, 100];

/// Whole reconciles from the stored objects to the graph.
pub(crate) fn print(snapshot: &Snapshot, templates: &Templates) {
    for count in COUNTS {
        let document = Document::from_object(application(count));
        measure(&format!("Application, {count} components"), || {
            let revision = revision_of(&document, snapshot);
            let rendered =
                render::render(&plan::plan(revision).unwrap(), templates, &render::Inputs::default());
            std::hint::black_box(graph::graph(rendered.unwrap()).unwrap());
        });
    }
    for count in COUNTS {
        let (snapshot, configuration) = configuration(count);
        measure(&format!("ApplicationConfiguration, {count} comp."), || {
            let parsed = ac::parse(&configuration, &snapshot).unwrap();
            std::hint::black_box(ac::graph(ac::render(&parsed, &snapshot).unwrap()).unwrap());
        });
    }
}

fn revision_of(document: &Document, snapshot: &Snapshot) -> vela_engine::Revision {
    vela_engine::revision::revision(parse::parse(document, snapshot).unwrap(), None)
}

fn application(count: usize) -> Json {
    let component = |number: usize| {
        json!({
            "name": format!("web-{number}"), "type": "webservice", "properties": {"image": "nginx"},
            "traits": [{"type": "scaler", "properties": {"replicas": 2}}],
        })
    };
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"components": (0..count).map(component).collect::<Vec<_>>()},
    })
}

/// Each component is a ContainerizedWorkload with a ManualScalerTrait.
fn configuration(count: usize) -> (Snapshot, Document) {
    let mut snapshot = Snapshot::default();
    let version = "core.oam.dev/v1alpha2";
    for (kind, plural) in
        [("ContainerizedWorkload", "containerizedworkloads"), ("ManualScalerTrait", "manualscalertraits")]
    {
        let resource = Resource { plural: plural.to_owned(), namespaced: true };
        snapshot.insert_resource(version, kind, resource);
    }
    let definition = json!({
        "apiVersion": version, "kind": "TraitDefinition", "metadata": {"name": "manualscalertraits.core.oam.dev"},
        "spec": {"workloadRefPath": "spec.workloadRef"},
    });
    snapshot.insert_definition_object(definition).unwrap();
    let mut entries = Vec::new();
    for number in 0..count {
        let name = format!("web-{number}");
        let workload = json!({
            "apiVersion": version, "kind": "ContainerizedWorkload",
            "spec": {"containers": [{"name": "main", "image": "nginx"}]},
        });
        let mut component = json!({
            "apiVersion": version, "kind": "Component",
            "metadata": {"name": name, "namespace": "default", "generation": 1, "uid": name},
            "spec": {"workload": workload},
        });
        component["status"] = revision::revision(&component, None).unwrap().status;
        snapshot.insert_object(component);
        let scaler = json!({"apiVersion": version, "kind": "ManualScalerTrait", "spec": {"replicaCount": 2}});
        entries.push(json!({"componentName": name, "traits": [{"trait": scaler}]}));
    }
    let configuration = json!({
        "apiVersion": version, "kind": "ApplicationConfiguration",
        "metadata": {"name": "shop", "namespace": "default", "uid": "uid", "generation": 1},
        "spec": {"components": entries},
    });
    (snapshot, Document::from_object(configuration))
}
