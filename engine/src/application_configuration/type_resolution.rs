//! Resolves traits written as `name` and `properties`, and workloads written as `type`, to objects with a kind.
//!
//! An admission webhook converts them where one is installed; this code needs none.

use serde_json::{Map, Value as Json, json};
use vela_crds::labels;

use super::text;
use crate::definition::{Definition, DefinitionKind};
use crate::parse::resource_of;
use crate::snapshot::Snapshot;

/// The name of the definition a trait is written with, "" for a trait with its kind.
pub fn trait_type(trait_: &Json) -> &str {
    text(trait_, &["name"])
}

/// The name of the definition a workload may be written with. Kinds have a `type` of their own, too (a Secret), so a
/// workload that says its kind is meant by it unless a definition of that name exists.
pub fn workload_type(workload: &Json) -> &str {
    text(workload, &["type"])
}

fn kind_of(definition: &Definition, snapshot: &Snapshot) -> Result<(String, String), String> {
    let (name, version) = resource_of(definition);
    let known = snapshot.registered(&name, &version).cloned();
    known.ok_or_else(|| {
        let noun = definition.kind().noun();
        format!(
            "{noun} definition {:?} is for {name:?}, which the cluster does not know: install it first",
            definition.name()
        )
    })
}

/// The trait as an object, if it is written by name: `properties` is its `spec`.
///
/// # Errors
/// There is no such definition, or the cluster does not know its kind.
pub fn trait_object(trait_: &Json, snapshot: &Snapshot) -> Result<Option<Json>, String> {
    let name = match trait_.get("name") {
        None => return Ok(None),
        Some(Json::String(name)) => name,
        Some(_) => return Err("the name of a trait must be a string".to_owned()),
    };
    let Some(definition) = snapshot.definition(DefinitionKind::Trait, name) else {
        return Err(format!("trait definition {name:?} not found"));
    };
    let (api_version, kind) = kind_of(definition, snapshot)?;
    let mut object = trait_.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("name");
        if let Some(properties) = fields.remove("properties") {
            fields.insert("spec".to_owned(), properties);
        }
    }
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    if !object.get("metadata").is_some_and(Json::is_object) {
        object["metadata"] = json!({});
    }
    if !object["metadata"].get("labels").is_some_and(Json::is_object) {
        object["metadata"]["labels"] = json!({});
    }
    object["metadata"]["labels"][labels::TRAIT_TYPE] = json!(name);
    Ok(Some(object))
}

/// The workload as an object, if it is written by type: it takes over the component's labels and annotations.
///
/// # Errors
/// There is no such definition, or the cluster does not know its kind.
pub fn workload_object(component: &Json, snapshot: &Snapshot) -> Result<Option<Json>, String> {
    let workload = component.get("spec").and_then(|spec| spec.get("workload"));
    let Some(workload) = workload.filter(|workload| workload.get("type").is_some()) else { return Ok(None) };
    let has_kind = !text(workload, &["kind"]).is_empty();
    let Some(definition) = snapshot.definition(DefinitionKind::Workload, workload_type(workload)) else {
        return match has_kind {
            true => Ok(None),
            false => Err(format!("workload definition {:?} not found", workload_type(workload))),
        };
    };
    let (api_version, kind) = kind_of(definition, snapshot)?;
    let mut object = workload.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("type");
    }
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    if !object.get("metadata").is_some_and(Json::is_object) {
        object["metadata"] = json!({});
    }
    let taken = |field: &str| -> Map<String, Json> {
        let of = |value: &Json| {
            let metadata = value.get("metadata");
            metadata.and_then(|m| m.get(field)).and_then(Json::as_object).cloned().unwrap_or_default()
        };
        let mut all = of(workload);
        all.extend(of(component));
        all
    };
    let mut all_labels = taken("labels");
    all_labels.insert(labels::WORKLOAD_TYPE.to_owned(), json!(definition.name()));
    object["metadata"]["labels"] = Json::Object(all_labels);
    let annotations = taken("annotations");
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = Json::Object(annotations);
    }
    Ok(Some(object))
}
