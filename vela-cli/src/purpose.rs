//! What a command is going to do.

/// What a command is going to do, so that the sandbox starts no more than that needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Only look.
    Read,
    /// Change things and wait for the outcome, which takes running controllers.
    Change,
}
