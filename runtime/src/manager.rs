//! Runs the controllers of a process: starts them in order, leads or waits, and stops them in reverse order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cache::{Cache, NotSynced};
use crate::controller::Controller;
use crate::events::EventRecorder;
use crate::health::Added;
use crate::lease::{self, Elector};
use crate::metrics::Metrics;
use crate::server::{self, Handlers, Purpose};
use crate::term::{End, Term};
use crate::webhook;

/// How long running reconciles may take to end after a stop was asked for.
pub const GRACE: Duration = Duration::from_secs(30);
/// A grace that lasts until the last reconcile has ended by itself.
pub const FOR_EVER: Duration = Duration::MAX;
/// How often it is said that the server is still waited for.
const LOG_EVERY: Duration = Duration::from_secs(10);

type Other = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>;

/// Why the manager ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An endpoint address could not be bound.
    #[error("cannot listen on {address} for {purpose}: {source}; choose another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Health or metrics.
        purpose: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A watched kind could not be listed.
    #[error(transparent)]
    NotSynced(#[from] NotSynced),
    /// Two controllers have one name, so their metrics would mix.
    #[error("two controllers are named {0:?}: give one of them another name")]
    DuplicateName(String),
    /// A check or a handler that was added cannot be served under its name.
    #[error("cannot serve the {what} {name:?}: {reason}")]
    Unusable {
        /// Check of which endpoint, or handler.
        what: &'static str,
        /// Its name or path.
        name: String,
        /// The error and its remedy.
        reason: &'static str,
    },
    /// The webhook server could not start.
    #[error(transparent)]
    Webhooks(#[from] webhook::Error),
    /// Another process took the lease, or it could not be renewed.
    #[error("leader election lost: the lease {0:?} was not renewed in time")]
    LeaseLost(String),
}

/// Where an endpoint listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    /// Whether the process may go on without it when the address is taken: no flag asked for this one.
    pub optional: bool,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { address, optional: false }
    }
}

/// Runs controllers over one cache. Running takes the manager itself: callers cannot start it twice, or add to it while
/// it runs or stops.
pub struct Manager {
    client: kube::Client,
    cache: Cache,
    controllers: Vec<Controller>,
    events: Option<EventRecorder>,
    others: Vec<Other>,
    lease: Option<lease::Config>,
    health: Option<Endpoint>,
    metrics_address: Option<Endpoint>,
    webhooks: Vec<webhook::Server>,
    resync: Option<Duration>,
    grace: Duration,
    metrics: Arc<Metrics>,
    healthz: Added,
    readyz: Added,
    handlers: Handlers,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("controllers", &self.controllers).finish_non_exhaustive()
    }
}

impl Manager {
    /// A manager without controllers, lease or endpoints.
    pub fn new(client: kube::Client, cache: Cache) -> Self {
        Self {
            client,
            cache,
            controllers: Vec::new(),
            events: None,
            others: Vec::new(),
            lease: None,
            health: None,
            metrics_address: None,
            webhooks: Vec::new(),
            resync: None,
            grace: GRACE,
            metrics: Arc::default(),
            healthz: Added::default(),
            readyz: Added::default(),
            handlers: Handlers::default(),
        }
    }

    /// Run this controller too.
    #[must_use]
    pub fn with(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Write what is told through this recorder beside the controllers, which wait for none of it: as long as they run.
    #[must_use]
    pub fn events(mut self, recorder: EventRecorder) -> Self {
        self.events = Some(recorder);
        self
    }

    /// Run this too, leader or not: from the moment the caches can be read until its token is cancelled.
    #[must_use]
    pub fn beside<F>(mut self, other: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.others.push(Box::new(move |stop| other(stop).boxed()));
        self
    }

    /// Reconcile only while holding this lease.
    #[must_use]
    pub fn lease(mut self, lease: Option<lease::Config>) -> Self {
        self.lease = lease;
        self
    }

    /// Serve `/healthz` and `/readyz` here.
    #[must_use]
    pub fn health(mut self, endpoint: Option<Endpoint>) -> Self {
        self.health = endpoint;
        self
    }

    /// Serve `/metrics` here.
    #[must_use]
    pub fn metrics_address(mut self, endpoint: Option<Endpoint>) -> Self {
        self.metrics_address = endpoint;
        self
    }

    /// Serve webhooks by these servers, whether leading or not.
    #[must_use]
    pub fn webhooks(mut self, servers: impl IntoIterator<Item = webhook::Server>) -> Self {
        self.webhooks.extend(servers);
        self
    }

    /// Look at every object of every controller again this often, from the stores: without a request, and without a
    /// write where nothing is amiss.
    #[must_use]
    pub fn resync(mut self, every: Option<Duration>) -> Self {
        self.resync = every;
        self
    }

    /// How long running reconciles may take to end: nothing cuts them off at once, [`FOR_EVER`] never.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Counts into these metrics, which another endpoint serves too.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Look at this too when `/healthz`, `/livez` or `/healthz/NAME` is asked for: is the process alive? A cluster starts one
    /// anew that says no.
    #[must_use]
    pub fn add_healthz_check(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        self.healthz.add(name.into(), Box::new(check));
        self
    }

    /// Look at this too when `/readyz` or `/readyz/NAME` is asked for: is the process of use? A cluster sends no request to
    /// a process that says no, until it says yes.
    #[must_use]
    pub fn add_readyz_check(
        mut self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
    ) -> Self {
        self.readyz.add(name.into(), Box::new(check));
        self
    }

    /// Answer requests to this path too where `/metrics` is served, and only there. Metrics of one's own need no handler:
    /// [`Metrics::register`] shows them among the others.
    #[must_use]
    pub fn add_metrics_handler(
        mut self,
        path: impl Into<String>,
        handler: impl Fn(&http::Request<()>) -> http::Response<bytes::Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.add(path.into(), Box::new(handler));
        self
    }

    /// Run until stopped or until the lease is lost. Start: endpoints, webhooks, caches, what runs beside, lease,
    /// controllers; stop: what runs beside, controllers (running reconciles end), caches, webhooks (reviews under way
    /// end), endpoints, and the lease last, so that no two processes ever reconcile.
    ///
    /// # Errors
    /// The error that ended it before `stop`: something that was added cannot be served, an address is taken, a kind
    /// cannot be listed, webhooks have no certificate, or the lease is lost.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let mut names = std::collections::HashSet::new();
        if let Some(twice) = self.controllers.iter().find(|controller| !names.insert(controller.name())) {
            return Err(Error::DuplicateName(twice.name().to_owned()));
        }
        self.usable()?;
        let endpoints = CancellationToken::new();
        let result = self.run_inside(&stop, &endpoints).await;
        endpoints.cancel();
        result
    }

    fn usable(&self) -> Result<(), Error> {
        let checked = [
            ("healthz check", self.healthz.unusable(&server::HEALTHZ)),
            ("readyz check", self.readyz.unusable(&server::READYZ)),
            ("metrics handler", self.handlers.unusable()),
        ];
        match checked.into_iter().find_map(|(what, found)| Some((what, found?))) {
            Some((what, (name, reason))) => Err(Error::Unusable { what, name: name.to_owned(), reason }),
            None => Ok(()),
        }
    }

    async fn run_inside(
        mut self,
        stop: &CancellationToken,
        endpoints: &CancellationToken,
    ) -> Result<(), Error> {
        let state = Arc::new(server::State {
            metrics: self.metrics.clone(),
            webhooks: (!self.webhooks.is_empty()).then(AtomicBool::default),
            healthz: std::mem::take(&mut self.healthz),
            readyz: std::mem::take(&mut self.readyz),
            handlers: std::mem::take(&mut self.handlers),
            ready: AtomicBool::default(),
        });
        for (address, purpose) in [(self.health, Purpose::Health), (self.metrics_address, Purpose::Metrics)] {
            let Some(Endpoint { address, optional }) = address else { continue };
            match server::serve(address, purpose, state.clone(), endpoints.clone()).await {
                Ok(_) => {}
                Err(error) if optional && error.kind() == std::io::ErrorKind::AddrInUse => {
                    tracing::warn!(%address, purpose = purpose.name(), "the address is taken by another process; this endpoint is not served");
                }
                Err(source) => return Err(Error::Listen { address, purpose: purpose.name(), source }),
            }
        }
        let servers = std::mem::take(&mut self.webhooks);
        let webhooks = match serve_webhooks(servers, &self.metrics, stop).await {
            Ok(webhooks) => webhooks,
            Err(error) => {
                end(&self.cache, Vec::new()).await;
                return Err(error.into());
            }
        };
        if let Some(serving) = &state.webhooks {
            serving.store(!webhooks.is_empty(), Ordering::SeqCst);
        }
        let cache = self.cache.clone();
        let ended = self.lead(&state, stop).await;
        end(&cache, webhooks).await;
        endpoints.cancel();
        // The lease goes last: its next holder finds no reconcile of ours at work.
        if let Some(elector) = ended? {
            match elector.release().await {
                Ok(()) => tracing::info!(lease = elector.name(), "gave the lease back"),
                Err(error) => {
                    tracing::warn!(%error, "cannot release the lease; the next leader waits until it expires");
                }
            }
        }
        Ok(())
    }

    /// Caches, what needs no leader, the lease, controllers; comes back with the lease that is still to be released.
    async fn lead(self, state: &server::State, stop: &CancellationToken) -> Result<Option<Elector>, Error> {
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            synced = synced(&self.cache) => synced?,
        }
        state.ready.store(true, Ordering::SeqCst);
        let others_stop = stop.child_token();
        let mut others = JoinSet::new();
        for other in self.others {
            others.spawn(other(others_stop.clone()));
        }
        let mut elector = self.lease.map(|config| Elector::new(self.client.clone(), config));
        if let Some(elector) = &mut elector {
            self.metrics.leading(elector.name(), false);
            if !elector.acquire(stop).await {
                end_of(others, self.grace).await;
                return Ok(None);
            }
            tracing::info!(lease = elector.name(), "this process leads");
            self.metrics.leading(elector.name(), true);
        }
        let term = Term {
            controllers: self.controllers,
            events: self.events,
            cache: self.cache,
            resync: self.resync,
            grace: self.grace,
            metrics: self.metrics.clone(),
        };
        let end = term.serve(elector.as_mut(), stop).await;
        others_stop.cancel();
        let lease = elector.as_ref().map(Elector::name).unwrap_or_default();
        if !lease.is_empty() {
            self.metrics.leading(lease, false);
        }
        if end == End::Lost {
            // Another process may lead already: the manager waits for no task.
            end_of(others, Duration::ZERO).await;
            return Err(Error::LeaseLost(lease.to_owned()));
        }
        end_of(others, self.grace).await;
        Ok(elector)
    }
}

/// Let them end; cut off what does not in time.
async fn end_of(mut others: JoinSet<()>, grace: Duration) {
    let ended = tokio::time::timeout(grace, async { while others.join_next().await.is_some() {} });
    if ended.await.is_err() {
        others.shutdown().await;
    }
}

/// Wait for the first lists. A server that refuses one ends the start; the manager waits for a server that cannot be
/// reached: starting again would not bring it back, and a manager that waits is ready a moment after the server.
async fn synced(cache: &Cache) -> Result<(), NotSynced> {
    loop {
        let mut waiting = std::pin::pin!(cache.synced());
        let synced = loop {
            tokio::select! {
                biased;
                synced = &mut waiting => break synced,
                () = tokio::time::sleep(LOG_EVERY) => if let Some(cause) = cache.unreachable() {
                    tracing::warn!(cause, "the API server cannot be reached; waiting for it, not ready until then");
                },
            }
        };
        match synced {
            Err(error) if !error.refused => {}
            synced => return synced,
        }
    }
}

/// The webhook servers, once they listen; none when a stop came while one waited for its certificate.
async fn serve_webhooks(
    servers: Vec<webhook::Server>,
    metrics: &Metrics,
    stop: &CancellationToken,
) -> Result<Vec<webhook::Running>, webhook::Error> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Vec::new()),
        started = webhook::Server::start_all(servers, metrics) => started,
    }
}

/// Caches end before webhooks, whose reviews may still read them.
async fn end(cache: &Cache, webhooks: Vec<webhook::Running>) {
    cache.stop().await;
    futures::future::join_all(webhooks.into_iter().map(webhook::Running::stop)).await;
}
