//! A standard.oam.dev workload or trait and what was read beside it in; the objects it asks for, and its verdict, out.
//!
//! | module | in → out |
//! |---|---|
//! | [`pod_spec_workload`] | pods and their number → Deployment, Service |
//! | [`route`] | a host, its rules, the workload's Services → Service, Ingresses, what they still wait for |
//! | [`autoscaler`] | triggers and a target → KEDA ScaledObject; [`cron`] makes its clock |
//! | [`metrics_trait`] | where metrics are → Service, ServiceMonitor |
//! | [`definition`], [`pods`] | a workload and its definition → its children's kinds, its pods' labels and ports |

pub mod autoscaler;
pub mod cron;
pub mod definition;
pub mod metrics_trait;
pub mod pod_spec_workload;
pub mod pods;
pub mod route;

use serde_json::{Map, Value, json};
use vela_crds::TypedReference;

/// API version of every kind here.
pub const API_VERSION: &str = "standard.oam.dev/v1alpha1";

/// Why an object cannot be made: where the cause stands, what is wrong there, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Error {
    /// Object and field, such as `Route shop: spec.rules[1]`.
    pub place: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Error {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

/// The metadata that what is made for an object takes over.
struct Identity<'a> {
    kind: &'static str,
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
}

impl<'a> Identity<'a> {
    fn of<K: kube::Resource<DynamicType = ()>>(object: &'a K, kind: &'static str) -> Result<Self, Error> {
        let metadata = object.meta();
        let (name, uid) = (metadata.name.as_deref(), metadata.uid.as_deref());
        match (name.filter(|name| !name.is_empty()), uid.filter(|uid| !uid.is_empty())) {
            (Some(name), Some(uid)) => {
                Ok(Self { kind, name, uid, namespace: metadata.namespace.as_deref().unwrap_or_default() })
            }
            // Owner references are made of both; an object that was never stored has no uid.
            _ => Err(Error::new(
                format!("{kind} {}", name.unwrap_or_default()),
                "has no name or no uid; only an object read from the API server can be rendered",
            )),
        }
    }

    /// The reference that makes the object the controller of what is made for it.
    fn owner(&self) -> Value {
        json!([{
            "apiVersion": API_VERSION, "kind": self.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        }])
    }

    /// A field of the object, as errors name it.
    fn place(&self, field: &str) -> String {
        format!("{} {}: {field}", self.kind, self.name)
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

/// A field of a map; nothing where it is absent, null, or the value is no map.
fn at<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|value| !value.is_null())
}

/// The labels of an object or of a template.
fn labels(object: &Value) -> Map<String, Value> {
    object["metadata"]["labels"].as_object().cloned().unwrap_or_default()
}
