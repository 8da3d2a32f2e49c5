//! What all steps of the controller of AppRollouts share.

use std::sync::Arc;

use vela_runtime::cache::Informer;
use vela_runtime::dynamic_watch::DynamicWatches;

use super::revision::Revisions;
use super::stored::Stored;
use crate::application::record::Records;
use crate::context::Context;

/// What all steps of this controller share.
pub(crate) struct RolloutReconciler {
    pub(super) context: Context,
    pub(super) stored: Stored,
    pub(super) applications: Arc<Informer>,
    pub(super) records: Records,
    pub(super) revisions: Revisions,
    pub(super) interests: DynamicWatches,
}
