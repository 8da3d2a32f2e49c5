//! A rendered application → how it reaches the cluster.

use kube::api::DynamicObject;
use vela_engine::Graph;
use vela_engine::parse::Era;
use vela_engine::status::Status;

use super::stopped::Stopped;
use super::{Hands, inline};

/// How an application reaches the cluster.
pub(super) enum Route {
    /// Its revision is recorded, and somebody else deploys it.
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
        hands: &Hands,
        application: &DynamicObject,
        graph: &Graph,
    ) -> Result<Self, Stopped> {
        if graph.app_file().only_records() {
            return Ok(Self::Recorded);
        }
        match inline::roll_out(hands, application, graph).await? {
            Some(status) => Ok(Self::Rollout(Box::new(status))),
            None => Ok(Self::of_form(graph)),
        }
    }

    /// Where neither is asked for: the form it is written in decides.
    pub(super) fn of_form(graph: &Graph) -> Self {
        match graph.app_file().era() {
            Era::V1alpha2 => Self::Stored,
            Era::V1beta1 => Self::Direct,
        }
    }
}
