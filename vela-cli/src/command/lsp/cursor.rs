//! A position in a text that is being written → the document around it, and what is asked for there.

use lsp_types::{Position, Range};
use serde_json::Value;
use vela_engine::field_path::Segment;
use vela_engine::{Document, manifest};

use super::text::{Lines, bytes_before, units};

/// Stands where the person writes: a text that is not finished can be read with it.
pub(super) const MARK: &str = "vela-cursor-is-here";

/// One document of a text: the others may be broken.
pub(super) struct Part<'t> {
    /// The line of the text that its first line is.
    first: usize,
    lines: Vec<&'t str>,
}

impl<'t> Part<'t> {
    /// The document that has this line.
    pub(super) fn of(text: &'t str, line: u32) -> Self {
        let all: Vec<&str> = text.split('\n').map(|one| one.strip_suffix('\r').unwrap_or(one)).collect();
        let line = (line as usize).min(all.len() - 1);
        let is_border = |one: &&str| one.starts_with("---");
        let first = all[..=line].iter().rposition(is_border).map_or(0, |at| at + 1);
        let end = all[line..].iter().skip(1).position(is_border).map_or(all.len(), |at| line + 1 + at);
        Self { first, lines: all.get(first..end).unwrap_or_default().to_vec() }
    }

    fn documents(lines: &[&str]) -> Vec<Document> {
        manifest::read("", &lines.join("\n")).map(|all| all.into_iter().collect()).unwrap_or_default()
    }
}

/// The document at a position, the path of the field whose name or value stands there, and the range of that.
pub(super) fn field(text: &str, at: Position) -> Option<(Document, Vec<Segment>, Range)> {
    let part = Part::of(text, at.line);
    let joined = part.lines.join("\n");
    let lines = Lines::of(&joined);
    let first = u32::try_from(part.first).ok()?;
    let wanted = at.line.checked_sub(first)? + 1;
    let mut found: Option<(Document, String, Range)> = None;
    for document in Part::documents(&part.lines) {
        for (path, value) in document.places().below("") {
            let key = document.places().key(&path);
            for place in [key, Some(value)].into_iter().flatten().filter(|place| place.line == wanted) {
                let mut range = lines.range(place.line, place.column);
                let is_there = (range.start.character..=range.end.character).contains(&at.character);
                // An object begins where its first field does: the innermost is meant.
                if !is_there || found.as_ref().is_some_and(|(_, longest, _)| longest.len() >= path.len()) {
                    continue;
                }
                (range.start.line, range.end.line) = (at.line, at.line);
                found = Some((document.clone(), path.clone(), range));
            }
        }
    }
    let (document, path, range) = found?;
    Some((document, vela_engine::field_path::parse(&path).ok()?, range))
}

/// What is being written.
pub(super) struct Cursor {
    /// The document with [`MARK`] in the place of what is written.
    pub(super) document: Value,
    /// Where the mark stands.
    pub(super) path: Vec<Segment>,
    /// Is it the name of a field, or its value?
    pub(super) is_name: bool,
    /// What is replaced by what is chosen.
    pub(super) range: Range,
    /// What has to stand before and after what is chosen.
    pub(super) before: &'static str,
    pub(super) has_colon: bool,
}

/// Nothing where the text around it cannot be read.
pub(super) fn cursor(text: &str, at: Position) -> Option<Cursor> {
    let part = Part::of(text, at.line);
    let index = (at.line as usize).checked_sub(part.first)?;
    let line = *part.lines.get(index)?;
    let split = bytes_before(line, at.character);
    let lead = lead(&line[..split]);
    let body = &line[lead..split];
    if body.starts_with('#') {
        return None;
    }
    let colon = body.find(": ").or_else(|| body.ends_with(':').then(|| body.len() - 1));
    let (replaced, start, end, is_name) = match colon {
        Some(colon) => {
            let value = &body[colon + 1..];
            let start = lead + colon + 1 + (value.len() - value.trim_start().len());
            if value.trim_start().starts_with(['{', '[', '|', '>', '&', '*', '!', '#'])
                || value.contains(" #")
            {
                return None;
            }
            let rest = &line[start..];
            let length = rest.find(" #").unwrap_or(rest.len());
            let length = rest[..length].trim_end().len();
            (format!("{}{}: {MARK}", &line[..lead], &body[..colon]), start, start + length, false)
        }
        None => {
            let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
            let length = line[lead..].find(|c| !is_word(c)).unwrap_or(line.len() - lead);
            if !body.chars().all(is_word) {
                return None;
            }
            (format!("{}{MARK}:", &line[..lead]), lead, lead + length, true)
        }
    };
    let mut lines = part.lines.clone();
    lines[index] = &replaced;
    let place = |bytes: usize| Position { line: at.line, character: units(&line[..bytes.min(line.len())]) };
    let range = Range { start: place(start), end: place(end.max(split)) };
    let before = if !is_name && body.ends_with(':') { " " } else { "" };
    let has_colon = is_name && line[end..].trim_start().starts_with(':');
    Part::documents(&lines).into_iter().find_map(|document| {
        let path = find(document.value(), is_name)?;
        Some(Cursor { document: document.into_value(), path, is_name, range, before, has_colon })
    })
}

/// How much of the beginning of a line is indentation and dashes of lists.
fn lead(line: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &line[at..];
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        match rest[spaces..].starts_with("- ") {
            true => at += spaces + 2,
            false => return at + spaces,
        }
    }
}

/// The path of the mark. How deep a document goes is limited by its reader.
fn find(value: &Value, is_name: bool) -> Option<Vec<Segment>> {
    let under = |segment: Segment, inner: &Value| {
        let mut path = find(inner, is_name)?;
        path.insert(0, segment);
        Some(path)
    };
    match value {
        Value::String(text) => (!is_name && text == MARK).then(Vec::new),
        Value::Object(fields) if is_name && fields.contains_key(MARK) => {
            Some(vec![Segment::Field(MARK.to_owned())])
        }
        Value::Object(fields) => {
            fields.iter().find_map(|(name, inner)| under(Segment::Field(name.clone()), inner))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, inner)| under(Segment::Index(index), inner))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "broken: [\n---\na:\n  - name: ü🚀\n    type: we # c\n    to:\n    wo\n---\n- x";

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    fn path(segments: &[Segment]) -> String {
        vela_engine::field_path::format(segments)
    }

    #[test]
    fn what_is_written_is_found_in_unfinished_texts() {
        let text = TEXT.replace("    to:\n    wo\n", "    to:\n");
        let value = cursor(&text, at(4, 12)).unwrap();
        assert_eq!((path(&value.path).as_str(), value.is_name), ("a[0].type", false));
        assert_eq!((value.range.start, value.range.end), (at(4, 10), at(4, 12)));
        assert_eq!(cursor(&text, at(5, 7)).unwrap().before, " ");
        let name = cursor(TEXT, at(6, 6)).unwrap();
        assert_eq!((path(&name.path[..2]).as_str(), name.is_name, name.has_colon), ("a[0]", true, false));
        assert_eq!((name.range.start, name.range.end), (at(6, 4), at(6, 6)));
        let known = cursor(&text, at(4, 6)).unwrap();
        assert!(known.is_name && known.has_colon);
        for (line, column) in [(4, 15), (0, 10), (99, 9)] {
            assert!(cursor(&text, at(line, column)).is_none(), "{line}:{column}");
        }
    }

    #[test]
    fn the_innermost_field_is_meant() {
        let text = "---\na: {b: ü🚀, c: 1}\n---\n- x: y\n";
        let found = |line, column| {
            field(text, at(line, column)).map(|(_, found, range)| (path(&found), range.start.character))
        };
        assert_eq!(found(1, 4), Some(("a.b".to_owned(), 4)));
        assert_eq!(found(1, 8), Some(("a.b".to_owned(), 7)));
        assert_eq!(found(1, 13), Some(("a.c".to_owned(), 12)));
        assert_eq!(found(3, 2), Some(("[0].x".to_owned(), 2)));
        assert_eq!((found(0, 0), found(9, 9)), (None, None));
    }
}
