//! Reconciles a ManualScalerTrait: sets the replicas of the objects that run its workload.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::Value;
use vela_crds::{ManualScalerTrait, labels};
use vela_engine::application_configuration::{API_VERSION, KIND, handover, is_of_a_revision, is_passive};
use vela_engine::manual_scaler as scaling;
use vela_runtime::apply::explain;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use crate::application::fetch::json;
use crate::context::Context;
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, typed};
use crate::standard::workload::locate;

const FIELD_MANAGER: &str = "vela-manual-scaler";
const SCALE: &str = "cannot scale the resource";

/// The controller of ManualScalerTraits; a change of the workload or of what runs it wakes the scaler.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<ManualScalerTrait>(context, FIELD_MANAGER, &[]);
    base.controller("manualscalertrait", ManualScalerTraitReconciler { base: base.clone() }, workers)
}

struct ManualScalerTraitReconciler {
    base: ReconcilerBase,
}

impl Reconciler for ManualScalerTraitReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let scaler: ManualScalerTrait = typed(&live)?;
        let look = self.base.interests.track(&key);
        let outcome = match self.base.for_author(&live).await {
            Ok(base) => Self { base }.scale(&look, &scaler, &key.namespace).await,
            Err(error) => Err(error),
        };
        self.base.report(&live, scaler.status.unwrap_or_default(), outcome).await
    }
}

impl ManualScalerTraitReconciler {
    async fn scale(
        &self,
        look: &TrackedReads,
        scaler: &ManualScalerTrait,
        namespace: &str,
    ) -> Result<Vec<Note>, ReconcileError> {
        let reason = "cannot find the workload that the trait is referencing to";
        let reference = Some(&scaler.spec.workload_ref);
        let workload = locate(&self.base, look, namespace, reference, reason).await?;
        let targets = scaling::targets(&workload.object, &workload.children);
        if targets.is_empty() {
            let message = "neither the workload nor its children have spec.replicas";
            return Err(ReconcileError::wrong(SCALE, message));
        }
        let mut notes = Vec::new();
        if is_left_to_rollouts(look, scaler, namespace).await? {
            return Ok(notes);
        }
        for target in targets.into_iter().filter(|target| handover::rollout_of(target).is_none()) {
            if let Some(patch) = scaling::patch(scaler, target) {
                self.patch(look, target, &patch, namespace).await?;
                let name = target["metadata"]["name"].as_str().unwrap_or_default();
                let kind = target["kind"].as_str().unwrap_or_default();
                let text = format!("{kind} {namespace}/{name} has {} replicas", scaler.spec.replica_count);
                notes.push(Note { reason: "Manual scalar applied", text });
            }
        }
        Ok(notes)
    }

    /// Write the patch, bound to the version that no rollout holds.
    async fn patch(
        &self,
        look: &TrackedReads,
        target: &Value,
        patch: &Value,
        namespace: &str,
    ) -> Result<(), ReconcileError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let ReconcilerBase { context, acting, .. } = &self.base;
        let kind = context.discovery.resolve(&text(&target["apiVersion"]), &text(&target["kind"])).await;
        let api = kind.map_err(|error| ReconcileError::retry(SCALE, error))?.api(acting.client(), namespace);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let mut patch = patch.clone();
        patch["metadata"]["resourceVersion"] = target["metadata"]["resourceVersion"].clone();
        let written = api.patch(&text(&target["metadata"]["name"]), &params, &Patch::Merge(&patch)).await;
        let written: DynamicObject = written.map_err(|error| match &error {
            // Another writer was faster, or it is gone: what wakes us then shows it.
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => ReconcileError::changed(SCALE),
            kube::Error::Api(status) if status.code == 422 => ReconcileError::wrong(SCALE, explain(&error)),
            _ => ReconcileError::retry(SCALE, acting.explain(&error)),
        })?;
        look.observe(&written);
        Ok(())
    }
}

/// Does a rollout decide how many pods the trait's component has, or has one taken them all? The configuration that the trait
/// belongs to says so.
async fn is_left_to_rollouts(
    look: &TrackedReads,
    scaler: &ManualScalerTrait,
    namespace: &str,
) -> Result<bool, ReconcileError> {
    let owners = scaler.metadata.owner_references.as_deref().unwrap_or_default();
    let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true) && owner.kind == KIND) else {
        return Ok(false);
    };
    let key = Key::new(namespace, owner.name.clone());
    let found = look.get(API_VERSION, KIND, &key).await;
    let found = found.map_err(|error| ReconcileError::retry(SCALE, error))?;
    let Some(configuration) = found.map(|found| json(&found)) else { return Ok(false) };
    let component = scaler.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_COMPONENT));
    let is_rolled =
        component.is_some_and(|component| handover::rolling(&configuration).contains(component.as_str()));
    Ok(is_of_a_revision(&configuration) && (is_passive(&configuration) || is_rolled))
}
