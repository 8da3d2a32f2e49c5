//! ApplicationConfiguration (v1alpha2): components, their parameter values, traits, scopes and data flow.

mod data;
mod status;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TypedReference;
use crate::raw::Embedded;

pub use data::{
    ConditionRequirement, DataInput, DataInputValueFrom, DataOperation, DataOutput, DataStore,
    FieldPathSource,
};
pub use status::{
    ApplicationConfigurationStatus, DependencyFrom, DependencyStatus, DependencyTo, HistoryWorkload,
    UnsatisfiedDependency, WorkloadScopeStatus, WorkloadStatus, WorkloadTraitStatus,
};

/// What an ApplicationConfiguration deploys.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "ApplicationConfiguration",
    plural = "applicationconfigurations",
    namespaced,
    status = "ApplicationConfigurationStatus",
    shortname = "appconfig",
    category = "crossplane",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Components, their parameter values, traits, scopes and data flow."
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfigurationSpec {
    /// The components.
    pub components: Vec<ApplicationConfigurationComponent>,
}

/// One component of an ApplicationConfiguration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationConfigurationComponent {
    /// Component, at its latest revision; excludes `revisionName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_name: Option<String>,
    /// A fixed revision of a component; excludes `componentName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_name: Option<String>,
    /// What the workload gives to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_outputs: Vec<DataOutput>,
    /// What the workload takes from others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_inputs: Vec<DataInput>,
    /// Values of the component's parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_values: Vec<ParameterValue>,
    /// Traits of the workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<ComponentTrait>,
    /// Scopes the workload belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<ComponentScope>,
}

/// The value of one parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParameterValue {
    /// Name of the parameter.
    pub name: String,
    /// The value.
    pub value: IntOrString,
}

/// One trait of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentTrait {
    /// The trait's object; `name` and `properties` may stand in it where a webhook converts them.
    pub r#trait: Embedded,
    /// What the trait gives to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_outputs: Vec<DataOutput>,
    /// What the trait takes from others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_inputs: Vec<DataInput>,
}

/// One scope a workload belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentScope {
    /// The scope's object.
    pub scope_ref: TypedReference,
}
