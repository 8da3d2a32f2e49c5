//! The kinds of dapr.io that sidecars ask for.

use kube::api::{ApiResource, GroupVersionKind};

/// A kind that sidecars ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServedKind {
    /// A building block that sidecars load.
    Component,
    /// How a sidecar behaves.
    Configuration,
    /// Which messages an application receives, as v2alpha1.
    Subscription,
    /// Timeouts, retries and circuit breakers.
    Resiliency,
    /// A service outside of Dapr.
    HttpEndpoint,
    /// A server of the Model Context Protocol.
    McpServer,
    /// Who may use the workflows of an application.
    WorkflowAccessPolicy,
}

impl ServedKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Component,
        Self::Configuration,
        Self::Subscription,
        Self::Resiliency,
        Self::HttpEndpoint,
        Self::McpServer,
        Self::WorkflowAccessPolicy,
    ];

    /// The kind as its objects name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Component => "Component",
            Self::Configuration => "Configuration",
            Self::Subscription => "Subscription",
            Self::Resiliency => "Resiliency",
            Self::HttpEndpoint => "HTTPEndpoint",
            Self::McpServer => "MCPServer",
            Self::WorkflowAccessPolicy => "WorkflowAccessPolicy",
        }
    }

    /// The version in which sidecars get it.
    #[must_use]
    pub fn version(self) -> &'static str {
        if self == Self::Subscription { "v2alpha1" } else { "v1alpha1" }
    }

    /// Where its objects are.
    pub(crate) fn resource(self) -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk("dapr.io", self.version(), self.name()))
    }

    /// Whether a list has only what the sidecar's scope allows. Of all other kinds a sidecar chooses itself; updates are scoped
    /// for every kind.
    #[must_use]
    pub fn lists_by_scope(self) -> bool {
        self == Self::Component
    }
}
