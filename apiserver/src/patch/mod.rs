//! The patch kinds a client may send: (target, patch) → patched object, or why not.
pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

/// The side at fault for a refused patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The patch itself is not well formed.
    BadRequest,
    /// The patch is well formed but cannot be applied to this object.
    Unprocessable,
}

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Error {
    /// The side at fault.
    pub(crate) kind: ErrorKind,
    /// In words.
    pub(crate) message: String,
}

impl Error {
    fn bad_request(message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::BadRequest, message: message.into() }
    }

    fn unprocessable(message: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Unprocessable, message: message.into() }
    }
}
