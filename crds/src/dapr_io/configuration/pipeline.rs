//! Middleware that requests over HTTP pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Middleware in the order in which requests pass it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    /// The middleware.
    pub handlers: Vec<Handler>,
}

/// One middleware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handler {
    /// Name of its Component.
    pub name: String,
    /// Type of its Component.
    #[serde(rename = "type")]
    pub handler_type: String,
    /// Which requests pass it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
}

/// Which requests pass a middleware.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// What a request must have.
    pub fields: Vec<SelectorField>,
}

/// What a request must have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SelectorField {
    /// The field.
    pub field: String,
    /// Its value.
    pub value: String,
}
