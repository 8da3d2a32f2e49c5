//! How sidecars identify themselves to each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Raw;
/// How sidecars identify themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mtls {
    /// Whether they do.
    pub enabled: bool,
    /// How long a certificate is valid.
    #[serde(default, rename = "workloadCertTTL", skip_serializing_if = "Option::is_none")]
    pub workload_cert_ttl: Option<String>,
    /// How much earlier than now it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_clock_skew: Option<String>,
    /// Address of the authority.
    pub sentry_address: String,
    /// Trust domain of the control plane.
    pub control_plane_trust_domain: String,
    /// Who else may vouch for a sidecar.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_validators: Vec<TokenValidator>,
}

/// Who else may vouch for a sidecar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenValidator {
    /// How its tokens are judged.
    pub name: TrustedIssuer,
    /// Settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Raw>,
}

/// How tokens of others are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustedIssuer {
    /// By published keys.
    #[default]
    Jwks,
}
