//! Why a command has no result.

use vela_cue::Diagnostics;
use vela_cue::packages::Failure as DataFailure;

/// Why a command has no result.
pub(crate) enum Failure {
    Diagnostics(Diagnostics),
    Message(String),
    /// A wrong command line.
    Usage(String),
    /// There is something to print all the same, `fmt --check` for instance.
    Printed(String),
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Diagnostics(diagnostics)
    }
}

impl From<DataFailure> for Failure {
    fn from(failure: DataFailure) -> Self {
        Self::Message(match failure {
            DataFailure::Error(message) | DataFailure::Budget(message) => message,
            DataFailure::Incomplete(_) => "value is incomplete".into(),
        })
    }
}
