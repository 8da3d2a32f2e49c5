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
        if !query.split('&').any(|part| part == "watch=true") {
            return Box::pin(async move { client.send(request).await });
        }
        let begin = self.next.max(Instant::now());
        self.next = begin + AT_LEAST;
        Box::pin(async move {
            sleep_until(begin).await;
            let answer = client.send(request).await?;
            if answer.status().is_success() {
                informer.connected();
            }
            Ok(answer)
        })
    }
}
