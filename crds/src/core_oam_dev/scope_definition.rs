//! ScopeDefinition: a kind of object that groups components.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DefinitionReference;
use crate::raw::Raw;

/// What a scope kind is made of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ScopeDefinition",
    plural = "scopedefinitions",
    namespaced,
    shortname = "scope",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A kind of object that groups components.",
    printcolumn = r#"{"name":"DEFINITION-NAME","type":"string","jsonPath":".spec.definitionRef.name"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ScopeDefinitionSpec {
    /// The resource behind the scope.
    pub definition_ref: DefinitionReference,
    /// Where the scope object lists its workloads; empty leaves scope objects untouched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_refs_path: Option<String>,
    /// A component may be in several scopes of this kind.
    pub allow_component_overlap: bool,
    /// Free area of the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<Raw>,
}
