//! Data in, YAML in block style out.

use super::super::{Data, Failure};
use super::text::{is_complex_key, text};

/// Deepest nesting that is written.
const MAX_DEPTH: usize = 500;

/// One document.
///
/// # Errors
/// The data are nested too deeply.
pub fn marshal(value: &Data) -> Result<String, Failure> {
    let mut out = String::new();
    match value {
        Data::Struct(fields) if !fields.is_empty() => mapping(&mut out, fields, 0)?,
        Data::List(items) if !items.is_empty() => sequence(&mut out, items, 0)?,
        _ => {
            match value {
                // A number alone is written as source text writes it: `1e3`.
                Data::Number { value, is_float } => out.push_str(&value.to_cue(*is_float).replace("e+", "e")),
                _ => scalar(&mut out, value, 0)?,
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// Documents parted by `---`.
///
/// # Errors
/// Those of [`marshal`].
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
        if is_complex_key(name) {
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
        Data::Number { value, is_float } => out.push_str(&value.to_cue(*is_float).replace('e', "E")),
        Data::String(value) => text(out, value, depth),
        Data::Bytes(bytes) => {
            use base64::Engine as _;
            out.push_str("!!binary");
            if !bytes.is_empty() {
                out.push(' ');
                out.push_str(&base64::engine::general_purpose::STANDARD.encode(bytes));
            }
        }
        Data::List(_) => out.push_str("[]"),
        Data::Struct(_) => out.push_str("{}"),
        Data::Opaque(number) => return Err(Failure::Incomplete(*number)),
    }
    Ok(())
}
