//! A client in → the same client for one watch, which tells when it is connected and does not begin anew without pause.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body;
use tokio::time::{Instant, sleep_until};
use tower::Service;

use crate::cache::Informer;

/// A watch that ends sooner is not begun again before this time is over: a server, or somebody between, that ends every
/// watch at once would otherwise be asked as fast as it can answer.
const AT_LEAST: Duration = Duration::from_secs(1);

/// Refusals that cost no more than any failure: rights and kinds often come a moment after who needs them.
const REFUSALS_AT_ONCE: u32 = 3;
/// How long a kind that was refused more often is left alone at first.
const REFUSED_FIRST: Duration = Duration::from_secs(5);
/// How long it is left alone at most; then a right that was granted is noticed.
const REFUSED_LAST: Duration = Duration::from_secs(120);

/// How long nobody asks for a kind that was refused so often in a row. Its author chose it and may have gone, so it must
/// not cost the server a question every few seconds for ever.
fn left_alone(refusals: u32) -> Duration {
    match refusals.checked_sub(REFUSALS_AT_ONCE + 1) {
        None => Duration::ZERO,
        Some(more) => REFUSED_FIRST.saturating_mul(1 << more.min(8)).min(REFUSED_LAST),
    }
}

/// The client of one informer's watch.
pub(crate) fn paced(client: kube::Client, informer: Arc<Informer>) -> kube::Client {
    let namespace = client.default_namespace().to_owned();
    kube::Client::new(Paced { inner: client, informer, next: Instant::now() }, namespace)
}

struct Paced {
    inner: kube::Client,
    informer: Arc<Informer>,
    /// When the next watch may begin.
    next: Instant,
}

impl Service<Request<Body>> for Paced {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        // Each request waits for its turn inside the client.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, informer) = (self.inner.clone(), self.informer.clone());
        let query = request.uri().query().unwrap_or_default();
        let (now, alone) = (Instant::now(), left_alone(informer.refusals()));
        let watch = query.split('&').any(|part| part == "watch=true");
        let mut begin = now + alone;
        if watch {
            begin = begin.max(self.next);
            self.next = begin + AT_LEAST;
        }
        Box::pin(async move {
            if watch || begin > now {
                tokio::select! {
                    biased;
                    () = informer.hope(), if !alone.is_zero() => {}
                    () = sleep_until(begin) => {}
                }
            }
            if !watch {
                return client.send(request).await;
            }
            let answer = client.send(request).await?;
            if answer.status().is_success() {
                informer.connected();
            }
            Ok(answer)
        })
    }
}
