//! A MetricsTrait in; the Service and the ServiceMonitor that scrape its workload, and the trait's status, out.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::standard_oam_dev::MetricsTrait;
use vela_engine::standard::metrics_trait as rendering;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::error::ReconcileError;
use super::monitors::{self, SWEEP};
use super::reconciler_base::{Note, ReconcilerBase, typed};
use super::workload::locate;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-metrics-trait";
const SERVICES: &str = "failed to create the services";

/// The controller of MetricsTraits. Its first key removes the monitors of traits that went while no controller watched.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<MetricsTrait>(context, FIELD_MANAGER, &[rendering::CONTROLLER_LABEL]);
    let controller = base.controller("metricstrait", MetricsTraitReconciler { base: base.clone() }, workers);
    controller.queue().add(Key::new("", SWEEP));
    controller
}

struct MetricsTraitReconciler {
    base: ReconcilerBase,
}

impl Reconciler for MetricsTraitReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        if key == Key::new("", SWEEP) {
            return monitors::sweep(&self.base, &key).await;
        }
        let Some(live) = self.base.objects.get(&key) else {
            return monitors::leave(&self.base, &key).await;
        };
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let trait_: MetricsTrait = typed(&live)?;
        let mut status = trait_.status.clone().unwrap_or_default();
        let look = self.base.interests.track(&key);
        if !rendering::is_enabled(&trait_) {
            let outcome = match self.base.for_author(&live).await {
                Ok(base) => Self { base }.switch_off(&look, &live, &trait_).await,
                Err(error) => Err(error),
            };
            status.service_monitor_name = None;
            status.port = None;
            status.selector_labels.clear();
            return self.base.report(&live, status, outcome).await;
        }
        let outcome = match self.base.for_author(&live).await {
            Ok(base) => Self { base }.reconcile_children(&look, &live, &trait_).await,
            Err(error) => Err(error),
        };
        let outcome = outcome.map(|(monitor, target, notes)| {
            status.service_monitor_name = Some(monitor);
            status.port = Some(target.port);
            let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
            status.selector_labels = target.selector.into_iter().map(|(k, v)| (k, text(v))).collect();
            notes
        });
        self.base.report(&live, status, outcome).await
    }
}

impl MetricsTraitReconciler {
    async fn reconcile_children(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        trait_: &MetricsTrait,
    ) -> Result<(String, rendering::Target, Vec<Note>), ReconcileError> {
        let (base, namespace) = (&self.base, Key::of(live).namespace);
        let reference = trait_.spec.workload_ref.as_ref();
        let workload = locate(base, look, &namespace, reference, "failed to locate the workload").await?;
        let scrape = rendering::scrape(trait_).map_err(|error| ReconcileError::wrong(SERVICES, error))?;
        let target = rendering::target(trait_, &scrape, &workload.object, &workload.children)
            .map_err(|error| ReconcileError::wrong(SERVICES, error))?;
        let applied = base.apply(look, live, target.service.clone(), SERVICES).await?;
        let mut notes: Vec<Note> = Note::of(&applied, "Service created").into_iter().collect();
        let kept = applied.object.metadata.name.clone().unwrap_or_default();
        self.remove_services(look, live, Some(&kept)).await?;
        let (monitor, note) = monitors::apply(base, look, live, trait_, &scrape, &target.port).await?;
        notes.extend(note);
        Ok((monitor, target, notes))
    }

    /// A trait that is switched off leaves nothing behind.
    async fn switch_off(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        trait_: &MetricsTrait,
    ) -> Result<Vec<Note>, ReconcileError> {
        let removed = monitors::remove(&self.base, look, live, trait_, None).await?
            | self.remove_services(look, live, None).await?;
        let text = "its ServiceMonitor and Service are removed".to_owned();
        Ok(removed.then_some(Note { reason: "Metrics Trait disabled", text }).into_iter().collect())
    }

    /// Removes the Services this trait controls, but for the one that is wanted; true when there were any.
    async fn remove_services(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        kept: Option<&str>,
    ) -> Result<bool, ReconcileError> {
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let services = look.owned_by("v1", "Service", &Key::of(live).namespace, &uid).await;
        let mut removed = false;
        for service in services.map_err(|error| ReconcileError::look(SERVICES, &error))? {
            if service.metadata.name.as_deref() != kept {
                removed |= self.base.remove(look, live, &service, SERVICES).await?;
            }
        }
        Ok(removed)
    }
}
