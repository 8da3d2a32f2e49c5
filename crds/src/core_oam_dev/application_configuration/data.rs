//! Data flow between the workloads and traits of an ApplicationConfiguration.
//!
//! Writers in other languages store empty structures where nothing was said, so a source with
//! an empty field path and a store with an empty name mean the same as their absence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value one object gives to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataOutput {
    /// Name, unique within the ApplicationConfiguration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the value stands in the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// All must hold before the value counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionRequirement>,
    /// An object that keeps the value in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_store: Option<DataStore>,
}

/// A value one object takes from others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataInput {
    /// Which output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<DataInputValueFrom>,
    /// Where the value goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to_field_paths: Vec<String>,
    /// Keys by which elements of a list are matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strategy_merge_keys: Vec<String>,
    /// All must hold on the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionRequirement>,
    /// An object that keeps the value in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_store: Option<DataStore>,
}

/// Which output a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataInputValueFrom {
    /// Name of the output.
    pub data_output_name: String,
}

/// Something that must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionRequirement {
    /// `eq`, `notEq` or `notEmpty`.
    #[serde(rename = "op")]
    pub operator: String,
    /// Value to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value to compare with stands in the ApplicationConfiguration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<FieldPathSource>,
    /// Where the compared value stands in the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
}

/// A place in an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPathSource {
    /// The path.
    pub field_path: String,
}

/// An object that keeps a value in between.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataStore {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// UID of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// How the value gets into or out of the object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<DataOperation>,
}

/// One change of a stored object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DataOperation {
    /// Only `jsonPatch`.
    #[serde(rename = "type")]
    pub operation_type: String,
    /// `add`, `delete` or `replace`.
    #[serde(rename = "op")]
    pub operator: String,
    /// Where in the object.
    pub to_field_path: String,
    /// Where in the JSON text at that place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_data_path: Option<String>,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<FieldPathSource>,
    /// All must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionRequirement>,
}
