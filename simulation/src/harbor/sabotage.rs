//! Breaks the operator on purpose, by what it sends and receives: every promise must be seen to fail.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::model::{GOHARBOR, OF_PEOPLE, PARTS};
use crate::network::NetworkService;
use crate::sabotage::Sabotage;

/// What a broken operator knows; clones are the same.
#[derive(Clone, Default)]
struct Memory {
    /// The uid of the Portal.
    portal: Arc<Mutex<Option<Value>>>,
    /// Robot accounts that it made.
    robots: Arc<AtomicUsize>,
}

/// The client's end of the network, with the sabotage between.
#[derive(Clone)]
pub(super) struct SabotagedService {
    inner: NetworkService,
    sabotage: Option<Sabotage>,
    memory: Memory,
}

impl SabotagedService {
    pub(super) fn new(inner: NetworkService, sabotage: Option<Sabotage>) -> Self {
        Self { inner, sabotage, memory: Memory::default() }
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
            Some(Sabotage::TakesAll) if method == Method::GET && path.ends_with("/services") => {
                without_those_of_people(request)
            }
            Some(Sabotage::ForgetsRobots) if method == Method::POST && path.ends_with("/robots") => {
                let count = self.memory.robots.fetch_add(1, Ordering::Relaxed);
                edited(request, |body| body["name"] = json!(format!("other-{count}")))
            }
            _ => request,
        }
    }

    /// The Service that people made, as a Portal would own it.
    fn take(&self, service: &mut Value) {
        if service["metadata"]["labels"][OF_PEOPLE].is_string() {
            let uid = self.memory.portal.lock().unwrap_or_else(PoisonError::into_inner).clone();
            service["metadata"]["ownerReferences"] = json!([{
                "apiVersion": GOHARBOR, "kind": "Portal", "name": PARTS, "uid": uid, "controller": true,
            }]);
        }
    }

    /// Learns the uid of the Portal from the answers about it.
    fn learn(&self, body: &Value) {
        let one = body["items"].as_array().and_then(|items| items.first()).unwrap_or(body);
        if one["metadata"]["uid"].is_string() {
            let mut portal = self.memory.portal.lock().unwrap_or_else(PoisonError::into_inner);
            *portal = Some(one["metadata"]["uid"].clone());
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
            Some(Sabotage::TakesAll) if path.contains("/portals") => self.learn(body),
            Some(Sabotage::TakesAll) if method == Method::GET && path.contains("/services/") => {
                self.take(body);
            }
            Some(Sabotage::ForgetsRobots) if method == Method::GET && path.ends_with("/robots") => {
                *body = json!([]);
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

/// The same list or watch, in which nothing is that people made.
fn without_those_of_people(mut request: Request<Bytes>) -> Request<Bytes> {
    let separator = if request.uri().query().is_some() { '&' } else { '?' };
    let asked = format!("{}{separator}labelSelector=%21{OF_PEOPLE}", request.uri());
    if let Ok(uri) = asked.parse() {
        *request.uri_mut() = uri;
    }
    request
}
