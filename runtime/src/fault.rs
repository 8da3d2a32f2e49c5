//! A client service that records its requests and, on demand, fails or delays them: for tests and benches.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tower::{BoxError, Layer, Service};

/// Entries kept; a longer run counts only its last requests. Enough for 10,000 applications.
const LOG_AT_MOST: usize = 400_000;

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

/// The action on one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// Let it through.
    Pass,
    /// Fail before it reaches the server: nothing happened.
    DropRequest,
    /// Let it through and lose the answer: it happened, and the caller does not know.
    DropAnswer,
}

type Rule = Box<dyn Fn(&Entry) -> Injection + Send + Sync>;
type Filter = Box<dyn Fn(&Entry) -> bool + Send + Sync>;

#[derive(Default)]
struct Shared {
    log: Vec<Entry>,
    rule: Option<Arc<Rule>>,
    slow: Option<(Duration, Arc<Filter>)>,
    /// Slow requests that are under way, and the most there were at the same time.
    in_flight: usize,
    most_in_flight: usize,
}

/// A slow request, while it is under way.
struct InFlight(Faults);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
    }
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
    /// An empty log and no fault.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decide each request's fate from now on.
    pub fn inject(&self, rule: impl Fn(&Entry) -> Injection + Send + Sync + 'static) {
        self.lock().rule = Some(Arc::new(Box::new(rule)));
    }

    /// Let everything through again.
    pub fn heal(&self) {
        self.lock().rule = None;
    }

    /// Let these requests take that much longer from now on, as a server in another place would, and count how many
    /// are under way at the same time.
    pub fn slow(&self, delay: Duration, filter: impl Fn(&Entry) -> bool + Send + Sync + 'static) {
        let mut shared = self.lock();
        shared.slow = Some((delay, Arc::new(Box::new(filter))));
        shared.most_in_flight = 0;
    }

    /// The most requests that [`Faults::slow`] chose and that were under way at the same time since.
    pub fn most_in_flight(&self) -> usize {
        self.lock().most_in_flight
    }

    fn delay(&self, entry: &Entry) -> Option<(Duration, InFlight)> {
        let (delay, filter) = self.lock().slow.clone()?;
        if !filter(entry) {
            return None;
        }
        let mut shared = self.lock();
        shared.in_flight += 1;
        shared.most_in_flight = shared.most_in_flight.max(shared.in_flight);
        Some((delay, InFlight(self.clone())))
    }

    /// The requests since the last call, oldest first.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut self.lock().log)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn injection(&self, entry: Entry) -> Injection {
        let rule = {
            let mut shared = self.lock();
            if shared.log.len() >= LOG_AT_MOST {
                shared.log.clear();
            }
            shared.log.push(entry.clone());
            shared.rule.clone()
        };
        rule.map_or(Injection::Pass, |rule| rule(&entry))
    }
}

impl<S> Layer<S> for Faults {
    type Service = FaultyService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        FaultyService { inner, faults: self.clone() }
    }
}

/// The place of a server: clients keep it while another server takes it over, as after a restore from a backup.
#[derive(Clone, Debug)]
pub struct SwitchableService<S> {
    current: Arc<Mutex<S>>,
}

impl<S> SwitchableService<S> {
    /// A door to this server.
    pub fn new(server: S) -> Self {
        Self { current: Arc::new(Mutex::new(server)) }
    }

    /// From now on requests go there; those under way end where they went.
    pub fn switch_to(&self, server: S) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = server;
    }
}

impl<S, B> Service<Request<B>> for SwitchableService<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).call(request)
    }
}

/// A service behind [`Faults`].
#[derive(Clone, Debug)]
pub struct FaultyService<S> {
    inner: S,
    faults: Faults,
}

/// The failure that [`Faults`] make up.
#[derive(Debug, thiserror::Error)]
#[error("the connection was broken on purpose")]
pub struct InjectedError;

impl<S, B, R> Service<Request<B>> for FaultyService<S>
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
        let entry = Entry { method: request.method().clone(), path };
        let delay = self.faults.delay(&entry);
        let injection = self.faults.injection(entry);
        if injection == Injection::DropRequest {
            return Box::pin(async { Err(InjectedError.into()) });
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let _in_flight = match delay {
                Some((delay, in_flight)) => {
                    tokio::time::sleep(delay).await;
                    Some(in_flight)
                }
                None => None,
            };
            let answer = answer.await.map_err(Into::into)?;
            if injection == Injection::DropAnswer { Err(InjectedError.into()) } else { Ok(answer) }
        })
    }
}
