//! The status of an ApplicationConfiguration after a reconcile; the caller gives the time.
//!
//! `status.workloads` is also the record of what was made: an object is in it before it is first written, and stays in
//! it until it is gone. So a reconcile that is cut off, fails, or waits before it deletes loses track of nothing.

use serde_json::{Value as Json, json};
use vela_crds::annotations;

use super::garbage::Garbage;
use super::graph::Graph;
use super::render::{RenderedComponent, RenderedObject};
use super::{items, rolling, text};
use crate::diagnostic::Diagnostics;
use crate::status::REFUSED;

/// The message for a trait without a definition.
const UNDEFINED: &str = "No TraitDefinition found, all framework capabilities will work as default";

/// A reconcile that applied everything.
#[derive(Debug)]
pub struct Complete<'a> {
    /// The wanted objects.
    pub graph: &'a Graph,
    /// The unwanted objects that are not gone yet.
    pub left: &'a [Garbage],
    /// Why some of it stays although no component wants it.
    pub refused: Option<String>,
    /// Workloads of earlier revisions that are still there.
    pub history: Vec<Json>,
    /// The status before.
    pub previous: Option<&'a Json>,
}

/// The status after a reconcile that applied everything.
pub fn status(complete: &Complete<'_>, now: &str) -> Json {
    let configuration = complete.graph.rendered().document().value();
    let generation = generation(configuration);
    let mut status = base(complete.previous);
    let mut workloads: Vec<Json> = complete.left.iter().map(left_entry).collect();
    for component in complete.graph.components() {
        let mut entry = entry(component, complete.previous);
        if !component.workload.unsatisfied && !component.revision.is_empty() {
            entry["appliedComponentRevision"] = json!(component.revision);
        }
        let mut traits = take(&mut entry, "traits");
        for (trait_, entry) in component.traits.iter().zip(&mut traits) {
            if !trait_.unsatisfied {
                entry["appliedGeneration"] = json!(generation);
            }
        }
        put(&mut entry, "traits", Json::Array(traits));
        workloads.push(entry);
    }
    put(&mut status, "workloads", Json::Array(workloads));
    put(&mut status, "historyWorkloads", Json::Array(complete.history.clone()));
    status["dependency"] = dependency(complete.graph);
    let templated = complete.graph.rendered().templated;
    let waits = !complete.graph.rendered().unsatisfied().is_empty();
    roll(&mut status, rolling::next(configuration, templated, !waits));
    let synced = match &complete.refused {
        None => succeeded(),
        Some(message) => failure("ReconcileError", &format!("cannot garbage collect components: {message}")),
    };
    finish(status, configuration, synced, now)
}

/// Why a reconcile failed, as the condition says it.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The words.
    pub message: &'a str,
    /// It cannot get better before a user changes something.
    pub refused: bool,
}

/// The status after a reconcile that failed: what is recorded stays, only the reason is new.
pub fn failed(
    configuration: &Json,
    why: Failed<'_>,
    previous: Option<&Json>,
    templating: bool,
    now: &str,
) -> Json {
    let mut status = base(previous);
    roll(&mut status, rolling::next(configuration, templating, false));
    let reason = if why.refused { REFUSED } else { "ReconcileError" };
    finish(status, configuration, failure(reason, why.message), now)
}

/// The state of a rollout. A configuration that takes part again says no longer that it is a mere record.
fn roll(status: &mut Json, state: Option<String>) {
    if text(status, &["rollingStatus"]) == rolling::INACTIVE {
        let conditions = items(status, &["conditions"]).to_vec();
        let kept = conditions.into_iter().filter(|condition| text(condition, &["type"]) != "Ready");
        let kept = Json::Array(kept.collect());
        put(status, "conditions", kept);
    }
    put(status, "rollingStatus", state.map_or(json!([]), Json::String));
}

/// The status of the record of an old revision.
pub fn passive(configuration: &Json, previous: Option<&Json>, now: &str) -> Json {
    let mut status = base(previous);
    status["rollingStatus"] = json!(rolling::INACTIVE);
    let mut ready = json!({"type": "Ready", "status": "False", "reason": "Unavailable"});
    if let Some(message) = successor(configuration) {
        ready["message"] = json!(message);
    }
    finish(status, configuration, ready, now)
}

/// The new owner of the objects, in the words that acknowledge it.
fn successor(configuration: &Json) -> Option<String> {
    let generation = text(configuration, &["metadata", "annotations", annotations::APP_GENERATION]);
    (!generation.is_empty())
        .then(|| format!("generation {generation} of its Application takes its objects over"))
}

/// Does the configuration say itself that it leaves its objects to its Application? Its reconcile is over then, and no
/// other one begins: the words name the generation that asked, so an older answer is not taken for this one.
pub fn is_handed_over(configuration: &Json) -> bool {
    let conditions = items(configuration, &["status", "conditions"]);
    let ready = conditions.iter().find(|condition| text(condition, &["type"]) == "Ready");
    let said = ready.map_or("", |ready| text(ready, &["message"]));
    rolling::is_passive(configuration) && successor(configuration).is_some_and(|asked| asked == said)
}

/// The configuration as it is written to make it leave its objects to this generation of its Application.
pub fn handover(configuration: &Json, generation: i64) -> Json {
    let mut asked = json!({
        "apiVersion": configuration.get("apiVersion"),
        "kind": configuration.get("kind"),
        "metadata": {},
        "spec": configuration.get("spec"),
    });
    for field in ["name", "namespace", "labels", "annotations", "ownerReferences"] {
        if let Some(value) = configuration.get("metadata").and_then(|metadata| metadata.get(field)) {
            asked["metadata"][field] = value.clone();
        }
    }
    asked["metadata"]["annotations"][annotations::APP_REVISION] = json!("true");
    asked["metadata"]["annotations"][annotations::APP_GENERATION] = json!(generation.to_string());
    asked
}

/// The status with everything recorded that is about to be made; nothing when it is recorded already.
pub fn intended(graph: &Graph, previous: Option<&Json>) -> Option<Json> {
    let mut status = base(previous);
    let mut workloads = items(&status, &["workloads"]).to_vec();
    let before = workloads.clone();
    for component in graph.components() {
        let mut wanted = entry(component, previous);
        let known = workloads.iter_mut().rfind(|entry| {
            text(entry, &["componentName"]) == component.name
                && is_reference(entry.get("workloadRef"), &component.workload)
        });
        let Some(known) = known else {
            workloads.push(wanted);
            continue;
        };
        let mut traits = take(known, "traits");
        for (trait_, entry) in component.traits.iter().zip(take(&mut wanted, "traits")) {
            if !traits.iter().any(|known| is_reference(known.get("traitRef"), trait_)) {
                traits.push(entry);
            }
        }
        put(known, "traits", Json::Array(traits));
        let mut scopes = take(known, "scopes");
        for scope in take(&mut wanted, "scopes") {
            if !scopes.iter().any(|known| known.get("scopeRef") == scope.get("scopeRef")) {
                scopes.push(scope);
            }
        }
        put(known, "scopes", Json::Array(scopes));
    }
    if workloads == before {
        return None;
    }
    status["workloads"] = Json::Array(workloads);
    Some(status)
}

/// The messages of all findings with their places, for a condition.
pub fn message(found: &Diagnostics) -> String {
    let messages: Vec<String> = found
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| {
            let text = match diagnostic.path.as_str() {
                "" => diagnostic.message.clone(),
                path => format!("{} (at {path})", diagnostic.message),
            };
            diagnostic.hint.iter().fold(text, |text, hint| format!("{text}: {hint}"))
        })
        .collect();
    messages.join("; ")
}

fn base(previous: Option<&Json>) -> Json {
    let mut status = previous.filter(|status| status.is_object()).cloned().unwrap_or_else(|| json!({}));
    if !status.get("dependency").is_some_and(Json::is_object) {
        status["dependency"] = json!({});
    }
    status
}

/// The record of a component, with the foreign fields of its former entry.
fn entry(component: &RenderedComponent, previous: Option<&Json>) -> Json {
    let old = old_entry(component, previous);
    let mut entry = json!({"componentName": component.name, "workloadRef": component.workload_reference()});
    if !component.revision.is_empty() {
        entry["componentRevisionName"] = json!(component.revision);
    }
    if let Some(words) = old.and_then(|old| old.get("status")) {
        entry["status"] = words.clone();
    }
    if component.workload.unsatisfied {
        entry["dependencyUnsatisfied"] = json!(true);
    }
    let traits: Vec<Json> = component.traits.iter().map(|trait_| trait_entry(trait_, old)).collect();
    put(&mut entry, "traits", Json::Array(traits));
    let scopes = component.scopes.iter().map(|(key, _)| {
        let reference = json!({"apiVersion": key.api_version, "kind": key.kind, "name": key.name});
        let known = old.map_or(&[][..], |old| items(old, &["scopes"]));
        let mut scope = json!({"scopeRef": reference});
        if let Some(words) = known
            .iter()
            .find(|known| known.get("scopeRef") == Some(&reference))
            .and_then(|known| known.get("status"))
        {
            scope["status"] = words.clone();
        }
        scope
    });
    let scopes = Json::Array(scopes.collect());
    put(&mut entry, "scopes", scopes);
    entry
}

fn trait_entry(trait_: &RenderedObject, old: Option<&Json>) -> Json {
    let known = old.map_or(&[][..], |old| items(old, &["traits"]));
    let known = known.iter().find(|known| is_reference(known.get("traitRef"), trait_));
    let mut entry = json!({"traitRef": trait_.reference()});
    if let Some(words) = known.and_then(|known| known.get("status")) {
        entry["status"] = words.clone();
    }
    if trait_.unsatisfied {
        entry["dependencyUnsatisfied"] = json!(true);
    }
    if !trait_.defined {
        entry["message"] = json!(UNDEFINED);
    }
    entry
}

/// The entry of the same revision of the component.
fn old_entry<'a>(component: &RenderedComponent, previous: Option<&'a Json>) -> Option<&'a Json> {
    items(previous?, &["workloads"]).iter().rfind(|entry| {
        text(entry, &["componentName"]) == component.name
            && text(entry, &["componentRevisionName"]) == component.revision
    })
}

fn left_entry(garbage: &Garbage) -> Json {
    let key = &garbage.key;
    let reference = json!({"apiVersion": key.api_version, "kind": key.kind, "name": key.name});
    let mut entry = json!({"componentName": garbage.component});
    if !garbage.revision.is_empty() {
        entry["componentRevisionName"] = json!(garbage.revision);
    }
    match garbage.workload {
        true => entry["workloadRef"] = reference,
        false => entry["traits"] = json!([{"traitRef": reference}]),
    }
    entry
}

fn is_reference(reference: Option<&Json>, object: &RenderedObject) -> bool {
    reference.is_some_and(|reference| {
        let wanted = object.reference();
        ["apiVersion", "kind", "name"].iter().all(|field| reference.get(field) == wanted.get(field))
    })
}

/// Takes the list of a field out.
fn take(value: &mut Json, field: &str) -> Vec<Json> {
    match value.as_object_mut().and_then(|fields| fields.remove(field)) {
        Some(Json::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// The waits of the objects; none is an empty object.
fn dependency(graph: &Graph) -> Json {
    match graph.rendered().unsatisfied() {
        [] => json!({}),
        unsatisfied => json!({"unsatisfied": unsatisfied}),
    }
}

/// Sets a list, or leaves the field out for an empty one.
fn put(value: &mut Json, field: &str, list: Json) {
    if let Some(fields) = value.as_object_mut() {
        match list.as_array().is_some_and(Vec::is_empty) {
            true => fields.remove(field),
            false => fields.insert(field.to_owned(), list),
        };
    }
}

fn generation(configuration: &Json) -> i64 {
    let metadata = configuration.get("metadata");
    metadata.and_then(|metadata| metadata.get("generation")).and_then(Json::as_i64).unwrap_or(0)
}

fn succeeded() -> Json {
    json!({"type": "Synced", "status": "True", "reason": "ReconcileSuccess"})
}

fn failure(reason: &str, message: &str) -> Json {
    json!({"type": "Synced", "status": "False", "reason": reason, "message": message})
}

fn finish(mut status: Json, configuration: &Json, condition: Json, now: &str) -> Json {
    set_condition(&mut status, condition, now);
    status["observedGeneration"] = json!(generation(configuration));
    status
}

/// One condition a type; an equal one keeps its time, a new one stands last.
fn set_condition(status: &mut Json, mut condition: Json, now: &str) {
    condition["lastTransitionTime"] = json!(now);
    let mut conditions = items(status, &["conditions"]).to_vec();
    let old = conditions.iter_mut().find(|old| old.get("type") == condition.get("type"));
    match old {
        Some(old) if ["status", "reason", "message"].iter().all(|f| old.get(f) == condition.get(f)) => {}
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
    status["conditions"] = Json::Array(conditions);
}
