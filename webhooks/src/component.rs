//! Mutates a Component, whose workload gets its kind, and validates it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vela_engine::application_configuration::type_resolution;
use vela_engine::{DefinitionKind, Snapshot};

use crate::fields;
use crate::review::Review;
use crate::verdict::{Cause, Refusal, Verdict};

/// Gives a workload that is written by `type` its kind, its namespace and the component's labels and annotations. The
/// workload's own labels and annotations stay where the component does not say otherwise.
pub fn mutate(review: &Review, snapshot: &Snapshot) -> Verdict {
    let workload = &review.object["spec"]["workload"];
    if workload.get("type").is_some_and(|type_| !type_.is_string()) {
        return Verdict::bad_request("spec.workload.type", "the type of a workload must be a string");
    }
    match type_resolution::workload_object(&review.object, snapshot) {
        Ok(None) => Verdict::allowed(),
        Err(message) => Verdict::bad_request("spec.workload.type", message),
        Ok(Some(mut typed)) => {
            let namespace = review.object_namespace();
            if !namespace.is_empty() && typed["metadata"].is_object() {
                typed["metadata"]["namespace"] = json!(namespace);
            }
            let mut object = review.object.clone();
            if let Some(place) = object.pointer_mut("/spec/workload") {
                *place = typed;
            }
            Verdict::changed(review, &object)
        }
    }
}

/// Judges a component: a name, and a workload that says its kind.
pub fn validate(review: &Review, snapshot: &Snapshot) -> Verdict {
    if !review.concerns_a_living_object() {
        return Verdict::allowed();
    }
    let mut causes = fields::metadata(&review.object);
    causes.extend(workload(&review.object["spec"]["workload"], snapshot));
    let warnings = parameters(&review.object["spec"]["parameters"]);
    Verdict { warnings, ..Verdict::refused(Refusal::Denied, causes) }
}

fn workload(workload: &Value, snapshot: &Snapshot) -> Vec<Cause> {
    let path = "spec.workload";
    if !workload.is_object() {
        return vec![Cause::invalid(
            path,
            "the workload is malformat: expected an object with apiVersion and kind",
        )];
    }
    let says = |field: &str| workload[field].as_str().is_some_and(|text| !text.is_empty());
    let mut causes = Vec::new();
    for field in ["apiVersion", "kind"] {
        if !says(field) {
            let message = format!("the workload data missing GVK, it has no {field}");
            causes.push(Cause::required(format!("{path}.{field}"), message));
        }
    }
    // Kinds have a `type` of their own as well, such as Secret.
    if let Some(type_) = workload.get("type") {
        let names_a_definition =
            type_.as_str().is_none_or(|name| snapshot.definition(DefinitionKind::Workload, name).is_some());
        if names_a_definition || !causes.is_empty() {
            let message = "the workload contains `type`: write apiVersion and kind, or have the mutating webhook convert it";
            causes.push(Cause::invalid(format!("{path}.type"), message));
        }
    }
    causes
}

/// Parameters that could never be used as written: a reconcile says so when an author gives them.
fn parameters(list: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (index, parameter) in list.as_array().into_iter().flatten().enumerate() {
        let name = parameter["name"].as_str().unwrap_or_default();
        if !seen.insert(name) {
            warnings.push(format!(
                "spec.parameters[{index}].name: {name:?} is declared twice; the values of both are written"
            ));
        }
        for (place, path) in parameter["fieldPaths"].as_array().into_iter().flatten().enumerate() {
            if let Err(error) = vela_engine::field_path::parse(path.as_str().unwrap_or_default()) {
                warnings
                    .push(format!("spec.parameters[{index}].fieldPaths[{place}]: no field path: {error}"));
            }
        }
    }
    warnings
}
