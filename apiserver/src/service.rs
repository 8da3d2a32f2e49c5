//! The API as a service: an HTTP request in, its route chosen, the answer of its verb out.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, USER_AGENT, WARNING};
use ::http::{HeaderValue, Method, Request, Response, StatusCode, request::Parts};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{BodyExt, Limited};

use crate::catalog::Resource;
use crate::http::{self, Answer, Call, Query, ResponseBody, Target};
use crate::state::State;
use crate::status::{ApiError, ApiResult};
use crate::{discovery, openapi, verbs};

/// The largest body that is read: what etcd and kube-apiserver allow.
const BODY_MAX_BYTES: usize = 3 * 1024 * 1024;

/// The API as a service: hand it to `kube::Client::new`, or let [`crate::ApiServer::serve`] put it on the network.
#[derive(Clone, Debug)]
pub struct ApiService {
    state: Arc<State>,
    /// In process there is no other client; from the network each client must show the token.
    token_required: bool,
}

impl ApiService {
    pub(crate) fn new(state: Arc<State>, token_required: bool) -> Self {
        Self { state, token_required }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let answer = match service.admit(&parts) {
                Ok(()) => answer(&service.state, &parts, body).await,
                Err(error) => Err(error),
            };
            Ok(answer.unwrap_or_else(|error| refuse(&error)))
        })
    }
}

impl ApiService {
    fn admit(&self, parts: &Parts) -> ApiResult<()> {
        let open = matches!(parts.uri.path(), "/healthz" | "/readyz" | "/livez" | "/version");
        if !self.token_required || open {
            return Ok(());
        }
        let shown = parts.headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let shown =
            shown.strip_prefix("Bearer ").or_else(|| shown.strip_prefix("bearer ")).unwrap_or_default();
        if same(shown.trim().as_bytes(), self.state.token.as_bytes()) {
            Ok(())
        } else {
            Err(ApiError::unauthorized())
        }
    }
}

/// Compares without telling by its time how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

async fn answer<B>(state: &Arc<State>, parts: &Parts, body: B) -> ApiResult<Response<ResponseBody>>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let place = match Target::parse(parts.uri.path()) {
        Target::Resource(place) => place,
        other => return document(state, parts, &other),
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default())?;
    let shape = http::shape(&parts.headers)?;
    if parts.method == Method::GET && place.subresource.is_none() && query.flag("watch") {
        let source = verbs::WatchSource {
            store: state.store.clone(),
            clock: state.clock.clone(),
            closing: state.closing.clone(),
        };
        let catalog = state.registry.catalog();
        return verbs::watch(source, &catalog, &place, &query, shape).map(respond_stream);
    }
    let header =
        |name| parts.headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok()).unwrap_or_default();
    let call = Call {
        place,
        query,
        method: parts.method.clone(),
        content_type: http::content_type(&parts.headers).to_owned(),
        user_agent: header(USER_AGENT).to_owned(),
        shape,
        body: if parts.method == Method::GET { Bytes::new() } else { read_body(body).await? },
    };
    // Only a write to a file can block; reads and memory answer at once.
    let answer = if state.store.is_durable() && call.method != Method::GET {
        let state = state.clone();
        tokio::task::spawn_blocking(move || execute(&state, &call)).await.map_err(ApiError::internal)??
    } else {
        execute(state, &call)?
    };
    Ok(respond(answer))
}

/// Finds what the path names and calls the verb.
fn execute(state: &State, call: &Call) -> ApiResult<Answer> {
    let context = &state.context();
    let place = &call.place;
    if let Some(answer) = verbs::review(context.clock, call)? {
        return Ok(answer);
    }
    let catalog = state.registry.catalog();
    let resource =
        catalog.find(&place.group, &place.version, &place.plural).ok_or_else(ApiError::no_such_path)?;
    let sub = place.subresource.as_deref();
    if resource.namespaced && place.name.is_some() && place.namespace.is_none()
        || !resource.namespaced && place.namespace.is_some()
    {
        return Err(ApiError::no_such_path());
    }
    match (&call.method, &place.name, sub) {
        (_, _, Some("scale")) if resource.scale.is_some() => verbs::scale(context, resource, call),
        (_, _, Some("status")) if resource.status => of_one_object(context, resource, call, "status"),
        (_, _, Some("finalize")) if resource.is_namespace() => {
            of_one_object(context, resource, call, "finalize")
        }
        (&Method::POST, Some(_), Some("eviction")) if resource.store.as_ref() == "pods" => {
            verbs::evict(context, resource, call)
        }
        (_, _, Some(_)) => Err(ApiError::no_such_path()),
        (&Method::GET, None, None) => verbs::list(context, resource, call),
        (&Method::POST, None, None) => verbs::create(context, resource, call),
        (&Method::DELETE, None, None) => verbs::delete_collection(context, resource, call),
        (_, Some(_), None) => of_one_object(context, resource, call, ""),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// GET, PUT, PATCH and DELETE of one object or of a part of it.
fn of_one_object(
    context: &verbs::Context<'_>,
    resource: &Resource,
    call: &Call,
    subresource: &str,
) -> ApiResult<Answer> {
    match call.method {
        Method::GET => verbs::get(context, resource, call),
        Method::PUT => verbs::update(context, resource, call, subresource),
        Method::PATCH => verbs::patch(context, resource, call, subresource),
        Method::DELETE if subresource.is_empty() => verbs::delete(context, resource, call),
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn document(state: &State, parts: &Parts, target: &Target) -> ApiResult<Response<ResponseBody>> {
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(ApiError::method_not_allowed());
    }
    let catalog = state.registry.catalog();
    let aggregated = http::wants_aggregated(&parts.headers);
    let document = match target {
        Target::Other(path) => match path.trim_end_matches('/') {
            "/healthz" | "/readyz" | "/livez" => return Ok(respond_text("ok")),
            path if path.starts_with("/openapi/") => {
                let json = openapi::answer(&catalog, &state.openapi, path)?;
                return Ok(respond_json(StatusCode::OK, json));
            }
            path => discovery::other(path),
        },
        target => discovery::document(&catalog, target, aggregated),
    };
    let value = document.ok_or_else(ApiError::no_such_path)?;
    let mut response = respond(Answer::value(&value));
    if aggregated && matches!(target, Target::Groups | Target::LegacyVersions) {
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
        );
        let tag = format!("\"{}\"", catalog.generation);
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(ETAG, tag);
        }
    }
    Ok(response)
}

async fn read_body<B>(body: B) -> ApiResult<Bytes>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, BODY_MAX_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            Err(ApiError::too_large(BODY_MAX_BYTES))
        }
        Err(error) => Err(ApiError::bad_request(format!("the body could not be read: {error}"))),
    }
}

fn respond_json(code: StatusCode, json: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(http::full(json));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn respond(answer: Answer) -> Response<ResponseBody> {
    let mut response = respond_json(answer.code, answer.json);
    for warning in answer.warnings {
        let text: String = warning.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}

fn respond_text(text: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(http::full(Bytes::from_static(text.as_bytes())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn respond_stream(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refuse(error: &ApiError) -> Response<ResponseBody> {
    respond_json(error.code, Bytes::from(error.status().to_string()))
}
