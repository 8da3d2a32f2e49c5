//! Source texts in; file ids, spans, lines and columns out.

use std::sync::Arc;

use crate::era::Era;

/// One CUE text with the name it is reported under.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name shown in diagnostics, usually a path.
    pub name: String,
    /// The CUE text.
    pub text: String,
    /// The release it was written for.
    pub era: Era,
}

impl Source {
    /// A source of this name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), era: Era::default() }
    }

    /// The same source, read as the release did that it was written for.
    pub fn with_era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }
}

/// Index of a source in its [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The source.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of what was not written by anybody.
    pub const NONE: Self = Self { file: FileId(u32::MAX), start: 0, end: 0 };

    /// A span of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        Self { file, start: start as u32, end: end as u32 }
    }

    /// Whether there is no place.
    pub fn is_none(&self) -> bool {
        self.file.0 == u32::MAX
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Self) -> Self {
        if self.is_none() {
            return other;
        }
        if other.is_none() || other.file != self.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl Default for Span {
    fn default() -> Self {
        Self::NONE
    }
}

/// All sources of one compilation.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<Arc<Source>>,
}

impl Sources {
    /// Takes a source in.
    pub fn add(&mut self, source: Source) -> FileId {
        self.files.push(Arc::new(source));
        FileId(self.files.len() as u32 - 1)
    }

    /// The source of this id.
    pub fn get(&self, file: FileId) -> Option<&Source> {
        self.files.get(file.0 as usize).map(|s| &**s)
    }

    /// How many sources there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no source.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The text of a span.
    pub fn text(&self, span: Span) -> &str {
        self.get(span.file).and_then(|s| s.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// Name, line and column (both from 1, the column in characters) of the start of a span.
    pub fn position(&self, span: Span) -> Option<(&str, usize, usize)> {
        let source = self.get(span.file)?;
        let before = source.text.get(..span.start as usize).unwrap_or(&source.text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        Some((&source.name, line, before[line_start..].chars().count() + 1))
    }
}
