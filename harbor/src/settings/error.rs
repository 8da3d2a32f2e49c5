//! Why a server cannot be set up.

use vela_runtime::{Retry, apply, dynamic_watch, egress};

/// Refusals of a server that another try may not meet: too slow, done by another one, too much at once.
const PASSING: [u16; 3] = [408, 409, 429];

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
    /// The server has no such project.
    #[error(
        "Harbor at {server} has no project {project}, or does not show it to this account: make it there, or name another in goharbor.io/project, or \"*\" for one that is made"
    )]
    NoProject {
        /// Its address.
        server: String,
        /// The name of the project.
        project: String,
    },
    /// The robot account is not there, or not for the project.
    #[error(
        "Harbor at {server} has no robot account {robot} with access to project {project}: give it access there, or put the number of one that has into goharbor.io/robot"
    )]
    NoAccess {
        /// Its address.
        server: String,
        /// The number of the robot account.
        robot: u64,
        /// The name of the project.
        project: String,
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

    /// Does only help what is done at the server? Nothing wakes the reconcile then.
    pub(super) fn is_of_server(&self) -> bool {
        match self {
            Self::NoProject { .. } | Self::NoAccess { .. } | Self::Answer { .. } => true,
            Self::Refused { status, .. } => (400..500).contains(status) && !PASSING.contains(status),
            _ => false,
        }
    }

    /// Is it of the API server, and may pass by itself? To people it says nothing.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Client(error) => Retry::of(error).is_transient(),
            Self::Read(error) => !matches!(error, dynamic_watch::Error::Missing { .. }),
            Self::Apply(error) => error.is_transient(),
            _ => false,
        }
    }
}
