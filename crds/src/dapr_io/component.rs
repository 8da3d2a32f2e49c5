//! Component (v1alpha1): a state store, a broker or another building block that sidecars load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Auth, NameValue};

/// A building block that sidecars load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Where its secrets come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Ids of the applications that may load it; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// What is loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ComponentSpec>,
}

/// What is loaded, and with which settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSpec {
    /// Type such as `state.redis`.
    #[serde(rename = "type")]
    pub component_type: String,
    /// Version of the type.
    pub version: String,
    /// Whether the sidecar starts although the component does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_errors: Option<bool>,
    /// Settings of the type.
    pub metadata: Vec<NameValue>,
    /// How long its start may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_timeout: Option<String>,
}
