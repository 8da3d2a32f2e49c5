//! Policy (v1alpha1): a policy that several Applications name; it has fields instead of a spec.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Raw;

/// What a Policy holds beside its metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyFields {
    /// Name of a PolicyDefinition.
    #[serde(rename = "type")]
    pub policy_type: String,
    /// Parameters of the policy type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Raw>,
}
