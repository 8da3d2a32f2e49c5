//! What a template is made of.

use super::path::Path;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A text, printed as it is.
    Text(String),
    /// The values at a path.
    Path(Path),
    /// The parts, once for each value at the path.
    Range(Path, Vec<Part>),
}
