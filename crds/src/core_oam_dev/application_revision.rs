//! ApplicationRevision: an Application and every definition it used, frozen.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_oam_dev::application::WorkflowStatus;
use crate::raw::{Embedded, Raw};

/// An Application with everything it was rendered from.
///
/// Whole objects are kept as they were: their readers parse them, because a revision must be readable after the types
/// of what it froze have moved on. The CRD describes them in full.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ApplicationRevision",
    plural = "applicationrevisions",
    namespaced,
    status = "ApplicationRevisionStatus",
    shortname = "apprev",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "An Application and every definition it used, frozen.",
    printcolumn = r#"{"name":"PUBLISH_VERSION","type":"string","jsonPath":".metadata.annotations['app\\.oam\\.dev\\/publishVersion']"}"#,
    printcolumn = r#"{"name":"REVISION","type":"string","jsonPath":".metadata.name"}"#,
    printcolumn = r#"{"name":"HASH","type":"string","jsonPath":".metadata.labels.app\\.oam\\.dev/app-revision-hash"}"#,
    printcolumn = r#"{"name":"SUCCEEDED","type":"string","jsonPath":".status.succeeded"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevisionSpec {
    /// The Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Raw>,
    /// ComponentDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub component_definitions: BTreeMap<String, Raw>,
    /// WorkloadDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload_definitions: BTreeMap<String, Raw>,
    /// TraitDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trait_definitions: BTreeMap<String, Raw>,
    /// ScopeDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scope_definitions: BTreeMap<String, Raw>,
    /// Resources of scopes by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scope_gvk: BTreeMap<String, Raw>,
    /// PolicyDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_definitions: BTreeMap<String, Raw>,
    /// WorkflowStepDefinitions by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflow_step_definitions: BTreeMap<String, Raw>,
    /// External policies by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<String, Raw>,
    /// Versions of external policies by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_versions: BTreeMap<String, PolicyVersion>,
    /// External workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Raw>,
    /// Objects the components refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referred_objects: Vec<Embedded>,
    /// Generated Components (v1alpha2 form).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<FrozenComponent>,
    /// Generated ApplicationConfiguration (v1alpha2 form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_configuration: Option<Embedded>,
    /// The same content, compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
}

/// A generated Component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrozenComponent {
    /// The whole object.
    pub raw: Embedded,
}

/// The revision of a policy's definition that was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVersion {
    /// Name of the DefinitionRevision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_revision_name: Option<String>,
    /// Its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_hash: Option<String>,
}

/// Compressed content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compression {
    /// How: `gzip` or `zstd`.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression_type: Option<String>,
    /// The content, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What became of the revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationRevisionStatus {
    /// The workflow of this revision ended well.
    #[serde(default)]
    pub succeeded: bool,
    /// Workflow status of this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowStatus>,
    /// Context of the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflow_context: BTreeMap<String, String>,
}
