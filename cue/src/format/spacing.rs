//! Tokens and wishes for white space in, marked text out.
//!
//! Between two tokens the callers collect wishes; the place of the next token in the source may add a line break or take
//! one away; then the strongest wish is written.

use super::columns::{CELL, ESCAPE, FEED};
use crate::ast::{CommentGroup, CommentPlace};
use crate::source::Span;

/// Wishes for white space, a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Wish(u16);

impl Wish {
    pub(super) const BLANK: Self = Self(1);
    /// A column mark.
    pub(super) const COLUMN: Self = Self(2);
    pub(super) const NO_BLANK: Self = Self(4);
    /// The source has no say.
    pub(super) const FIXED: Self = Self(8);
    /// A comma, which [`Wish::TRAILING`] limits to line ends.
    pub(super) const COMMA: Self = Self(16);
    pub(super) const TRAILING: Self = Self(32);
    /// A comma unless the line ends.
    pub(super) const SEPARATOR: Self = Self(64);
    pub(super) const LINE: Self = Self(128);
    /// A line end that ends columns.
    pub(super) const FEED: Self = Self(256);
    /// An empty line.
    pub(super) const SECTION: Self = Self(512);
    pub(super) const INDENT: Self = Self(1024);
    pub(super) const UNINDENT: Self = Self(2048);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl std::ops::BitOr for Wish {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Wish {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The space before a token in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The token has no place in a source.
    Unknown,
    Adjacent,
    Blank,
    Newline,
    EmptyLine,
}

/// A requested level of indentation; it counts once a line ends within it.
struct Level {
    wanted: bool,
    taken: bool,
}

pub(super) struct Printer<'a> {
    source: &'a str,
    pub(super) output: String,
    wishes: Wish,
    levels: Vec<Level>,
    /// May fall below zero, which counts as none.
    pub(super) indent: isize,
    /// Number of line ends written.
    pub(super) line: usize,
    column: usize,
    spaced: bool,
    after_comment: bool,
    pub(super) brace_on_line: bool,
    pub(super) last: char,
    last_is_integer: bool,
    /// Inside a struct that stays on one line.
    pub(super) one_line: bool,
    /// Inside an interpolation that stays on one line.
    pub(super) collapsing: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            output: String::new(),
            wishes: Wish::FIXED,
            levels: Vec::new(),
            indent: 0,
            line: 0,
            column: 1,
            spaced: false,
            after_comment: false,
            brace_on_line: false,
            last: '\0',
            last_is_integer: false,
            one_line: false,
            collapsing: false,
        }
    }

    /// The space before this place in the source.
    pub(super) fn relation(&self, span: Span) -> Relation {
        if span.is_none() || self.source.is_empty() {
            return Relation::Unknown;
        }
        let Some(before) = self.source.get(..span.start as usize) else { return Relation::Unknown };
        let kept = before.trim_end_matches([' ', '\t', '\n', '\r']);
        match before[kept.len()..].bytes().filter(|b| *b == b'\n').count() {
            0 if kept.len() == before.len() => Relation::Adjacent,
            0 => Relation::Blank,
            _ if self.collapsing => Relation::Unknown,
            1 => Relation::Newline,
            _ => Relation::EmptyLine,
        }
    }

    pub(super) fn starts_line(&self, span: Span) -> bool {
        matches!(self.relation(span), Relation::Newline | Relation::EmptyLine)
    }

    /// Whether a comma stands between two places.
    pub(super) fn comma_between(&self, before: Span, after: Span) -> Option<bool> {
        if before.is_none() || after.is_none() {
            return None;
        }
        let between = self.source.get(before.end as usize..after.start as usize)?;
        Some(between.lines().any(|line| line.split("//").next().is_some_and(|code| code.contains(','))))
    }

    /// The place of the first such byte behind a span.
    pub(super) fn next_byte(&self, span: Span, byte: u8) -> Span {
        let rest = self.source.as_bytes().get(span.end as usize..).unwrap_or_default();
        match rest.iter().position(|b| *b == byte) {
            Some(at) if !span.is_none() => {
                let start = span.end as usize + at;
                Span::new(span.file, start, start + 1)
            }
            _ => Span::NONE,
        }
    }

    pub(super) fn on_one_line(&self, span: Span) -> bool {
        !self.source.is_empty()
            && !span.is_none()
            && self
                .source
                .get(span.start as usize..span.end as usize)
                .is_some_and(|text| !text.contains('\n'))
    }

    pub(super) fn wish(&mut self, wish: Wish) {
        self.wishes |= wish;
    }

    /// A line end, or a blank inside a struct on one line.
    pub(super) fn feed(&self) -> Wish {
        if self.one_line { Wish::BLANK } else { Wish::FEED }
    }

    /// The separator of declarations.
    pub(super) fn between(&self) -> Wish {
        if self.one_line { Wish::BLANK } else { Wish::LINE }
    }

    /// Lets the place of the next token in the source have its say.
    pub(super) fn place(&mut self, relation: Relation) {
        if relation == Relation::Unknown || self.wishes.has(Wish::FIXED) {
            return;
        }
        let lines = Wish::LINE | Wish::SECTION | Wish::FEED;
        let mut wishes = match relation {
            Relation::Unknown => self.wishes,
            Relation::Adjacent => self.wishes.without(lines),
            Relation::Blank => (self.wishes | Wish::BLANK).without(lines),
            Relation::Newline => self.wishes | Wish::LINE,
            Relation::EmptyLine => self.wishes | Wish::SECTION,
        };
        if self.after_comment {
            wishes |= Wish::LINE;
        }
        self.write_space(wishes);
        self.wishes = Wish::default();
    }

    /// Lets the start of this span have its say.
    pub(super) fn at(&mut self, span: Span) {
        self.place(self.relation(span));
    }

    /// An operator, bracket or keyword.
    pub(super) fn symbol(&mut self, text: &str) {
        let word = text.starts_with(|c: char| c.is_ascii_lowercase());
        let first = text.chars().next().unwrap_or(' ');
        let clash = match self.last {
            '+' | '-' => first == self.last,
            '/' => first == '*',
            _ => self.last_is_integer && text == ".",
        };
        if (clash || (word && self.last != '\0')) && !self.spaced {
            self.wishes |= Wish::BLANK;
        }
        self.flush();
        self.write(text, false);
        self.last = text.chars().last().unwrap_or(' ');
        self.last_is_integer = false;
        if word {
            self.wishes = Wish::BLANK;
        }
    }

    /// A name or literal.
    pub(super) fn literal(&mut self, text: &str, is_integer: bool) {
        self.flush();
        self.write(text, true);
        self.last = 'a';
        self.last_is_integer = is_integer;
    }

    /// The end of the file.
    pub(super) fn end(&mut self) {
        self.wishes = Wish::LINE;
        self.flush();
    }

    fn flush(&mut self) {
        self.write_space(self.wishes);
        self.wishes = Wish::default();
        self.after_comment = false;
    }

    /// The comments of one place.
    pub(super) fn comments(&mut self, groups: &[CommentGroup], places: &[CommentPlace]) {
        let mut printed = false;
        for group in groups.iter().filter(|g| places.contains(&g.place)) {
            if printed {
                self.wish(Wish::SECTION);
            }
            printed = true;
            self.comment(group);
        }
    }

    pub(super) fn comment(&mut self, group: &CommentGroup) {
        let Some(first) = group.lines.first() else { return };
        let behind = group.place == CommentPlace::Line;
        let mut relation = self.relation(first.span);
        let gap = first.span.is_none() && group.blank_before && !self.output.is_empty();
        if gap && !self.wishes.has(Wish::FIXED) {
            self.wish(Wish::SECTION);
        }
        if behind {
            relation = Relation::Blank;
        } else if self.output.is_empty() {
            relation = Relation::Newline;
        }
        if matches!(relation, Relation::Blank | Relation::Adjacent) {
            if relation == Relation::Blank {
                self.wishes |= Wish::BLANK;
            }
            self.wishes = self.wishes.without(Wish::LINE | Wish::SECTION | Wish::FEED | Wish::SEPARATOR);
        }
        if group.place == CommentPlace::Doc && !self.output.is_empty() {
            self.wish(Wish::LINE);
        }
        for line in &group.lines {
            if self.column > 1 {
                self.wish(Wish::COLUMN);
            }
            self.at(line.span);
            self.flush();
            self.write(line.text.trim_end_matches('\r'), true);
            self.last = '/';
            self.last_is_integer = false;
            self.after_comment = true;
            self.wish(Wish::LINE);
            if group.place == CommentPlace::Doc {
                self.wish(Wish::FIXED);
            }
        }
    }

    fn write_space(&mut self, wishes: Wish) {
        let ends_line = wishes.has(Wish::SECTION | Wish::LINE | Wish::FEED);
        if wishes.has(Wish::COMMA) && (ends_line || !wishes.has(Wish::TRAILING)) {
            self.output.push(',');
            self.column += 1;
        }
        if wishes.has(Wish::INDENT) {
            self.levels.push(Level { wanted: true, taken: false });
        }
        if wishes.has(Wish::UNINDENT) {
            self.unindent();
        }
        if ends_line
            && !wishes.has(Wish::UNINDENT)
            && let Some(level) = self.levels.last_mut()
            && level.wanted
            && !level.taken
        {
            level.taken = true;
            self.indent += 1;
        }
        if wishes.has(Wish::SECTION) {
            self.line_end(FEED, 2);
        } else if wishes.has(Wish::FEED) {
            self.line_end(FEED, 1);
        } else if wishes.has(Wish::LINE) {
            self.line_end('\n', 1);
        } else if wishes.has(Wish::SEPARATOR) {
            self.output.push_str(", ");
            self.column += 2;
            self.spaced = true;
        } else if wishes.has(Wish::NO_BLANK) {
        } else if wishes.has(Wish::COLUMN) {
            self.output.push(CELL);
            self.column += 1;
            self.spaced = true;
        } else if wishes.has(Wish::BLANK) {
            self.output.push(' ');
            self.column += 1;
            self.spaced = true;
        }
    }

    /// Leaves the innermost level.
    pub(super) fn unindent(&mut self) {
        if self.levels.pop().is_some_and(|level| level.taken) {
            self.indent -= 1;
        }
    }

    /// Tabs at the start of a line.
    pub(super) fn tabs(&self) -> usize {
        usize::try_from(self.indent).unwrap_or(0)
    }

    fn line_end(&mut self, mark: char, count: usize) {
        self.output.extend(std::iter::repeat_n(mark, count));
        self.output.extend(std::iter::repeat_n('\t', self.tabs()));
        self.column = 1 + self.tabs();
        self.line += count;
        self.brace_on_line = false;
        self.spaced = true;
    }

    fn write(&mut self, text: &str, protect: bool) {
        if text.is_empty() {
            return;
        }
        self.spaced = false;
        if protect {
            self.output.push(ESCAPE);
        }
        self.output.push_str(text);
        if protect {
            self.output.push(ESCAPE);
        }
        match text.rfind('\n') {
            Some(at) => self.column = text.len() - at,
            None => self.column += text.len(),
        }
    }
}
