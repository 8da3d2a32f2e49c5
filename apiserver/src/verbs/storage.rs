//! The objects as the verbs read and write them.

use std::sync::Arc;

use crate::store::{Change, Entry, Error, Event, IndexKey, Key, Precondition, RevisionReceiver, Store};

/// The present objects, and the states that are still known.
pub(crate) trait Storage {
    /// The latest resource version of all objects.
    fn revision(&self) -> u64;
    /// One object.
    fn get(&self, key: &Key) -> Option<Arc<Entry>>;
    /// One object, by the parts of its key.
    fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Entry>>;
    /// The objects of a resource in name order, and the revision of this view.
    fn list(&self, resource: &str, namespace: Option<&str>) -> (Vec<Arc<Entry>>, u64);
    /// The same as it was at a revision.
    fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Entry>>, Error>;
    /// Whether any object of a resource has this key.
    fn has(&self, resource: &str, index_key: &IndexKey) -> bool;
    /// Writes or removes an object if what is expected holds.
    fn write(&self, key: &Key, expect: Precondition, change: Change) -> Result<Arc<Entry>, Error>;
}

/// Objects whose changes can be followed.
pub(crate) trait History: Storage {
    /// The changes of a resource after a revision, and up to which revision they are complete.
    fn events_after(&self, resource: &str, revision: u64, limit: usize) -> Result<(Vec<Event>, u64), Error>;
    /// Wakes the waiters for a change of the resource.
    fn subscribe(&self, resource: &str) -> RevisionReceiver;
}

impl Storage for Store {
    fn revision(&self) -> u64 {
        Store::revision(self)
    }

    fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        Store::get(self, key)
    }

    fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Entry>> {
        Store::find(self, resource, namespace, name)
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> (Vec<Arc<Entry>>, u64) {
        Store::list(self, resource, namespace)
    }

    fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        Store::list_at(self, resource, namespace, revision)
    }

    fn has(&self, resource: &str, index_key: &IndexKey) -> bool {
        Store::has(self, resource, index_key)
    }

    fn write(&self, key: &Key, expect: Precondition, change: Change) -> Result<Arc<Entry>, Error> {
        Store::write(self, key, expect, change)
    }
}

impl History for Store {
    fn events_after(&self, resource: &str, revision: u64, limit: usize) -> Result<(Vec<Event>, u64), Error> {
        Store::events_after(self, resource, revision, limit)
    }

    fn subscribe(&self, resource: &str) -> RevisionReceiver {
        Store::subscribe(self, resource)
    }
}
