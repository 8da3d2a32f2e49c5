//! (Graph, Observed) → status of an ApplicationConfiguration; the caller says what time it is.

use serde_json::{Value as Json, json};
use vela_crds::annotations;

use super::graph::Graph;
use super::render::RenderedObject;
use super::text;
use crate::diagnostic::Diagnostics;
use crate::observed::Observed;

/// The status of a lap whose objects were applied. `previous` is the status written before.
pub fn status(graph: &Graph, observed: &Observed, previous: Option<&Json>, now: &str) -> Json {
    let mut workloads = Vec::new();
    let mut errors = Vec::new();
    for component in graph.components() {
        let mut problem = |object: &RenderedObject| {
            let key = object.key();
            if let Some(error) = observed.error(&key) {
                errors.push(format!("cannot apply {key}: {error}"));
            }
            observed.error(&key).is_none()
        };
        let mut entry = json!({
            "componentName": component.name,
            "componentRevisionName": component.revision,
            "workloadRef": component.workload_reference(),
        });
        if problem(&component.workload) {
            entry["appliedComponentRevision"] = json!(component.revision);
        }
        let mut traits = Vec::new();
        for object in &component.traits {
            let mut trait_ = json!({"traitRef": object.reference()});
            if problem(object) {
                let generation =
                    text(&object.object, &["metadata", "annotations", annotations::APP_GENERATION]);
                if let Ok(generation) = generation.parse::<i64>() {
                    trait_["appliedGeneration"] = json!(generation);
                }
            }
            if !object.defined {
                trait_["message"] =
                    json!("No TraitDefinition found, all framework capabilities will work as default");
            }
            traits.push(trait_);
        }
        if !traits.is_empty() {
            entry["traits"] = Json::Array(traits);
        }
        if !component.scopes.is_empty() {
            let scopes = component.scopes.iter().map(|(key, _)| {
                json!({"scopeRef": {"apiVersion": key.api_version, "kind": key.kind, "name": key.name}})
            });
            entry["scopes"] = Json::Array(scopes.collect());
        }
        workloads.push(entry);
    }
    let condition = match errors.as_slice() {
        [] => json!({"type": "Synced", "status": "True", "reason": "ReconcileSuccess"}),
        errors => {
            let message = format!("cannot apply components: {}", errors.join("; "));
            json!({"type": "Synced", "status": "False", "reason": "ReconcileError", "message": message})
        }
    };
    let mut status = json!({
        "conditions": [timed(condition, previous, now)],
        "workloads": workloads,
        "dependency": dependency(graph),
    });
    observe_generation(&mut status, graph.rendered().document.value());
    status
}

/// The status of a lap that failed before anything was applied: what was there stays.
pub fn failed(configuration: &Json, error: &Diagnostics, previous: Option<&Json>, now: &str) -> Json {
    let message = format!("cannot render components: {error}");
    let condition =
        json!({"type": "Synced", "status": "False", "reason": "ReconcileError", "message": message});
    let mut status = previous.filter(|status| status.is_object()).cloned().unwrap_or_else(|| json!({}));
    status["conditions"] = json!([timed(condition, previous, now)]);
    observe_generation(&mut status, configuration);
    status
}

/// What waits for what; nothing is an empty object.
fn dependency(graph: &Graph) -> Json {
    match graph.rendered().unsatisfied() {
        [] => json!({}),
        unsatisfied => json!({"unsatisfied": unsatisfied}),
    }
}

fn observe_generation(status: &mut Json, configuration: &Json) {
    if let Some(generation) = configuration.get("metadata").and_then(|metadata| metadata.get("generation")) {
        status["observedGeneration"] = generation.clone();
    }
}

/// The condition with its time: the old one while nothing changed.
fn timed(mut condition: Json, previous: Option<&Json>, now: &str) -> Json {
    let old =
        previous.and_then(|previous| previous.get("conditions")).and_then(Json::as_array).and_then(|all| {
            all.iter().find(|old| {
                ["type", "status", "reason", "message"].iter().all(|f| old.get(f) == condition.get(f))
            })
        });
    let time = old.and_then(|old| old.get("lastTransitionTime")).cloned().unwrap_or_else(|| json!(now));
    condition["lastTransitionTime"] = time;
    condition
}
