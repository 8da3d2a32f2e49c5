//! Cells of nodes, events, volumes, quotas, role bindings and revisions.

use jiff::Timestamp;
use serde_json::Value;

use super::read::{UNKNOWN, is_true, list, or, scalar, since, text};

/// The phase of a volume or a claim; a marked one is going.
pub(super) fn phase(object: &Value) -> &str {
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null()) {
        return "Terminating";
    }
    text(object, "/status/phase")
}

/// The object that controls a revision, `deployment.apps/name`.
pub(super) fn controller(revision: &Value) -> String {
    let owner = list(revision, "/metadata/ownerReferences").iter().find(|o| is_true(o, "/controller"));
    owner.map_or("<none>".to_owned(), |o| {
        let group = text(o, "/apiVersion").rsplit_once('/').map_or("", |(g, _)| g);
        let kind = text(o, "/kind").to_lowercase();
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", text(o, "/name"))
    })
}

/// The used part of a quota's `limits`, or of everything else (`requests`).
pub(super) fn quota(quota: &Value, part: &str) -> String {
    let hard = quota.pointer("/spec/hard").and_then(Value::as_object);
    let pairs = hard.into_iter().flatten().filter(|(k, _)| k.starts_with("limits.") == (part == "limits"));
    let used = |k: &str| scalar(quota.pointer("/status/used").and_then(|u| u.get(k)));
    pairs.map(|(k, v)| format!("{k}: {}/{}", used(k), scalar(Some(v)))).collect::<Vec<_>>().join(", ")
}

/// The subjects of one kind to whom a role is bound.
pub(super) fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = list(binding, "/subjects").iter().filter(|s| text(s, "/kind") == kind);
    let names: Vec<String> = subjects
        .map(|s| match text(s, "/namespace") {
            "" => text(s, "/name").to_owned(),
            namespace => format!("{namespace}/{}", text(s, "/name")),
        })
        .collect();
    names.join(", ")
}

pub(super) fn volume_claim(volume: &Value) -> String {
    match text(volume, "/spec/claimRef/name") {
        "" => String::new(),
        claim => format!("{}/{claim}", text(volume, "/spec/claimRef/namespace")),
    }
}

pub(super) fn node_status(node: &Value) -> String {
    let ready = list(node, "/status/conditions").iter().find(|c| text(c, "/type") == "Ready");
    let mut state = match ready.map(|c| text(c, "/status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if is_true(node, "/spec/unschedulable") {
        state.push_str(",SchedulingDisabled");
    }
    state
}

pub(super) fn node_roles(node: &Value) -> String {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let roles: Vec<&str> = labels.filter_map(|(k, _)| k.strip_prefix("node-role.kubernetes.io/")).collect();
    or(&roles.join(","), "<none>").to_owned()
}

pub(super) fn node_address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let found = list(node, "/status/addresses").iter().find(|a| text(a, "/type") == kind);
    or(found.map(|a| text(a, "/address")).unwrap_or_default(), "<none>")
}

pub(super) fn event_last_seen(event: &Value, now: Timestamp) -> String {
    let places = ["/lastTimestamp", "/deprecatedLastTimestamp", "/series/lastObservedTime", "/eventTime"];
    first_of(event, &places, now)
}

pub(super) fn event_first_seen(event: &Value, now: Timestamp) -> String {
    let places =
        ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    first_of(event, &places, now)
}

/// How long ago the first of these times was that is there.
fn first_of(event: &Value, pointers: &[&str], now: Timestamp) -> String {
    let found = pointers.iter().find(|p| !text(event, p).is_empty());
    found.map_or_else(|| UNKNOWN.to_owned(), |p| since(event, p, now))
}

/// Where an event names what it is about: the two versions have different fields.
fn about(event: &Value) -> &'static str {
    if event.get("regarding").is_some() { "/regarding" } else { "/involvedObject" }
}

pub(super) fn event_object(event: &Value) -> String {
    let about = about(event);
    let kind = text(event, &format!("{about}/kind")).to_lowercase();
    format!("{kind}/{}", text(event, &format!("{about}/name")))
}

pub(super) fn event_subobject(event: &Value) -> &str {
    text(event, &format!("{}/fieldPath", about(event)))
}

pub(super) fn event_source(event: &Value) -> &str {
    or(text(event, "/source/component"), text(event, "/reportingComponent"))
}

pub(super) fn event_message(event: &Value) -> &str {
    or(text(event, "/message"), text(event, "/note")).trim()
}
