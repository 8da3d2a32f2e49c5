//! Free-form parts: JSON whose unknown fields the API server keeps.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON object of any shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Raw(pub Value);

/// A JSON object of any shape that is a Kubernetes object: the API server demands its kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Embedded(pub Value);

impl JsonSchema for Raw {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Raw".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

impl JsonSchema for Embedded {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Embedded".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}

impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl From<Value> for Embedded {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

/// For `skip_serializing_if`: an absent flag and a false one are the same.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
