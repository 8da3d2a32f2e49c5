//! ComponentDefinition: a component type that users can name.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;
use crate::{ChildResourceKind, DefinitionStatus, DefinitionStatusTexts, Schematic, WorkloadGvk};

/// What a component type is made of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ComponentDefinition",
    plural = "componentdefinitions",
    namespaced,
    status = "DefinitionStatus",
    shortname = "comp",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A component type that users can name.",
    printcolumn = r#"{"name":"WORKLOAD-KIND","type":"string","jsonPath":".spec.workload.definition.kind"}"#,
    printcolumn = r#"{"name":"DESCRIPTION","type":"string","jsonPath":".metadata.annotations.definition\\.oam\\.dev/description"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ComponentDefinitionSpec {
    /// The workload this type makes; without, what the template makes is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadTypeDescriptor>,
    /// Kinds the workload makes in its turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub child_resource_kinds: Vec<ChildResourceKind>,
    /// Label by which traits select the pods of one revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_label: Option<String>,
    /// Where the workload holds its pod spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_spec_path: Option<String>,
    /// How to read health and status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DefinitionStatusTexts>,
    /// The template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Free area of the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<Raw>,
    /// Version of the definition, as semver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The workload of a component type: by name of a WorkloadDefinition or by kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTypeDescriptor {
    /// Name of a WorkloadDefinition.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_type: Option<String>,
    /// The kind itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<WorkloadGvk>,
}
