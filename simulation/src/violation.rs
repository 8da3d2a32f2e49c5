//! A broken promise: which one, and what happened.

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Which promise.
    pub(crate) promise: &'static str,
    /// The event.
    pub(crate) what: String,
}

impl Violation {
    pub(crate) fn new(promise: &'static str, what: impl Into<String>) -> Self {
        Self { promise, what: what.into() }
    }
}
