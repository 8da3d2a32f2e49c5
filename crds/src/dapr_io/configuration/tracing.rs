//! Where sidecars send spans, and what they log of requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dapr_io::NameValue;
/// How spans are taken and where they go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tracing {
    /// Share of the requests that are traced, from 0 to 1.
    pub sampling_rate: String,
    /// Whether spans are printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<bool>,
    /// A collector that speaks Zipkin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zipkin: Option<Zipkin>,
    /// A collector that speaks OTLP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otel: Option<Otel>,
}

/// A collector that speaks Zipkin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Zipkin {
    /// Its address.
    pub endpoint_address: String,
}

/// A collector that speaks OTLP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Otel {
    /// `http` or `grpc`.
    pub protocol: String,
    /// Its address.
    pub endpoint_address: String,
    /// Whether it is reached over TLS.
    pub is_secure: bool,
    /// Headers of every request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<NameValue>,
    /// How long a request may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// What sidecars log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Logging {
    /// Requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_logging: Option<RequestLogging>,
}

/// What sidecars log of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestLogging {
    /// Whether requests are logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether names of routes stand for paths, which may be confidential.
    #[serde(default, rename = "obfuscateURLs", skip_serializing_if = "Option::is_none")]
    pub obfuscate_urls: Option<bool>,
    /// Whether health checks are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omit_health_checks: Option<bool>,
}
