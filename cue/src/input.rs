//! A value for a template, where it goes, and where its parts were written.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::source::Source;

/// One more conjunct: a value at a path.
///
/// ```
/// use vela_cue::{Input, Source, Template};
///
/// let template = Template::compile(&[Source::new("t.cue", "parameter: {port: *80 | int}\nout: parameter.port")])?;
/// let given = serde_json::json!({"port": 8080});
/// let root = template.instantiate(&[Input::new("parameter", &given)]).root();
/// assert_eq!(root.lookup("out").as_i64(), Some(8080));
/// # Ok::<(), vela_cue::Diagnostics>(())
/// ```
#[derive(Clone)]
pub struct Input<'a> {
    /// Where it goes, `parameter` or `context.output`; empty for the root.
    pub path: &'a str,
    /// The value.
    pub value: &'a serde_json::Value,
    /// The positions of its parts.
    pub positions: Option<Arc<dyn Positions>>,
    /// Whether it changes what others gave: its origins are told apart.
    pub patch: bool,
}

impl<'a> Input<'a> {
    /// A value at a path.
    pub fn new(path: &'a str, value: &'a serde_json::Value) -> Self {
        Self { path, value, positions: None, patch: false }
    }

    /// With the places its parts were written at: diagnostics and origins name them.
    #[must_use]
    pub fn with_positions(mut self, positions: Arc<dyn Positions>) -> Self {
        self.positions = Some(positions);
        self
    }

    /// The same value given by a patch.
    #[must_use]
    pub fn as_patch(mut self) -> Self {
        self.patch = true;
        self
    }
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("path", &self.path).field("value", self.value).finish_non_exhaustive()
    }
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Segment {
    /// A field of a struct.
    Field(String),
    /// An element of a list.
    Index(usize),
}

/// A part of an input that only the inputs declare: most likely a slip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undeclared {
    /// Where it stands in the input.
    pub path: Vec<Segment>,
    /// The names that are declared beside it.
    pub known: Vec<String>,
}

/// A place in a text that another reader has read.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its name, and its text when that is still known (for carets); else the text is empty.
    pub source: Arc<Source>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Gives the positions of the parts of an input. The evaluator asks it only for messages to people.
pub trait Positions {
    /// The place of the value at this path inside the input; of its name instead when `name` is asked for.
    fn place(&self, path: &[Segment], name: bool) -> Option<Place>;
}

/// Places by path; a part without one stands where the nearest value around it does.
impl Positions for BTreeMap<Vec<Segment>, Place> {
    fn place(&self, path: &[Segment], _name: bool) -> Option<Place> {
        (0..=path.len()).rev().find_map(|length| self.get(&path[..length])).cloned()
    }
}
