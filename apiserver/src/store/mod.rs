//! Objects and their history: one global resource version, exact snapshots, and events for watchers.
//!
//! [`Store`] keeps every object in memory ([`memory`]) and, when it was opened on a file, writes each change to the
//! file before it is acknowledged ([`file`]). Watchers pull events from a bounded history; who falls behind gets an error.

mod entry;
pub mod file;
mod index_key;
mod memory;
pub mod private;
mod revision;

use std::sync::Arc;

pub use entry::{Entry, Key};
pub use index_key::{IndexKey, index_keys};
pub use memory::{Change, Precondition, Store};
pub use revision::{RevisionReceiver, RevisionSender};

/// The change of an object.
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
    /// The change.
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
    #[error("the object was changed by another client")]
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
