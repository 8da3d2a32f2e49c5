//! Runs all controllers of this room until they are stopped; `vela-core` and the sandbox start them here and nowhere
//! else.

use std::sync::Arc;
use std::time::Duration;

use vela_runtime::manager::{Endpoint, GRACE, Manager};
use vela_runtime::metrics::Metrics;
use vela_runtime::{Controller, lease};

use crate::context::Context;
use crate::options::{Capability, Options};
use crate::webhooks::{TraitInjector, Webhooks};
use crate::{
    application, application_configuration, component, containerized_workload, definition, health_scope,
    manual_scaler_trait, rollout, side_by_side, standard, workflow_run,
};

/// How a process runs the controllers.
#[derive(Clone, Debug)]
pub struct Process {
    /// The options of the controllers.
    pub options: Options,
    /// The parts that take part in the reconciles of ApplicationConfigurations; none by default.
    pub hooks: crate::Hooks,
    /// The parts that answer requests of objects in place of the network; none by default.
    pub egress_override: Option<Arc<dyn crate::EgressOverride>>,
    /// The address of `/healthz` and `/readyz`; none in a sandbox.
    pub health: Option<Endpoint>,
    /// The address of `/metrics`; none in a sandbox.
    pub metrics: Option<Endpoint>,
    /// The address and certificates of the webhooks; none in a sandbox.
    pub webhooks: Option<Webhooks>,
    /// The address of the trait injector alone; none by default.
    pub trait_injector: Option<TraitInjector>,
    /// The lease that decides which of several processes reconciles; none in a sandbox.
    pub lease: Option<lease::Config>,
    /// The time that running reconciles may take to end.
    pub grace: Duration,
    /// The metrics of the controllers; a second reader may keep a clone.
    pub counts: Arc<Metrics>,
    /// Cancel it to stop: running reconciles end, then `run` returns.
    pub stop: crate::Stop,
}

impl Default for Process {
    fn default() -> Self {
        Self {
            options: Options::default(),
            hooks: crate::Hooks::default(),
            egress_override: None,
            health: None,
            metrics: None,
            webhooks: None,
            trait_injector: None,
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
    /// Runs until [`Process::stop`] is cancelled or something essential fails. The caller installs the CRDs before.
    pub async fn run(client: kube::Client, process: Process) -> Result<(), Error> {
        let Process { options, hooks, egress_override, health, metrics, webhooks, .. } = process;
        let Process { trait_injector, lease, grace, counts, stop, .. } = process;
        let mut context = Context::new(client, options).with_hooks(hooks);
        if let Some(egress_override) = egress_override {
            context = context.with_egress_override(egress_override);
        }
        end_with(&stop, &context);
        counts.register(|registry| context.metrics.register(registry));
        let webhooks = webhooks.map(|webhooks| crate::webhooks::server(&context, webhooks));
        let injector = trait_injector.map(|injector| crate::webhooks::injector(&context, injector));
        let mut manager = Manager::new(context.client.clone(), context.cache.clone())
            .health(health)
            .metrics_address(metrics)
            .webhooks(webhooks.into_iter().chain(injector))
            .lease(lease)
            .grace(grace)
            .metrics(counts)
            .events(context.events.clone())
            .resync(context.options.resync);
        for controller in controllers(&context) {
            manager = manager.with(controller);
        }
        manager.run(stop).await?;
        Ok(())
    }
}

/// Ends the evaluations of templates when the process stops: no caller waits for their results.
fn end_with(stop: &crate::Stop, context: &Context) {
    let (stop, computations) = (stop.clone(), context.computations.clone());
    tokio::spawn(async move {
        stop.cancelled().await;
        computations.stop();
    });
}

/// The controllers that the operator's choices leave, in the order they start.
fn controllers(context: &Context) -> Vec<Controller> {
    let workers = context.options.concurrent_reconciles;
    let mut controllers = Vec::new();
    if context.options.generations.application_configurations {
        controllers.push(application_configuration::controller(context, workers));
        controllers.push(component::controller(context, workers));
    }
    if context.options.generations.applications {
        controllers.push(application::controller(context, workers));
        controllers.extend(definition::controllers(context, workers));
        controllers.push(rollout::controller(context, workers));
        controllers.push(rollout::deployments(context, workers));
        controllers.push(rollout::rollout_trait::controller(context, workers));
        controllers.extend(side_by_side::controllers(context, workers));
        if context.options.enabled(Capability::WorkflowRun) {
            controllers.push(workflow_run::controller(context, workers));
        }
    }
    controllers.push(containerized_workload::controller(context, workers));
    controllers.push(manual_scaler_trait::controller(context, workers));
    controllers.push(health_scope::controller(context, workers));
    controllers.extend(standard::controllers(context, workers));
    controllers
}
