//! Whom a server lets in: the browser with its link, or users with rights of their own.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};

use super::console::Console;
use super::people::People;
use super::send::BoxError;
use crate::answer::Body;

/// What a server serves.
#[derive(Clone, Debug)]
pub enum Door {
    /// One console, for the browser with its link.
    Link(Console),
    /// A console for each user who brings a token of the cluster, or whom a proxy names.
    People(People),
}

impl From<Console> for Door {
    fn from(console: Console) -> Self {
        Self::Link(console)
    }
}

impl From<People> for Door {
    fn from(people: People) -> Self {
        Self::People(people)
    }
}

impl Door {
    /// Follows the applications no longer.
    pub async fn close(&self) {
        match self {
            Self::Link(console) => console.close().await,
            Self::People(people) => people.close().await,
        }
    }
}

impl<B> tower::Service<Request<B>> for Door
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        match self.clone() {
            Self::Link(console) => Box::pin(async move { Ok(console.respond(&parts, body).await) }),
            Self::People(people) => Box::pin(async move { Ok(people.respond(&parts, body).await) }),
        }
    }
}
