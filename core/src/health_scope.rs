//! A HealthScope in; the health of the workloads it names, read from the cluster, in its status out.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ApiResource;
use serde_json::Value;
use vela_crds::{Condition, Conditioned as _, HealthScope, TypedReference};
use vela_engine::health_scope as health;
use vela_runtime::cache::Watch;
use vela_runtime::{Action, Controller, Failure, Informer, Key, Reconciler, events};

use crate::context::Context;
use crate::status;

/// How often and how long a scope is checked where it does not say so itself.
const INTERVAL: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(10);
/// Workloads checked of one scope; more would hold up the others.
const WORKLOADS_AT_MOST: usize = 500;

/// The controller of HealthScopes; a Deployment that changes wakes the scopes beside it before their interval is over.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let scopes = context.cache.informer(Watch::full(ApiResource::erase::<HealthScope>(&())));
    let deployments = context.cache.informer(Watch::full(ApiResource::erase::<Deployment>(&())));
    let reconciler = Scopes { context: context.clone(), scopes: scopes.clone() };
    let beside = scopes.clone();
    Controller::new("healthscope", reconciler)
        .for_kind(&scopes)
        .watches(&deployments, move |change| {
            let namespace = change.object().and_then(|object| object.metadata.namespace.clone());
            beside
                .list_where(|scope| scope.metadata.namespace == namespace)
                .iter()
                .map(|s| Key::of(s))
                .collect()
        })
        .workers(workers)
}

struct Scopes {
    context: Context,
    scopes: Arc<Informer>,
}

impl Reconciler for Scopes {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.scopes.get(&key) else { return Ok(Action::Done) };
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let scope: HealthScope = (*live).clone().try_parse().map_err(Failure::terminal)?;
        if scope.spec.workload_refs.len() > WORKLOADS_AT_MOST {
            let count = scope.spec.workload_refs.len();
            return self
                .refuse(
                    &live,
                    &scope,
                    format!("spec.workloadRefs has {count} entries, {WORKLOADS_AT_MOST} at most"),
                )
                .await;
        }
        let timeout = seconds(scope.spec.probe_timeout, TIMEOUT);
        let checks =
            scope.spec.workload_refs.iter().map(|reference| self.check(reference, &key.namespace, timeout));
        let conditions: Vec<_> = join_all(checks).await.iter().map(health::workload).collect();
        let mut new = scope.status.clone().unwrap_or_default();
        let was = new.scope_health_condition.health_status;
        new.scope_health_condition = health::scope(&conditions);
        new.health_conditions = conditions;
        let changed = status::write_typed(&self.context, &self.scopes, &live, &new).await?;
        // Upstream writes an event at every look; one at every change says as much and costs nothing when idle.
        if changed && was != new.scope_health_condition.health_status {
            let note = format!("scope is {:?}", new.scope_health_condition.health_status).to_uppercase();
            self.context.events.normal(&events::reference(&live), "HealthCheck", &note).await;
        }
        if scope.spec.workload_refs.is_empty() {
            return Ok(Action::Done);
        }
        Ok(Action::RequeueAfter(seconds(scope.spec.probe_interval, INTERVAL)))
    }
}

/// A positive number of seconds, or what stands where it is absent.
fn seconds(given: Option<i32>, otherwise: Duration) -> Duration {
    given
        .and_then(|seconds| u64::try_from(seconds).ok())
        .filter(|s| *s > 0)
        .map_or(otherwise, Duration::from_secs)
}

impl Scopes {
    async fn refuse(
        &self,
        live: &kube::api::DynamicObject,
        scope: &HealthScope,
        message: String,
    ) -> Result<Action, Failure> {
        let mut new = scope.status.clone().unwrap_or_default();
        new.set_condition(Condition::reconcile_error(message.clone(), status::now()));
        status::write_typed(&self.context, &self.scopes, live, &new).await?;
        Err(Failure::terminal(message))
    }

    async fn check(&self, reference: &TypedReference, namespace: &str, timeout: Duration) -> health::Checked {
        let looked = tokio::time::timeout(timeout, async {
            let workload = self.read(reference, namespace).await;
            let mut children = Vec::new();
            if let Ok(object) = &workload {
                for child in references(&object["status"]["resources"]) {
                    children.push(self.read(&child, namespace).await);
                }
            }
            (workload, children)
        });
        let (workload, children) =
            looked.await.unwrap_or_else(|_| (Err(format!("no answer within {timeout:?}")), Vec::new()));
        health::Checked { reference: reference.clone(), workload, children }
    }

    async fn read(&self, reference: &TypedReference, namespace: &str) -> Result<Value, String> {
        let kind = self.context.discovery.resolve(&reference.api_version, &reference.kind).await;
        let kind = kind.map_err(|error| error.to_string())?;
        let found = kind.api(self.context.client.clone(), namespace).get_opt(&reference.name).await;
        let object = found.map_err(|error| vela_runtime::apply::explain(&error))?;
        let object = object.ok_or_else(|| format!("{} {} not found", reference.kind, reference.name))?;
        serde_json::to_value(&object).map_err(|error| error.to_string())
    }
}

/// The references in `status.resources`; what does not read as one is not one.
fn references(list: &Value) -> Vec<TypedReference> {
    let items = list.as_array().cloned().unwrap_or_default();
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}
