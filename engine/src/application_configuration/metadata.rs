//! Writes labels, annotations, namespace and owner of a rendered object.

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};

use super::compose::owner_reference;
use super::parse::{Component, Parsed};
use super::text;
use crate::snapshot::Snapshot;

/// Annotations of a configuration that are its own business.
const NOT_PASSED: &[&str] = &[
    annotations::ROLLOUT_TEMPLATE,
    annotations::ROLLING_COMPONENTS,
    annotations::ROLLOUT_TARGET,
    annotations::INPLACE_UPGRADE,
    annotations::WORKLOAD_NAMES,
    annotations::APPLY_ONCE_ONLY,
    annotations::LAST_APPLIED_CONFIGURATION,
    annotations::APP_GENERATION,
    annotations::USERNAME,
    annotations::GROUP,
    annotations::SERVICE_ACCOUNT_NAME,
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Where the objects of a configuration get their metadata from.
pub(super) struct Source<'a> {
    pub(super) parsed: &'a Parsed,
    pub(super) snapshot: &'a Snapshot,
}

impl Source<'_> {
    /// Writes labels, annotations, namespace and owner into the object.
    pub(super) fn write(&self, object: &mut Json, component: &Component, role: &str) {
        if !object.get("metadata").is_some_and(Json::is_object) {
            object["metadata"] = json!({});
        }
        self.write_labels(object, component, role);
        self.write_annotations(object);
        self.write_owner(object);
    }

    fn passed(&self, field: &str) -> Map<String, Json> {
        let metadata = self.parsed.document.value().get("metadata");
        metadata.and_then(|m| m.get(field)).and_then(Json::as_object).cloned().unwrap_or_default()
    }

    fn write_labels(&self, object: &mut Json, component: &Component, role: &str) {
        let mut all = entries(object, "labels");
        for (key, value) in [
            (labels::APP_NAME, self.parsed.document.name()),
            (labels::APP_COMPONENT, &component.name),
            (labels::APP_COMPONENT_REVISION, &component.revision),
            (labels::RESOURCE_TYPE, role),
        ] {
            all.insert(key.to_owned(), json!(value));
        }
        // The configuration's own entry wins over the object's.
        all.extend(self.passed("labels"));
        object["metadata"]["labels"] = Json::Object(all);
    }

    fn write_annotations(&self, object: &mut Json) {
        let generation = self.parsed.document.value().get("metadata").and_then(|m| m.get("generation"));
        let generation = generation.and_then(Json::as_i64).unwrap_or(0);
        let mut all = entries(object, "annotations");
        all.insert(annotations::APP_GENERATION.to_owned(), json!(generation.to_string()));
        let mut passed = self.passed("annotations");
        passed.retain(|key, _| !NOT_PASSED.contains(&key.as_str()));
        all.extend(passed);
        object["metadata"]["annotations"] = Json::Object(all);
    }

    /// An owner must live in the object's namespace: the garbage collector deletes an object whose owner it cannot
    /// find there. An object elsewhere has no owner, but says to whom it belongs.
    fn write_owner(&self, object: &mut Json) {
        let own = &self.parsed.namespace;
        let resource = self.snapshot.resource(text(object, &["apiVersion"]), text(object, &["kind"]));
        let configuration = self.parsed.document.value();
        let metadata = &mut object["metadata"];
        if resource.is_some_and(|resource| !resource.namespaced) {
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.remove("namespace");
            }
        } else if text(metadata, &["namespace"]).is_empty() {
            metadata["namespace"] = json!(own);
        }
        let Some(owner) = owner_reference(configuration) else { return };
        if text(metadata, &["namespace"]) == own {
            metadata["ownerReferences"] = json!([owner]);
        } else {
            let mark = format!("{own}/{}/{}", text(&owner, &["name"]), text(&owner, &["uid"]));
            metadata["annotations"][annotations::CONFIGURATION] = json!(mark);
        }
    }
}

fn entries(object: &Json, field: &str) -> Map<String, Json> {
    let metadata = object.get("metadata");
    metadata.and_then(|m| m.get(field)).and_then(Json::as_object).cloned().unwrap_or_default()
}
