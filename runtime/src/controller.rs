//! Reconciles one key at a time for changes of watched kinds; recovers panics, keeps deadlines and retries failures.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::cache::{Cache, Change, Informer, Key};
use crate::metrics::Metrics;
use crate::predicate::{Predicate, Watched};
use crate::queue::{Priority, Queue, Verdict};

/// Longest time one reconcile may take; a hung request must not hold its key for ever.
pub const RECONCILE_TIMEOUT: Duration = Duration::from_secs(60);
/// A reconcile that takes longer than this leaves its worker's place to another one: what it waits for holds up its own
/// key only.
pub const STUCK_AFTER: Duration = Duration::from_secs(5);
/// Reconciles beside those of the workers, of each controller: if that many are stuck, it is not the fault of their keys.
const STUCK_AT_MOST: usize = 256;

/// Reconciles of this process so far: the next one's number in the log.
static RECONCILES: AtomicU64 = AtomicU64::new(1);

/// The requeue that a successful reconcile asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// No requeue until the next change.
    Done,
    /// Come again after this time, even without a change.
    RequeueAfter(Duration),
}

/// Why a reconcile failed, which decides whether it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// May go away by itself: tried again with back-off.
    #[error("{0}")]
    Retry(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Only a change of the object or its inputs can mend it: not tried again before that.
    #[error("{0}")]
    Terminal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Failure {
    /// A failure worth another try.
    pub fn retry(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Retry(error.into())
    }

    /// A failure that waits for a change.
    pub fn terminal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Terminal(error.into())
    }

    /// The same in other words, which leave out what a log may not repeat.
    #[must_use]
    pub fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        let said = words(&self.to_string());
        match self {
            Self::Retry(_) => Self::retry(said),
            Self::Terminal(_) => Self::terminal(said),
        }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::Retry(Box::new(error))
    }
}

/// Brings the objects of one key towards their desired state. It is called for deleted objects too.
pub trait Reconciler: Send + Sync + 'static {
    /// One level-triggered reconcile: reads what is, changes what differs, and may be called at any time.
    ///
    /// # Errors
    /// Why it did not succeed, and whether another try may: [`Failure::Retry`] or [`Failure::Terminal`].
    fn reconcile(&self, key: Key) -> impl Future<Output = Result<Action, Failure>> + Send;
}

type Reconcile = Arc<dyn Fn(Key) -> BoxFuture<'static, Result<Action, Failure>> + Send + Sync>;

/// A named reconciler with its queue and workers.
pub struct Controller {
    name: String,
    queue: Arc<Queue<Key>>,
    reconcile: Reconcile,
    kinds: Vec<Arc<Informer>>,
    workers: usize,
    timeout: Duration,
    stuck_after: Duration,
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Controller").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Controller {
    /// A controller with one worker and nothing watched yet.
    pub fn new<R: Reconciler>(name: impl Into<String>, reconciler: R) -> Self {
        let reconciler = Arc::new(reconciler);
        Self {
            name: name.into(),
            queue: Arc::new(Queue::new()),
            reconcile: Arc::new(move |key| {
                let reconciler = reconciler.clone();
                async move { reconciler.reconcile(key).await }.boxed()
            }),
            kinds: Vec::new(),
            workers: 1,
            timeout: RECONCILE_TIMEOUT,
            stuck_after: STUCK_AFTER,
        }
    }

    /// Reconcile each object of this kind. Unless a predicate says what counts ([`Informer::only`]), changes of status or
    /// managed fields alone do not wake it when the kind counts generations; deletions, labels, annotations and
    /// finalizers do.
    #[must_use]
    pub fn for_kind(mut self, watched: impl Into<Watched>) -> Self {
        let Watched { informer, predicate } = watched.into();
        self.kinds.push(informer.clone());
        let predicate = predicate.unwrap_or_else(Predicate::status_aside);
        self.watches(informer.only(predicate), |change| {
            change.object().map(|o| Key::of(o)).into_iter().collect()
        })
    }

    /// Reconcile the controller-owner of each changed object, when that owner is of this group and kind.
    #[must_use]
    pub fn owns(self, watched: impl Into<Watched>, owner_group: &str, owner_kind: &str) -> Self {
        let (group, kind) = (owner_group.to_owned(), owner_kind.to_owned());
        self.watches(watched, move |change| {
            change.object().and_then(|object| controller_owner(object, &group, &kind)).into_iter().collect()
        })
    }

    /// Reconcile the keys that the function names for each change that passes; all do unless a predicate says otherwise.
    #[must_use]
    pub fn watches(
        self,
        watched: impl Into<Watched>,
        keys: impl Fn(&Change) -> Vec<Key> + Send + Sync + 'static,
    ) -> Self {
        let Watched { informer, predicate } = watched.into();
        let queue = self.queue.clone();
        informer.on_change(Arc::new(move |change| {
            if !predicate.as_ref().is_none_or(|predicate| predicate.holds(change)) {
                return;
            }
            for key in keys(change) {
                queue.add_with(key, priority(change));
            }
        }));
        self
    }

    /// How many keys are reconciled at the same time; at least one.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// How long one reconcile may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a reconcile may take before another key is worked on in its place; it goes on meanwhile.
    #[must_use]
    pub fn stuck_after(mut self, time: Duration) -> Self {
        self.stuck_after = time;
        self
    }

    /// The name under which its metrics appear.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The queue, to wake the controller for reasons no watch of [`Controller::watches`] knows.
    pub fn queue(&self) -> Arc<Queue<Key>> {
        self.queue.clone()
    }

    /// The kinds whose objects are reconciled, as against those that only wake others.
    pub(crate) fn kinds(&self) -> Vec<Arc<Informer>> {
        self.kinds.clone()
    }

    /// Work until the queue is closed, then let the running reconciles end; once `cut` is cancelled they end where they
    /// wait, and no further one begins.
    pub(crate) fn run(
        &self,
        cache: Cache,
        metrics: Arc<Metrics>,
        cut: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        metrics.started(&self.name, self.workers, &self.queue);
        let (stuck, mut requests) = mpsc::channel(STUCK_AT_MOST);
        let worker = Worker {
            name: self.name.clone(),
            queue: self.queue.clone(),
            reconcile: self.reconcile.clone(),
            timeout: self.timeout,
            stuck_after: self.stuck_after,
            places: Arc::new(Semaphore::new(STUCK_AT_MOST)),
            stuck,
            cache,
            metrics,
        };
        let workers = self.workers;
        async move {
            let mut running = JoinSet::new();
            let start = |running: &mut JoinSet<_>| {
                running.spawn(cut.clone().run_until_cancelled_owned(worker.clone().run()));
            };
            (0..workers).for_each(|_| start(&mut running));
            loop {
                tokio::select! {
                    biased;
                    Some(()) = requests.recv() => start(&mut running),
                    ended = running.join_next() => if ended.is_none() { return },
                }
            }
        }
    }
}

#[derive(Clone)]
struct Worker {
    name: String,
    queue: Arc<Queue<Key>>,
    reconcile: Reconcile,
    timeout: Duration,
    stuck_after: Duration,
    /// For reconciles that are stuck.
    places: Arc<Semaphore>,
    /// Asks for another worker in the place of one that is stuck.
    stuck: mpsc::Sender<()>,
    cache: Cache,
    metrics: Arc<Metrics>,
}

impl Worker {
    async fn run(self) {
        while let Some(item) = self.queue.next().await {
            self.cache.consistent().await;
            self.metrics.working(&self.name, item.waited);
            let began = Instant::now();
            let span = tracing::info_span!(
                "reconcile",
                controller = %self.name,
                namespace = %item.key.namespace,
                name = %item.key.name,
                id = RECONCILES.fetch_add(1, Ordering::Relaxed),
                result = tracing::field::Empty,
            );
            let work = self.once(item.key.clone()).instrument(span.clone());
            let ((verdict, result), place) = self.watched(work).await;
            span.record("result", result);
            self.metrics.reconciled(&self.name, result, began.elapsed());
            self.queue.done(&item.key, verdict);
            if place.is_some() {
                // Another one works in this one's place.
                return;
            }
        }
    }

    /// The work to its end; with the place that it took beside the workers, where it was stuck.
    async fn watched<T>(&self, work: impl Future<Output = T>) -> (T, Option<OwnedSemaphorePermit>) {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(self.stuck_after, &mut work).await {
            return (done, None);
        }
        let place = self.places.clone().try_acquire_owned().ok();
        let place = place.filter(|_| self.stuck.try_send(()).is_ok());
        tracing::debug!(replaced = place.is_some(), after = ?self.stuck_after, "a reconcile takes long");
        (work.await, place)
    }

    /// One reconcile; whatever goes wrong in it is told and ends here.
    async fn once(&self, key: Key) -> (Verdict, &'static str) {
        let reconcile = AssertUnwindSafe((self.reconcile)(key)).catch_unwind();
        let (verdict, result) = match tokio::time::timeout(self.timeout, reconcile).await {
            Ok(Ok(Ok(Action::Done))) => (Verdict::Forget, "success"),
            Ok(Ok(Ok(Action::RequeueAfter(delay)))) => (Verdict::After(delay), "requeue_after"),
            Ok(Ok(Err(Failure::Retry(error)))) => {
                tracing::warn!(%error, "reconcile failed; it is tried again");
                (Verdict::Backoff, "error")
            }
            Ok(Ok(Err(Failure::Terminal(error)))) => {
                tracing::warn!(%error, "reconcile failed; it waits for a change");
                self.metrics.terminal(&self.name);
                (Verdict::Forget, "error")
            }
            Ok(Err(panic)) => {
                let reason = panic
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                tracing::error!(reason, "reconcile panicked; it is tried again");
                self.metrics.panicked(&self.name);
                (Verdict::Backoff, "error")
            }
            Err(_) => {
                tracing::error!(timeout = ?self.timeout, "reconcile took too long; it is tried again");
                self.metrics.timed_out(&self.name);
                (Verdict::Backoff, "error")
            }
        };
        tracing::debug!(result, ?verdict, "reconciled");
        (verdict, result)
    }
}

fn priority(change: &Change) -> Priority {
    if change.initial { Priority::Low } else { Priority::Normal }
}

/// The key of the object's controller-owner, if it is of that group and kind.
pub fn controller_owner(object: &DynamicObject, group: &str, kind: &str) -> Option<Key> {
    let owner = crate::owner::controller_of(object)?;
    let owner_group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    (owner_group == group && owner.kind == kind).then(|| Key::new(namespace, owner.name.clone()))
}
