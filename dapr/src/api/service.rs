//! The calls of the protocol: each names its kind; what is common to lists, single objects and streams stands once.

use std::sync::Arc;

use http::Extensions;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::caller::Callers;
use super::objects::Objects;
use super::stream::{self, Updates};
use crate::protocol::operator_server::Operator;
use crate::protocol::{InNamespace, Named, Resource, Resources, SubscriptionsInNamespace};
use crate::resources::ServedKind;

/// Answers sidecars.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) callers: Callers,
    pub(super) objects: Arc<Objects>,
    pub(super) stop: CancellationToken,
}

type Listed = Result<Response<Resources>, Status>;
type Found = Result<Response<Resource>, Status>;
type Streamed = Result<Response<Updates>, Status>;

impl Service {
    async fn list(&self, kind: ServedKind, extensions: &Extensions, namespace: &str) -> Listed {
        let viewer = self.callers.viewer(extensions, namespace)?;
        Ok(Response::new(Resources { json: self.objects.list(kind, &viewer).await? }))
    }

    async fn get(&self, kind: ServedKind, request: Request<Named>) -> Found {
        let (_, extensions, Named { name, namespace }) = request.into_parts();
        let viewer = self.callers.viewer(&extensions, &namespace)?;
        Ok(Response::new(Resource { json: self.objects.get(kind, &viewer, &namespace, &name).await? }))
    }

    async fn stream(&self, kind: ServedKind, request: Request<InNamespace>) -> Streamed {
        let (_, extensions, InNamespace { namespace }) = request.into_parts();
        let viewer = self.callers.viewer(&extensions, &namespace)?;
        let registered = self.objects.register(kind, viewer).await?;
        Ok(Response::new(stream::updates(kind, self.objects.clone(), registered, self.stop.clone())))
    }

    async fn list_in(&self, kind: ServedKind, request: Request<InNamespace>) -> Listed {
        let (_, extensions, InNamespace { namespace }) = request.into_parts();
        self.list(kind, &extensions, &namespace).await
    }
}

#[tonic::async_trait]
impl Operator for Service {
    type ComponentUpdateStream = Updates;
    type HTTPEndpointUpdateStream = Updates;
    type SubscriptionUpdateStream = Updates;
    type MCPServerUpdateStream = Updates;
    type ConfigurationUpdateStream = Updates;
    type ResiliencyUpdateStream = Updates;
    type WorkflowAccessPolicyUpdateStream = Updates;

    async fn component_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::Component, request).await
    }

    async fn list_components(&self, request: Request<InNamespace>) -> Listed {
        self.list_in(ServedKind::Component, request).await
    }

    async fn get_configuration(&self, request: Request<Named>) -> Found {
        self.get(ServedKind::Configuration, request).await
    }

    async fn list_subscriptions(&self, request: Request<()>) -> Listed {
        self.list(ServedKind::Subscription, request.extensions(), "").await
    }

    async fn list_subscriptions_v2(&self, request: Request<SubscriptionsInNamespace>) -> Listed {
        let (_, extensions, SubscriptionsInNamespace { namespace }) = request.into_parts();
        self.list(ServedKind::Subscription, &extensions, &namespace).await
    }

    async fn get_resiliency(&self, request: Request<Named>) -> Found {
        self.get(ServedKind::Resiliency, request).await
    }

    async fn list_resiliency(&self, request: Request<InNamespace>) -> Listed {
        self.list_in(ServedKind::Resiliency, request).await
    }

    async fn list_http_endpoints(&self, request: Request<InNamespace>) -> Listed {
        self.list_in(ServedKind::HttpEndpoint, request).await
    }

    async fn http_endpoint_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::HttpEndpoint, request).await
    }

    async fn subscription_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::Subscription, request).await
    }

    async fn list_mcp_servers(&self, request: Request<InNamespace>) -> Listed {
        self.list_in(ServedKind::McpServer, request).await
    }

    async fn mcp_server_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::McpServer, request).await
    }

    async fn configuration_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::Configuration, request).await
    }

    async fn resiliency_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::Resiliency, request).await
    }

    async fn list_workflow_access_policy(&self, request: Request<InNamespace>) -> Listed {
        self.list_in(ServedKind::WorkflowAccessPolicy, request).await
    }

    async fn workflow_access_policy_update(&self, request: Request<InNamespace>) -> Streamed {
        self.stream(ServedKind::WorkflowAccessPolicy, request).await
    }
}
