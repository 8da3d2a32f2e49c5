//! The service that a process of the controllers talks to: each request waits until a schedule lets it through.

use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::sync::oneshot;
use tower::{BoxError, Service};

use super::process::Process;
use super::request::{Pending, Stage, answer, is_event, is_read_of_many, path_of};
use super::watch::Body;
use super::{BURST_AT_MOST, Network};

/// The client's end of the network, of one process.
#[derive(Clone)]
pub(crate) struct NetworkService {
    network: Network,
    process: Process,
}

impl NetworkService {
    pub(crate) fn new(network: Network, process: Process) -> Self {
        Self { network, process }
    }
}

impl<B> Service<Request<B>> for NetworkService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        // Bodies of requests are in memory.
        let bytes =
            body.collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes()).unwrap_or_default();
        let request = Request::from_parts(parts, bytes);
        let (method, path) = (request.method().clone(), path_of(&request));
        let mut state = self.network.lock();
        if state.dead.contains(&self.process) {
            return std::future::pending().boxed();
        }
        if is_event(&path) {
            // Events report and never steer: the server need not keep them.
            let echo = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
            return std::future::ready(Ok(answer(StatusCode::CREATED, &echo))).boxed();
        }
        let sent = state.server.store().revision();
        if state.open || state.reads_open && is_read_of_many(&method, &path) {
            state.burst += 1;
            if state.burst > BURST_AT_MOST {
                // Time does not pass while one request follows the other, so it would never end.
                return std::future::pending().boxed();
            }
            drop(state);
            return std::future::ready(Ok(self.network.ask(self.process, sent, request))).boxed();
        }
        state.next += 1;
        let id = state.next;
        let (sender, receiver) = oneshot::channel();
        let stage = Stage::Asked(request);
        state
            .pending
            .insert(id, Pending { process: self.process, method, path, stage, sent, sender: Some(sender) });
        drop(state);
        let waiting = Waiting { network: self.network.clone(), id };
        async move {
            let answer = receiver.await;
            drop(waiting);
            answer.unwrap_or_else(|_| Err("the connection was broken on purpose".into()))
        }
        .boxed()
    }
}

/// A client that waits for an answer; when it goes away, its request may still arrive.
struct Waiting {
    network: Network,
    id: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.network.lock();
        let Some(pending) = state.pending.get_mut(&self.id) else { return };
        pending.sender = None;
        if pending.is_asked() && pending.writes() {
            return;
        }
        state.pending.remove(&self.id);
    }
}
