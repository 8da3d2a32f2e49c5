//! WorkflowRun (v1alpha1): one run of a workflow that belongs to no Application.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_oam_dev::application::{WorkflowMode, WorkflowStep, WorkflowStepStatus};
use crate::{Condition, ObjectReference, Raw};

/// Which steps to run, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha1",
    kind = "WorkflowRun",
    plural = "workflowruns",
    namespaced,
    status = "WorkflowRunStatus",
    shortname = "wr",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "One run of a workflow that belongs to no Application.",
    printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.status"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRunSpec {
    /// How steps follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkflowMode>,
    /// What steps may name as `context`, beside the name and the namespace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Raw>,
    /// Name of a Workflow object that holds the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_ref: Option<String>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_spec: Option<WorkflowRunSteps>,
}

/// The steps of a run that names no Workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRunSteps {
    /// In the order written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStep>,
}

/// How far the run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowRunStatus {
    /// Why it does not begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// How steps follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkflowMode>,
    /// `initializing`, `executing`, `suspending`, `terminated`, `failed`, `succeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// It waits for a person.
    #[serde(default)]
    pub suspend: bool,
    /// Why it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_state: Option<String>,
    /// A step failed for good, or a person ended it.
    #[serde(default)]
    pub terminated: bool,
    /// It is over.
    #[serde(default)]
    pub finished: bool,
    /// ConfigMap with the values between steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_backend: Option<ObjectReference>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStepStatus>,
    /// Beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// End.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
}
