//! The reads of simulated controllers from objects: names, owners, conditions, numbers.
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Action, Outcome};

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(super) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(super) fn is_deleted(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|v| !v.is_null())
}

/// The owner reference of the controller.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    owners.iter().find(|o| o.get("controller") == Some(&Value::Bool(true)))
}

pub(super) fn is_controlled_by(object: &Value, uid: &str) -> bool {
    controller(object).and_then(|o| o.get("uid")).and_then(Value::as_str) == Some(uid)
}

pub(super) fn owner_reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    json!([{
        "apiVersion": api_version, "kind": kind, "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    }])
}

/// Writes `value` at a path of object fields, making the objects on the way.
pub(super) fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut at = object;
    for part in parents {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Some(map) = at.as_object_mut() else { return };
        at = map.entry((*part).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    }
    if !at.is_object() {
        *at = Value::Object(Map::new());
    }
    if let Some(map) = at.as_object_mut() {
        map.insert((*last).to_owned(), value);
    }
}

pub(super) fn time(value: &Value, pointer: &str) -> Option<Timestamp> {
    text(value, pointer).parse().ok()
}

/// RFC 3339 with seconds, as the API writes times.
pub(super) fn stamp(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let list = object.pointer("/status/conditions")?.as_array()?;
    list.iter().find(|c| c.get("type").and_then(Value::as_str) == Some(kind))
}

pub(super) fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).and_then(|c| c.get("status")).and_then(Value::as_str) == Some("True")
}

/// A pod that counts as ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    !is_deleted(pod) && is_true(pod, "Ready")
}

/// A pod that has been ready for long enough; otherwise how many seconds are left.
pub(super) fn is_available(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> Result<(), Option<i64>> {
    if !is_ready(pod) {
        return Err(None);
    }
    if min_ready_seconds <= 0 {
        return Ok(());
    }
    let since = condition(pod, "Ready").and_then(|c| time(c, "/lastTransitionTime")).unwrap_or(now);
    let ready_for = now.as_second() - since.as_second();
    if ready_for >= min_ready_seconds { Ok(()) } else { Err(Some(min_ready_seconds - ready_for)) }
}

/// A pod that has neither ended nor is about to go.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_deleted(pod) && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Sets a condition; its transition time moves only when its status changes.
pub(super) fn set_condition(status: &mut Map<String, Value>, mut new: Value, now: Timestamp) {
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else { return };
    let slot = list.iter_mut().find(|c| c.get("type") == new.get("type"));
    let moved = slot.as_ref().is_none_or(|old| old.get("status") != new.get("status"));
    let since = match (&slot, moved) {
        (Some(old), false) => old.get("lastTransitionTime").cloned().unwrap_or(Value::Null),
        _ => stamp(now).into(),
    };
    if let Some(map) = new.as_object_mut() {
        map.insert("lastTransitionTime".to_owned(), since);
    }
    match slot {
        Some(slot) => *slot = new,
        None => list.push(new),
    }
}

/// Adds the write of a changed status, if it changed.
pub(super) fn put_status(resource: &str, old: &Value, status: Map<String, Value>, out: &mut Outcome) {
    let status = Value::Object(status);
    if old.get("status") == Some(&status) {
        return;
    }
    let mut object = old.clone();
    set(&mut object, &["status"], status);
    // This status has no other writer, and a change of the rest in the same step must not refuse it.
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    out.actions.push(Action::UpdateStatus { resource: resource.to_owned(), object });
}

pub(super) fn delete(resource: &str, object: &Value) -> Action {
    Action::Delete {
        resource: resource.to_owned(),
        namespace: namespace(object).to_owned(),
        name: name(object).to_owned(),
        uid: uid(object).to_owned(),
        propagation: None,
    }
}

/// An event about an object.
pub(super) fn event(
    about: &Value,
    kind: &str,
    reason: &str,
    message: String,
    from: &str,
    now: Timestamp,
) -> Action {
    let ns = if namespace(about).is_empty() { "default" } else { namespace(about) };
    let warning =
        matches!(reason, "Failed" | "BackOff" | "FailedScheduling" | "BackoffLimitExceeded" | "Unhealthy");
    let object = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{:x}", name(about), hash(&format!("{reason}{message}{now}"))), "namespace": ns},
        "involvedObject": {
            "apiVersion": text(about, "/apiVersion"), "kind": kind, "name": name(about),
            "namespace": namespace(about), "uid": uid(about), "resourceVersion": text(about, "/metadata/resourceVersion"),
        },
        "reason": reason, "message": message, "type": if warning { "Warning" } else { "Normal" },
        "source": {"component": from}, "reportingComponent": from, "reportingInstance": "",
        "firstTimestamp": stamp(now), "lastTimestamp": stamp(now), "count": 1,
    });
    Action::Event { object }
}

/// A stable number for a text (FNV-1a, 64 bits).
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// A short stable name for a value, in letters that spell no words.
pub(super) fn short_hash(value: &Value) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = hash(&value.to_string()) & 0xffff_ffff;
    let mut out = String::new();
    while rest > 0 && out.len() < 10 {
        let at = usize::try_from(rest % LETTERS.len() as u64).unwrap_or_default();
        out.push(LETTERS.get(at).copied().map_or('x', char::from));
        rest /= LETTERS.len() as u64;
    }
    out
}
