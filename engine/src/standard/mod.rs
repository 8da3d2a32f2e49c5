//! The workloads and traits of standard.oam.dev: the objects each asks for, and its verdict; pure.
//!
//! | module | in → out |
//! |---|---|
//! | [`pod_spec_workload`] | pods and their number → Deployment, Service |
//! | [`route`] | a host, its rules, the workload's Services → Service, Ingresses, what they still wait for |
//! | [`autoscaler`] | triggers and a target → KEDA ScaledObject; [`cron`] makes its clock |
//! | [`horizontal_pod_autoscaler`] | the same without KEDA → HorizontalPodAutoscaler, and what it leaves out |
//! | [`metrics_trait`] | where metrics are → Service, ServiceMonitor |
//! | [`definition`], [`pods`] | a workload and its definition → its children's kinds, its pods' labels and ports |

pub mod autoscaler;
pub mod cron;
pub mod definition;
pub mod horizontal_pod_autoscaler;
pub mod metrics_trait;
pub mod pod_spec_workload;
pub mod pods;
pub mod route;

use serde_json::{Map, Value};

use crate::dependent::Identity;
pub use crate::dependent::{Error, reference};

/// API version of every kind here.
pub const API_VERSION: &str = "standard.oam.dev/v1alpha1";

/// A field of a map; nothing where it is absent, null, or the value is no map.
fn at<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|value| !value.is_null())
}

/// The labels of an object or of a template.
fn labels(object: &Value) -> Map<String, Value> {
    object["metadata"]["labels"].as_object().cloned().unwrap_or_default()
}
