//! A PodSpecWorkload in; its Deployment and Service in the cluster, and its status, out.

use kube::api::DynamicObject;
use vela_crds::TypedReference;
use vela_crds::standard_oam_dev::PodSpecWorkload;
use vela_crds::standard_oam_dev::pod_spec_workload::PodSpecWorkloadStatus;
use vela_engine::standard::pod_spec_workload as rendering;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Controller, Key};

use super::deployment_workload::{Deployed, DeployedWorkload, DeployedWorkloadReconciler};
use super::error::ReconcileError;
use super::reconciler_base::ReconcilerBase;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-pod-spec-workload";

/// The controller of PodSpecWorkloads.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<PodSpecWorkload>(context, FIELD_MANAGER, &[]);
    let reconciler = DeployedWorkloadReconciler { base: base.clone(), kind: PodSpec };
    base.controller("podspecworkload", reconciler, workers)
}

struct PodSpec;

impl DeployedWorkload for PodSpec {
    type Workload = PodSpecWorkload;
    type Status = PodSpecWorkloadStatus;

    fn status(workload: &PodSpecWorkload) -> PodSpecWorkloadStatus {
        workload.status.clone().unwrap_or_default()
    }

    fn resources(status: &mut PodSpecWorkloadStatus) -> &mut Vec<TypedReference> {
        &mut status.resources
    }

    async fn reconcile_children(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        workload: &PodSpecWorkload,
    ) -> Result<Deployed, ReconcileError> {
        let existing = Deployed::live_deployment(look, &Key::of(live)).await?;
        let deployment = rendering::deployment(workload, existing.as_ref())
            .map_err(|error| ReconcileError::wrong("cannot render deployment", error))?;
        let service = rendering::service(workload)
            .map_err(|error| ReconcileError::wrong("cannot render service", error))?;
        let deployed = Deployed::deployment(base, look, live, deployment).await?;
        deployed.service(base, look, live, service).await
    }
}
