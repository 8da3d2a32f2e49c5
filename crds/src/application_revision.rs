//! ApplicationRevision: an Application and every definition it used, frozen.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;

/// An Application with everything it was rendered from.
///
/// Whole objects are kept as they were, so their schema is free: a revision must be
/// readable after the schema of what it froze has moved on.
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
    pub policy_versions: BTreeMap<String, Raw>,
    /// External workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Raw>,
    /// Objects the components refer to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referred_objects: Vec<Raw>,
    /// Generated Components (v1alpha2 form).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Raw>,
    /// Generated ApplicationConfiguration (v1alpha2 form).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_configuration: Option<Raw>,
    /// The same content, compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Raw>,
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
    pub workflow: Option<Raw>,
    /// Context of the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflow_context: BTreeMap<String, String>,
}
