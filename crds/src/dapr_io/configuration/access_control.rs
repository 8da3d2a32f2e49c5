//! Which applications may call which operations of the one that uses the configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which applications may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessControl {
    /// `allow` or `deny`, where no policy matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// Trust domain of the application that uses the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_domain: Option<String>,
    /// Policies of callers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<AccessPolicy>,
}

/// What one caller may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessPolicy {
    /// The caller's id.
    pub app_id: String,
    /// `allow` or `deny`, where no operation matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// The caller's trust domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_domain: Option<String>,
    /// The caller's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<AccessOperation>,
}

/// Whether an operation may be called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessOperation {
    /// The operation, or a pattern.
    pub name: String,
    /// Methods of HTTP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http_verb: Vec<String>,
    /// `allow` or `deny`.
    pub action: String,
}
