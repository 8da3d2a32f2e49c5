//! PodSpecWorkload: a Deployment described by nothing but its pods.

use k8s_openapi::api::core::v1::PodSpec;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, Raw, TypedReference};

/// Pods and their number.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "PodSpecWorkload",
    plural = "podspecworkloads",
    namespaced,
    status = "PodSpecWorkloadStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A Deployment described by nothing but its pods."
)]
#[serde(rename_all = "camelCase")]
pub struct PodSpecWorkloadSpec {
    /// Number of pods; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The pods, as Kubernetes describes them; kept as written.
    #[schemars(with = "PodSpec")]
    pub pod_spec: Raw,
}

/// Status of a PodSpecWorkload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSpecWorkloadStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What was made for the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<TypedReference>,
}

impl Conditioned for PodSpecWorkloadStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
