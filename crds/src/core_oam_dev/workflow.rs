//! Workflow (v1alpha1): a workflow that several Applications name; it has fields instead of a spec.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_oam_dev::application::{WorkflowMode, WorkflowStep};

/// What a Workflow holds beside its metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowFields {
    /// How steps follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkflowMode>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStep>,
}
