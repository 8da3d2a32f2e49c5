//! The client of one watch: it reports when it is connected, does not begin anew without a pause, and does not go on
//! from a version that the server has not reached; a server that was restored from a backup would report nothing until
//! it has.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use tower::Service;

use crate::cache::Informer;

/// A watch that ends sooner is not begun again before this time is over: a server, or a proxy, that ends every watch at
/// once would otherwise be asked as fast as it can answer.
const AT_LEAST: Duration = Duration::from_secs(1);
/// The smallest list: what matters is its version.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json";

/// Refusals that cost no more than any failure: rights and kinds often come a moment after who needs them.
const REFUSALS_AT_ONCE: u32 = 3;
/// How long a kind that was refused more often is left alone at first.
const REFUSED_FIRST: Duration = Duration::from_secs(5);
/// How long it is left alone at most; then a right that was granted is noticed.
const REFUSED_LAST: Duration = Duration::from_secs(120);

/// How long the client pauses after a kind was refused so often in a row. Its author chose it and may have gone, so it
/// must not cost the server a question every few seconds for ever.
fn refusal_backoff(refusals: u32) -> Duration {
    match refusals.checked_sub(REFUSALS_AT_ONCE + 1) {
        None => Duration::ZERO,
        Some(more) => REFUSED_FIRST.saturating_mul(1 << more.min(8)).min(REFUSED_LAST),
    }
}

/// The client of one informer's watch.
pub(crate) fn watch_client(client: kube::Client, informer: Arc<Informer>) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    let watch_client = WatchClient { inner: client, informer, next: Instant::now(), follows_list: false };
    kube::Client::new(watch_client, namespace)
}

struct WatchClient {
    inner: kube::Client,
    informer: Arc<Informer>,
    /// When the next watch may begin.
    next: Instant,
    /// The last request was a list, whose version the next watch goes on from.
    follows_list: bool,
}

impl Service<Request<Body>> for WatchClient {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        // Each request waits for its turn inside the client.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, informer) = (self.inner.clone(), self.informer.clone());
        let (now, backoff) = (Instant::now(), refusal_backoff(informer.refusals()));
        let version = resumed_version(&request);
        let resumes = version.filter(|_| !std::mem::replace(&mut self.follows_list, version.is_none()));
        let mut begin = now + backoff;
        if version.is_some() {
            begin = begin.max(self.next);
            self.next = begin + AT_LEAST;
        }
        if resumes.is_some() {
            informer.resumes();
        }
        Box::pin(async move {
            if version.is_some() || begin > now {
                tokio::select! {
                    biased;
                    () = informer.recheck(), if !backoff.is_zero() => {}
                    () = sleep_until(begin) => {}
                }
            }
            if version.is_none() {
                return client.send(request).await;
            }
            let collection = request.uri().path().to_owned();
            if let Some(version) = resumes
                && let Some(answer) = unless_reached(&client, &informer, &collection, version).await?
            {
                return Ok(answer);
            }
            let answer = client.send(request).await?;
            if answer.status() == StatusCode::GONE {
                // Most servers say so inside of the stream, and only from there does the watcher list anew.
                return Ok(expired("the server has forgotten this version: everything is listed anew"));
            }
            if answer.status().is_success() {
                informer.connected();
            }
            Ok(answer)
        })
    }
}

/// The version from which a watch goes on; nothing for a request that is no watch.
fn resumed_version(request: &Request<Body>) -> Option<u64> {
    let query = request.uri().query().unwrap_or_default();
    if !query.split('&').any(|part| part == "watch=true") {
        return None;
    }
    let version = query.split('&').find_map(|part| part.strip_prefix("resourceVersion="));
    Some(version.and_then(|version| version.parse().ok()).unwrap_or(0))
}

#[derive(Deserialize)]
struct ListHead {
    metadata: ListHeadMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListHeadMetadata {
    resource_version: Option<String>,
}

/// Ask where the server is before a watch goes on from a version. Gives nothing when it has reached that; else the
/// answer for the watch: the refusal of the question, or that its version is gone, which makes it list anew.
async fn unless_reached(
    client: &kube::Client,
    informer: &Informer,
    collection: &str,
    version: u64,
) -> Result<Option<Response<Body>>, kube::Error> {
    let question = Request::builder()
        .method(Method::GET)
        .uri(format!("{collection}?limit=1"))
        .header(header::ACCEPT, METADATA)
        .body(Body::empty())
        .map_err(kube::Error::HttpError)?;
    let answer = client.send(question).await?;
    if answer.status() == StatusCode::NOT_FOUND {
        // The kind went, and its objects with it, or comes back in a moment: only a list tells which.
        return Ok(Some(expired("the kind is not served any more, or not yet again: it is listed anew")));
    }
    if !answer.status().is_success() {
        return Ok(Some(answer));
    }
    let body = answer.into_body().collect().await?.to_bytes();
    let head: ListHead = serde_json::from_slice(&body).map_err(kube::Error::SerdeError)?;
    let reached = head.metadata.resource_version.and_then(|reached| reached.parse::<u64>().ok());
    let Some(reached) = reached.filter(|reached| *reached < version) else { return Ok(None) };
    informer.set_back();
    let message = format!(
        "the server is at version {reached} and has told of version {version} before: it was set back, as by a backup; \
         everything is listed anew"
    );
    Ok(Some(expired(&message)))
}

/// The answer that makes a watch list anew.
fn expired(message: &str) -> Response<Body> {
    let gone = json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": 410, "reason": "Expired", "message": message,
    }});
    Response::new(Body::from(format!("{gone}\n").into_bytes()))
}
