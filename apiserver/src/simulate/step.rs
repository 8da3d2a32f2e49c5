//! The inputs and decisions of a reconcile: the present objects in, writes out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::propagation::Propagation;
use crate::store::{IndexKey, index_keys};

/// The present objects.
pub(crate) trait View {
    /// One object; `resource` is `plural` or `plural.group`, the namespace is empty for cluster-wide kinds.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// All objects of a resource, of one namespace or of all.
    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
    /// All objects of a resource with this key, in name order; a view that can do so looks at no others.
    fn indexed(&self, resource: &str, index_key: &IndexKey) -> Vec<Arc<Value>> {
        let mut all = self.list(resource, None);
        all.retain(|object| index_keys(resource, object).contains(index_key));
        all
    }
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Create an object.
    Create {
        /// Its resource.
        resource: String,
        /// The object; it may have `generateName` instead of a name.
        object: Value,
    },
    /// Replace an object; it carries the resourceVersion it was read at.
    Update {
        /// Its resource.
        resource: String,
        /// The object.
        object: Value,
    },
    /// Replace the status of an object.
    UpdateStatus {
        /// Its resource.
        resource: String,
        /// The object with the new status.
        object: Value,
    },
    /// Delete an object, if it still is the one with this uid.
    Delete {
        /// Its resource.
        resource: String,
        /// Its namespace; empty for cluster-wide kinds.
        namespace: String,
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
        /// The fate of the objects it owns; none for the kind's usual way.
        propagation: Option<Propagation>,
    },
    /// Record an event (core/v1).
    Event {
        /// The Event object.
        object: Value,
    },
}

/// The decisions of one reconcile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The writes, in order.
    pub(crate) actions: Vec<Action>,
    /// Come back after this time even if nothing changes.
    pub(crate) again_after: Option<Duration>,
}

impl Outcome {
    pub(super) fn sooner(&mut self, after: Duration) {
        self.again_after = Some(self.again_after.map_or(after, |old| old.min(after)));
    }
}
