//! A ContainerizedWorkload in; the Deployment, Service and ConfigMaps that run it out.
//!
//! The Deployment and the Service are owned by the workload. A ConfigMap is owned by the Deployment, so it is made
//! once the Deployment has a uid. `replicas` is never set: it belongs to whoever scales the workload.

mod config;
mod deployment;
mod service;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vela_crds::containerized_workload::ContainerizedWorkload;
use vela_crds::{TypedReference, labels};

pub use config::config_maps;
pub use deployment::deployment;
pub use service::service;

/// `apiVersion` of the workload kind.
pub const API_VERSION: &str = "core.oam.dev/v1alpha2";
/// The workload kind.
pub const KIND: &str = "ContainerizedWorkload";

/// Why a workload cannot be turned into objects: the field, what was found there and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ContainerizedWorkload {name}: {field}: {message}")]
pub struct Error {
    /// Name of the workload.
    pub name: String,
    /// Path of the field, such as `spec.containers[0].config[1]`.
    pub field: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// The parts of the metadata that every object made from the workload needs.
struct Identity<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    labels: BTreeMap<&'a str, &'a str>,
    annotations: BTreeMap<&'a str, &'a str>,
}

fn identity(workload: &ContainerizedWorkload) -> Result<Identity<'_>, Error> {
    let metadata = &workload.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    // Selector and owner reference are made of the uid; an object that was never stored has none.
    let missing = |field: &str| Error {
        name: name.to_owned(),
        field: format!("metadata.{field}"),
        message: "is empty; only an object read from the API server can be rendered".to_owned(),
    };
    let uid = metadata.uid.as_deref().filter(|uid| !uid.is_empty()).ok_or_else(|| missing("uid"))?;
    if name.is_empty() {
        return Err(missing("name"));
    }
    Ok(Identity {
        name,
        namespace: metadata.namespace.as_deref().unwrap_or_default(),
        uid,
        labels: borrowed(metadata.labels.as_ref(), |_| true),
        // What another object was last applied as says nothing about its children.
        annotations: borrowed(metadata.annotations.as_ref(), |key| {
            !key.ends_with("/last-applied-configuration")
        }),
    })
}

fn borrowed(map: Option<&BTreeMap<String, String>>, keep: impl Fn(&str) -> bool) -> BTreeMap<&str, &str> {
    map.into_iter()
        .flatten()
        .filter(|(key, _)| keep(key))
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

impl Identity<'_> {
    /// The label that ties pods and Service to this workload and no other.
    fn selector(&self) -> Value {
        json!({ labels::CONTAINERIZED_WORKLOAD: self.uid })
    }

    fn owner(&self) -> Value {
        json!([{
            "apiVersion": API_VERSION, "kind": KIND, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        }])
    }
}

/// The references that stand in `status.resources`, for objects as the server returned them.
#[must_use]
pub fn resources(objects: &[Value]) -> Vec<TypedReference> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    objects
        .iter()
        .map(|object| TypedReference {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            name: text(&object["metadata"]["name"]),
            uid: object["metadata"]["uid"].as_str().map(str::to_owned),
        })
        .collect()
}

#[cfg(test)]
mod tests;
