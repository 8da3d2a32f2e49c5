//! Application: the object users write; components, policies and workflow.
//!
//! # Two versions, one schema
//!
//! `v1alpha2` and `v1beta1` are both served, `v1beta1` is stored. The versions spell two things differently: a
//! component's `settings` (v1alpha2) are its `properties` (v1beta1), and a trait's `name` is its `type`. Where no
//! conversion webhook runs the CRD has conversion strategy `None`, and an object is stored as it was written; therefore
//! **the schema of both versions accepts both spellings** (never both of a pair at once), and nothing is pruned. Where
//! one runs, [`convert`] writes each version in its own spelling and keeps in an annotation what that loses. A reader
//! of an Application from a cluster passes it through [`as_written`] and asks [`is_v1alpha2_form`] which way its author
//! wrote it: that form takes the road over ApplicationConfiguration and Components. The type [`Application`] itself
//! reads both spellings, so that a list with an old object in it can be read, and writes only the new one.

mod convert;
mod status;
mod workflow;

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;

pub use convert::{ConvertError, as_written, convert, is_v1alpha2_form};
pub use status::{
    ApplicationStatus, AppliedPolicy, ComponentHealth, Phase, PolicyStatus, TraitHealth, WorkflowStatus,
    WorkflowStepStatus, WorkflowSubStepStatus,
};
pub use workflow::{
    StepInput, StepMeta, StepOutput, StepRetry, Workflow, WorkflowMode, WorkflowStep, WorkflowSubStep,
};

/// What an application consists of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "Application",
    plural = "applications",
    namespaced,
    status = "ApplicationStatus",
    shortname = "app",
    shortname = "velaapp",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Components with their traits, policies and workflow.",
    printcolumn = r#"{"name":"COMPONENT","type":"string","jsonPath":".spec.components[*].name"}"#,
    printcolumn = r#"{"name":"TYPE","type":"string","jsonPath":".spec.components[*].type"}"#,
    printcolumn = r#"{"name":"PHASE","type":"string","jsonPath":".status.status"}"#,
    printcolumn = r#"{"name":"HEALTHY","type":"boolean","jsonPath":".status.services[*].healthy"}"#,
    printcolumn = r#"{"name":"STATUS","type":"string","jsonPath":".status.services[*].message"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// The components.
    pub components: Vec<ApplicationComponent>,
    /// Policies that act on the whole application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<ApplicationPolicy>,
    /// Order of delivery; absent means every component at once, as far as dependencies allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Workflow>,
    /// Plan of a rollout (v1alpha2 and release 1.0).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::RolloutPlan>")]
    pub rollout_plan: Option<Raw>,
}

/// One component of an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationComponent {
    /// Name, unique within the Application.
    pub name: String,
    /// Name of a ComponentDefinition, or (v1alpha2) of a WorkloadDefinition.
    #[serde(rename = "type")]
    pub component_type: String,
    /// A revision name given from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_revision: Option<String>,
    /// Parameters of the component type.
    #[serde(alias = "settings")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
    /// Components that must be healthy first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Values taken from other components.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<StepInput>,
    /// Values given to other components.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<StepOutput>,
    /// Traits of the component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<ApplicationTrait>,
    /// Scopes by kind of scope: the name of the scope object.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<String, String>,
    /// Which replica this component is, written by the replication policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_key: Option<String>,
}

/// One trait of a component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationTrait {
    /// Name of a TraitDefinition.
    #[serde(rename = "type", alias = "name")]
    pub trait_type: String,
    /// Parameters of the trait type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
}

/// One policy of an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationPolicy {
    /// Name, unique within the Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of a PolicyDefinition.
    #[serde(rename = "type")]
    pub policy_type: String,
    /// Parameters of the policy type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
}
