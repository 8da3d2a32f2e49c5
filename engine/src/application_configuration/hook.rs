//! The custom revision hook: what it is asked, and its answer merged over the Component before the snapshot.

use serde_json::{Value as Json, json};

use super::revision::component_of;
use super::{items, text};

/// The request to the hook: the Component, and the configurations (namespace, name) that use it; null when none does.
pub fn request(component: &Json, users: &[(String, String)]) -> Json {
    let related: Vec<Json> =
        users.iter().map(|(namespace, name)| json!({"Namespace": namespace, "Name": name})).collect();
    let related = if related.is_empty() { Json::Null } else { Json::Array(related) };
    json!({"relatedApps": related, "component": component})
}

/// Does the configuration use the component, at its latest or at a fixed revision?
pub fn uses(configuration: &Json, component: &str) -> bool {
    items(configuration, &["spec", "components"]).iter().any(|entry| {
        text(entry, &["componentName"]) == component
            || component_of(text(entry, &["revisionName"])) == component
    })
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not JSON.
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    /// JSON, but no object.
    #[error("the answer must be a Component as a JSON object, not {0}")]
    NotAnObject(&'static str),
    /// A Component without a workload.
    #[error("the answer leaves the component without spec.workload")]
    NoWorkload,
}

/// The Component with the answer merged over it. Whatever the answer says, it stays the same object.
///
/// # Errors
/// The answer is no Component.
pub fn merge(component: &Json, answer: &[u8]) -> Result<Json, Error> {
    let answer: Json = serde_json::from_slice(answer).map_err(|error| Error::NotJson(error.to_string()))?;
    if !answer.is_object() {
        return Err(Error::NotAnObject(crate::field_path::type_name(&answer)));
    }
    let mut merged = component.clone();
    json_patch::merge(&mut merged, &answer);
    for field in ["apiVersion", "kind"] {
        merged[field] = component.get(field).cloned().unwrap_or(Json::Null);
    }
    let identity = ["name", "namespace", "uid", "generation", "resourceVersion", "creationTimestamp"];
    for field in identity {
        match component.get("metadata").and_then(|metadata| metadata.get(field)) {
            Some(value) => merged["metadata"][field] = value.clone(),
            None => {
                let metadata = merged.get_mut("metadata").and_then(Json::as_object_mut);
                metadata.map(|metadata| metadata.remove(field));
            }
        }
    }
    if !merged.get("spec").and_then(|spec| spec.get("workload")).is_some_and(Json::is_object) {
        return Err(Error::NoWorkload);
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> Json {
        json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
            "metadata": {"name": "web", "namespace": "ns", "uid": "1", "labels": {"a": "b"}},
            "spec": {"workload": {"kind": "A", "spec": {"x": 1, "y": 2}}}})
    }

    #[test]
    fn it_is_asked_with_the_configurations_that_use_the_component() {
        let asked = request(&component(), &[("ns".to_owned(), "shop".to_owned())]);
        assert_eq!(asked["relatedApps"], json!([{"Namespace": "ns", "Name": "shop"}]));
        assert_eq!(asked["component"], component());
        assert_eq!(request(&component(), &[])["relatedApps"], Json::Null);
        let using = |entry: Json| uses(&json!({"spec": {"components": [entry]}}), "web");
        assert!(using(json!({"componentName": "web"})) && using(json!({"revisionName": "web-v3"})));
        assert!(!using(json!({"componentName": "web-two"})) && !using(json!({"revisionName": "web-two-v3"})));
    }

    #[test]
    fn its_answer_is_merged_and_cannot_change_who_the_component_is() {
        let answer = json!({"kind": "Pod", "metadata": {"name": "other", "labels": {"c": "d"}},
            "spec": {"workload": {"spec": {"x": 3}}}});
        let merged = merge(&component(), answer.to_string().as_bytes()).unwrap();
        assert_eq!(merged["metadata"]["name"], "web");
        assert_eq!(merged["kind"], "Component");
        assert_eq!(merged["metadata"]["labels"], json!({"a": "b", "c": "d"}));
        assert_eq!(merged["spec"]["workload"]["spec"], json!({"x": 3, "y": 2}));
        assert_eq!(merge(&component(), b"{}"), Ok(component()));
        assert_eq!(merge(&component(), b"[]"), Err(Error::NotAnObject("an array")));
        assert!(matches!(merge(&component(), b"<html>"), Err(Error::NotJson(_))));
        assert_eq!(merge(&component(), br#"{"spec": null}"#), Err(Error::NoWorkload));
    }
}
