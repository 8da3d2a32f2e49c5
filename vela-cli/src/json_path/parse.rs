//! The text of a template in, its parts out.

use super::part::Part;
use super::path::Path;

/// How deep ranges may lie within each other.
const DEPTH_MAX: usize = 8;

/// The parts of a template. One without braces is a path, because as a text it would print only itself.
pub(super) fn template(text: &str) -> Result<Vec<Part>, String> {
    if text.trim().is_empty() {
        return Err("the template is empty: write a path in braces, such as {.metadata.name}".to_owned());
    }
    if !text.contains('{') {
        return Ok(vec![Part::Path(Path::read(text)?)]);
    }
    // Open ranges with the parts before them; the last holds what is read now.
    let mut open: Vec<(Path, Vec<Part>)> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((before, after)) = rest.split_once('{') else {
            parts.push(Part::Text(rest.to_owned()));
            break;
        };
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let end = end_of(after).ok_or_else(|| format!("{{{after}: the closing }} is missing"))?;
        let action = after[..end].trim();
        rest = &after[end + 1..];
        match action.split_once(char::is_whitespace).unwrap_or((action, "")) {
            ("range", path) if !path.is_empty() => {
                if open.len() == DEPTH_MAX {
                    return Err(format!("ranges lie more than {DEPTH_MAX} deep in each other"));
                }
                open.push((Path::read(path)?, std::mem::take(&mut parts)));
            }
            ("range", _) => return Err("{range} needs a path, such as {range .items[*]}".to_owned()),
            ("end", "") => {
                let (path, before) = open
                    .pop()
                    .ok_or_else(|| "{end} closes no range: there is no {range …} before it".to_owned())?;
                let inner = std::mem::replace(&mut parts, before);
                parts.push(Part::Range(path, inner));
            }
            _ if action.starts_with(['"', '\'']) => parts.push(Part::Text(quoted(action)?)),
            // Numbers and truth values stand for themselves, as in `kubectl`.
            _ if matches!(action, "true" | "false") || action.parse::<f64>().is_ok() => {
                parts.push(Part::Text(action.to_owned()));
            }
            _ => parts.push(Part::Path(Path::read(action)?)),
        }
    }
    match open.pop() {
        Some((path, _)) => Err(format!("{{range {path}}} is not closed: {{end}} is missing")),
        None => Ok(parts),
    }
}

/// Where the brace that closes an action stands; braces in quotes do not count.
fn end_of(text: &str) -> Option<usize> {
    let (mut quote, mut is_escaped) = (None, false);
    for (index, c) in text.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(index),
            _ => {}
        }
    }
    None
}

/// A text in quotes, with the escapes of JSON; the single quote has one, too.
fn quoted(action: &str) -> Result<String, String> {
    let wrong = |why: &str| format!("{{{action}}}: {why}");
    let quote = action.chars().next().unwrap_or('"');
    let inner = action[1..].strip_suffix(quote).ok_or_else(|| wrong("the closing quote is missing"))?;
    let (mut text, mut rest) = (String::from("\""), inner.chars());
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\'') => text.push('\''),
                Some(c) => text.extend(['\\', c]),
                None => return Err(wrong("the closing quote is missing")),
            },
            c if c == quote => return Err(wrong("there is something after the closing quote")),
            '"' => text.push_str("\\\""),
            c if c.is_ascii_control() => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    let known = r#"\n, \t, \r, \\, \", \' and \u0041"#;
    serde_json::from_str(&text).map_err(|_| wrong(&format!("an escape is not known; there are {known}")))
}
