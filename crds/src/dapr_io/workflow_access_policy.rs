//! WorkflowAccessPolicy (v1alpha1): which applications may do what with the workflows and activities of another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which applications may do what with workflows and activities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowAccessPolicy {
    /// Ids of the applications whose workflows it guards; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// What is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<WorkflowAccessPolicySpec>,
}

/// What is allowed; everything else is denied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowAccessPolicySpec {
    /// One that matches allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<WorkflowAccessRule>,
}

/// Callers, and what they may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowAccessRule {
    /// The callers.
    #[schemars(length(min = 1))]
    pub callers: Vec<WorkflowCaller>,
    /// Workflows they may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<WorkflowRule>,
    /// Activities they may schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activities: Vec<ActivityRule>,
}

/// An application that calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowCaller {
    /// Its id.
    #[serde(rename = "appID")]
    #[schemars(length(min = 1))]
    pub app_id: String,
}

/// Workflows, and what may be done with them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRule {
    /// Name of the workflow, or a pattern.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What may be done.
    #[schemars(length(min = 1))]
    pub operations: Vec<WorkflowOperation>,
}

/// What may be done with a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkflowOperation {
    /// Start one.
    Schedule,
    /// End one.
    Terminate,
    /// Send it an event.
    Raise,
    /// Let it wait.
    Pause,
    /// Let it go on.
    Resume,
    /// Remove its state.
    Purge,
    /// Read its state.
    Get,
    /// Run it again.
    Rerun,
}

/// Activities that may be scheduled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityRule {
    /// Name of the activity, or a pattern.
    #[schemars(length(min = 1))]
    pub name: String,
}
