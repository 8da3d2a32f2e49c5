//! The parts that all steps of the controller of AppRollouts share.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_crds::AppRollout;
use vela_runtime::Failure;
use vela_runtime::cache::Informer;
use vela_runtime::dynamic_watch::DynamicWatches;

use super::revision::Revisions;
use super::rollout_store::Stored;
use crate::application::tracker_store::Records;
use crate::context::Context;

/// The rollout that a stored object asks for, held by us or not; nothing where it asks for none.
pub(super) type ReadRollout = fn(&DynamicObject, bool) -> Result<Option<AppRollout>, Failure>;

/// The parts that all steps of this controller share.
pub(crate) struct RolloutReconciler {
    pub(super) context: Context,
    /// The rollout that a stored object asks for; nothing where it asks for none.
    pub(super) read: ReadRollout,
    pub(super) stored: Stored,
    pub(super) applications: Arc<Informer>,
    pub(super) records: Records,
    pub(super) revisions: Revisions,
    pub(super) interests: DynamicWatches,
}
