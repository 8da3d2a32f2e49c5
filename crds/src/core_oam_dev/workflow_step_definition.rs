//! WorkflowStepDefinition: a step type that workflows can name.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DefinitionReference, DefinitionStatus, Schematic};

/// What a step type is made of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "WorkflowStepDefinition",
    plural = "workflowstepdefinitions",
    namespaced,
    status = "DefinitionStatus",
    shortname = "workflowstep",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A step type that workflows can name."
)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowStepDefinitionSpec {
    /// The resource behind the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// The template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Version of the definition, as semver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
