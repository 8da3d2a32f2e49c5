//! Objects in, the rows that `kubectl get` prints out.

use std::borrow::Cow;

use jsonpath_rust::query::js_path_process;
use serde_json::{Value, json};

use crate::age::age;
use crate::builtin;
use crate::catalog::Resource;
use crate::object;

/// A `Table` of the objects. Column definitions are left out where the client has them already.
pub(crate) fn table(
    resource: &Resource,
    objects: &[Cow<'_, Value>],
    metadata: Value,
    now: jiff::Timestamp,
    include: &str,
    headed: bool,
) -> Value {
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
                _ => object::partial(object),
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
