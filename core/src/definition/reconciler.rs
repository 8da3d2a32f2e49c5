//! What is known of one kind of definition and of what is made for it.

use std::sync::Arc;

use vela_engine::DefinitionKind;
use vela_runtime::Informer;

use crate::context::Context;

/// What is known of one kind of definition and of what is made for it.
pub(super) struct DefinitionReconciler {
    pub(super) context: Context,
    pub(super) kind: DefinitionKind,
    pub(super) definitions: Arc<Informer>,
    pub(super) revisions: Arc<Informer>,
    pub(super) schemas: Arc<Informer>,
    pub(super) workloads: Arc<Informer>,
    pub(super) applications: Arc<Informer>,
}
