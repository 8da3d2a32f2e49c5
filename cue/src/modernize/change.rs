//! The rewritten places.

/// The kind of a rewritten place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// `a + b` on lists, now `list.Concat([a, b])`.
    Concat,
    /// `a * n` on a list, now `list.Repeat(a, n)`.
    Repeat,
    /// `a div b`, now `div(a, b)`.
    Division,
    /// `>=1 & <=1`, now `1`.
    SingleNumber,
    /// A guard beside a type, now a bound.
    Guard,
    /// The import that the rewritten text needs.
    Import,
}

/// One place that was rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its kind.
    pub kind: ChangeKind,
    /// Line in the text given, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The old text.
    pub before: String,
    /// The new text.
    pub after: String,
}
