//! Data in, TOML text out: keys in order, plain values before tables.

use super::super::{Data, Failure, float};

/// Deepest nesting that is written.
const MAX_DEPTH: usize = 500;

/// The text of a value; a struct at the top becomes a document.
pub(super) fn marshal(value: &Data) -> Result<String, Failure> {
    let mut out = String::new();
    match value {
        Data::Null => return Err(Failure::error("toml: cannot encode a nil interface")),
        Data::Struct(fields) => table(&mut out, &mut Vec::new(), fields)?,
        Data::List(items) if is_tables(value) => tables(&mut out, &mut Vec::new(), items)?,
        other => inline(&mut out, other, 0)?,
    }
    Ok(out)
}

/// A list of structs only, which becomes an array of tables.
fn is_tables(value: &Data) -> bool {
    matches!(value, Data::List(items) if !items.is_empty() && items.iter().all(|i| matches!(i, Data::Struct(_))))
}

fn header(out: &mut String, path: &[String], marks: [&str; 2]) {
    out.push_str(marks[0]);
    out.push_str(&path.join("."));
    out.push_str(marks[1]);
    out.push('\n');
}

/// The fields of a table below its header: values first, then tables, both by name.
fn table(out: &mut String, path: &mut Vec<String>, fields: &[(String, Data)]) -> Result<(), Failure> {
    if path.len() > MAX_DEPTH {
        return Err(Failure::error(format!("value is nested deeper than {MAX_DEPTH}")));
    }
    let mut sorted: Vec<&(String, Data)> = fields.iter().filter(|(_, value)| *value != Data::Null).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let (inner, plain): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|(_, value)| matches!(value, Data::Struct(_)) || is_tables(value));
    for (name, value) in &plain {
        out.push_str(&key(name));
        out.push_str(" = ");
        inline(out, value, 0)?;
        out.push('\n');
    }
    for (at, (name, value)) in inner.into_iter().enumerate() {
        if at > 0 || !plain.is_empty() {
            out.push('\n');
        }
        path.push(key(name));
        match value {
            Data::Struct(fields) => {
                header(out, path, ["[", "]"]);
                table(out, path, fields)?;
            }
            Data::List(items) => tables(out, path, items)?,
            _ => {}
        }
        path.pop();
    }
    Ok(())
}

fn tables(out: &mut String, path: &mut Vec<String>, items: &[Data]) -> Result<(), Failure> {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        header(out, path, ["[[", "]]"]);
        if let Data::Struct(fields) = item {
            table(out, path, fields)?;
        }
    }
    Ok(())
}

/// A value on one line.
fn inline(out: &mut String, value: &Data, depth: usize) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::error(format!("value is nested deeper than {MAX_DEPTH}")));
    }
    match value {
        Data::Null => return Err(Failure::error("toml: encoding a nil interface is not supported")),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number { value, is_float } => out.push_str(&number(value, *is_float)),
        Data::String(text) => out.push_str(&quoted(text)),
        Data::Bytes(bytes) => {
            let digits: Vec<String> = bytes.iter().map(u8::to_string).collect();
            out.push_str(&format!("[{}]", digits.join(", ")));
        }
        Data::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                inline(out, item, depth + 1)?;
            }
            out.push(']');
        }
        Data::Struct(fields) => {
            let mut sorted: Vec<&(String, Data)> =
                fields.iter().filter(|(_, value)| *value != Data::Null).collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            out.push('{');
            for (at, (name, item)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                out.push_str(&key(name));
                out.push_str(" = ");
                inline(out, item, depth + 1)?;
            }
            out.push('}');
        }
        Data::Opaque(number) => return Err(Failure::Incomplete(*number)),
    }
    Ok(())
}

/// Integers beyond 64 bits and numbers beyond floats are texts: TOML has no such numbers.
fn number(value: &crate::number::Decimal, is_float: bool) -> String {
    if !is_float {
        return match value.to_i64() {
            Some(small) => small.to_string(),
            None => quoted(&value.to_string()),
        };
    }
    let binary = value.to_f64();
    if !binary.is_finite() {
        return quoted(&value.to_scientific('e'));
    }
    let places = if binary.trunc() == binary { Some(1) } else { None };
    float::format(binary, 'f', places, false)
}

fn key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if bare { name.to_string() } else { quoted(name) }
}

/// A literal string where nothing in it needs an escape.
fn quoted(text: &str) -> String {
    let control = |c: char| (c < ' ' && c != '\t') || c == '\u{7f}';
    if !text.contains('\'') && !text.contains(control) {
        return format!("'{text}'");
    }
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if control(c) => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
