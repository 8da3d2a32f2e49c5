//! An Autoscaler in; the ScaledObject that KEDA acts on, or a HorizontalPodAutoscaler where there is no KEDA, and the
//! Autoscaler's status, out.

use kube::api::DynamicObject;
use vela_crds::standard_oam_dev::Autoscaler;
use vela_engine::standard::autoscaler as rendering;
use vela_engine::standard::horizontal_pod_autoscaler as horizontal;
use vela_runtime::dynamic_watch::{Error, TrackedReads};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, typed};
use super::workload::locate;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-autoscaler";
const RENDER: &str = "cannot render the scaled object";
const SCALED_OBJECT: &str = "cannot apply the scaled object";
const HORIZONTAL: &str = "cannot apply the horizontal pod autoscaler";

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
        // An error in a trigger is an error with and without KEDA.
        let desired = rendering::scaled_object(autoscaler, target)
            .map_err(|error| ReconcileError::wrong(RENDER, error))?;
        match look.known(rendering::KEDA, rendering::SCALED_OBJECT, &Key::of(live)).await {
            Ok(_) => {
                // Two scalers of one workload would pull it to and fro.
                self.remove_horizontal(look, live).await?;
                let applied = self.base.apply(look, live, desired, SCALED_OBJECT).await?;
                Ok(Note::of(&applied, "ScaledObject created").into_iter().collect())
            }
            // KEDA is not there, nor on its way; when it comes, that wakes the Autoscaler.
            Err(Error::Missing { again: None, .. }) => {
                let plain = horizontal::without_keda(autoscaler, target)
                    .map_err(|error| ReconcileError::wrong(RENDER, error))?;
                self.without_keda(look, live, plain).await
            }
            Err(error) => Err(ReconcileError::look(SCALED_OBJECT, &error)),
        }
    }

    /// Applies what Kubernetes can do by itself; what it cannot is an error, so that it is told.
    async fn without_keda(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
        plain: horizontal::WithoutKeda,
    ) -> Result<Vec<Note>, ReconcileError> {
        let mut notes = Vec::new();
        match plain.object {
            Some(desired) => {
                let applied = self.base.apply(look, live, desired, HORIZONTAL).await?;
                notes.extend(Note::of(&applied, "HorizontalPodAutoscaler created"));
            }
            None => self.remove_horizontal(look, live).await?,
        }
        if plain.left_out.is_empty() {
            return Ok(notes);
        }
        self.base.publish_events(live, &notes).await;
        let message = format!(
            "{} cannot be done without KEDA: the cluster does not know kind {} of {}: install it first",
            plain.left_out.join(", "),
            rendering::SCALED_OBJECT,
            rendering::KEDA
        );
        Err(ReconcileError::wrong(SCALED_OBJECT, message))
    }

    /// Removes the HorizontalPodAutoscaler that the Autoscaler controls, where there is one.
    async fn remove_horizontal(
        &self,
        look: &TrackedReads,
        live: &DynamicObject,
    ) -> Result<(), ReconcileError> {
        match look.known(horizontal::API_VERSION, horizontal::KIND, &Key::of(live)).await {
            Ok(Some(found)) => self.base.remove(look, live, &found, HORIZONTAL).await.map(|_| ()),
            Ok(None) | Err(Error::Missing { .. }) => Ok(()),
            Err(error) => Err(ReconcileError::look(HORIZONTAL, &error)),
        }
    }
}
