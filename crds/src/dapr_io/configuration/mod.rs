//! Configuration (v1alpha1): how sidecars behave.

mod access_control;
mod metrics;
mod mtls;
mod pipeline;
mod tracing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::access_control::{AccessControl, AccessOperation, AccessPolicy};
pub use self::metrics::{MetricHttp, MetricLabel, MetricRule, Metrics};
pub use self::mtls::{Mtls, TokenValidator, TrustedIssuer};
pub use self::pipeline::{Handler, Pipeline, Selector, SelectorField};
pub use self::tracing::{Logging, Otel, RequestLogging, Tracing, Zipkin};
use crate::Raw;

/// How sidecars behave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// What differs from the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ConfigurationSpec>,
}

/// What differs from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationSpec {
    /// Middleware of requests to the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_http_pipeline: Option<Pipeline>,
    /// Middleware of requests to the sidecar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_pipeline: Option<Pipeline>,
    /// Spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// Metrics, in the older spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metrics>,
    /// Metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// Identities; counts in the configuration of the control plane only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtls: Option<Mtls>,
    /// Which secrets the application may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretScopes>,
    /// Who may call the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_control: Option<AccessControl>,
    /// How other applications are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_resolution: Option<NameResolution>,
    /// What is still tried out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
    /// Which APIs the sidecar offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Apis>,
    /// Which Components are not loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<DeniedComponents>,
    /// What is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logging: Option<Logging>,
    /// How WebAssembly is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wasm: Option<Wasm>,
    /// Limits of workflows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowLimits>,
}

/// Which secrets the application may read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretScopes {
    /// By secret store.
    pub scopes: Vec<SecretScope>,
}

/// Which secrets of one store the application may read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretScope {
    /// `allow` or `deny`, where neither list names a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_access: Option<String>,
    /// Name of the secret store.
    pub store_name: String,
    /// Secrets it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_secrets: Vec<String>,
    /// Secrets it may not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_secrets: Vec<String>,
}

/// How other applications are found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NameResolution {
    /// The resolver.
    pub component: String,
    /// Its version.
    pub version: String,
    /// Its settings.
    pub configuration: Raw,
}

/// Something that is still tried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Whether it is on.
    pub enabled: bool,
}

/// Which APIs the sidecar offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Apis {
    /// Those alone, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<ApiRule>,
    /// Those not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<ApiRule>,
}

/// An API.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiRule {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `http` or `grpc`; nothing means both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// Which Components are not loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeniedComponents {
    /// Their types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// How WebAssembly is run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Wasm {
    /// Whether it is cut off from clock and randomness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_sandbox: Option<bool>,
}

/// Limits of workflows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowLimits {
    /// Most workflows at the same time, in one sidecar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_workflow_invocations: Option<i32>,
    /// Most activities at the same time, in one sidecar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_activity_invocations: Option<i32>,
    /// Most workflows at the same time, in all sidecars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_max_concurrent_workflow_invocations: Option<i32>,
    /// Most activities at the same time, in all sidecars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_max_concurrent_activity_invocations: Option<i32>,
    /// Limits of some workflows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workflow_concurrency_limits: Vec<ConcurrencyLimit>,
    /// Limits of some activities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activity_concurrency_limits: Vec<ConcurrencyLimit>,
    /// How long the state of ended workflows is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_retention_policy: Option<StateRetention>,
}

/// How many of one name run at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConcurrencyLimit {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Most at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<i32>,
}

/// How long the state of ended workflows is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateRetention {
    /// Of those that ended in any way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_terminal: Option<String>,
    /// Of those that succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Of those that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Of those that were ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminated: Option<String>,
}
