//! An address in → an HTTP server for health and metrics, in plain text, until stopped.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tokio_util::sync::CancellationToken;
use vela_listen::RequestBody;

use crate::health::{self, Check};
use crate::metrics::Metrics;

/// What the endpoints tell.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) ready: AtomicBool,
    /// Whether the webhook server listens, where there is one.
    pub(crate) webhooks: Option<AtomicBool>,
    pub(crate) metrics: Arc<Metrics>,
}

impl State {
    /// What has to be there before this process is of use.
    fn readiness(&self) -> Vec<Check> {
        let mut checks = vec![("caches", self.ready.load(Ordering::SeqCst))];
        checks.extend(self.webhooks.as_ref().map(|serving| ("webhooks", serving.load(Ordering::SeqCst))));
        checks
    }
}

/// Bind the address and serve in the background; returns the address that was bound.
pub(crate) async fn serve(
    address: SocketAddr,
    state: Arc<State>,
    stop: CancellationToken,
) -> std::io::Result<(SocketAddr, tokio::task::JoinHandle<()>)> {
    let listener = vela_listen::bind(address).await?;
    let bound = listener.local_addr()?;
    let service = tower::service_fn(move |request| {
        let answer = answer(&request, &state);
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
        "healthz" | "livez" => vec![("ping", true)],
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
