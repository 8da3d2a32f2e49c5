//! HealthScope (v1alpha2): the joint health of several workloads.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// The joint health of several workloads.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "HealthScope",
    plural = "healthscopes",
    namespaced,
    status = "HealthScopeStatus",
    category = "crossplane",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "The joint health of several workloads.",
    printcolumn = r#"{"name":"HEALTH","type":"string","jsonPath":".status.scopeHealthCondition.healthStatus"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct HealthScopeSpec {
    /// Seconds one round of questions may take.
    #[serde(rename = "probe-timeout")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_timeout: Option<i32>,
    /// Seconds between rounds.
    #[serde(rename = "probe-interval")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe_interval: Option<i32>,
    /// The workloads.
    pub workload_refs: Vec<TypedReference>,
}

/// Health of a workload or of a scope; a word that is none of these reads as unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HealthStatus {
    /// Well.
    Healthy,
    /// Not well.
    Unhealthy,
    /// The health is unknown.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Status of a HealthScope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthScopeStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Health of the whole scope.
    pub scope_health_condition: ScopeHealthCondition,
    /// Health of each workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health_conditions: Vec<WorkloadHealthCondition>,
}

/// Health of the whole scope; counts that are zero are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeHealthCondition {
    /// The verdict.
    #[schemars(with = "String")]
    pub health_status: HealthStatus,
    /// Number of workloads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub total: i64,
    /// Workloads that are well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub healthy_workloads: i64,
    /// Workloads that are not well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unhealthy_workloads: i64,
    /// Workloads of unknown health.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_workloads: i64,
}

fn is_zero(count: &i64) -> bool {
    *count == 0
}

/// Health of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadHealthCondition {
    /// Component the workload belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_name: Option<String>,
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_workload: Option<TypedReference>,
    /// The verdict.
    #[schemars(with = "String")]
    pub health_status: HealthStatus,
    /// Why it is not well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<String>,
    /// Status of the workload, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_status: Option<String>,
}

impl Conditioned for HealthScopeStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
