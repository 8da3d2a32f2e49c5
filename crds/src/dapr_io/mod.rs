//! dapr.io: what a Dapr sidecar asks its control plane for, as the CRDs of Dapr 1.18 spell it.
//!
//! Fields such as `scopes` stand beside `spec`, which no derive writes, so each type here holds everything of an object but
//! its metadata. An API server stores an object without `spec`; the types read that as well.

mod component;
mod configuration;
mod conversion;
mod http_endpoint;
mod mcp_server;
mod name_value;
mod resiliency;
mod subscription;
mod workflow_access_policy;

pub use component::{Component, ComponentSpec};
pub use configuration::{
    AccessControl, AccessOperation, AccessPolicy, ApiRule, Apis, ConcurrencyLimit, Configuration,
    ConfigurationSpec, DeniedComponents, Feature, Handler, Logging, MetricHttp, MetricLabel, MetricRule,
    Metrics, Mtls, NameResolution, Otel, Pipeline, RequestLogging, SecretScope, SecretScopes, Selector,
    SelectorField, StateRetention, TokenValidator, Tracing, TrustedIssuer, Wasm, WorkflowLimits, Zipkin,
};
pub use conversion::{ConversionError, ROUTING_RULES, convert_subscription};
pub use http_endpoint::{ClientTls, HttpEndpoint, HttpEndpointSpec, Renegotiation, TlsDocument};
pub use mcp_server::{
    Catalog, CatalogOwner, McpAuth, McpEndpoint, McpHttp, McpServer, McpServerSpec, McpStdio, Middleware,
    MutatingHook, OAuth2, ObservingHook, SpiffeAuth, SpiffeJwt, WorkflowReference,
};
pub use name_value::{AnyValue, Auth, NameValue, SecretKeyRef};
pub use resiliency::{
    ActorPolicies, AppPolicies, CircuitBreaker, ComponentPolicies, DirectionPolicies, Policies, Resiliency,
    ResiliencySpec, Retry, RetryMatching, Targets,
};
pub use subscription::{
    BulkSubscribe, Routes, RoutingRule, SubscriptionV1alpha1, SubscriptionV1alpha1Spec, SubscriptionV2alpha1,
    SubscriptionV2alpha1Spec,
};
pub use workflow_access_policy::{
    ActivityRule, WorkflowAccessPolicy, WorkflowAccessPolicySpec, WorkflowAccessRule, WorkflowCaller,
    WorkflowOperation, WorkflowRule,
};

/// API group of every kind here.
pub const GROUP: &str = "dapr.io";
