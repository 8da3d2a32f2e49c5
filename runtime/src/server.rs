//! An address in → an HTTP server for health and metrics, in plain text, until stopped.

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::health::{self, Check};
use crate::metrics::Metrics;

/// Probes and scrapers are few; more connections than this are a mistake or an attack.
const CONNECTIONS_AT_MOST: usize = 64;
/// A client that sends its request headers more slowly than this is cut off.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

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
    let listener = bind(address).await?;
    let bound = listener.local_addr()?;
    let task = tokio::spawn(async move {
        let free = Arc::new(Semaphore::new(CONNECTIONS_AT_MOST));
        loop {
            let Ok(permit) = free.clone().acquire_owned().await else { return };
            let stream = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => match accepted { Ok((stream, _)) => stream, Err(_) => continue },
            };
            let (state, stop) = (state.clone(), stop.clone());
            tokio::spawn(async move {
                let _permit = permit;
                let service = service_fn(move |request| {
                    let answer = answer(&request, &state);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                server.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
                let connection = server.serve_connection(TokioIo::new(stream), service);
                tokio::select! { () = stop.cancelled() => {}, _ = connection => {} }
            });
        }
    });
    Ok((bound, task))
}

/// Every address of this machine means IPv4's where IPv6 is switched off.
pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error)
            if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != std::io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
}

fn answer(request: &Request<Incoming>, state: &State) -> Response<Full<Bytes>> {
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
