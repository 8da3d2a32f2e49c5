//! TraitDefinition: a trait type that users can attach to components.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::{Raw, is_false};
use crate::{DefinitionReference, DefinitionStatus, DefinitionStatusTexts, Schematic};

/// What a trait type is made of and where it may be attached.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "TraitDefinition",
    plural = "traitdefinitions",
    namespaced,
    status = "DefinitionStatus",
    shortname = "trait",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A trait type that users can attach to components.",
    printcolumn = r#"{"name":"APPLIES-TO","type":"string","jsonPath":".spec.appliesToWorkloads"}"#,
    printcolumn = r#"{"name":"DESCRIPTION","type":"string","jsonPath":".metadata.annotations.definition\\.oam\\.dev/description"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct TraitDefinitionSpec {
    /// The resource behind the trait; absent when the template says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// The trait knows of component revisions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revision_enabled: bool,
    /// Where the controller writes the workload's reference into the trait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref_path: Option<String>,
    /// A change of the trait restarts pods.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pod_disruptive: bool,
    /// Workloads it may be attached to: `*`, `*.<group>`, a resource name, a definition name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applies_to_workloads: Vec<String>,
    /// Traits it may not stand beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// How to read health and status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DefinitionStatusTexts>,
    /// The template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// Free area of the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<Raw>,
    /// The trait makes the workload itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub manage_workload: bool,
    /// The trait's objects stay in the control plane's cluster.
    #[serde(default, skip_serializing_if = "is_false")]
    pub control_plane_only: bool,
    /// When the trait is dispatched: `PreDispatch`, `DefaultDispatch`, `PostDispatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Version of the definition, as semver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
