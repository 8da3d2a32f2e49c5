//! The parameters of a definition, as a tree of values that may be written.

use serde::Serialize;
use serde_json::Value as Json;

/// The parameters of a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Parameters {
    /// `properties` as a whole: mostly an object whose children are the parameters, but also a map or alternatives.
    #[serde(flatten)]
    pub root: Parameter,
    /// Where the parameters are to be found, when the definition does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One value that may be written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Parameter {
    /// The field; "" for `properties` as a whole.
    pub name: String,
    /// Its description in the definition.
    pub description: String,
    /// `string`, `int`, `number`, `bool`, `object` or `any`; `[]…` is a list of such, `map[string]…` has any keys; `|`
    /// stands between alternatives.
    #[serde(rename = "type")]
    pub type_: String,
    /// Must it be given (where its condition holds)?
    pub required: bool,
    /// Where the definition declares it only under a condition: the condition, as it stands there.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// The only values it may have; empty: any of its type. Those of the items where it is a list, of the values where it
    /// is a map.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Json>,
    /// A further constraint, such as `>= 1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Alternatives: one of these sets of children is given.
    #[serde(rename = "oneOf", skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Vec<String>>,
    /// The fields of an object, of each item of a list, or of each value of a map.
    #[serde(rename = "parameters", skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Parameter>,
}
