//! The state that all requests share.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::ClusterRules;
use crate::catalog::Registry;
use crate::clock::{Clock, Ids};
use crate::store::Store;
use crate::{openapi, verbs};

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) token: String,
    pub(crate) ids: Ids,
    pub(crate) openapi: openapi::Cache,
    pub(crate) closing: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl State {
    /// The state of a server before its first request.
    pub(crate) fn new(store: Store, registry: Registry, clock: Clock, token: String, ids: Ids) -> Self {
        Self {
            store,
            registry,
            clock,
            token,
            ids,
            openapi: openapi::Cache::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// The context of the verbs.
    pub(crate) fn context(&self) -> verbs::Context<'_> {
        verbs::Context {
            store: &self.store,
            catalog: &self.registry,
            admission: &ClusterRules,
            clock: &self.clock,
            ids: &self.ids,
        }
    }
}
