//! Answers one HTTP request: checks method, size, number and time, and leaves everything else to the handler.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;
use tracing::field::Empty;
use vela_listen::RequestBody;

use super::handler::{Handler, Reply};
use super::metrics::ServerMetrics;

/// An API server speaks HTTP/1.1 to webhooks, one connection for each review under way; there may be several of them.
const CONNECTIONS_AT_MOST: usize = 512;
/// An API server sends its request as soon as it is connected; who does not is no API server.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// How long reviews may take to end after a stop: no API server waits longer for one.
const GRACE: Duration = Duration::from_secs(30);
/// The time for a review where the client names none; API servers always name theirs.
const DEADLINE: Duration = Duration::from_secs(9);
/// The longest time an API server waits for any webhook.
const DEADLINE_AT_MOST: Duration = Duration::from_secs(30);
/// The part of the client's time that is left for our answer to arrive.
const MARGIN: Duration = Duration::from_millis(500);
/// Reviews at once. More would only take each other's processor; the others wait their turn within their deadline.
const REVIEWS_AT_ONCE: usize = 64;
/// Kibibytes of bodies in memory at once: a good part of what a controller's pod may use.
const BODIES_KIB_AT_ONCE: usize = 128 * 1024;
const KIB: usize = 1024;

/// How much at once. The defaults are what a server in production has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that stand.
    pub connections: usize,
    /// Reviews under way.
    pub reviews: usize,
    /// Kibibytes of bodies in memory.
    pub bodies_kib: usize,
    /// The time for a review where the client names none.
    pub deadline: Duration,
    /// How long a new connection may take for its handshake, then for its first byte, and then for its first request.
    pub first_request: Duration,
    /// How long reviews under way may take to end after a stop was asked for.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS_AT_MOST,
            reviews: REVIEWS_AT_ONCE,
            bodies_kib: BODIES_KIB_AT_ONCE,
            deadline: DEADLINE,
            first_request: FIRST_REQUEST,
            grace: GRACE,
        }
    }
}

impl Limits {
    pub(super) fn of_connections(&self) -> vela_listen::Limits {
        vela_listen::Limits {
            connections: self.connections,
            handshake: self.first_request,
            first_byte: self.first_request,
            headers: self.first_request,
            grace: self.grace,
            ..vela_listen::Limits::default()
        }
    }
}

/// Where every request of a server ends up.
pub(super) struct ReviewEndpoint {
    handler: Arc<dyn Handler>,
    metrics: ServerMetrics,
    reviews: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    limits: Limits,
}

/// A body with its share of the memory.
struct Content {
    bytes: Bytes,
    share: Option<OwnedSemaphorePermit>,
}

impl ReviewEndpoint {
    pub(super) fn new(handler: Arc<dyn Handler>, metrics: ServerMetrics, limits: Limits) -> Self {
        let (reviews, bodies) = (Semaphore::new(limits.reviews), Semaphore::new(limits.bodies_kib));
        Self { handler, metrics, reviews: Arc::new(reviews), bodies: Arc::new(bodies), limits }
    }

    pub(super) async fn respond(&self, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        let began = Instant::now();
        let _in_flight = self.metrics.began();
        let path = request.uri().path().to_owned();
        let span = tracing::info_span!("review", path, status = Empty, result = Empty);
        let until = began + deadline(request.uri().query().unwrap_or_default(), self.limits.deadline);
        let reply = async {
            match self.read(&path, request, until).await {
                Ok(content) => self.review(path.clone(), content, until).await,
                Err(refused) => refused,
            }
        };
        let reply = reply.instrument(span.clone()).await;
        span.record("status", reply.status);
        span.record("result", if reply.status == 200 { "success" } else { "error" });
        self.metrics.ended(&path, reply.status, began.elapsed());
        if reply.status != 200 {
            let message = reply.body.get("message").and_then(serde_json::Value::as_str).unwrap_or_default();
            tracing::debug!(path, status = reply.status, message, "a review was not answered");
        }
        response(&reply)
    }

    /// The body, if the request is one we take.
    async fn read(
        &self,
        path: &str,
        request: Request<RequestBody>,
        until: Instant,
    ) -> Result<Content, Reply> {
        if request.method() != Method::POST {
            let method = request.method();
            return Err(Reply::failure(405, format!("{method} is not served: reviews come by POST")));
        }
        if !is_json(request.headers().get(header::CONTENT_TYPE)) {
            return Err(Reply::failure(415, "reviews come as application/json, and no other Content-Type"));
        }
        let at_most = self.handler.body_at_most(path);
        let too_long = || Reply::failure(413, format!("a body at {path} may have {at_most} bytes at most"));
        let mut body = request.into_body();
        if body.size_hint().lower() > at_most as u64 {
            return Err(too_long());
        }
        let mut bytes = BytesMut::new();
        let mut share: Option<OwnedSemaphorePermit> = None;
        loop {
            let frame = match timeout_at(until, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => return Ok(Content { bytes: bytes.freeze(), share }),
                Ok(Some(Err(error))) => {
                    return Err(Reply::failure(400, format!("the body broke off: {error}")));
                }
                Err(_) => return Err(Reply::failure(408, "the body did not come within the review's time")),
            };
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > at_most {
                return Err(too_long());
            }
            let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let more = (bytes.len() + data.len()).div_ceil(KIB).saturating_sub(held);
            if more > 0 {
                let more = u32::try_from(more).unwrap_or(u32::MAX);
                match (self.bodies.clone().try_acquire_many_owned(more), &mut share) {
                    (Ok(more), Some(share)) => share.merge(more),
                    (Ok(more), none) => *none = Some(more),
                    (Err(_), _) => {
                        return Err(Reply::failure(503, "too many bytes are under review; send it again"));
                    }
                }
            }
            bytes.extend_from_slice(&data);
        }
    }

    /// Runs the judge on a thread of its own, so that a slow judge delays no other request beyond its deadline. A judge
    /// that does not end in time keeps its place until it ends.
    async fn review(&self, path: String, content: Content, until: Instant) -> Reply {
        let late = || Reply::failure(504, "the review did not end within its time");
        let Ok(Ok(place)) = timeout_at(until, self.reviews.clone().acquire_owned()).await else {
            return Reply::failure(503, format!("{} other reviews are under way", self.limits.reviews));
        };
        let handler = self.handler.clone();
        let runtime = tokio::runtime::Handle::current();
        let named = path.clone();
        let judged = tokio::task::spawn_blocking(move || {
            let _place = place;
            let Content { bytes, share } = content;
            let _share = share;
            runtime.block_on(async {
                timeout_at(until, handler.answer_until(&named, &bytes, until.into_std())).await.ok()
            })
        });
        match timeout_at(until, judged).await {
            Ok(Ok(Some(reply))) => reply,
            Ok(Ok(None)) | Err(_) => late(),
            Ok(Err(stopped)) => {
                if stopped.is_panic() {
                    self.metrics.panicked();
                    let panic = reason(&*stopped.into_panic());
                    tracing::error!(path, panic, "a review panicked; its request fails and the others go on");
                }
                Reply::failure(500, "the review ended by a fault of ours; the log has more")
            }
        }
    }
}

/// The message of a panic.
fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it said nothing".to_owned())
}

fn is_json(kind: Option<&HeaderValue>) -> bool {
    let essence = kind.and_then(|kind| kind.to_str().ok()).and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// How long a review may take whose address ends in this query: what the API server allows less our margin.
fn deadline(query: &str, usual: Duration) -> Duration {
    let asked = query.split('&').find_map(|part| part.strip_prefix("timeout=")).and_then(go_duration);
    let Some(asked) = asked.filter(|asked| !asked.is_zero()) else { return usual };
    let asked = asked.min(DEADLINE_AT_MOST);
    asked - MARGIN.min(asked / 5)
}

/// A duration as Go writes it: `30s`, `1m0s`, `1.5s`, `500ms`.
fn go_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let (mut rest, mut seconds) = (text, 0.0);
    if text.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let (unit, factor) = UNITS.into_iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
        seconds += number * factor;
        rest = &rest[end + unit.len()..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn response(reply: &Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(reply.body.to_string())));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if reply.status == 405 {
        headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_what_the_client_allows_less_a_margin() {
        let millis = |query: &str| deadline(query, Duration::from_secs(9)).as_millis();
        assert_eq!(millis("timeout=10s"), 9500);
        assert_eq!(millis("a=b&timeout=1m0s"), 29_500);
        assert_eq!(millis("timeout=1s"), 800);
        assert_eq!(millis("timeout=1.5s"), 1200);
        assert_eq!(millis("timeout=500ms"), 400);
        for nonsense in [
            "",
            "timeout",
            "timeout=",
            "timeout=0s",
            "timeout=-1s",
            "timeout=5",
            "timeout=1e9s",
            "timeout=.s",
        ] {
            assert_eq!(millis(nonsense), 9000, "{nonsense}");
        }
    }

    #[test]
    fn only_json_is_json() {
        let json = |kind: &'static str| is_json(Some(&HeaderValue::from_static(kind)));
        assert!(json("application/json") && json("Application/JSON; charset=utf-8"));
        assert!(!json("application/jsonp") && !json("text/plain") && !is_json(None));
    }
}
