//! A path of a template: it is read into steps; filters are queries of RFC 9535.

use std::fmt;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::{QueryRef, js_path_process};
use serde_json::Value;

/// Longest filter; the parser of queries goes as deep as its parentheses.
const BRACKET_MAX_BYTES: usize = 512;
/// How many values one path may lead to.
const FOUND_MAX: usize = 1_000_000;

#[derive(Debug)]
pub(super) struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// The field of this name.
    Field(String),
    /// The element at this index; from the end where it is negative.
    Index(i64),
    /// Everything below and the value itself.
    All,
    /// What the query finds in each value.
    Query(Box<JpQuery>),
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Path {}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Path {
    /// # Errors
    /// What cannot be read, and how a path is written.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let rest = text.strip_prefix(['$', '@']).unwrap_or(text);
        if text.is_empty() {
            return Ok(Self { text: String::new(), steps: Vec::new() });
        }
        if rest.len() == text.len() && !rest.starts_with(['.', '[']) {
            return Err(format!("{text:?} is no path: it begins with a dot, as in {{.{text}}}"));
        }
        steps(rest)
            .map(|steps| Self { text: text.to_owned(), steps })
            .map_err(|why| format!("path {text}: {why}"))
    }

    /// The values that the path leads to; a field that is not there is none.
    ///
    /// # Errors
    /// Which element a list does not have.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Result<Vec<&'a Value>, String> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.find(value, &mut next).map_err(|why| format!("path {self}: {why}"))?;
                if next.len() > FOUND_MAX {
                    return Err(format!("path {self} leads to more than {FOUND_MAX} values"));
                }
            }
            found = next;
        }
        Ok(found)
    }
}

impl Step {
    fn find<'a>(&self, value: &'a Value, found: &mut Vec<&'a Value>) -> Result<(), String> {
        match self {
            Self::Field(name) => found.extend(value.get(name)),
            Self::Index(index) => {
                let Value::Array(list) = value else {
                    return Err(format!("[{index}] asks for an element of what is no list"));
                };
                let at = usize::try_from(*index).ok();
                let from_end = || {
                    usize::try_from(index.unsigned_abs()).ok().and_then(|back| list.len().checked_sub(back))
                };
                let element = at.or_else(from_end).and_then(|at| list.get(at));
                found.push(element.ok_or_else(|| match list.len() {
                    0 => format!("there is no element [{index}]: the list is empty"),
                    1 => format!("there is no element [{index}]: the list has 1 element"),
                    len => format!("there is no element [{index}]: the list has {len} elements"),
                })?);
            }
            Self::All => descend(value, found),
            Self::Query(query) => {
                let all = js_path_process(query, value).map_err(|error| error.to_string())?;
                found.extend(all.into_iter().map(QueryRef::val));
            }
        }
        Ok(())
    }
}

fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    found.push(value);
    match value {
        Value::Array(list) => list.iter().for_each(|value| descend(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| descend(value, found)),
        _ => {}
    }
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '.' => {
                rest = &rest[1..];
                // Any dots after the first mean everything below.
                let dots = rest.len() - rest.trim_start_matches('.').len();
                rest = &rest[dots..];
                if dots > 0 {
                    steps.push(Step::All);
                }
                let (name, after) = name(rest);
                match name.as_str() {
                    "*" => steps.push(query("*")?),
                    "" if rest.starts_with('[') || (steps.is_empty() && after.is_empty()) || dots > 0 => {}
                    "" => return Err("a name is missing after a dot".to_owned()),
                    _ => steps.push(Step::Field(name)),
                }
                rest = after;
            }
            '[' => {
                let end = closing(rest).ok_or_else(|| format!("{rest}: the closing ] is missing"))?;
                steps.push(bracket(rest[1..end].trim())?);
                rest = &rest[end + 1..];
            }
            c => {
                return Err(format!(
                    "{c:?} is not expected before {rest:?}: a path has .name, [0], [*] and [?(…)]"
                ));
            }
        }
    }
    Ok(steps)
}

/// The name that a text begins with, its escapes taken away, and what is after it.
fn name(text: &str) -> (String, &str) {
    let (mut name, mut is_escaped) = (String::new(), false);
    for (index, c) in text.char_indices() {
        match c {
            _ if is_escaped => {
                name.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '.' | '[' | ']' | '(' | ')' | '=' | '!' | '<' | '>' | '&' | '|' | ',' | '"' | '\'' | '{'
            | '}' => {
                return (name, &text[index..]);
            }
            c if c.is_whitespace() => return (name, &text[index..]),
            c => name.push(c),
        }
    }
    (name, "")
}

/// Where the bracket closes that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut depth, mut is_escaped) = (None, 0_usize, false);
    for (index, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 1 => return Some(index),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// What stands in brackets: an index, or a selector of RFC 9535.
fn bracket(text: &str) -> Result<Step, String> {
    if text.len() > BRACKET_MAX_BYTES {
        return Err(format!("[…] is {} bytes long, at most {BRACKET_MAX_BYTES} are read", text.len()));
    }
    if let Ok(index) = text.parse::<i64>() {
        return Ok(Step::Index(index));
    }
    query(text)
}

fn query(selector: &str) -> Result<Step, String> {
    let text = format!("$[{}]", with_quoted_names(selector));
    match parse_json_path(&text) {
        Ok(query) => Ok(Step::Query(Box::new(query))),
        Err(_) => Err(format!(
            "[{selector}] is not known: there are [0], [-1], [*], [1:3], [0,2], ['name'] and filters such as \
             [?(@.kind==\"Service\")]"
        )),
    }
}

/// The same with the names of fields in brackets: RFC 9535 knows neither dashes in names nor escaped dots.
fn with_quoted_names(selector: &str) -> String {
    let (mut out, mut rest, mut quote) = (String::new(), selector, None);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match (quote, c) {
            (Some(_), '\\') => {
                let escaped = rest.chars().next();
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
                // A dot needs no escape where the name stands in quotes.
                out.extend((escaped != Some('.')).then_some('\\').into_iter().chain(escaped));
                continue;
            }
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            // The dot of a number is after a digit.
            (None, '.') if !out.ends_with(|before: char| before.is_ascii_digit()) => {
                let (name, after) = name(rest);
                if !name.is_empty() && name != "*" {
                    out.push_str(&format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")));
                    rest = after;
                    continue;
                }
            }
            _ => {}
        }
        out.push(c);
    }
    out
}
