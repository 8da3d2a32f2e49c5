//! HTTPEndpoint (v1alpha1): a service outside of Dapr that applications call by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name_value::is_null;
use super::{AnyValue, Auth, NameValue, SecretKeyRef};

/// A service outside of Dapr.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpEndpoint {
    /// Where its secrets come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Ids of the applications that may call it; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// How it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<HttpEndpointSpec>,
}

/// How the service is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpEndpointSpec {
    /// Its address.
    pub base_url: String,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<NameValue>,
    /// How the sidecar identifies itself.
    #[serde(default, rename = "clientTLS", skip_serializing_if = "Option::is_none")]
    pub client_tls: Option<ClientTls>,
}

/// TLS of the requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientTls {
    /// The authority of the service's certificate.
    #[serde(default, rename = "rootCA", skip_serializing_if = "Option::is_none")]
    pub root_ca: Option<TlsDocument>,
    /// The sidecar's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<TlsDocument>,
    /// The key of that certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<TlsDocument>,
    /// Whether the service may negotiate anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renegotiation: Option<Renegotiation>,
}

/// A certificate or a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsDocument {
    /// The document as it is.
    #[serde(default, skip_serializing_if = "is_null")]
    pub value: AnyValue,
    /// Where it stands in a secret store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeyRef>,
}

/// How often a TLS connection may be negotiated anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Renegotiation {
    /// Not at all.
    #[default]
    Never,
    /// Once for each connection.
    OnceAsClient,
    /// As often as the service asks.
    FreelyAsClient,
}
