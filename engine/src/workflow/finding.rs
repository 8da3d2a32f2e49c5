//! A mistake in a workflow, with its place.

use std::fmt;

/// The error of a workflow, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFinding {
    /// Field path.
    pub path: String,
    /// The error and its remedy.
    pub message: String,
}

impl SpecFinding {
    pub(super) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for SpecFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
