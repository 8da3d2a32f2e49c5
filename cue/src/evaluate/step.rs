//! A path from the root of a value.

/// One step of a path from the root.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A regular field.
    Field(String),
    /// A hidden field of the main package.
    Hidden(String),
    /// An element of a list.
    Index(usize),
}
