//! The HTTP service of the console: checks that a request is allowed, and answers; changes only what a user orders.

mod audit;
mod centers_2021;
mod console;
mod deploy;
mod door;
mod people;
mod read;
mod read_2021;
mod respond;
mod send;
mod visitor;
mod workloads_2021;
mod write_2021;

use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, header};

pub use self::audit::Audit;
pub use self::console::{Console, Options};
pub use self::door::Door;
pub use self::people::People;
use self::respond::{is_asset, respond};
use self::send::{BoxError, Sent, see};
use crate::answer::Body;
use crate::error::Error;
use crate::find::find;
use crate::query::Query;
use crate::route::{Endpoint, READS};
use crate::write::Write;

/// No answer takes longer, streams aside.
const LONGEST: Duration = Duration::from_secs(30);

impl Console {
    async fn respond<B: Sent>(&self, parts: &Parts, body: B) -> Response<Body>
    where
        B::Error: Into<BoxError>,
    {
        respond(parts, self.answer(parts, body).await)
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
            return Err(match found {
                Ok((route, _)) => read_2021::refused(route.endpoint),
                Err(_) => Error::MethodNotAllowed(allow),
            });
        }
        let is_public = |endpoint| endpoint == Endpoint::Enter || is_asset(endpoint);
        let is_open = found.as_ref().is_ok_and(|(route, _)| is_public(route.endpoint));
        if !is_open && !access.has_session(headers) {
            return Err(Error::NoSession);
        }
        let (route, names) = found?;
        let query = Query::read(uri.query().unwrap_or_default())?;
        let write = Write::of(route.endpoint, method.as_str());
        query.only(write.map_or(route.query, Write::query))?;
        if route.endpoint == Endpoint::Enter {
            return self.enter(method, headers, &query);
        }
        let answer = async {
            if let Some(write) = write {
                return self.written(write, headers, (&names, &query), body).await;
            }
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
