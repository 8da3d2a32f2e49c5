//! Text of a document: its lines, and the places in it in the units of the protocol (UTF-16) and of our findings (characters).

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};

/// The text before a change may grow to this; a larger one is no manifest.
const TEXT_LIMIT: usize = 16 * 1024 * 1024;

/// A change that cannot be carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its end stands before its start.
    Backwards,
    /// The text would be larger than [`TEXT_LIMIT`].
    TooLarge,
}

/// How many bytes of a line stand before this column of UTF-16.
pub(super) fn bytes_before(line: &str, column: u32) -> usize {
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= column as usize {
            return at;
        }
        units += c.len_utf16();
    }
    line.len()
}

/// The UTF-16 units of a text.
pub(super) fn units(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

/// The byte that a position means; a position behind the end of its line is that end.
fn offset(text: &str, at: Position) -> usize {
    let mut start = 0;
    for _ in 0..at.line {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => return text.len(),
        }
    }
    let rest = &text[start..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    start + bytes_before(line.strip_suffix('\r').unwrap_or(line), at.character)
}

/// Carries a change out.
pub(super) fn change(text: &mut String, change: TextDocumentContentChangeEvent) -> Result<(), Refused> {
    let Some(range) = change.range else {
        if change.text.len() > TEXT_LIMIT {
            return Err(Refused::TooLarge);
        }
        *text = change.text;
        return Ok(());
    };
    let (start, end) = (offset(text, range.start), offset(text, range.end));
    if start > end {
        return Err(Refused::Backwards);
    }
    if text.len() - (end - start) + change.text.len() > TEXT_LIMIT {
        return Err(Refused::TooLarge);
    }
    text.replace_range(start..end, &change.text);
    Ok(())
}

/// Lines of a text, so that many places of it are found quickly.
pub(super) struct Lines<'t>(Vec<&'t str>);

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect())
    }

    /// The word or value that stands at a line and column (in characters, both from 1).
    pub(super) fn range(&self, line: u32, column: u32) -> Range {
        let number = (line.max(1) - 1) as usize;
        let Some(text) = self.0.get(number) else {
            let last = self.0.len().saturating_sub(1);
            let end = position(last, units(self.0.get(last).unwrap_or(&"")));
            return Range { start: end, end };
        };
        let start = text.char_indices().nth(column.max(1) as usize - 1).map_or(text.len(), |(at, _)| at);
        let before = units(&text[..start]);
        let length = units(&text[start..start + written(&text[start..])]);
        Range { start: position(number, before), end: position(number, before + length) }
    }
}

fn position(line: usize, character: u32) -> Position {
    Position { line: u32::try_from(line).unwrap_or(u32::MAX), character }
}

/// How many bytes of a line belong to the name or value at its start.
fn written(rest: &str) -> usize {
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let mut is_escaped = false;
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if quote == '"' => is_escaped = true,
                _ if c == quote => return at + 1,
                _ => {}
            }
        }
        return rest.trim_end().len();
    }
    let end = [": ", " #", ", ", "]", "}"].iter().filter_map(|mark| rest.find(mark)).min();
    let text = rest[..end.unwrap_or(rest.len())].trim_end();
    let text = if text.len() > 1 { text.trim_end_matches([':', ',']) } else { text };
    match text.len() {
        0 => rest.chars().next().map_or(0, char::len_utf8),
        length => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn changes_count_in_utf_16() {
        let mut text = "a: ü🚀x\r\nb: 1\n".to_owned();
        let mut apply = |start, end, new: &str| {
            let range = Some(Range { start, end });
            let change = TextDocumentContentChangeEvent { range, range_length: None, text: new.to_owned() };
            super::change(&mut text, change).map(|()| text.clone())
        };
        assert_eq!(apply(at(0, 6), at(0, 7), "y").unwrap(), "a: ü🚀y\r\nb: 1\n");
        assert_eq!(apply(at(0, 99), at(1, 0), "\n").unwrap(), "a: ü🚀y\nb: 1\n");
        assert_eq!(apply(at(9, 9), at(9, 9), "c").unwrap(), "a: ü🚀y\nb: 1\nc");
        assert_eq!(apply(at(1, 1), at(0, 0), ""), Err(Refused::Backwards));
        assert_eq!(apply(at(0, 0), at(0, 0), &"x".repeat(TEXT_LIMIT)), Err(Refused::TooLarge));
    }

    #[test]
    fn the_word_at_a_place_is_marked() {
        let lines = Lines::of("a: \"ü🚀 \\\" b\" # c\nreplicas: two\n- {x: y, z: [1]}\nimage: nginx:1\n");
        let range = |line, column| {
            let range = lines.range(line, column);
            (range.start.line, range.start.character, range.end.character)
        };
        assert_eq!(range(1, 4), (0, 3, 13));
        assert_eq!(range(2, 1), (1, 0, 8));
        assert_eq!(range(2, 11), (1, 10, 13));
        assert_eq!(range(3, 7), (2, 6, 7));
        assert_eq!(range(3, 14), (2, 13, 14));
        assert_eq!(range(4, 8), (3, 7, 14));
        assert_eq!(range(99, 1), (4, 0, 0));
        assert_eq!(range(2, 99), (1, 13, 13));
    }
}
