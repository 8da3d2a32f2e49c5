//! Why an object cannot be had in another version.

use vela_crds::goharbor_io::{GROUP, OLDER_VERSION, VERSION};

/// Why an object cannot be had in another version.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is of another kind, or no object at all.
    #[error("kind {0:?} is not converted; expected a kind of {GROUP} with two versions")]
    Kind(String),
    /// There is no such version.
    #[error("version {0:?} is not known; expected {GROUP}/{OLDER_VERSION} or {GROUP}/{VERSION}")]
    Version(String),
    /// It has no metadata.
    #[error("metadata or its annotations are missing or no object")]
    Metadata,
    /// A client changed the annotation.
    #[error("annotation {name} cannot be read: {reason}; remove it, or write a JSON list of path and value")]
    Note {
        /// The annotation.
        name: String,
        /// Why.
        reason: String,
    },
}
