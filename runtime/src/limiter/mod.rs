//! Limits the requests in flight to what the API server bears: as many as it answers quickly, fewer as soon as it slows
//! down or refuses, and none while it asks to be left alone.
//!
//! A request waits for its turn in a `gate`, whose `window` says how many may be under way. API Priority and Fairness
//! gives requests of different kinds to different priority levels, each with seats of its own, and names the level in the
//! answer: each level has a gate of its own here, so that one that is full holds up no other. Watches, which last, and
//! leases, on which leadership depends, do not wait. Events wait behind everything else.

mod classify;
mod figures;
mod gate;
mod levels;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use http::{Request, Response};
use kube::client::Body;
use kube::client::retry::RetryPolicy;
use prometheus_client::registry::Registry;
use tower::BoxError;
use tower::retry::Retry;

use self::classify::{Request as Class, signal};
pub use self::figures::Figures;
use self::figures::Scraped;
use self::levels::Levels;

/// Requests in flight at most, in each priority level, unless told otherwise: more than a server on a few processors
/// answers faster than one after the other, and a small part of the 600 that a server takes from everybody.
pub const REQUESTS_IN_FLIGHT: usize = 64;

/// Limits the requests of the clients that go through it, all together.
#[derive(Clone, Debug)]
pub struct RequestLimiter {
    levels: Arc<Levels>,
}

impl RequestLimiter {
    /// A limiter of at most so many requests in flight in each priority level; at least one.
    pub fn new(most: usize) -> Self {
        Self { levels: Arc::new(Levels::new(most)) }
    }

    /// A client that sends its requests through `client` when their turn comes, and sends those again that the server
    /// put off (429, 503, 504), after the time that the server asks for. `client` must not do that itself
    /// ([`kube::Config::default_retry`]): while it did, a request would hold its place and say nothing of the server.
    pub fn client(&self, client: &kube::Client) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let (limiter, inner) = (self.clone(), client.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (limiter, inner) = (limiter.clone(), inner.clone());
            async move { limiter.send(&inner, request).await.map_err(BoxError::from) }
        });
        kube::Client::new(Retry::new(RetryPolicy::server_retry(), service), namespace)
    }

    /// The requests in flight now.
    pub fn figures(&self) -> Figures {
        self.levels.figures()
    }

    /// Show these figures to scrapers.
    pub fn register(&self, registry: &mut Registry) {
        let limiter = self.clone();
        registry.register_collector(Box::new(Scraped(move || limiter.figures())));
    }

    async fn send(
        &self,
        client: &kube::Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, kube::Error> {
        let Some(class) = Class::of(&request) else { return client.send(request).await };
        let permit = self.levels.gate(&class.kind).enter(class.urgency).await;
        let answer = client.send(request).await;
        if let Ok(answer) = &answer {
            self.levels.learn(&class.kind, answer.headers());
        }
        let took = permit.elapsed();
        permit.answered(signal(&class, &answer, took));
        answer
    }
}
