//! Finds the variables that a terraform configuration declares.

use serde_json::Value as Json;

use super::Parameter;

/// More variables than this are not looked for.
const COUNT_LIMIT: usize = 1000;

/// The variables in the order written; those without a default must be given.
pub(super) fn declared(configuration: &str) -> Vec<Parameter> {
    let text = without_comments(configuration);
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("variable") {
        rest = after;
        let starts_a_word =
            before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '.');
        let Some((name, body)) = head(after).filter(|_| starts_a_word) else { continue };
        let end = closing(body);
        found.push(variable(name, &body[..end]));
        rest = &body[end..];
        if found.len() == COUNT_LIMIT {
            break;
        }
    }
    found
}

/// ` "name" {` → the name, and what follows the brace.
fn head(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')?),
    };
    let body = rest.trim_start().strip_prefix('{')?;
    (!name.is_empty()).then_some((name, body))
}

fn variable(name: &str, body: &str) -> Parameter {
    let type_ = argument(body, "type").map_or_else(|| "any".to_owned(), |text| type_word(&text));
    let default = argument(body, "default");
    let description = argument(body, "description").and_then(|text| serde_json::from_str(&text).ok());
    Parameter {
        name: name.to_owned(),
        description: description.unwrap_or_default(),
        type_,
        required: default.is_none(),
        // Values beyond JSON stay as they are written.
        default: default.map(|text| serde_json::from_str(&text).unwrap_or(Json::String(text))),
        ..Parameter::default()
    }
}

/// The value of `name = value` directly in a block, as written.
fn argument(body: &str, name: &str) -> Option<String> {
    let mut rest = body;
    loop {
        let at = rest.find(name)?;
        let before = walked(&rest[..at]);
        let is_own = before.depth == 0 && !before.in_text;
        let is_word = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        let value = rest[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_own && is_word);
        if let Some(value) = value {
            let value = value.trim_start();
            return Some(value[..end_of_value(value)].trim().to_owned());
        }
        // A skipped part must be whole, so that depths stay right.
        let line = rest[at..].find('\n').map_or(rest.len(), |end| at + end + 1);
        let skipped = if before.depth == 0 { line } else { at + closing(&rest[at..]) + 1 };
        rest = rest.get(skipped..)?;
    }
}

/// Where the value ends: at the end of its line, unless a bracket is open.
fn end_of_value(text: &str) -> usize {
    let mut walk = Walk::default();
    for (at, c) in text.char_indices() {
        if walk.depth == 0 && !walk.in_text && (c == '\n' || c == '}') {
            return at;
        }
        walk.step(c);
    }
    text.len()
}

/// Where the bracket that is open at the beginning closes.
fn closing(text: &str) -> usize {
    let mut walk = Walk { depth: 1, ..Walk::default() };
    for (at, c) in text.char_indices() {
        walk.step(c);
        if walk.depth == 0 {
            return at;
        }
    }
    text.len()
}

fn walked(text: &str) -> Walk {
    let mut walk = Walk::default();
    text.chars().for_each(|c| walk.step(c));
    walk
}

/// Brackets outside of quoted texts.
#[derive(Default)]
struct Walk {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Walk {
    fn step(&mut self, c: char) {
        match c {
            _ if self.is_escaped => self.is_escaped = false,
            '\\' if self.in_text => self.is_escaped = true,
            '"' => self.in_text = !self.in_text,
            '{' | '[' | '(' if !self.in_text => self.depth += 1,
            '}' | ']' | ')' if !self.in_text => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut walk = Walk::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = match rest {
            _ if walk.in_text => None,
            line if line.starts_with('#') || line.starts_with("//") => {
                Some(line.find('\n').unwrap_or(line.len()))
            }
            block if block.starts_with("/*") => Some(block.find("*/").map_or(block.len(), |end| end + 2)),
            _ => None,
        };
        if let Some(skipped) = skipped {
            rest = &rest[skipped..];
            continue;
        }
        walk.step(c);
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn type_word(text: &str) -> String {
    let text = text.trim().trim_matches('"');
    let of = |outer: &str| text.strip_prefix(outer)?.trim_start().strip_prefix('(')?.strip_suffix(')');
    if let Some(item) = of("list").or_else(|| of("set")) {
        return format!("[]{}", type_word(item));
    }
    if let Some(value) = of("map") {
        return format!("map[string]{}", type_word(value));
    }
    match text {
        "string" | "number" | "bool" | "any" => text.to_owned(),
        "list" | "set" => "[]any".to_owned(),
        "map" => "map[string]any".to_owned(),
        _ if text.starts_with("object") => "object".to_owned(),
        _ => "any".to_owned(),
    }
}
