//! Prints each request to the API server with its answer (`--verbose`), without headers and bodies: secrets stand in these.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response};
use tower::{Layer, Service};

/// The least level at which requests are printed, as with `kubectl`.
pub(crate) const LEVEL: u8 = 6;

/// Prints the requests that go through it to standard error, where that is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestLog {
    is_on: bool,
}

impl RequestLog {
    pub(crate) fn new(level: u8) -> Self {
        Self { is_on: level >= LEVEL }
    }
}

impl<S> Layer<S> for RequestLog {
    type Service = Logged<S>;

    fn layer(&self, service: S) -> Logged<S> {
        Logged { service, is_on: self.is_on }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Logged<S> {
    service: S,
    is_on: bool,
}

impl<S, In, Out> Service<Request<In>> for Logged<S>
where
    S: Service<Request<In>, Response = Response<Out>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<In>) -> Self::Future {
        if !self.is_on {
            return Box::pin(self.service.call(request));
        }
        let what = format!("{} {}", request.method(), request.uri());
        let began = Instant::now();
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let status =
                answer.as_ref().map_or_else(|_| "no answer".to_owned(), |answer| answer.status().to_string());
            // The log may go nowhere; the command goes on.
            anstream::eprintln!("{what} {status} in {} ms", began.elapsed().as_millis());
            answer
        })
    }
}
