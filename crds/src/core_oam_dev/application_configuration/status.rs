//! Status of an ApplicationConfiguration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// Status of an ApplicationConfiguration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfigurationStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Summary for people; kept, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What waits for what; always written.
    #[serde(default)]
    pub dependency: DependencyStatus,
    /// State of a rollout's template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_status: Option<String>,
    /// The workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadStatus>,
    /// Generation this status tells of; always written.
    #[serde(default)]
    pub observed_generation: i64,
    /// Workloads of old component revisions that still exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history_workloads: Vec<HistoryWorkload>,
}

impl Conditioned for ApplicationConfigurationStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}

/// What waits for what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyStatus {
    /// The values that are not there yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsatisfied: Vec<UnsatisfiedDependency>,
}

/// A value that is not there yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnsatisfiedDependency {
    /// Why.
    pub reason: String,
    /// Where it comes from.
    pub from: DependencyFrom,
    /// Who waits for it.
    pub to: DependencyTo,
}

/// Where a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyFrom {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Place in the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
}

/// Who waits for a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyTo {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Places in the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_paths: Vec<String>,
}

/// One workload with its traits and scopes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Summary for people; kept, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_name: Option<String>,
    /// Revision of the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_revision_name: Option<String>,
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<TypedReference>,
    /// Its traits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<WorkloadTraitStatus>,
    /// Its scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<WorkloadScopeStatus>,
    /// Waits for a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_unsatisfied: Option<bool>,
    /// Revision that was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_component_revision: Option<String>,
}

/// One trait of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTraitStatus {
    /// Summary for people; kept, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The trait.
    pub trait_ref: TypedReference,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Generation that was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_generation: Option<i64>,
    /// Waits for a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_unsatisfied: Option<bool>,
}

/// One scope of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadScopeStatus {
    /// Summary for people; kept, never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The scope.
    pub scope_ref: TypedReference,
}

/// The workload of an old component revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryWorkload {
    /// The revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<TypedReference>,
}
