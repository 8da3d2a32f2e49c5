//! ServiceBinding (v1alpha1): what an admission webhook puts into the pods of a workload.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is bound to which workload.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha1",
    kind = "ServiceBinding",
    plural = "servicebindings",
    namespaced,
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Puts a Secret or a volume into the pods of a workload."
)]
#[serde(rename_all = "camelCase")]
pub struct ServiceBindingSpec {
    /// What is bound; the first with a source counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<Binding>,
    /// The workload the pods of which are changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<BoundWorkload>,
}

/// A source and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Binding {
    /// What is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<BindingSource>,
    /// Where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<BindingTarget>,
    /// Which containers; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_selector: Option<ContainerSelector>,
}

/// A Secret or a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingSource {
    /// A Secret of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretSource>,
    /// A volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeSource>,
}

/// The name of a Secret, or where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretSource {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the name stands; counts before the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_from_field: Option<FieldSource>,
}

/// A field of an object of the namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldSource {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// The field, such as `.status.secret`.
    pub field_path: String,
}

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSource {
    /// Name of a PersistentVolumeClaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc_name: Option<String>,
}

/// Where a source goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingTarget {
    /// Mounted at this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// Environment variables, one for each key of the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<bool>,
}

/// Some containers of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSelector {
    /// By name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_names: Vec<String>,
}

/// Names the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundWorkload {
    /// API version of the workload.
    pub api_version: String,
    /// Kind of the workload.
    pub kind: String,
    /// Name of the workload.
    pub name: String,
}
