//! The HTTP service of the console: answers each request, and changes nothing.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use kube::Client;
use serde::Serialize;
use serde_json::json;
use vela_runtime::Discovery;

use crate::route::Route;
use crate::{applications, tree};

/// The page: it asks the REST API and shows what it says.
const PAGE: &str = include_str!("page.html");
/// The page runs its own script and style and talks to its own origin only.
const POLICY: &str = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The console over one cluster.
#[derive(Clone)]
pub struct Console {
    client: Client,
    discovery: Arc<Discovery>,
}

impl Console {
    /// A console that reads with the rights of the client.
    pub fn new(client: Client) -> Self {
        let discovery = Arc::new(Discovery::new(client.clone()));
        Self { client, discovery }
    }

    /// Answers a request.
    pub async fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        match Route::of(method, path) {
            Route::Page => response(StatusCode::OK, "text/html; charset=utf-8", PAGE.into()),
            Route::Applications { namespace } => {
                match applications::list(&self.client, namespace.as_deref()).await {
                    Ok(list) => json_response(StatusCode::OK, &list),
                    Err(error) => unreadable(&error),
                }
            }
            Route::Application { namespace, name } => match self.application(&namespace, &name).await {
                Ok(Some(application)) => json_response(StatusCode::OK, &application),
                Ok(None) => {
                    failure(StatusCode::NOT_FOUND, &format!("application {namespace}/{name} does not exist"))
                }
                Err(error) => unreadable(&error),
            },
            Route::NotAllowed => failure(StatusCode::METHOD_NOT_ALLOWED, "the console only reads: use GET"),
            Route::NotFound => failure(StatusCode::NOT_FOUND, "nothing here; see /"),
        }
    }

    async fn application(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<serde_json::Value>, kube::Error> {
        let Some(application) = applications::get(&self.client, namespace, name).await? else {
            return Ok(None);
        };
        let tree = tree::read(&self.client, &self.discovery, namespace, name).await?;
        Ok(Some(json!({
            "summary": applications::summary(&application),
            "conditions": application["status"]["conditions"],
            "application": application,
            "tree": tree,
        })))
    }
}

impl<B: Send + 'static> tower::Service<Request<B>> for Console {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let console = self.clone();
        Box::pin(async move { Ok(console.answer(request.method(), request.uri().path()).await) })
    }
}

fn unreadable(error: &kube::Error) -> Response<Full<Bytes>> {
    failure(StatusCode::BAD_GATEWAY, &format!("the cluster could not be read: {error}"))
}

fn failure(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    json_response(status, &json!({ "message": message }))
}

fn json_response(status: StatusCode, value: &impl Serialize) -> Response<Full<Bytes>> {
    let body = serde_json::to_vec(value).unwrap_or_default();
    response(status, "application/json", body.into())
}

fn response(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}
