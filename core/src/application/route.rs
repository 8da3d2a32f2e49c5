//! A rendered application → how it reaches the cluster.

use kube::api::DynamicObject;
use vela_engine::Graph;
use vela_engine::status::Status;

use super::desired::Form;
use super::error::Stopped;
use super::inline_rollout;
use super::reconciler::ApplicationReconciler;

/// How an application reaches the cluster.
pub(super) enum Route {
    /// Its revision is recorded, and another controller deploys it.
    Recorded,
    /// An AppRollout of its own goes from revision to revision; its status, as far as it is.
    Rollout(Box<Status>),
    /// An ApplicationConfiguration is stored for it, whose reconciler applies the objects.
    Stored,
    /// Its own reconcile applies the objects.
    Direct,
}

impl Route {
    /// Chooses, and where a rollout is chosen or was, brings the AppRollout to what is asked.
    pub(super) async fn choose(
        reconciler: &ApplicationReconciler,
        application: &DynamicObject,
        graph: &Graph,
    ) -> Result<Self, Stopped> {
        if graph.app_file().only_records() {
            return Ok(Self::Recorded);
        }
        match inline_rollout::roll_out(reconciler, application, graph).await? {
            Some(status) => Ok(Self::Rollout(Box::new(status))),
            None => Ok(match Form::of(graph) {
                Form::Stored { .. } => Self::Stored,
                Form::Applied => Self::Direct,
            }),
        }
    }
}
