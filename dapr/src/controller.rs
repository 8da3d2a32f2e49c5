//! Reconciles the workloads of one kind: writes the Service of each sidecar, and removes it where it is not asked for any more.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::json;
use vela_runtime::apply::{self, Conflicts};
use vela_runtime::cache::{Index, Watch};
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::owner;
use vela_runtime::{
    Action, Api, Applier, Cache, Controller, Discovery, Failure, Informer, Key, Outcome, Predicate,
    Reconciler, Retry,
};

use crate::annotations::{APP_ID, ENABLED, Sidecar};
use crate::claims::{self, Claims};
use crate::metrics::ServiceMetrics;
use crate::service;
use crate::workload::{BUILT_IN, KINDS, Workload, WorkloadKind};

/// Field manager of the Services, and who signs events.
pub(crate) const FIELD_MANAGER: &str = "vela-dapr";
/// After this time it is looked again whether a Service is deleted whose owner is gone or has another; its deletion itself is
/// noticed at once.
const DELETED_WITHIN: Duration = Duration::from_secs(60);
/// The annotations ask for something that cannot be.
const INVALID: &str = "InvalidDaprAnnotations";
/// Part of the annotations has no effect.
const PASSED_OVER: &str = "DaprAnnotationPassedOver";
/// Several workloads have one id.
const SHARED: &str = "SharedDaprAppId";
/// The Service cannot be written.
const CANNOT_SERVE: &str = "CannotServeDapr";

/// What the reconcilers of all kinds share.
#[derive(Clone)]
pub(crate) struct Context {
    client: kube::Client,
    pub(crate) claims: Claims,
    /// The informers of the kinds that every cluster has.
    built_in: Vec<(WorkloadKind, Arc<Informer>)>,
    /// The Services with our mark.
    services: Arc<Informer>,
    by_controller: Index,
    /// The names of all Services: one that is in the way may be without a mark.
    names: Arc<Informer>,
    applier: Applier,
    pub(crate) events: EventRecorder,
    pub(crate) metrics: ServiceMetrics,
}

impl Context {
    /// Of all namespaces, or of one.
    pub(crate) fn new(client: &kube::Client, cache: &Cache, namespace: Option<&str>) -> Self {
        let within = |watch: Watch| Watch { namespace: namespace.map(str::to_owned), ..watch };
        let services = cache.informer(within(Watch::full(service_resource()).labelled(ENABLED)));
        let by_controller = services.index(|service| {
            owner::controller_of(service).map(|owner| owner.uid.clone()).into_iter().collect()
        });
        let claims = Claims::new(namespace);
        let built_in = BUILT_IN.into_iter().map(|kind| (kind, claims.watch(kind, cache))).collect();
        Self {
            client: client.clone(),
            claims,
            built_in,
            services,
            by_controller,
            names: cache.informer(within(Watch::metadata(service_resource()))),
            applier: Applier::new(client.clone(), Discovery::new(client.clone()), FIELD_MANAGER),
            events: EventRecorder::new(client.clone(), FIELD_MANAGER),
            metrics: ServiceMetrics::default(),
        }
    }

    /// One controller for each kind. It wakes for the workloads of its kind, for those of any kind that share an id with them,
    /// and for the Services that they have or ask for.
    pub(crate) fn controllers(&self, workers: usize) -> Vec<Controller> {
        KINDS.into_iter().map(|kind| self.controller(kind, workers)).collect()
    }

    fn controller(&self, kind: WorkloadKind, workers: usize) -> Controller {
        let reconciler = SidecarReconciler { kind, context: self.clone() };
        let mut controller = Controller::new(kind.controller, reconciler)
            .owns(&self.services, kind.group, kind.kind)
            .workers(workers);
        if let Some((_, workloads)) = self.built_in.iter().find(|(built_in, _)| *built_in == kind) {
            controller = controller.for_kind(workloads);
        }
        // Both: what a reconcile reads, and what may be in its way.
        for services in [&self.services, &self.names] {
            let claims = self.claims.clone();
            controller = controller.watches(services, move |change| {
                let services = change.object().into_iter();
                services.flat_map(|object| claims.keys_of_service(kind, &Key::of(object))).collect()
            });
        }
        for &(other, ref workloads) in &self.built_in {
            let claims = self.claims.clone();
            controller = controller.watches(workloads.only(matters_to_others()), move |change| {
                claims.keys_beside(kind, other, change)
            });
        }
        controller
    }
}

/// The changes of a workload that count for those which share an id with it.
pub(crate) fn matters_to_others() -> Predicate {
    Predicate::generation_changed().or(Predicate::finalization_changed())
}

fn service_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Service"))
}

struct SidecarReconciler {
    kind: WorkloadKind,
    context: Context,
}

impl Reconciler for SidecarReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.context.claims.workload(self.kind, &key) else { return Ok(Action::Done) };
        let workload = Workload::of(self.kind, &live);
        if workload.is_going {
            return Ok(Action::Done);
        }
        let asked = match workload.sidecar() {
            Ok(asked) => asked,
            Err(mistakes) => {
                let text: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                return self.refuse(&live, INVALID, text.join("; ")).await;
            }
        };
        let wanted = asked.as_ref().map(Sidecar::service_name);
        self.remove_others(&workload, wanted.as_deref()).await?;
        let Some(sidecar) = asked else { return Ok(Action::Done) };
        for mistake in &sidecar.passed_over {
            self.warn(&live, PASSED_OVER, &mistake.to_string()).await;
        }
        let name = Key::new(key.namespace, sidecar.service_name());
        let known = self.context.services.get(&name);
        if known.as_deref().is_some_and(|service| self.context.claims.is_going(service)) {
            tracing::debug!(service = %name, "its owner is gone or has another; it is deleted first");
            return Ok(Action::RequeueAfter(DELETED_WITHIN));
        }
        let claims = self.context.claims.of_service(&name);
        if let Some(owner) = claims::owner_of(&claims, known.as_deref()).filter(|_| claims.len() > 1) {
            let message = shared(&claims, owner, (&workload, &sidecar.app_id));
            if owner.uid != workload.uid {
                return self.refuse(&live, SHARED, message).await;
            }
            self.warn(&live, SHARED, &message).await;
        }
        let desired = match service::service(&workload, &sidecar) {
            Ok(desired) => desired,
            Err(message) => return self.refuse(&live, CANNOT_SERVE, message).await,
        };
        let mut desired: DynamicObject = serde_json::from_value(desired).map_err(Failure::terminal)?;
        let recorded = service::note(&mut desired, known.as_deref());
        match self.write(&workload, &sidecar, &desired, (known, recorded)).await {
            Ok(()) => Ok(Action::Done),
            Err(error) => match error.retry() {
                Retry::Conflict | Retry::BackOff(_) => Err(Failure::retry(error)),
                Retry::Forbidden => {
                    self.warn(&live, CANNOT_SERVE, &error.to_string()).await;
                    Err(Failure::retry(error))
                }
                Retry::Never => self.refuse(&live, CANNOT_SERVE, error.to_string()).await,
            },
        }
    }
}

impl SidecarReconciler {
    /// What only a change can mend is said on the workload and not tried again.
    async fn refuse(&self, live: &DynamicObject, reason: &str, message: String) -> Result<Action, Failure> {
        self.warn(live, reason, &message).await;
        Err(Failure::terminal(message))
    }

    async fn warn(&self, live: &DynamicObject, reason: &str, message: &str) {
        let mut reference = events::reference(live);
        // Lists of a kind name the kind once, and not in each object.
        reference.kind = Some(self.kind.kind.to_owned());
        reference.api_version = Some(self.kind.api_version());
        self.context.events.warning(&reference, reason, message).await;
    }

    async fn write(
        &self,
        workload: &Workload,
        sidecar: &Sidecar,
        desired: &DynamicObject,
        (known, recorded): (Option<Arc<DynamicObject>>, bool),
    ) -> Result<(), apply::Error> {
        let guard = |live: &DynamicObject| service::may_change(live, workload, sidecar);
        let (mut known, mut replaced) = (known, false);
        let others = known.as_deref().filter(|live| guard(live).is_ok());
        let others =
            others.and_then(|live| Some((service::other_ports(live, desired)?, live.metadata.clone())));
        if let Some((ports, seen)) = others {
            let api = self.service_api(&workload.key.namespace);
            let patch = json!({
                "metadata": { "uid": seen.uid, "resourceVersion": seen.resource_version },
                "spec": { "ports": ports },
            });
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            let written = api.patch(&sidecar.service_name(), &params, &Patch::Merge(&patch)).await;
            let failed = |source| apply::Error::Client { object: apply::describe(desired), source };
            known = Some(Arc::new(written.map_err(failed)?));
            replaced = true;
        }
        let applied =
            self.context.applier.apply_seen(desired, known, recorded, Conflicts::Force, &guard).await?;
        match applied.outcome {
            Outcome::Created => self.context.metrics.created(&sidecar.app_id),
            Outcome::Configured => self.context.metrics.updated(&sidecar.app_id),
            Outcome::Unchanged if replaced => self.context.metrics.updated(&sidecar.app_id),
            Outcome::Unchanged => {}
        }
        Ok(())
    }

    fn service_api(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.context.client.clone(), namespace, &service_resource())
    }

    /// Removes Services that this workload controls under another id, or at all when Dapr was switched off.
    async fn remove_others(&self, workload: &Workload, wanted: Option<&str>) -> Result<(), Failure> {
        for service in self.context.by_controller.find(&workload.uid) {
            let key = Key::of(&service);
            if wanted == Some(key.name.as_str()) {
                continue;
            }
            // The cache may be behind a deletion, which counts once.
            let Some(live) = self.service_api(&key.namespace).get_opt(&key.name).await? else { continue };
            let guard = |service: &DynamicObject| owner::controlled_by(service, &workload.uid);
            let annotations = service.metadata.annotations.clone().unwrap_or_default();
            match self.context.applier.delete("v1", "Service", &key, Some(Arc::new(live)), &guard).await {
                Ok(_) => self.context.metrics.deleted(annotations.get(APP_ID).map_or("", String::as_str)),
                Err(apply::Error::Foreign { .. }) => {}
                Err(error) => return Err(Failure::retry(error)),
            }
        }
        Ok(())
    }
}

/// The message to one of the workloads that share an id.
fn shared(claims: &[Workload], owner: &Workload, (to, app_id): (&Workload, &str)) -> String {
    /// Others named at most: a message has to fit into an event.
    const NAMED_AT_MOST: usize = 5;
    let others: Vec<String> = claims
        .iter()
        .filter(|workload| workload.uid != to.uid)
        .take(NAMED_AT_MOST)
        .map(Workload::title)
        .collect();
    let more = claims.len().saturating_sub(1 + NAMED_AT_MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "app-id {app_id:?} is also that of {}{more}; its Service leads to {} until that one goes: give each its own {APP_ID}",
        others.join(", "),
        owner.title(),
    )
}
