//! ResourceTracker: the record of what an application owns, wherever it lives.
//!
//! A tracker carries the content hash of the application revision whose objects it
//! records (`identity`) and whether that set was completely applied (`complete`).
//! Nothing may be pruned unless the desired set with that identity was completely
//! applied by the same reconcile; the two fields are what makes the rule checkable.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TypedReference;
use crate::core_oam_dev::application_revision::Compression;
use crate::raw::{Raw, is_false};

/// What an application owns.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ResourceTracker",
    plural = "resourcetrackers",
    status = "ResourceTrackerStatus",
    shortname = "rt",
    shortname = "tracker",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "The record of what an application owns.",
    printcolumn = r#"{"name":"TYPE","type":"string","jsonPath":".spec.type"}"#,
    printcolumn = r#"{"name":"APP","type":"string","jsonPath":".metadata.labels['app\\.oam\\.dev\\/name']"}"#,
    printcolumn = r#"{"name":"APP-NS","type":"string","jsonPath":".metadata.labels['app\\.oam\\.dev\\/namespace']"}"#,
    printcolumn = r#"{"name":"APP-GEN","type":"number","jsonPath":".spec.applicationGeneration"}"#,
    printcolumn = r#"{"name":"IDENTITY","type":"string","jsonPath":".spec.identity","priority":1}"#,
    printcolumn = r#"{"name":"COMPLETE","type":"boolean","jsonPath":".spec.complete"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTrackerSpec {
    /// `root`, `versioned` or `component-revision`.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker_type: Option<String>,
    /// Generation of the Application the record was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_generation: Option<i64>,
    /// Content hash of the application revision whose objects are recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Every object of the set with this identity was applied.
    #[serde(default, skip_serializing_if = "is_false")]
    pub complete: bool,
    /// The objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed_resources: Vec<ManagedResource>,
    /// The same record, compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
}

/// One owned object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedResource {
    /// Cluster; empty is the one the controller runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// API version of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Namespace of the object; absent for cluster-scoped ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// UID of the object, known once it was applied: a later object of the same name is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Version of the object this record was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// A part of the object, as a field path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// Component that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Trait that asked for it.
    #[serde(rename = "trait")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trait_type: Option<String>,
    /// Who made the object: `workflow`, `policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// Content hash of the manifest as applied: an equal hash needs no write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Wave of the apply that carried it; deletion walks the waves backwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<i32>,
    /// The object is to be deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// The object is kept when the application goes.
    #[serde(rename = "skipGC")]
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_gc: bool,
    /// The object stays until the application goes, although a newer revision does not name it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub retained: bool,
    /// The manifest as applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// The record of release 1.0, read so that its objects are not forgotten.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTrackerStatus {
    /// Objects outside the application's namespace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracked_resources: Vec<TrackedResource>,
}

/// One object of the record of release 1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackedResource {
    /// The object.
    #[serde(flatten)]
    pub object: TypedReference,
    /// Namespace of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
