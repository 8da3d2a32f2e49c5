//! Objects in, the rows that `kubectl get` prints out.

use std::borrow::Cow;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::{Value, json};

use crate::builtin;
use crate::object;
use crate::read::partial;
use crate::registry::Resource;
use crate::server::Core;

/// Longest path of a printer column.
const PATH_MAX_BYTES: usize = 1024;

/// Compiles a printer column's path (`.spec.x`, `.metadata.labels.a\.b/c`); nothing if it is not understood.
pub(crate) fn compile_path(path: &str) -> Option<JpQuery> {
    if path.len() > PATH_MAX_BYTES {
        return None;
    }
    let mut out = String::from("$");
    let mut rest =
        path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$').chars().peekable();
    // Names with escaped dots or characters that the standard's short form lacks are written in brackets.
    let mut name = String::new();
    let flush = |name: &mut String, out: &mut String| {
        if name.is_empty() {
            return;
        }
        if name == "*" {
            out.push_str("[*]");
        } else {
            let quoted = name.replace('\\', "\\\\").replace('\'', "\\'");
            out.push_str(&format!("['{quoted}']"));
        }
        name.clear();
    };
    while let Some(c) = rest.next() {
        match c {
            '\\' => name.extend(rest.next()),
            '.' => {
                flush(&mut name, &mut out);
                if rest.peek() == Some(&'.') {
                    rest.next();
                    out.push_str("..");
                }
            }
            '[' => {
                flush(&mut name, &mut out);
                out.push('[');
                let (mut depth, mut quote) = (1, None);
                for c in rest.by_ref() {
                    out.push(c);
                    match (quote, c) {
                        (Some(q), c) if c == q => quote = None,
                        (None, '\'' | '"') => quote = Some(c),
                        (None, '[') => depth += 1,
                        (None, ']') => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            c => name.push(c),
        }
    }
    flush(&mut name, &mut out);
    parse_json_path(&out).ok()
}

impl Core {
    /// A `Table` of the objects. Column definitions are left out where the client has them already.
    pub(crate) fn table(
        &self,
        resource: &Resource,
        objects: &[Cow<'_, Value>],
        metadata: Value,
        include: &str,
        headed: bool,
    ) -> Value {
        let now = self.clock.now();
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| {
                let cells = match resource.custom_version() {
                    Some(version) => custom_cells(version, object, now),
                    None => builtin::cells(&resource.api_version, &resource.kind, object, now),
                };
                let shown = match include {
                    "None" => Value::Null,
                    "Object" => object.as_ref().clone(),
                    _ => partial(object),
                };
                if shown.is_null() {
                    json!({ "cells": cells })
                } else {
                    json!({ "cells": cells, "object": shown })
                }
            })
            .collect();
        let mut table =
            json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "rows": rows });
        table["columnDefinitions"] = if headed { columns(resource).into() } else { Value::Null };
        table
    }
}

fn columns(resource: &Resource) -> Vec<Value> {
    let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority });
    match resource.custom_version() {
        None => builtin::columns(&resource.api_version, &resource.kind)
            .iter()
            .map(|c| column(c.name, c.type_, c.format, c.description, i64::from(c.priority)))
            .collect(),
        Some(version) => std::iter::once(column(
            "Name",
            "string",
            "name",
            "Name must be unique within a namespace. Is required when creating resources, although some resources may \
             allow a client to request the generation of an appropriate name automatically.",
            0,
        ))
        .chain(version.columns.iter().map(|c| column(&c.name, &c.type_, &c.format, &c.description, c.priority)))
        .collect(),
    }
}

fn custom_cells(version: &crate::crd::Version, object: &Value, now: jiff::Timestamp) -> Vec<Value> {
    let mut cells = vec![Value::from(object::name(object))];
    for column in &version.columns {
        let found: Vec<&Value> = column
            .path
            .as_ref()
            .and_then(|path| js_path_process(path, object).ok())
            .map(|refs| refs.into_iter().map(jsonpath_rust::query::QueryRef::val).collect())
            .unwrap_or_default();
        cells.push(cell(&column.type_, &found, now));
    }
    cells
}

fn cell(kind: &str, found: &[&Value], now: jiff::Timestamp) -> Value {
    let Some(first) = found.first() else { return Value::Null };
    match (kind, *first) {
        (_, Value::Null) => Value::Null,
        ("integer", Value::Number(n)) => n.as_i64().map_or(Value::Null, Value::from),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*first).clone(),
        ("date", Value::String(text)) => match text.parse::<jiff::Timestamp>() {
            Ok(at) => age(now.duration_since(at)).into(),
            Err(_) => "<invalid>".into(),
        },
        ("string", _) => {
            let texts: Vec<String> = found
                .iter()
                .map(|v| match v {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                })
                .collect();
            texts.join(",").into()
        }
        _ => Value::Null,
    }
}

/// A duration as people read it: `5s`, `3m20s`, `2h`, `4d3h`, `2y10d`.
pub(crate) fn age(duration: jiff::SignedDuration) -> String {
    let seconds = duration.as_secs();
    if seconds < -1 {
        return "<invalid>".into();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}
