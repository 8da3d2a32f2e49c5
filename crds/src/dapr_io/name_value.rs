//! A named value that is written out, or stands in a Secret or in the environment of the sidecar.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value of any JSON type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyValue(pub Value);

impl JsonSchema for AnyValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// One setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NameValue {
    /// Name of the setting.
    pub name: String,
    /// The value as it is.
    #[serde(default, skip_serializing_if = "is_null")]
    pub value: AnyValue,
    /// Where the value stands in a secret store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
    /// The environment variable of the sidecar that holds the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_ref: Option<String>,
}

/// A place in a secret store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the secret.
    pub name: String,
    /// Key in the secret; without one, the key is the secret's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Where an object takes its secrets from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    /// Name of the secret store; empty or `kubernetes` means the Secrets of the object's namespace.
    pub secret_store: String,
}

/// For `skip_serializing_if`: no value and null are the same.
pub(super) fn is_null(value: &AnyValue) -> bool {
    value.0.is_null()
}
