//! Something wrong with a plan: where, and what to write instead.

/// Something wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field, below the plan; empty for the plan itself.
    pub path: String,
    /// Is the field missing, rather than wrong?
    pub missing: bool,
    /// The found value, the expected one and the remedy.
    pub message: String,
}

impl Finding {
    pub(super) fn wrong(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), missing: false, message: message.into() }
    }

    pub(super) fn missing(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), missing: true, message: message.into() }
    }
}
