//! The HTTP service of the console: checks that a request is allowed, and answers; changes only what a user orders.

mod audit;
mod console;
mod read;
mod read_2021;
mod send;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};

pub use self::audit::Audit;
pub use self::console::{Console, Options};
use self::send::{BoxError, Sent, see};
use crate::answer::{Body, failure, html, whole};
use crate::error::Error;
use crate::find::find;
use crate::pages;
use crate::query::Query;
use crate::route::{Endpoint, READS};

/// No answer takes longer, streams aside.
const LONGEST: Duration = Duration::from_secs(30);

/// The form of a failure.
enum Speaks {
    /// A Status.
    Kubernetes,
    /// That of the REST API of early 2021.
    As2021,
    /// A page.
    Html,
}

impl Speaks {
    fn of(path: &str) -> Self {
        match path.strip_prefix("/api/") {
            None => Self::Html,
            Some(rest) if rest.starts_with("v1/") || rest == "openapi.json" => Self::Kubernetes,
            Some(_) => Self::As2021,
        }
    }
}

impl Console {
    async fn respond<B: Sent>(&self, parts: &Parts, body: B) -> Response<Body>
    where
        B::Error: Into<BoxError>,
    {
        let mut answer = match self.answer(parts, body).await {
            Ok(answer) => answer,
            Err(error) => {
                let mut answer = match Speaks::of(parts.uri.path()) {
                    Speaks::Kubernetes => failure(&error),
                    Speaks::As2021 => read_2021::failure(&error, parts),
                    Speaks::Html => html(error.status(), pages::failure(&error)),
                };
                if let Some(allow) = error.allow() {
                    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
                }
                answer
            }
        };
        if parts.method == Method::HEAD {
            *answer.body_mut() = whole("");
        }
        answer
    }

    async fn answer<B: Sent>(&self, parts: &Parts, body: B) -> Result<Response<Body>, Error>
    where
        B::Error: Into<BoxError>,
    {
        let Parts { method, uri, headers, .. } = parts;
        let access = &self.inner.access;
        access.host(uri, headers)?;
        let found = find(uri.path());
        let allow = found.as_ref().map_or(READS, |(route, _)| route.endpoint.allow());
        if !allow.split(", ").any(|allowed| allowed == method.as_str()) {
            return Err(Error::MethodNotAllowed(allow));
        }
        let is_public = |endpoint| {
            matches!(endpoint, Endpoint::Enter | Endpoint::Style | Endpoint::Script | Endpoint::Icon)
        };
        let is_open = found.as_ref().is_ok_and(|(route, _)| is_public(route.endpoint));
        if !is_open && !access.has_session(headers) {
            return Err(Error::NoSession);
        }
        let (route, names) = found?;
        let query = Query::read(uri.query().unwrap_or_default())?;
        query.only(route.query)?;
        if route.endpoint == Endpoint::Enter {
            return self.enter(method, headers, &query);
        }
        let answer = async {
            match *method == Method::POST {
                true => self.sent(route.endpoint, headers, (&names, &query), body).await,
                false => self.at(route.endpoint, &names, &query).await,
            }
        };
        match tokio::time::timeout(LONGEST, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout(LONGEST.as_secs())),
        }
    }

    /// Sends a browser that has the token, or has a session already, to the first page.
    fn enter(&self, method: &Method, headers: &HeaderMap, query: &Query) -> Result<Response<Body>, Error> {
        let access = &self.inner.access;
        let mut answer = see("/")?;
        // A client that only looks whether a link works does not use it up.
        if method == Method::GET && !access.has_session(headers) {
            let cookie = access.enter(query.text("token").unwrap_or_default())?;
            let cookie = HeaderValue::try_from(cookie).map_err(|_| Error::NoSession)?;
            answer.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        Ok(answer)
    }
}

impl<B> tower::Service<Request<B>> for Console
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
        let console = self.clone();
        let (parts, body) = request.into_parts();
        Box::pin(async move { Ok(console.respond(&parts, body).await) })
    }
}
