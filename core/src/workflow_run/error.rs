//! Why a reconcile of a WorkflowRun ended before its run came to rest.

use vela_engine::Diagnostics;

use crate::author::UnknownAuthor;
use crate::blocking::NotComputed;
use crate::workflow::StoreError;

/// Why a reconcile ended before its run came to rest.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The run as written cannot run: only a change helps.
    #[error("{0}")]
    Refused(String),
    /// The cluster did not answer.
    #[error("{0}")]
    Unavailable(String),
    #[error(transparent)]
    Author(#[from] UnknownAuthor),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Client(#[from] kube::Error),
    #[error(transparent)]
    NotComputed(#[from] NotComputed),
}

impl Error {
    /// Was another writer merely faster, or does the process end?
    pub(super) fn is_news(&self) -> bool {
        let is_conflict =
            |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 409);
        match self {
            Self::Store(StoreError::Behind) | Self::NotComputed(NotComputed::Ends) => false,
            Self::Store(StoreError::Client(error)) | Self::Client(error) => !is_conflict(error),
            _ => true,
        }
    }
}

impl From<Diagnostics> for Error {
    fn from(found: Diagnostics) -> Self {
        Self::Refused(found.to_string())
    }
}
