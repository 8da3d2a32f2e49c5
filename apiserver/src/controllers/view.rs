//! The store as the pure controllers see it.

use std::sync::Arc;

use serde_json::Value;

use crate::simulate::View;
use crate::store::{IndexKey, Store};

/// The present objects of a store.
pub(super) struct StoreView<'a>(pub(super) &'a Store);

impl View for StoreView<'_> {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find(resource, namespace, name).map(|entry| entry.shared())
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.0.list(resource, namespace).0.iter().map(|entry| entry.shared()).collect()
    }

    fn indexed(&self, resource: &str, index_key: &IndexKey) -> Vec<Arc<Value>> {
        self.0.indexed(resource, index_key).iter().map(|entry| entry.shared()).collect()
    }
}
