//! Autoscaler: scales a workload by metrics or by the clock.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// How far a workload may grow and shrink, and why.
///
/// The status is not a subresource: a normal update writes it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "Autoscaler",
    plural = "autoscalers",
    namespaced,
    status = "AutoscalerStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Scales a workload by metrics or by the clock."
)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerSpec {
    /// Least number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// Greatest number of replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// What makes the workload grow and shrink.
    pub triggers: Vec<AutoscalerTrigger>,
    /// What is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_workload: Option<TargetWorkload>,
    /// The workload the trait belongs to; the controller fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<TypedReference>,
}

/// One reason to grow or shrink.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerTrigger {
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is looked at: `cpu`, `cron` and whatever the scaler knows.
    #[serde(rename = "type")]
    pub trigger_type: String,
    /// Settings of this kind of trigger.
    pub condition: BTreeMap<String, String>,
}

/// What is scaled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetWorkload {
    /// API version of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the object.
    pub name: String,
}

/// Status of an Autoscaler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Conditioned for AutoscalerStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
