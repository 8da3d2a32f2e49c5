//! DefinitionRevision: a definition, frozen.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Raw;

/// A definition as it was; the member of its kind holds the whole object.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "DefinitionRevision",
    plural = "definitionrevisions",
    namespaced,
    shortname = "defrev",
    shortname = "comprev",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A definition, frozen.",
    printcolumn = r#"{"name":"REVISION","type":"integer","jsonPath":".spec.revision"}"#,
    printcolumn = r#"{"name":"HASH","type":"string","jsonPath":".spec.revisionHash"}"#,
    printcolumn = r#"{"name":"TYPE","type":"string","jsonPath":".spec.definitionType"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionRevisionSpec {
    /// Number, counted from one.
    pub revision: i64,
    /// Hash of the definition.
    pub revision_hash: String,
    /// Kind of the definition.
    pub definition_type: DefinitionType,
    /// The ComponentDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_definition: Option<Raw>,
    /// The TraitDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trait_definition: Option<Raw>,
    /// The PolicyDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_definition: Option<Raw>,
    /// The WorkflowStepDefinition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_step_definition: Option<Raw>,
}

/// Kind of a frozen definition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefinitionType {
    /// A ComponentDefinition.
    #[default]
    Component,
    /// A TraitDefinition.
    Trait,
    /// A PolicyDefinition.
    Policy,
    /// A WorkflowStepDefinition.
    WorkflowStep,
}
