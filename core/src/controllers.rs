//! Options in → every controller of this room running until stopped; the one door of `vela-core` and the sandbox.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vela_runtime::lease;
use vela_runtime::manager::{GRACE, Manager};
use vela_runtime::metrics::Metrics;

use crate::context::Context;
use crate::{
    application, application_configuration, component, containerized_workload, health_scope,
    manual_scaler_trait,
};

/// Applications reconciled at the same time unless told otherwise.
pub(crate) const WORKERS: usize = 4;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Objects of one kind reconciled at the same time.
    pub workers: usize,
    /// Where to serve `/healthz` and `/readyz`; nowhere in a sandbox.
    pub health: Option<SocketAddr>,
    /// Where to serve `/metrics`; nowhere in a sandbox.
    pub metrics: Option<SocketAddr>,
    /// The lease that decides which of several processes reconciles; none in a sandbox.
    pub lease: Option<lease::Config>,
    /// How long running reconciles may take to end.
    pub grace: Duration,
    /// What the controllers count; a second reader may keep a clone.
    pub counts: Arc<Metrics>,
    /// Cancel it to stop: running reconciles end, then `run` returns.
    pub stop: crate::Stop,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: WORKERS,
            health: None,
            metrics: None,
            lease: None,
            grace: GRACE,
            counts: Arc::default(),
            stop: crate::Stop::new(),
        }
    }
}

/// Why the controllers ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An endpoint, a cache or the lease.
    #[error(transparent)]
    Manager(#[from] vela_runtime::manager::Error),
}

/// All controllers.
#[derive(Debug)]
pub struct Controllers;

impl Controllers {
    /// Run until [`Options::stop`] is cancelled or something essential fails. The CRDs must be installed before.
    pub async fn run(client: kube::Client, options: Options) -> Result<(), Error> {
        let context = Context::new(client);
        let Options { workers, health, metrics, lease, grace, counts, stop } = options;
        let manager = Manager::new(context.client.clone(), context.cache.clone())
            .health(health)
            .metrics_address(metrics)
            .lease(lease)
            .grace(grace)
            .metrics(counts)
            .with(application::controller(&context, workers))
            .with(application_configuration::controller(&context, workers))
            .with(component::controller(&context, workers))
            .with(containerized_workload::controller(&context, workers))
            .with(manual_scaler_trait::controller(&context, workers))
            .with(health_scope::controller(&context, workers));
        manager.run(stop).await?;
        Ok(())
    }
}
