//! PolicyDefinition: a policy type that applications can name.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::is_false;
use crate::{DefinitionReference, DefinitionStatus, Schematic};

/// What a policy type is made of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "PolicyDefinition",
    plural = "policydefinitions",
    namespaced,
    status = "DefinitionStatus",
    shortname = "def-policy",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A policy type that applications can name."
)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDefinitionSpec {
    /// The resource behind the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_ref: Option<DefinitionReference>,
    /// The template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schematic: Option<Schematic>,
    /// The policy computes health itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub manage_health_check: bool,
    /// `Application`: the template changes the application itself. Otherwise it makes objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The policy acts on every application of its namespace; on all where it is in the system namespace.
    #[serde(default, skip_serializing_if = "is_false")]
    pub global: bool,
    /// Order among global policies, lowest first; those that applications name have 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Version of the definition, as semver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
