//! An Autoscaler in; the ScaledObject that KEDA acts on, and the Autoscaler's status, out.

use kube::api::DynamicObject;
use vela_crds::standard_oam_dev::Autoscaler;
use vela_engine::standard::autoscaler as rendering;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, typed};
use super::workload::locate;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-autoscaler";

/// The controller of Autoscalers.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<Autoscaler>(context, FIELD_MANAGER, &[]).without_status_subresource();
    base.controller("autoscaler", AutoscalerReconciler { base: base.clone() }, workers)
}

struct AutoscalerReconciler {
    base: ReconcilerBase,
}

impl Reconciler for AutoscalerReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let autoscaler: Autoscaler = typed(&live)?;
        let look = self.base.interests.track(&key);
        let outcome = match self.base.for_author(&live).await {
            Ok(base) => Self { base }.reconcile_children(&look, &live, &autoscaler).await,
            Err(error) => Err(error),
        };
        self.base.report(&live, autoscaler.status.unwrap_or_default(), outcome).await
    }
}

impl AutoscalerReconciler {
    async fn reconcile_children(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        autoscaler: &Autoscaler,
    ) -> Result<Vec<Note>, ReconcileError> {
        let namespace = Key::of(live).namespace;
        let reference = autoscaler.spec.workload_ref.as_ref();
        let workload =
            locate(&self.base, look, &namespace, reference, "failed to locate the workload").await?;
        let target = rendering::target(&workload.object, &workload.children);
        let desired = rendering::scaled_object(autoscaler, target)
            .map_err(|error| ReconcileError::wrong("cannot render the scaled object", error))?;
        let applied = self.base.apply(look, live, desired, "cannot apply the scaled object").await?;
        Ok(Note::of(&applied, "ScaledObject created").into_iter().collect())
    }
}
