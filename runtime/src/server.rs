//! The plain HTTP server for health and metrics.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tokio_util::sync::CancellationToken;
use vela_listen::RequestBody;

use crate::health::{self, Added, Check};
use crate::metrics::Metrics;

/// Answers requests to one more path of the metrics endpoint, at once.
pub(crate) type Handler = Box<dyn Fn(&Request<()>) -> Response<Bytes> + Send + Sync>;

/// Further paths of the metrics endpoint.
#[derive(Default)]
pub(crate) struct Handlers(Vec<(String, Handler)>);

impl std::fmt::Debug for Handlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(path, _)| path)).finish()
    }
}

impl Handlers {
    pub(crate) fn add(&mut self, path: String, handler: Handler) {
        self.0.push((path, handler));
    }

    /// A path that cannot be served, and why.
    pub(crate) fn unusable(&self) -> Option<(&str, &'static str)> {
        let mut paths = HashSet::new();
        self.0.iter().map(|(path, _)| path.as_str()).find_map(|path| {
            let own = path.trim_matches('/').split('/').next().unwrap_or_default();
            if !path.starts_with('/') || path.len() < 2 || path.ends_with('/') {
                Some((path, "write it as /debug/state, with a slash before it and none behind"))
            } else if OWN.contains(&own) {
                Some((path, "this path is served already, so choose another one"))
            } else {
                (!paths.insert(path))
                    .then_some((path, "another handler has this path, so choose another one"))
            }
        })
    }

    fn answer(&self, request: &Request<RequestBody>) -> Option<Response<Full<Bytes>>> {
        let (_, handler) = self.0.iter().find(|(path, _)| path == request.uri().path())?;
        let mut asked = Request::new(());
        asked.method_mut().clone_from(request.method());
        asked.uri_mut().clone_from(request.uri());
        asked.headers_mut().clone_from(request.headers());
        Some(match catch_unwind(AssertUnwindSafe(|| handler(&asked))) {
            Ok(response) => response.map(Full::new),
            Err(_) => {
                tracing::error!(path = request.uri().path(), "a handler of the metrics endpoint panicked");
                let mut response = Response::new(Full::new(Bytes::from_static(b"internal server error\n")));
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                response
            }
        })
    }
}

/// The endpoints of every process.
const OWN: [&str; 4] = ["metrics", "healthz", "livez", "readyz"];

/// The checks that are there without being added, by endpoint.
pub(crate) const HEALTHZ: [&str; 1] = ["ping"];
pub(crate) const READYZ: [&str; 2] = ["caches", "webhooks"];

/// The purpose of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Health,
    Metrics,
}

impl Purpose {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Metrics => "metrics",
        }
    }
}

/// The checks behind the endpoints.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) ready: AtomicBool,
    /// Whether the webhook server listens, where there is one.
    pub(crate) webhooks: Option<AtomicBool>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) healthz: Added,
    pub(crate) readyz: Added,
    pub(crate) handlers: Handlers,
}

impl State {
    /// Whether this process is alive.
    fn liveness(&self) -> Vec<Check<'_>> {
        let [ping] = HEALTHZ;
        std::iter::once((ping, true)).chain(self.healthz.look("healthz")).collect()
    }

    /// The conditions of a useful process.
    fn readiness(&self) -> Vec<Check<'_>> {
        let [caches, webhooks] = READYZ;
        let mut checks = vec![(caches, self.ready.load(Ordering::SeqCst))];
        checks.extend(self.webhooks.as_ref().map(|serving| (webhooks, serving.load(Ordering::SeqCst))));
        checks.extend(self.readyz.look("readyz"));
        checks
    }
}

/// Bind the address and serve in the background; returns the address that was bound.
pub(crate) async fn serve(
    address: SocketAddr,
    purpose: Purpose,
    state: Arc<State>,
    stop: CancellationToken,
) -> std::io::Result<(SocketAddr, tokio::task::JoinHandle<()>)> {
    let listener = vela_listen::bind(address).await?;
    let bound = listener.local_addr()?;
    let service = tower::service_fn(move |request| {
        let further = match purpose {
            Purpose::Health => None,
            Purpose::Metrics => state.handlers.answer(&request),
        };
        let answer = further.unwrap_or_else(|| answer(&request, &state));
        async move { Ok::<_, Infallible>(answer) }
    });
    // Answers take no time, so a stop waits for none.
    let limits = vela_listen::Limits { grace: Duration::ZERO, ..vela_listen::Limits::default() };
    let config = vela_listen::Config { limits, ..vela_listen::Config::new("health and metrics") };
    let task = tokio::spawn(vela_listen::serve(listener, config, service, stop));
    Ok((bound, task))
}

fn answer(request: &Request<RequestBody>, state: &State) -> Response<Full<Bytes>> {
    let asks = matches!(*request.method(), Method::GET | Method::HEAD);
    let path = request.uri().path().trim_matches('/');
    let (endpoint, rest) = path.split_once('/').unwrap_or((path, ""));
    let checks = match endpoint {
        "healthz" | "livez" => state.liveness(),
        "readyz" => state.readiness(),
        _ => Vec::new(),
    };
    let query = request.uri().query().unwrap_or_default();
    let (code, kind, text) = match health::answer(endpoint, rest, query, &checks) {
        Some((code, text)) if asks && !checks.is_empty() => (code, "text/plain; charset=utf-8", text),
        _ if asks && path == "metrics" => (
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            state.metrics.text(),
        ),
        _ => (StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404 page not found\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    headers.insert(http::header::X_CONTENT_TYPE_OPTIONS, http::HeaderValue::from_static("nosniff"));
    response
}
