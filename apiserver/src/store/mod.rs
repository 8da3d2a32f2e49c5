//! Objects and their history: one global resource version, exact snapshots, and events for watchers.
//!
//! [`Store`] keeps every object in memory ([`memory`]) and, when it was opened on a file, writes each change to the
//! file before it is acknowledged ([`file`]). Watchers pull events from a bounded history; who falls behind is told so.

pub mod file;
mod index_key;
mod memory;
pub mod private;
mod revision;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

pub use index_key::{IndexKey, index_keys};
pub use memory::{Change, Precondition, Store};
pub use revision::{RevisionReceiver, RevisionSender};

/// One stored object at one resource version, as value and as JSON text; one of them is made from the other when it is
/// first asked for.
#[derive(Debug)]
pub struct Entry {
    value: OnceLock<Arc<Value>>,
    revision: u64,
    json: OnceLock<Bytes>,
}

impl Entry {
    pub(crate) fn new(value: Value, revision: u64) -> Self {
        Self { value: OnceLock::from(Arc::new(value)), revision, json: OnceLock::new() }
    }

    /// The same state as text alone, which takes a tenth of the space of a value.
    pub(crate) fn packed(&self) -> Self {
        Self { value: OnceLock::new(), revision: self.revision, json: OnceLock::from(self.json()) }
    }

    fn parsed(&self) -> &Arc<Value> {
        self.value.get_or_init(|| Arc::new(self.parse()))
    }

    fn parse(&self) -> Value {
        // An entry is made of a value or of the text of one, so there always is a text to read here.
        let text = self.json.get().map(Bytes::as_ref).unwrap_or_default();
        serde_json::from_slice(text).unwrap_or_default()
    }

    /// The same state to be read as a value now. What is kept as text stays so: the value goes with the answer.
    pub(crate) fn opened(self: &Arc<Self>) -> Arc<Self> {
        if self.value.get().is_some() {
            return self.clone();
        }
        let value = OnceLock::from(Arc::new(self.parse()));
        Arc::new(Self { value, revision: self.revision, json: self.json.clone() })
    }

    /// Whether this state is kept as text.
    #[cfg(test)]
    pub(crate) fn is_text(&self) -> bool {
        self.value.get().is_none()
    }

    /// Whether the object was written in this version, read from the text alone where there is no value.
    pub(crate) fn is_of(&self, api_version: &str) -> bool {
        if let Some(value) = self.value.get() {
            return value["apiVersion"] == api_version;
        }
        // Fields are ordered by name, and hardly any kind has one before this.
        let text = self.json.get().map(Bytes::as_ref).unwrap_or_default();
        let begins = text
            .strip_prefix(b"{\"apiVersion\":\"")
            .and_then(|rest| rest.strip_prefix(api_version.as_bytes()));
        begins.is_some_and(|rest| rest.first() == Some(&b'"')) || self.parse()["apiVersion"] == api_version
    }

    /// The resource version at which this state was written.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object as JSON text.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| Bytes::from(self.parsed().to_string())).clone()
    }

    /// The object, shared. What is kept as text stays so.
    pub fn shared(&self) -> Arc<Value> {
        self.value.get().cloned().unwrap_or_else(|| Arc::new(self.parse()))
    }

    /// The object.
    pub fn value(&self) -> &Value {
        self.parsed()
    }
}

impl Deref for Entry {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.parsed()
    }
}

/// Where an object lies: `deployments.apps`, namespace (empty for cluster scope), name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Plural and group, `deployments.apps`, or just the plural in the core group.
    pub resource: Arc<str>,
    /// The namespace, or empty.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
}

/// One change of one object. For a deletion `entry` is the last state with the revision of the deletion.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Which object.
    pub key: Key,
    /// The state after the change (before it, for a deletion).
    pub entry: Arc<Entry>,
    /// The state before the change.
    pub previous: Option<Arc<Entry>>,
    /// The resource version of the change.
    pub revision: u64,
}

/// Read access for the pure controllers.
pub trait View {
    /// One object.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Entry>>;
    /// All objects of a resource, in one namespace or in all.
    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Entry>>;
}

/// Why the store refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object is not there.
    #[error("not found")]
    NotFound,
    /// An object of that name is there already.
    #[error("already exists")]
    AlreadyExists,
    /// The object changed since it was read.
    #[error("the object was changed by somebody else")]
    Conflict,
    /// History no longer reaches back to this resource version.
    #[error("resource version {asked} is too old, the oldest known is {oldest}")]
    Expired {
        /// The version asked for.
        asked: u64,
        /// The oldest version still known.
        oldest: u64,
    },
    /// There are as many objects as the store may hold.
    #[error("the store holds its limit of {0} objects")]
    Full(usize),
    /// The file could not be read or written; nothing was changed.
    #[error("{0}")]
    File(#[from] file::Error),
}
