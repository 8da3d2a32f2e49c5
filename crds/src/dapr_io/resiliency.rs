//! Resiliency (v1alpha1): timeouts, retries and circuit breakers, and what they are for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Timeouts, retries and circuit breakers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resiliency {
    /// Ids of the applications that it is for; nothing means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Policies, and what each is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<ResiliencySpec>,
}

/// Policies by name, and what each is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResiliencySpec {
    /// The policies.
    pub policies: Policies,
    /// What they are for.
    pub targets: Targets,
}

/// Policies by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Policies {
    /// How long a call may take.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts: BTreeMap<String, String>,
    /// How a call that failed is tried again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, Retry>,
    /// When calls are stopped for a while.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub circuit_breakers: BTreeMap<String, CircuitBreaker>,
}

/// How a call that failed is tried again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// `constant` or `exponential`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Time between two tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Longest time between two tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_interval: Option<String>,
    /// Most tries; -1 means without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i64>,
    /// Which failures are worth another try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching: Option<RetryMatching>,
}

/// Which failures are worth another try.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryMatching {
    /// Status codes of HTTP, as numbers and ranges.
    #[serde(default, rename = "httpStatusCodes", skip_serializing_if = "Option::is_none")]
    pub http_status_codes: Option<String>,
    /// Status codes of gRPC, as numbers and ranges.
    #[serde(default, rename = "gRPCStatusCodes", skip_serializing_if = "Option::is_none")]
    pub grpc_status_codes: Option<String>,
}

/// When calls are stopped for a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CircuitBreaker {
    /// Most calls while it is half open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<i64>,
    /// After which time its counts begin anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// How long it stays open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// A CEL expression that opens it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trip: Option<String>,
}

/// What policies are for, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Targets {
    /// Calls of applications.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub apps: BTreeMap<String, AppPolicies>,
    /// Calls of actors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actors: BTreeMap<String, ActorPolicies>,
    /// Calls of components.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, ComponentPolicies>,
}

/// Policies of the calls of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppPolicies {
    /// Name of a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Name of a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Name of a circuit breaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker: Option<String>,
    /// Most circuit breakers, of which each instance has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker_cache_size: Option<i64>,
}

/// Policies of the calls of an actor type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActorPolicies {
    /// Name of a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Name of a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Name of a circuit breaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker: Option<String>,
    /// Whether actors share a breaker: `type`, `id` or `both`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker_scope: Option<String>,
    /// Most circuit breakers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker_cache_size: Option<i64>,
}

/// Policies of the calls of a component, by direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentPolicies {
    /// From the component to the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbound: Option<DirectionPolicies>,
    /// From the sidecar to the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbound: Option<DirectionPolicies>,
}

/// Policies of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectionPolicies {
    /// Name of a timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// Name of a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Name of a circuit breaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker: Option<String>,
}
