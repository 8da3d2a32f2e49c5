//! A ContainerizedWorkload in; its Deployment, Service and ConfigMaps in the cluster, and its status, out.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use vela_crds::{Condition, Conditioned as _, ContainerizedWorkload};
use vela_engine::containerized_workload as rendering;
use vela_runtime::apply::Conflicts;
use vela_runtime::cache::Watch;
use vela_runtime::owner::controlled_by;
use vela_runtime::{Action, Applier, Controller, Failure, Informer, Key, Reconciler, events};

use crate::context::Context;
use crate::status;

/// Field manager of the objects made here; one for all workloads, so that what was written is remembered.
const FIELD_MANAGER: &str = "vela-containerized-workload";

/// The controller of ContainerizedWorkloads; wakes for the Deployments it made, too.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let workloads = context.cache.informer(Watch::full(ApiResource::erase::<ContainerizedWorkload>(&())));
    let deployments = context.cache.informer(Watch::full(ApiResource::erase::<Deployment>(&())));
    let applier = Applier::new(context.client.clone(), context.discovery.clone(), FIELD_MANAGER);
    let reconciler = Workloads {
        context: context.clone(),
        workloads: workloads.clone(),
        deployments: deployments.clone(),
        applier,
    };
    Controller::new("containerizedworkload", reconciler)
        .for_kind(&workloads)
        .owns(&deployments, "core.oam.dev", rendering::KIND)
        .workers(workers)
}

struct Workloads {
    context: Context,
    workloads: Arc<Informer>,
    deployments: Arc<Informer>,
    applier: Applier,
}

impl Reconciler for Workloads {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.workloads.get(&key) else { return Ok(Action::Done) };
        if live.metadata.deletion_timestamp.is_some() {
            // Everything made from it is owned by it and goes with it.
            return Ok(Action::Done);
        }
        let workload: ContainerizedWorkload = (*live).clone().try_parse().map_err(Failure::terminal)?;
        let outcome = self.bring_about(&workload).await;
        let mut new = workload.status.clone().unwrap_or_default();
        match outcome {
            Ok(objects) => {
                let resources = rendering::resources(&objects);
                let stale = new.resources.iter().filter(|old| !resources.iter().any(|new| same(old, new)));
                for old in stale.cloned().collect::<Vec<_>>() {
                    self.remove(&workload, &key, &old.api_version, &old.kind, &old.name).await?;
                }
                new.resources = resources;
                new.set_condition(Condition::reconcile_success(status::now()));
                status::write_typed(&self.context, &self.workloads, &live, &new).await?;
                Ok(Action::Done)
            }
            Err(failure) => {
                let message = failure.to_string();
                new.set_condition(Condition::reconcile_error(message.clone(), status::now()));
                if status::write_typed(&self.context, &self.workloads, &live, &new).await? {
                    let reference = events::reference(&live);
                    self.context.events.warning(&reference, "CannotReconcileWorkload", &message).await;
                }
                Err(failure)
            }
        }
    }
}

fn same(a: &vela_crds::TypedReference, b: &vela_crds::TypedReference) -> bool {
    a.api_version == b.api_version && a.kind == b.kind && a.name == b.name
}

impl Workloads {
    /// Applies the Deployment, what its uid owns, and the Service; the Deployment and the Service as they are now.
    async fn bring_about(&self, workload: &ContainerizedWorkload) -> Result<Vec<Value>, Failure> {
        let render = |error| Failure::terminal(Prefixed("cannot render workload", error));
        let deployment = rendering::deployment(workload).map_err(render)?;
        let service = rendering::service(workload).map_err(render)?;
        let uid = workload.metadata.uid.clone().unwrap_or_default();
        let applied = self.apply("cannot apply the deployment", deployment, &uid).await?;
        let deployment_uid = applied["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        for map in rendering::config_maps(workload, &deployment_uid).map_err(render)? {
            self.apply("cannot apply the configmap", map, &deployment_uid).await?;
        }
        let mut objects = vec![applied];
        if let Some(service) = service {
            objects.push(self.apply("cannot apply the service", service, &uid).await?);
        }
        Ok(objects)
    }

    async fn apply(&self, step: &'static str, object: Value, owner: &str) -> Result<Value, Failure> {
        let desired: DynamicObject = serde_json::from_value(object).map_err(Failure::terminal)?;
        let is_deployment = desired.types.as_ref().is_some_and(|types| types.kind == "Deployment");
        let live = if is_deployment { self.deployments.get(&Key::of(&desired)) } else { None };
        let guard = |live: &DynamicObject| controlled_by(live, owner);
        let applied = self.applier.apply(&desired, live, false, Conflicts::Force, &guard).await;
        let applied = applied.map_err(|error| {
            let transient = error.is_transient();
            let error = Prefixed(step, error);
            if transient { Failure::retry(error) } else { Failure::terminal(error) }
        })?;
        serde_json::to_value(&*applied.object).map_err(Failure::terminal)
    }

    async fn remove(
        &self,
        workload: &ContainerizedWorkload,
        key: &Key,
        api_version: &str,
        kind: &str,
        name: &str,
    ) -> Result<(), Failure> {
        let uid = workload.metadata.uid.clone().unwrap_or_default();
        let guard = |live: &DynamicObject| controlled_by(live, &uid);
        let key = Key::new(key.namespace.clone(), name);
        match self.applier.delete(api_version, kind, &key, None, &guard).await {
            // Somebody else's object of that name is none of our business.
            Ok(_) | Err(vela_runtime::apply::Error::Foreign { .. }) => Ok(()),
            Err(error) => Err(Failure::retry(error)),
        }
    }
}

/// An error behind the words that say which step failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}: {1}")]
struct Prefixed<E: std::error::Error + 'static>(&'static str, #[source] E);
