//! WorkloadDefinition: a kind of workload, or (v1alpha2) a component type with its template.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;
use crate::{ChildResourceKind, DefinitionReference, DefinitionStatusTexts, Schematic};

/// What a workload kind is made of.
///
/// The status is not a subresource: a normal update writes it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "WorkloadDefinition",
    plural = "workloaddefinitions",
    namespaced,
    shortname = "workload",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A kind of workload.",
    printcolumn = r#"{"name":"DEFINITION-NAME","type":"string","jsonPath":".spec.definitionRef.name"}"#,
    printcolumn = r#"{"name":"DESCRIPTION","type":"string","jsonPath":".metadata.annotations.definition\\.oam\\.dev/description"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDefinitionSpec {
    /// The resource behind the workload.
    pub definition_ref: DefinitionReference,
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
    /// Free area of the platform; `template` holds a CUE text in old definitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<Raw>,
}
