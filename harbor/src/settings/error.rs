//! Why a server cannot be set up.

use vela_runtime::{apply, dynamic_watch, egress};

/// Why a server cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// A field is missing or wrong.
    #[error(transparent)]
    Spec(#[from] crate::error::Error),
    /// An object could not be read.
    #[error(transparent)]
    Read(#[from] dynamic_watch::Error),
    /// An object could not be written.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// The API server refused something.
    #[error("{0}")]
    Client(#[from] kube::Error),
    /// An object is not what its kind says.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    /// The address of the server is none.
    #[error("{field} is no address of a server: give one such as https://harbor.example.net")]
    Address {
        /// The field.
        field: String,
    },
    /// The server was not reached.
    #[error("Harbor at {server} cannot be asked: {source}")]
    Unreached {
        /// Its address.
        server: String,
        /// Why.
        source: egress::Error,
    },
    /// The server refused.
    #[error("Harbor at {server} refused to {what} with status {status}: {said}")]
    Refused {
        /// Its address.
        server: String,
        /// The request in words.
        what: &'static str,
        /// The status of the answer.
        status: u16,
        /// What it said.
        said: String,
    },
    /// The server does not work.
    #[error("Harbor at {server} is not healthy; what does not work: {sick}")]
    Sick {
        /// Its address.
        server: String,
        /// Its components that do not work.
        sick: String,
    },
    /// The server is not for this namespace.
    #[error(
        "HarborServerConfiguration {configuration} is not for namespace {namespace}: its spec.namespaceSelector does not select the labels of that namespace"
    )]
    NotSelected {
        /// What describes the server.
        configuration: String,
        /// The namespace.
        namespace: String,
    },
    /// The answer of the server is not understood.
    #[error("Harbor at {server} answered something else than {expected}: is it a Harbor of release 2?")]
    Answer {
        /// Its address.
        server: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl Error {
    /// Does only a change of an object help, which wakes the reconcile?
    pub(super) fn waits_for_change(&self) -> bool {
        match self {
            Self::Spec(_) | Self::Address { .. } | Self::Malformed(_) | Self::NotSelected { .. } => true,
            Self::Read(error) => matches!(error, dynamic_watch::Error::Missing { again: None, .. }),
            Self::Apply(error) => matches!(error, apply::Error::Foreign { .. }),
            _ => false,
        }
    }
}
