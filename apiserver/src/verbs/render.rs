//! Stored states in, the JSON of an answer in the shape that the client asked for out.

use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use super::context::Context;
use super::convert::{converted, object_json};
use super::persist::Written;
use crate::catalog::Resource;
use crate::http::{Answer, Call, Shape};
use crate::object;
use crate::status::{ApiError, ApiResult};
use crate::store::Entry;
use crate::table::table;

/// One object.
pub(super) fn one(
    context: &Context<'_>,
    resource: &Resource,
    entry: &Arc<Entry>,
    call: &Call,
) -> ApiResult<Bytes> {
    Ok(match call.shape {
        Shape::Object => object_json(resource, entry),
        Shape::Metadata => Bytes::from(object::partial(&entry.opened()).to_string()),
        Shape::Table => {
            let entry = &entry.opened();
            let shown = converted(resource, entry);
            let version = object::meta(&shown, "resourceVersion").to_owned();
            let rows = [shown];
            let meta = json!({ "resourceVersion": version });
            let include = call.query.text("includeObject");
            Bytes::from(table(resource, &rows, meta, context.clock.now(), include, true).to_string())
        }
        Shape::MetadataList => {
            return Err(ApiError::not_acceptable("one object cannot be shown as a list"));
        }
    })
}

/// Answers with what was written.
pub(super) fn written(
    context: &Context<'_>,
    resource: &Resource,
    call: &Call,
    written: Written,
) -> ApiResult<Answer> {
    let json = one(context, resource, &written.entry, call)?;
    let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Answer { code, json, warnings: written.warnings })
}

/// A list with this `metadata`.
pub(super) fn many(
    context: &Context<'_>,
    resource: &Resource,
    entries: &[Arc<Entry>],
    meta: Value,
    call: &Call,
) -> Bytes {
    match call.shape {
        Shape::Object => list_json(resource, entries, &meta),
        Shape::Table => {
            let entries: Vec<_> = entries.iter().map(Entry::opened).collect();
            let objects: Vec<_> = entries.iter().map(|entry| converted(resource, entry)).collect();
            let include = call.query.text("includeObject");
            Bytes::from(table(resource, &objects, meta, context.clock.now(), include, true).to_string())
        }
        Shape::Metadata | Shape::MetadataList => {
            let items: Vec<Value> = entries.iter().map(|entry| object::partial(&entry.opened())).collect();
            Bytes::from(
                json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                        "metadata": meta, "items": items })
                .to_string(),
            )
        }
    }
}

/// Joins the texts of the objects, which were made when they were first read.
fn list_json(resource: &Resource, entries: &[Arc<Entry>], meta: &Value) -> Bytes {
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{meta},\"items\":[",
        Value::from(resource.list_kind.as_str()),
        Value::from(resource.api_version.as_str()),
    );
    let texts: Vec<Bytes> = entries.iter().map(|entry| object_json(resource, entry)).collect();
    let size = head.len() + 2 + texts.iter().map(|t| t.len() + 1).sum::<usize>();
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(head.as_bytes());
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text);
    }
    out.extend_from_slice(b"]}");
    Bytes::from(out)
}
