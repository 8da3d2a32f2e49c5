//! Data in, YAML in block style out.

use super::super::{Data, Failure};
use super::reader::is_plain_text;
use crate::literal::is_printable;

/// Deepest nesting that is written.
const MAX_DEPTH: usize = 500;

/// One document.
pub fn marshal(value: &Data) -> Result<String, Failure> {
    let mut out = String::new();
    match value {
        Data::Struct(fields) if !fields.is_empty() => mapping(&mut out, fields, 0)?,
        Data::List(items) if !items.is_empty() => sequence(&mut out, items, 0)?,
        _ => {
            scalar(&mut out, value, 0)?;
            out.push('\n');
        }
    }
    Ok(out)
}

/// Documents parted by `---`.
pub fn marshal_stream(values: &[Data]) -> Result<String, Failure> {
    let documents: Result<Vec<String>, Failure> = values.iter().map(marshal).collect();
    Ok(documents?.join("---\n"))
}

fn check(depth: usize) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        Err(Failure::error(format!("value is nested deeper than {MAX_DEPTH}")))
    } else {
        Ok(())
    }
}

fn indent(out: &mut String, depth: usize) {
    (0..depth).for_each(|_| out.push_str("  "));
}

fn mapping(out: &mut String, fields: &[(String, Data)], depth: usize) -> Result<(), Failure> {
    check(depth)?;
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            indent(out, depth);
        }
        if name.contains('\n') {
            out.push_str("? ");
            text(out, name, depth);
            out.push('\n');
            indent(out, depth);
            out.push(':');
        } else {
            text(out, name, depth);
            out.push(':');
        }
        match value {
            Data::Struct(inner) if !inner.is_empty() => {
                out.push('\n');
                indent(out, depth + 1);
                mapping(out, inner, depth + 1)?;
            }
            Data::List(items) if !items.is_empty() => {
                out.push('\n');
                indent(out, depth + 1);
                sequence(out, items, depth + 1)?;
            }
            _ => {
                out.push(' ');
                scalar(out, value, depth)?;
                out.push('\n');
            }
        }
    }
    Ok(())
}

fn sequence(out: &mut String, items: &[Data], depth: usize) -> Result<(), Failure> {
    check(depth)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            indent(out, depth);
        }
        out.push_str("- ");
        match item {
            Data::Struct(fields) if !fields.is_empty() => mapping(out, fields, depth + 1)?,
            Data::List(inner) if !inner.is_empty() => sequence(out, inner, depth + 1)?,
            _ => {
                scalar(out, item, depth)?;
                out.push('\n');
            }
        }
    }
    Ok(())
}

fn scalar(out: &mut String, value: &Data, depth: usize) -> Result<(), Failure> {
    match value {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // The digits of exponents are written as source text writes them: `1e3`.
        Data::Number { value, is_float } => out.push_str(&value.to_cue(*is_float).replace("e+", "e")),
        Data::String(value) => text(out, value, depth),
        Data::Bytes(bytes) => {
            use base64::Engine as _;
            out.push_str("!!binary ");
            out.push_str(&base64::engine::general_purpose::STANDARD.encode(bytes));
        }
        Data::List(_) => out.push_str("[]"),
        Data::Struct(_) => out.push_str("{}"),
        Data::Opaque(number) => return Err(Failure::Incomplete(*number)),
    }
    Ok(())
}

fn text(out: &mut String, value: &str, depth: usize) {
    let special = value.chars().any(|c| {
        (c != '\n' && c != '\u{a0}' && !is_printable(c) && c != '\u{2028}') || u32::from(c) > 0xffff
    });
    if special
        || value.is_empty()
        || !is_plain_text(value)
        || value.starts_with("---") && value.len() == 3
        || value == "..."
    {
        double_quoted(out, value);
    } else if value.contains('\n') {
        block(out, value, depth);
    } else if needs_quotes(value) {
        out.push('\'');
        out.push_str(&value.replace('\'', "''"));
        out.push('\'');
    } else {
        out.push_str(value);
    }
}

fn block(out: &mut String, value: &str, depth: usize) {
    out.push('|');
    if value.starts_with([' ', '\n']) {
        out.push('2');
    }
    let trailing = value.len() - value.trim_end_matches('\n').len();
    match trailing {
        0 => out.push('-'),
        1 if value.len() > 1 => {}
        _ => out.push('+'),
    }
    let body = value.strip_suffix('\n').unwrap_or(value);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            indent(out, depth + 1);
            out.push_str(line);
        }
    }
}

/// Whether a one-line text that is no other type would be misread without quotes.
fn needs_quotes(value: &str) -> bool {
    let first = value.chars().next().unwrap_or(' ');
    let second_blank = value.chars().nth(1).is_none_or(|c| c == ' ');
    matches!(
        first,
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' | ' '
    ) || (matches!(first, '-' | '?' | ':') && second_blank)
        || value.ends_with([' ', ':'])
        || value.contains(": ")
        || value.contains(" #")
        || value.starts_with("--- ")
        || value.starts_with("... ")
        || value.contains('\u{2028}')
}

fn double_quoted(out: &mut String, value: &str) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            '\0' => out.push_str("\\0"),
            '\u{85}' => out.push_str("\\N"),
            '\u{feff}' => out.push_str("\\uFEFF"),
            _ if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            _ if is_printable(c) || c == '\u{a0}' => out.push(c),
            _ if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            _ => out.push_str(&format!("\\u{:04X}", u32::from(c))),
        }
    }
    out.push('"');
}
