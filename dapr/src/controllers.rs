//! Runs the controllers of the operator until they are stopped.

use std::sync::Arc;

use vela_runtime::manager::{self, Endpoint, Manager};
use vela_runtime::metrics::Metrics;
use vela_runtime::{Cache, lease};

use crate::admission::SidecarInjector;
use crate::api::{Api, ApiError, Security};
use crate::controller::Context;
use crate::metrics::{InjectionMetrics, SentryMetrics};
use crate::rollouts::{Rollouts, queues};
use crate::sentry::{Sentry, SentryError};
use crate::serving::ServedNames;
use crate::watchdog::Watchdog;
use crate::webhooks::Webhooks;
use crate::workload::KINDS;

/// Workloads of one kind reconciled at the same time, unless told otherwise.
pub const WORKERS: usize = 16;

/// Stops a running operator when it is cancelled.
pub type Stop = tokio_util::sync::CancellationToken;

/// How a process runs the operator.
#[derive(Clone, Debug)]
pub struct Process {
    /// Workloads of one kind reconciled at the same time.
    pub workers: usize,
    /// Where to serve `/healthz` and `/readyz`; nowhere in a test.
    pub health: Option<Endpoint>,
    /// Where to serve `/metrics`; nowhere in a test.
    pub metrics: Option<Endpoint>,
    /// Where and to whom to serve the API of sidecars, leader or not; a test of the controllers serves none.
    pub api: Option<Api>,
    /// Where to serve the conversion of Subscriptions, leader or not; nowhere in a test of the controllers.
    pub webhooks: Option<Webhooks>,
    /// Where to serve the sidecar injector, leader or not; nowhere in a test of the controllers.
    pub injector: Option<SidecarInjector>,
    /// Where certificates are issued, leader or not; nowhere unless it is said where.
    pub sentry: Option<Sentry>,
    /// Restarts pods without a sidecar where this process leads; nowhere unless it is said how.
    pub watchdog: Option<Watchdog>,
    /// Only workloads, Services and pods of this namespace; nothing means all.
    pub namespace: Option<String>,
    /// The lease that decides which of several processes reconciles; none in a test.
    pub lease: Option<lease::Config>,
    /// What the controllers count; a second reader may keep a clone.
    pub counts: Arc<Metrics>,
    /// Cancel it to stop: running reconciles end, then `run` returns.
    pub stop: Stop,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            workers: WORKERS,
            health: None,
            metrics: None,
            api: None,
            webhooks: None,
            injector: None,
            sentry: None,
            watchdog: None,
            namespace: None,
            lease: None,
            counts: Arc::default(),
            stop: Stop::new(),
        }
    }
}

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An endpoint, a cache or the lease.
    #[error(transparent)]
    Manager(#[from] manager::Error),
    /// The API of sidecars.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The issuer of certificates.
    #[error(transparent)]
    Sentry(#[from] SentryError),
}

/// Run until [`Process::stop`] is cancelled or something essential fails.
///
/// # Errors
/// An address is taken, a kind cannot be listed, or the lease is lost.
pub async fn run(client: kube::Client, process: Process) -> Result<(), Error> {
    let Process {
        workers,
        health,
        metrics,
        mut api,
        webhooks,
        mut injector,
        sentry,
        watchdog,
        namespace,
        lease,
        counts,
        stop,
    } = process;
    let cache = Cache::new(client.clone());
    let context = Context::new(&client, &cache, namespace.as_deref());
    counts.register(|registry| context.metrics.register(registry));
    let figures = InjectionMetrics::default();
    counts.register(|registry| figures.register(registry));
    let (sidecars, registrar) = (client.clone(), client.clone());
    let mut manager = Manager::new(client, cache)
        .health(health)
        .metrics_address(metrics)
        .lease(lease)
        .metrics(counts.clone())
        .events(context.events.clone());
    if let Some(sentry) = sentry {
        let figures = SentryMetrics::default();
        counts.register(|registry| figures.register(registry));
        let issuance = sentry.begin(sidecars.clone(), figures, &stop).await?;
        for api in api.iter_mut().filter(|api| matches!(api.security, Security::Issued)) {
            api.security = Security::MutualTls(issuance.credentials_of_operator());
        }
        for injector in
            injector.iter_mut().filter(|injector| injector.settings.trust_anchors.borrow().is_empty())
        {
            injector.settings.trust_anchors = issuance.anchors();
        }
        manager = manager.beside(issuance.serve().await?);
    }
    if let Some(api) = api {
        manager = manager.beside(api.bind(sidecars.clone(), context.events.clone()).await?);
    }
    let injects = injector.is_some();
    let mut names = ServedNames::default();
    webhooks.iter().for_each(|webhooks| webhooks.name(&mut names));
    injector.iter().for_each(|injector| injector.name(&mut names));
    if let Some(webhooks) = webhooks {
        let server = webhooks.server(registrar.clone(), &names);
        let client = registrar.clone();
        manager = manager.webhooks([server]).beside(move |stop| webhooks.register(client, stop));
    }
    if let Some(injector) = injector {
        let server = injector.server(registrar.clone(), &names, figures);
        manager = manager.webhooks([server]).beside(move |stop| injector.register(registrar, stop));
    }
    if let Some(watchdog) = watchdog {
        manager = manager.with(watchdog.controller(&sidecars, namespace, injects, context.events.clone()));
    }
    let controllers = context.controllers(workers);
    let rollouts = Rollouts::begin(sidecars, context.claims.clone(), queues(&KINDS, &controllers)).await;
    manager = manager.beside(move |stop| rollouts.run(stop));
    for controller in controllers {
        manager = manager.with(controller);
    }
    manager.run(stop).await?;
    Ok(())
}
