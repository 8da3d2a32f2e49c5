//! The workflow of an Application: steps, their order and the values between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// The workflow of an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// Name of a Workflow object that holds the steps.
    #[serde(rename = "ref")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_ref: Option<String>,
    /// How steps follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WorkflowMode>,
    /// The steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<WorkflowStep>,
}

/// How steps follow each other: `StepByStep` or `DAG`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowMode {
    /// Order of the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<String>,
    /// Order of the steps within a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_steps: Option<String>,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStep {
    /// Name, unique within the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of a WorkflowStepDefinition.
    #[serde(rename = "type")]
    pub step_type: String,
    /// What people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<StepMeta>,
    /// When the step runs, as a CUE expression or `always`.
    #[serde(rename = "if")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How long the step may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// How the step is tried again when something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<StepRetry>,
    /// Steps that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Values taken from other steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<StepInput>,
    /// Values given to other steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<StepOutput>,
    /// Parameters of the step type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
    /// Order of the steps within this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Steps of this group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sub_steps: Vec<WorkflowSubStep>,
}

/// One step within a group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowSubStep {
    /// Name, unique within the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of a WorkflowStepDefinition.
    #[serde(rename = "type")]
    pub step_type: String,
    /// What people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<StepMeta>,
    /// When the step runs, as a CUE expression or `always`.
    #[serde(rename = "if")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// How long the step may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// How the step is tried again when something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<StepRetry>,
    /// Steps that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Values taken from other steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<StepInput>,
    /// Values given to other steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<StepOutput>,
    /// Parameters of the step type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
}

/// What people see of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepMeta {
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// How a step is tried again when something went wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRetry {
    /// How often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// The wait before the second try, doubled for each one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<String>,
}

/// A value taken from another step or component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepInput {
    /// Name of the output.
    pub from: String,
    /// Where the value goes in the parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_key: Option<String>,
}

/// A value given to other steps or components.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepOutput {
    /// Name of the output.
    pub name: String,
    /// CUE expression of the value.
    pub value_from: String,
}
