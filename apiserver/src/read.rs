//! Get and list: a stored state in, its JSON in the version and shape that were asked for out.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::cause::Cause;
use crate::http::{Answer, Call, Query, Shape};
use crate::object;
use crate::registry::Resource;
use crate::selector::Selector;
use crate::server::Core;
use crate::status::{ApiError, ApiResult};
use crate::store::{self, Entry};

/// The stored state in the version of `resource`.
pub(crate) fn from_stored(resource: &Resource, entry: &Entry) -> Value {
    converted(resource, entry).into_owned()
}

/// The stored state in the version of `resource`, without a copy where it is stored in that version.
pub(crate) fn converted<'a>(resource: &Resource, entry: &'a Entry) -> Cow<'a, Value> {
    if entry.is_of(&resource.api_version) {
        return Cow::Borrowed(entry.value());
    }
    let mut object = entry.value().clone();
    if resource.group == "events.k8s.io" {
        rename(&mut object, EVENT_FIELDS.iter().map(|(old, new)| (*old, *new)));
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), resource.api_version.clone().into());
    }
    if let Some(structural) = resource.custom_version().and_then(|v| v.structural.as_ref()) {
        structural.apply_defaults(&mut object);
    }
    Cow::Owned(object)
}

/// Turns a state of the version of `resource` into the version in which it is stored.
pub(crate) fn to_stored(resource: &Resource, object: &mut Value) {
    if resource.api_version == resource.storage_api_version {
        return;
    }
    if resource.group == "events.k8s.io" {
        rename(object, EVENT_FIELDS.iter().map(|(old, new)| (*new, *old)));
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), resource.storage_api_version.clone().into());
    }
}

/// Names of the same fields of an Event in `v1` and in `events.k8s.io/v1`.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(map) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

impl Core {
    pub(crate) fn get(
        &self,
        resource: &Resource,
        call: &Call,
        namespace: &str,
        name: &str,
    ) -> ApiResult<Answer> {
        self.require(resource, "get")?;
        let entry = self
            .store
            .get(&crate::write::key(resource, namespace, name))
            .ok_or_else(|| ApiError::not_found(resource.named(), name))?;
        let asked = call.query.number("resourceVersion")?.unwrap_or(0);
        self.check_not_future(asked)?;
        Ok(Answer::ok(self.shaped(resource, &entry, call)?))
    }

    pub(crate) fn check_not_future(&self, asked: u64) -> ApiResult<()> {
        let current = self.store.revision();
        if asked > current { Err(ApiError::too_large_resource_version(asked, current)) } else { Ok(()) }
    }

    /// One object in the shape that the client asked for.
    pub(crate) fn shaped(&self, resource: &Resource, entry: &Arc<Entry>, call: &Call) -> ApiResult<Bytes> {
        Ok(match call.shape {
            Shape::Object => object_json(resource, entry),
            Shape::Metadata => Bytes::from(partial(&entry.opened()).to_string()),
            Shape::Table => {
                let entry = &entry.opened();
                let object = converted(resource, entry);
                let version = object::meta(&object, "resourceVersion").to_owned();
                let rows = [object];
                let meta = json!({ "resourceVersion": version });
                Bytes::from(
                    self.table(resource, &rows, meta, call.query.text("includeObject"), true).to_string(),
                )
            }
            Shape::MetadataList => {
                return Err(ApiError::not_acceptable("one object cannot be shown as a list"));
            }
        })
    }

    pub(crate) fn list(&self, resource: &Resource, call: &Call) -> ApiResult<Answer> {
        self.require(resource, "list")?;
        let selector = selector(resource, &call.query)?;
        let namespace = call.place.namespace.as_deref();
        let limit = call.query.number("limit")?.unwrap_or(0);
        let page = self.page(resource, namespace, &selector, limit, &call.query)?;
        let mut meta = json!({ "resourceVersion": page.revision.to_string() });
        if let Some(token) = page.next {
            meta["continue"] = token.into();
            if selector.is_empty() {
                meta["remainingItemCount"] = page.remaining.into();
            }
        }
        let json = match call.shape {
            Shape::Object => list_json(resource, &page.entries, &meta),
            Shape::Table => {
                let entries: Vec<_> = page.entries.iter().map(Entry::opened).collect();
                let objects: Vec<_> = entries.iter().map(|entry| converted(resource, entry)).collect();
                let include = call.query.text("includeObject");
                Bytes::from(self.table(resource, &objects, meta, include, true).to_string())
            }
            Shape::Metadata | Shape::MetadataList => {
                let items: Vec<Value> = page.entries.iter().map(|entry| partial(&entry.opened())).collect();
                Bytes::from(
                    json!({ "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                            "metadata": meta, "items": items })
                    .to_string(),
                )
            }
        };
        Ok(Answer::ok(json))
    }

    fn page(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &Selector,
        limit: u64,
        query: &Query,
    ) -> ApiResult<Page> {
        let asked = query.number("resourceVersion")?;
        let how = query.text("resourceVersionMatch");
        let token = query.text("continue");
        let (entries, revision, after) = if token.is_empty() {
            match (how, asked) {
                ("Exact", Some(exact)) if exact > 0 => {
                    self.check_not_future(exact)?;
                    let entries = self.store.list_at(&resource.store, namespace, exact).map_err(expired)?;
                    (entries, exact, None)
                }
                ("" | "Exact" | "NotOlderThan", _) => {
                    self.check_not_future(asked.unwrap_or(0))?;
                    let (entries, revision) = self.list_now(resource, namespace, selector);
                    (entries, revision, None)
                }
                (other, _) => {
                    let allowed = ["Exact", "NotOlderThan", ""];
                    let cause = Cause::not_supported("resourceVersionMatch", &Value::from(other), &allowed);
                    return Err(ApiError::invalid_options("ListOptions", cause));
                }
            }
        } else {
            let (revision, after) = read_token(token).ok_or_else(|| {
                ApiError::bad_request("continue key is not valid: it was not made by this server")
            })?;
            let entries = self.store.list_at(&resource.store, namespace, revision).map_err(|_| {
                ApiError::gone(
                    "The provided continue parameter is too old to display a consistent list result. You must start \
                     a new list without the continue parameter.",
                )
            })?;
            (entries, revision, Some(after))
        };
        let position = |entry: &Entry| (object::namespace(entry).to_owned(), object::name(entry).to_owned());
        let mut rest = entries
            .into_iter()
            .filter(|entry| after.as_ref().is_none_or(|after| position(entry) > *after))
            .filter(|entry| selector.is_empty() || selector.matches(&converted(resource, &entry.opened())));
        if limit == 0 {
            return Ok(Page { entries: rest.collect(), revision, next: None, remaining: 0 });
        }
        let page: Vec<_> = rest.by_ref().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
        let remaining = rest.count();
        let next = page.last().filter(|_| remaining > 0).map(|last| make_token(revision, &position(last)));
        Ok(Page { entries: page, revision, next, remaining })
    }

    /// The present objects; one look-up instead of a scan where the selector names the object.
    fn list_now(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &Selector,
    ) -> (Vec<Arc<Entry>>, u64) {
        match (selector.name(), namespace) {
            (Some(name), Some(namespace)) => {
                let revision = self.store.revision();
                let found = self.store.get(&crate::write::key(resource, namespace, name));
                (found.into_iter().collect(), revision)
            }
            _ => self.store.list(&resource.store, namespace),
        }
    }
}

struct Page {
    entries: Vec<Arc<Entry>>,
    revision: u64,
    next: Option<String>,
    remaining: usize,
}

pub(crate) fn selector(resource: &Resource, query: &Query) -> ApiResult<Selector> {
    let selector = Selector::parse(query.text("labelSelector"), query.text("fieldSelector"))?;
    selector.check_fields(resource)?;
    Ok(selector)
}

pub(crate) fn expired(error: store::Error) -> ApiError {
    match error {
        store::Error::Expired { asked, oldest } => {
            ApiError::gone(format!("too old resource version: {asked} ({oldest})"))
        }
        other => ApiError::internal(other),
    }
}

pub(crate) fn object_json(resource: &Resource, entry: &Entry) -> Bytes {
    if entry.is_of(&resource.api_version) {
        return entry.json();
    }
    Bytes::from(converted(resource, entry).to_string())
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
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

fn make_token(revision: u64, (namespace, name): &(String, String)) -> String {
    URL_SAFE_NO_PAD
        .encode(json!({ "v": "vela/v1", "rv": revision, "ns": namespace, "start": name }).to_string())
}

fn read_token(token: &str) -> Option<(u64, (String, String))> {
    let value: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    Some((value.get("rv")?.as_u64()?, (text("ns")?, text("start")?)))
}
