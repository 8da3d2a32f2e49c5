//! Source texts in; file ids, spans, lines and columns out.

use std::{ops::Range, sync::Arc};

use crate::era::Era;

/// One text, usually CUE, with the name it is reported under.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name shown in diagnostics, usually a path.
    pub name: String,
    /// The text.
    pub text: String,
    /// The release it was written for.
    pub era: Era,
    /// How it is written.
    pub format: Format,
}

impl Source {
    /// A source of this name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), era: Era::default(), format: Format::default() }
    }

    /// The same source, written in that format.
    pub fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The same source, read as the release did that it was written for.
    pub fn with_era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }
}

/// How a source is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// CUE.
    #[default]
    Cue,
    /// JSON.
    Json,
    /// YAML: every document of the text, as conjuncts of one value.
    Yaml,
    /// YAML: only the document of this number, from 0.
    YamlDocument(usize),
    /// TOML.
    Toml,
}

impl Format {
    /// The format that the ending of a file name tells.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::of_word(name.rsplit_once('.')?.1)
    }

    /// The format of that name, as in `yaml: -`.
    pub fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "cue" => Self::Cue,
            "json" => Self::Json,
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            _ => return None,
        })
    }
}

/// Index of a source in its [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// The mark of files that were taken in by [`Sources::add_by_line`].
const BY_LINE: u32 = 1 << 31;

impl FileId {
    pub(crate) fn by_line(at: usize) -> Self {
        Self(BY_LINE | at as u32)
    }

    /// Whether it was taken in by [`Sources::add_by_line`], as those of inputs are.
    pub fn is_by_line(self) -> bool {
        self.0 & BY_LINE != 0
    }
}

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

    /// The span of a place known by line and column (both from 1), in a file of [`Sources::add_by_line`].
    pub fn at_line(file: FileId, line: u32, column: u32) -> Self {
        Self { file, start: line, end: column }
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
    /// Texts that others have read: all that is known of a place is its line and column.
    by_line: Vec<Arc<Source>>,
}

impl Sources {
    /// Takes a source in.
    pub fn add(&mut self, source: Source) -> FileId {
        self.files.push(Arc::new(source));
        FileId(self.files.len() as u32 - 1)
    }

    /// Takes in a source whose places are known by line and column ([`Span::at_line`]); the text may be empty when it
    /// is no longer available.
    pub fn add_by_line(&mut self, source: Arc<Source>) -> FileId {
        self.by_line.push(source);
        FileId::by_line(self.by_line.len() - 1)
    }

    /// Takes in the sources of others; the result tells their new ids.
    pub(crate) fn append(&mut self, other: &Self) -> impl Fn(FileId) -> FileId + use<> {
        let (files, by_line) = (self.files.len() as u32, self.by_line.len() as u32);
        self.files.extend(other.files.iter().cloned());
        self.by_line.extend(other.by_line.iter().cloned());
        move |file| FileId(file.0 + if file.is_by_line() { by_line } else { files })
    }

    /// The source of this id.
    pub fn get(&self, file: FileId) -> Option<&Source> {
        let found = match file.is_by_line() {
            true => self.by_line.get((file.0 & !BY_LINE) as usize),
            false => self.files.get(file.0 as usize),
        };
        found.map(|source| &**source)
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
        let Some(source) = self.get(span.file) else { return "" };
        let bytes = match span.file.is_by_line() {
            true => self.bytes(span),
            false => span.start as usize..span.end as usize,
        };
        source.text.get(bytes).unwrap_or("")
    }

    /// The bytes of a span within its text, cut to what the text holds.
    pub fn bytes(&self, span: Span) -> Range<usize> {
        let Some(source) = self.get(span.file) else { return 0..0 };
        let text = source.text.as_str();
        let whole = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        if !span.file.is_by_line() {
            let start = whole(span.start as usize);
            return start..whole(span.end as usize).max(start);
        }
        let lines = text.split_inclusive('\n').take(span.start.saturating_sub(1) as usize);
        let line_start: usize = lines.map(str::len).sum();
        let line = text[line_start..].lines().next().unwrap_or("");
        let column = span.end.saturating_sub(1) as usize;
        let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        let start = line_start + offset;
        start..start + written(&line[offset..])
    }

    /// Line and column, both from 1, of a byte of a text.
    pub fn line_column(&self, file: FileId, byte: usize) -> (usize, usize) {
        let text = self.get(file).map_or("", |source| source.text.as_str());
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// Name, line and column (both from 1, the column in characters) of the start of a span.
    pub fn position(&self, span: Span) -> Option<(&str, usize, usize)> {
        let source = self.get(span.file)?;
        let (line, column) = match span.file.is_by_line() {
            true => (span.start as usize, span.end as usize),
            false => self.line_column(span.file, span.start as usize),
        };
        Some((&source.name, line, column))
    }
}

/// How much of a line of YAML or JSON belongs to the value or name at its start.
fn written(rest: &str) -> usize {
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return rest[1..].find(quote).map_or(rest.trim_end().len(), |at| at + 2);
    }
    let end = [": ", " #", ", ", "]", "}"].iter().filter_map(|mark| rest.find(mark)).min();
    rest[..end.unwrap_or(rest.len())].trim_end().trim_end_matches([':', ',']).len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{FileId, Source, Sources, Span};

    #[test]
    fn places_by_line_find_their_text() {
        let mut sources = Sources::default();
        let text = "a: 1\nports:\n  - {port: 80, name: \"x y\"}\n";
        let file = sources.add_by_line(Arc::new(Source::new("app.yaml", text)));
        for (line, column, expected) in
            [(1, 4, "1"), (2, 1, "ports"), (3, 12, "80"), (3, 22, "\"x y\""), (3, 6, "port"), (9, 9, "")]
        {
            let span = Span::at_line(file, line, column);
            assert_eq!(sources.text(span), expected, "{line}:{column}");
            assert_eq!(sources.position(span), Some(("app.yaml", line as usize, column as usize)));
        }
        assert_eq!(sources.position(Span::new(FileId(7), 0, 1)), None);
    }

    #[test]
    fn spans_beyond_the_text_are_cut() {
        let mut sources = Sources::default();
        let file = sources.add(Source::new("x.cue", "a: \"ü\""));
        assert_eq!(sources.bytes(Span::new(file, 5, 99)), 4..7);
        assert_eq!(sources.line_column(file, 6), (1, 6));
    }
}
