//! An object of ours in; what every object made for it has of it out: names, owner reference, labels, annotations.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use vela_crds::TypedReference;

/// Why an object cannot be made: where the cause stands, what is wrong there, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Error {
    /// Object and field, such as `Route shop: spec.rules[1]`.
    pub place: String,
    /// The error and its remedy.
    pub message: String,
}

impl Error {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

/// The metadata that what is made for an object takes over.
pub(crate) struct Identity<'a> {
    api_version: String,
    kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    labels: Option<&'a BTreeMap<String, String>>,
    annotations: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Identity<'a> {
    pub(crate) fn of<K>(object: &'a K, kind: &'static str) -> Result<Self, Error>
    where
        K: kube::Resource<DynamicType = ()>,
    {
        let metadata = object.meta();
        let (name, uid) = (metadata.name.as_deref(), metadata.uid.as_deref());
        let (Some(name), Some(uid)) =
            (name.filter(|name| !name.is_empty()), uid.filter(|uid| !uid.is_empty()))
        else {
            // Owner references are made of both; an object that was never stored has no uid.
            return Err(Error::new(
                format!("{kind} {}", name.unwrap_or_default()),
                "has no name or no uid; only an object read from the API server can be rendered",
            ));
        };
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let api_version = K::api_version(&()).into_owned();
        let (labels, annotations) = (metadata.labels.as_ref(), metadata.annotations.as_ref());
        Ok(Self { api_version, kind, name, namespace, uid, labels, annotations })
    }

    /// The reference that makes the object the controller of what is made for it.
    pub(crate) fn owner(&self) -> Value {
        json!([{
            "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        }])
    }

    /// A field of the object, as errors name it.
    pub(crate) fn place(&self, field: &str) -> String {
        format!("{} {}: {field}", self.kind, self.name)
    }

    /// Its labels.
    pub(crate) fn labels(&self) -> Map<String, Value> {
        self.labels.into_iter().flatten().map(|(key, value)| (key.clone(), json!(value))).collect()
    }

    /// Its annotations but those that tell what the object itself was last applied as.
    pub(crate) fn annotations(&self) -> Map<String, Value> {
        let all = self.annotations.into_iter().flatten();
        all.filter(|(key, _)| !key.ends_with("/last-applied-configuration"))
            .map(|(key, value)| (key.clone(), json!(value)))
            .collect()
    }

    /// The labels of its pods: its own, and those of the selector, which must find the pods whatever its own say.
    pub(crate) fn pod_labels(&self, selector: &Map<String, Value>) -> Map<String, Value> {
        self.labels().into_iter().chain(selector.clone()).collect()
    }

    /// The Deployment of its name, with its labels.
    pub(crate) fn deployment(&self, annotations: Map<String, Value>, spec: Value) -> Value {
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": self.labels(),
                "annotations": annotations,
                "ownerReferences": self.owner(),
            },
            "spec": spec,
        })
    }

    /// The Service of its name, which reaches the pods with these labels.
    pub(crate) fn service(&self, selector: &Map<String, Value>, ports: Vec<Value>) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": selector,
                "ownerReferences": self.owner(),
            },
            "spec": { "type": "ClusterIP", "selector": selector, "ports": ports },
        })
    }
}

/// The reference to a live object, as a status carries it.
#[must_use]
pub fn reference(object: &Value) -> TypedReference {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    TypedReference {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
        name: text(&object["metadata"]["name"]),
        uid: object["metadata"]["uid"].as_str().map(str::to_owned),
    }
}
