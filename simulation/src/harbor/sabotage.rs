//! Breaks the operator on purpose, by what it sends and receives: every promise must be seen to fail.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::model::OF_PEOPLE;
use crate::network::NetworkService;
use crate::sabotage::Sabotage;

/// The client's end of the network, with the sabotage between.
#[derive(Clone)]
pub(super) struct SabotagedService {
    inner: NetworkService,
    sabotage: Option<Sabotage>,
}

impl SabotagedService {
    pub(super) fn new(inner: NetworkService, sabotage: Option<Sabotage>) -> Self {
        Self { inner, sabotage }
    }

    /// The request as the broken operator sends it.
    fn request(&self, request: Request<Bytes>) -> Request<Bytes> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match self.sabotage {
            Some(Sabotage::NoOwner) if method == Method::PATCH => edited(request, |body| {
                body["metadata"].as_object_mut().map(|metadata| metadata.remove("ownerReferences"));
            }),
            Some(Sabotage::RestlessStatus) if path.ends_with("/status") => edited(request, |body| {
                body["status"].as_object_mut().map(|status| status.remove("operator"));
            }),
            _ => request,
        }
    }

    /// The answer as the broken operator reads it.
    fn answer(&self, (method, path): &(Method, String), body: &mut Value) {
        match self.sabotage {
            Some(Sabotage::OverlooksParts) if method == Method::GET && path.contains("/harbors") => {
                let overlook = |harbor: &mut Value| {
                    harbor["spec"].as_object_mut().map(|spec| spec.remove("portal"));
                };
                overlook(body);
                body["items"].as_array_mut().into_iter().flatten().for_each(overlook);
            }
            Some(Sabotage::ForgetsSecrets) if method == Method::GET && path.contains("/secrets") => {
                let mine = |object: &Value| object["metadata"]["labels"][OF_PEOPLE].is_null();
                let items = body["items"].as_array_mut().into_iter().flatten();
                items.filter(|item| mine(item)).for_each(|item| item["data"] = json!({}));
            }
            Some(Sabotage::Impatient) if method == Method::PATCH && path.contains("/certificates/") => {
                body["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
            }
            _ => {}
        }
    }
}

impl<B> Service<Request<B>> for SabotagedService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<UnsyncBoxBody<Bytes, Infallible>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        // Bodies of requests are in memory.
        let bytes =
            body.collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes()).unwrap_or_default();
        let request = self.request(Request::from_parts(parts, bytes));
        let asked = (request.method().clone(), request.uri().path().to_owned());
        let watches = request.uri().query().is_some_and(|query| query.contains("watch="));
        let this = self.clone();
        if this.sabotage == Some(Sabotage::NoDeletion) && asked.0 == Method::DELETE {
            let said = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            let said = Full::new(Bytes::from(said.to_string()));
            return std::future::ready(Ok(Response::new(said.boxed_unsync()))).boxed();
        }
        let answered = self.inner.call(request.map(Full::new));
        async move {
            let answer = answered.await?;
            if this.sabotage.is_none() || watches {
                return Ok(answer.map(BodyExt::boxed_unsync));
            }
            let (parts, body) = answer.into_parts();
            let bytes = body.collect().await.map_or_else(|never| match never {}, |all| all.to_bytes());
            let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            this.answer(&asked, &mut value);
            Ok(Response::from_parts(parts, Full::new(Bytes::from(value.to_string())).boxed_unsync()))
        }
        .boxed()
    }
}

fn edited(request: Request<Bytes>, edit: impl FnOnce(&mut Value)) -> Request<Bytes> {
    let (parts, bytes) = request.into_parts();
    let mut body = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}));
    edit(&mut body);
    Request::from_parts(parts, Bytes::from(body.to_string()))
}
