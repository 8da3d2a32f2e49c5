//! A state in the version in which it is stored ↔ the same in the version that was asked for.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use crate::catalog::Resource;
use crate::store::Entry;

/// The stored state in the version of `resource`.
pub(super) fn from_stored(resource: &Resource, entry: &Entry) -> Value {
    converted(resource, entry).into_owned()
}

/// The stored state in the version of `resource`, without a copy where it is stored in that version.
pub(super) fn converted<'a>(resource: &Resource, entry: &'a Entry) -> Cow<'a, Value> {
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
    if let Some(structural) = resource.structural() {
        structural.apply_defaults(&mut object);
    }
    Cow::Owned(object)
}

/// Turns a state of the version of `resource` into the version in which it is stored.
pub(super) fn to_stored(resource: &Resource, object: &mut Value) {
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

/// The JSON text of a stored state in the version of `resource`.
pub(super) fn object_json(resource: &Resource, entry: &Entry) -> Bytes {
    if entry.is_of(&resource.api_version) {
        return entry.json();
    }
    Bytes::from(converted(resource, entry).to_string())
}
