//! A client service in → the same service, whose requests are counted and, on demand, fail: for tests and benches.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{BoxError, Layer, Service};

/// Entries kept; a longer run counts only its last requests.
const LOG_AT_MOST: usize = 100_000;

/// One request that went through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub path: String,
}

impl Entry {
    /// True when the request may change something.
    pub fn writes(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD
    }

    /// True for an event, which reports but does not steer.
    pub fn is_event(&self) -> bool {
        self.path.split('?').next().is_some_and(|path| path.split('/').any(|part| part == "events"))
    }

    /// True for the start of a watch.
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=")
    }
}

/// What to do with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Let it through.
    Pass,
    /// Fail before it reaches the server: nothing happened.
    DropRequest,
    /// Let it through and lose the answer: it happened, and the caller does not know.
    DropAnswer,
}

type Judge = Box<dyn Fn(&Entry) -> Fate + Send + Sync>;

#[derive(Default)]
struct Shared {
    log: Vec<Entry>,
    judge: Option<Arc<Judge>>,
}

/// Counts and, when told so, breaks requests. Clones share the log and the rule.
#[derive(Clone, Default)]
pub struct Faults {
    shared: Arc<Mutex<Shared>>,
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").finish_non_exhaustive()
    }
}

impl Faults {
    /// Nothing logged, nothing broken.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decide each request's fate from now on.
    pub fn judge(&self, judge: impl Fn(&Entry) -> Fate + Send + Sync + 'static) {
        self.lock().judge = Some(Arc::new(Box::new(judge)));
    }

    /// Let everything through again.
    pub fn heal(&self) {
        self.lock().judge = None;
    }

    /// The requests since the last call, oldest first.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.lock().log)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self, entry: Entry) -> Fate {
        let judge = {
            let mut shared = self.lock();
            if shared.log.len() >= LOG_AT_MOST {
                shared.log.clear();
            }
            shared.log.push(entry.clone());
            shared.judge.clone()
        };
        judge.map_or(Fate::Pass, |judge| judge(&entry))
    }
}

impl<S> Layer<S> for Faults {
    type Service = Faulty<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Faulty { inner, faults: self.clone() }
    }
}

/// A service behind [`Faults`].
#[derive(Clone, Debug)]
pub struct Faulty<S> {
    inner: S,
    faults: Faults,
}

/// The failure that [`Faults`] make up.
#[derive(Debug, thiserror::Error)]
#[error("the connection was broken on purpose")]
pub struct Broken;

impl<S, B, R> Service<Request<B>> for Faulty<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<R>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
        let fate = self.faults.fate(Entry { method: request.method().clone(), path });
        if fate == Fate::DropRequest {
            return Box::pin(async { Err(Broken.into()) });
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            if fate == Fate::DropAnswer { Err(Broken.into()) } else { Ok(answer) }
        })
    }
}
