//! A value in; each of its leaves with the places that made it, as text, out.

use std::fmt::Write as _;

use vela_cue::value::FieldOptions;
use vela_cue::{Kind, Value, format};

/// Deepest level that is told.
const MAX_DEPTH: usize = 100;

/// `path: value`, then a line for each origin: `file:line:column  kind  text`.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    leaves(value, 0, &mut out);
    out
}

fn leaves(value: &Value, depth: usize, out: &mut String) {
    if depth > MAX_DEPTH {
        return;
    }
    let parts: Vec<Value> = match value.kind() {
        Kind::Struct if value.is_concrete() => {
            let fields = value.fields(FieldOptions::default());
            fields.into_iter().map(|field| field.value).collect()
        }
        Kind::List if value.is_concrete() => value.elements(),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        leaf(value, out);
    }
    for part in &parts {
        leaves(part, depth + 1, out);
    }
}

fn leaf(value: &Value, out: &mut String) {
    let _ = writeln!(out, "{}: {}", value.path(), format::format_expr(&value.syntax()));
    let (origins, sources) = (value.origins(), value.sources());
    for origin in origins {
        let Some((file, line, column)) = sources.position(origin.span) else { continue };
        let text = sources.text(origin.span).lines().next().unwrap_or("");
        let indent = "  ".repeat(origin.depth as usize + 1);
        let _ = writeln!(out, "{indent}{file}:{line}:{column}  {}  {text}", origin.kind.as_str());
    }
}
