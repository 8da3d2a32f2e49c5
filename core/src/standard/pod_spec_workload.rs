//! A PodSpecWorkload in; its Deployment and Service in the cluster, and its status, out.

use kube::api::DynamicObject;
use vela_crds::standard::PodSpecWorkload;
use vela_engine::standard::{self, pod_spec_workload as rendering};
use vela_runtime::interest::Look;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, json_of, typed};
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-pod-spec-workload";

/// The controller of PodSpecWorkloads.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<PodSpecWorkload>(context, FIELD_MANAGER, &[]);
    base.controller("podspecworkload", PodSpecWorkloadReconciler { base: base.clone() }, workers)
}

struct PodSpecWorkloadReconciler {
    base: ReconcilerBase,
}

impl Reconciler for PodSpecWorkloadReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let workload: PodSpecWorkload = typed(&live)?;
        let mut status = workload.status.clone().unwrap_or_default();
        let look = self.base.interests.look(&key);
        let outcome = match self.base.for_author(&live).await {
            Ok(base) => Self { base }.bring_about(&look, &live, &workload).await,
            Err(error) => Err(error),
        };
        let outcome = outcome.map(|(objects, notes)| {
            status.resources = objects.iter().map(|object| standard::reference(&json_of(object))).collect();
            notes
        });
        self.base.report(&live, status, outcome).await
    }
}

impl PodSpecWorkloadReconciler {
    /// Applies the Deployment and the Service, and removes a Service that is no longer wanted.
    async fn bring_about(
        &self,
        look: &Look,
        live: &DynamicObject,
        workload: &PodSpecWorkload,
    ) -> Result<(Vec<DynamicObject>, Vec<Note>), ReconcileError> {
        let (base, key) = (&self.base, Key::of(live));
        let reason = "cannot apply the deployment";
        let existing = look.get("apps/v1", "Deployment", &key).await;
        let existing =
            existing.map_err(|error| ReconcileError::look(reason, &error))?.map(|found| json_of(&found));
        let deployment = rendering::deployment(workload, existing.as_ref())
            .map_err(|error| ReconcileError::wrong("cannot render deployment", error))?;
        let service = rendering::service(workload)
            .map_err(|error| ReconcileError::wrong("cannot render service", error))?;
        let applied = base.apply(look, live, deployment, reason).await?;
        let mut notes: Vec<Note> = Note::of(&applied, "Deployment created").into_iter().collect();
        let mut objects = vec![(*applied.object).clone()];
        let reason = "cannot apply the service";
        match service {
            Some(service) => {
                let applied = base.apply(look, live, service, reason).await?;
                notes.extend(Note::of(&applied, "Service created"));
                objects.push((*applied.object).clone());
            }
            None => {
                let uid = live.metadata.uid.clone().unwrap_or_default();
                let stale = look.owned_by("v1", "Service", &key.namespace, &uid).await;
                for service in stale.map_err(|error| ReconcileError::look(reason, &error))? {
                    base.remove(look, live, &service, reason).await?;
                }
            }
        }
        Ok((objects, notes))
    }
}
