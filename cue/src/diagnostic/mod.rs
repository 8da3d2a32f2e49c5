//! Diagnostics: the error, its place and its remedy; many at once, as text with carets, as lines or as JSON.

mod code;
mod json;
#[cfg(feature = "render")]
mod render;

use std::fmt;

use crate::source::{Sources, Span};

pub use code::{Class, Code};

/// A place that takes part in a failure, with a word on its part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// A few words on the place; may be empty.
    pub text: String,
    /// Whether it is the place to look at first. Exactly one label is, when there are any.
    pub main: bool,
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The class of the failure.
    pub code: Code,
    /// The error in one sentence.
    pub message: String,
    /// The path of the value (`output.spec.replicas`), empty for the whole.
    pub path: String,
    /// Further values that fail for the very same reason at the very same places.
    pub also: Vec<String>,
    /// The expected value, where it is known.
    pub expected: Option<String>,
    /// The found value.
    pub found: Option<String>,
    /// The places that cause it, the main one first.
    pub labels: Vec<Label>,
    /// The remedy.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without a path.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Self {
        let main = Label { span, text: String::new(), main: true };
        Self {
            code,
            message: message.into(),
            path: String::new(),
            also: Vec::new(),
            expected: None,
            found: None,
            labels: if span.is_none() { Vec::new() } else { vec![main] },
            hint: None,
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// The main place.
    pub fn span(&self) -> Span {
        self.labels.first().map_or(Span::NONE, |label| label.span)
    }

    /// Path and message.
    pub fn title(&self) -> String {
        if self.path.is_empty() { self.message.clone() } else { format!("{}: {}", self.path, self.message) }
    }

    /// Whether another one tells of the same cause at another value.
    fn same_cause(&self, other: &Self) -> bool {
        !self.code.is_incomplete()
            && self.code == other.code
            && self.message == other.message
            && !self.labels.is_empty()
            && self.labels.len() == other.labels.len()
            && self.labels.iter().zip(&other.labels).all(|(a, b)| a.span == b.span)
    }
}

/// Failures with the sources they point into.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    more: usize,
    sources: Sources,
}

/// Most diagnostics that are kept; the reader cures the first ones first. The others are counted.
const MAX_DIAGNOSTICS: usize = 100;

/// Most further values that are named for one cause.
const MAX_ALSO: usize = 20;

impl Diagnostics {
    /// Diagnostics that point into these sources: each cause once, in the given order, a limited number.
    pub fn new(items: Vec<Diagnostic>, sources: Sources) -> Self {
        let mut kept: Vec<Diagnostic> = Vec::new();
        let mut more = 0;
        for item in items {
            let known = kept.iter().position(|known| known.same_cause(&item) || *known == item);
            if let Some(known) = known.and_then(|at| kept.get_mut(at)) {
                if known.path != item.path && known.also.len() < MAX_ALSO {
                    known.also.push(item.path);
                }
            } else if kept.len() < MAX_DIAGNOSTICS {
                kept.push(item);
            } else {
                more += 1;
            }
        }
        Self { items: kept, more, sources }
    }

    /// The same with those of another evaluation behind them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let Self { mut items, more, mut sources } = self;
        let moved = sources.append(&other.sources);
        for mut item in other.items {
            for label in &mut item.labels {
                label.span.file = moved(label.span.file);
            }
            items.push(item);
        }
        let both = Self::new(items, sources);
        Self { more: both.more + more + other.more, ..both }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// How many more there were.
    pub fn more(&self) -> usize {
        self.more
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sources the spans point into.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether more input may still cure all of them.
    pub fn is_incomplete(&self) -> bool {
        self.items.iter().all(|d| d.code.is_incomplete())
    }

    /// Name, line and column of the main place of a diagnostic.
    pub fn position(&self, diagnostic: &Diagnostic) -> Option<(&str, usize, usize)> {
        self.sources.position(diagnostic.span())
    }

    /// The sentence about those that are not kept, if there are any.
    fn more_text(&self) -> Option<String> {
        (self.more > 0).then(|| format!("and {} more", self.more))
    }
}

impl fmt::Display for Diagnostics {
    /// One line each: `file:line:column: path: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.items.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if let Some((file, line, column)) = self.position(diagnostic) {
                write!(f, "{file}:{line}:{column}: ")?;
            }
            f.write_str(&diagnostic.title())?;
        }
        match self.more_text() {
            Some(text) => write!(f, "\n{text}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostics {}
