//! Garbage collection: which objects go because the objects that own them are gone or are going.
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::object::text;
use crate::propagation::Propagation;
use crate::simulate::{Action, View};
use crate::store::IndexKey;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// A resource that may own or be owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resource<'a> {
    /// `plural` or `plural.group`.
    pub(crate) resource: &'a str,
    /// The group; empty for the core group.
    pub(crate) group: &'a str,
    /// The kind.
    pub(crate) kind: &'a str,
    /// Whether its objects live in a namespace.
    pub(crate) namespaced: bool,
}

fn owners(object: &Value) -> &[Value] {
    object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().any(|f| f.as_str() == Some(name))
}

fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null())
}

fn without_finalizer(object: &Value, name: &str) -> Value {
    let mut out = object.clone();
    if let Some(list) = out.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
        list.retain(|f| f.as_str() != Some(name));
    }
    out
}

/// The target of an owner reference.
enum Owner {
    Gone,
    Going { foreground: bool },
    There,
}

fn look_up(view: &dyn View, resources: &[Resource<'_>], owned: &Value, reference: &Value) -> Owner {
    let (version, kind) = (text(reference, "/apiVersion"), text(reference, "/kind"));
    let group = version.rsplit_once('/').map_or("", |(g, _)| g);
    let Some(resource) = resources.iter().find(|r| r.group == group && r.kind == kind) else {
        // A kind that the server does not serve: the real collector waits for it to appear.
        return Owner::There;
    };
    let namespace = if resource.namespaced { text(owned, "/metadata/namespace") } else { "" };
    match view.get(resource.resource, namespace, text(reference, "/name")) {
        Some(owner) if text(&owner, "/metadata/uid") == text(reference, "/uid") => {
            if is_going(&owner) {
                Owner::Going { foreground: has_finalizer(&owner, FOREGROUND) }
            } else {
                Owner::There
            }
        }
        _ => Owner::Gone,
    }
}

fn delete(resource: &Resource<'_>, object: &Value, propagation: Propagation) -> Action {
    Action::Delete {
        resource: resource.resource.to_owned(),
        namespace: text(object, "/metadata/namespace").to_owned(),
        name: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        propagation: Some(propagation),
    }
}

/// One step over all objects, or over `changed` and what hangs together with it. Repeat while it gives actions.
///
/// * An object whose owners are all gone goes.
/// * Of several owners, those that are gone or wait for it to go are forgotten; it stays with the others.
/// * An owner that is deleted in the foreground goes when nothing it blocks on is left; its dependents go first.
/// * An owner that is deleted as `orphan` is struck from its dependents and goes.
pub(crate) fn step(view: &dyn View, resources: &[Resource<'_>], changed: Option<&Value>) -> Vec<Action> {
    let mut out = Vec::new();
    let mut look = |resource: &Resource<'_>, object: &Value| {
        dependent(view, resources, resource, object, &mut out);
        if is_going(object) {
            owner(view, resources, resource, object, &mut out);
        }
    };
    let Some(changed) = changed else {
        for resource in resources {
            view.list(resource.resource, None).iter().for_each(|object| look(resource, object));
        }
        return out;
    };
    let mut seen = BTreeSet::new();
    for (resource, object) in concerned(view, resources, changed) {
        if seen.insert(text(&object, "/metadata/uid").to_owned()) {
            look(resource, &object);
        }
    }
    out
}

/// The object itself as it is now, what it owns, and what owns it; found by names and index keys, never by a look at all.
fn concerned<'a>(
    view: &dyn View,
    resources: &'a [Resource<'a>],
    changed: &Value,
) -> Vec<(&'a Resource<'a>, Arc<Value>)> {
    let mut out = Vec::new();
    let mut named = |version: &str, kind: &str, name: &str, uid: &str| {
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        let Some(resource) = resources.iter().find(|r| r.group == group && r.kind == kind) else { return };
        let namespace = if resource.namespaced { text(changed, "/metadata/namespace") } else { "" };
        let found = view.get(resource.resource, namespace, name);
        out.extend(found.filter(|found| text(found, "/metadata/uid") == uid).map(|found| (resource, found)));
    };
    let uid = text(changed, "/metadata/uid");
    named(text(changed, "/apiVersion"), text(changed, "/kind"), text(changed, "/metadata/name"), uid);
    for reference in owners(changed) {
        let field = |pointer| text(reference, pointer);
        named(field("/apiVersion"), field("/kind"), field("/name"), field("/uid"));
    }
    let owned = IndexKey::Owner(uid.to_owned());
    for resource in resources {
        out.extend(view.indexed(resource.resource, &owned).into_iter().map(|object| (resource, object)));
    }
    out
}

fn dependent(
    view: &dyn View,
    resources: &[Resource<'_>],
    resource: &Resource<'_>,
    object: &Value,
    out: &mut Vec<Action>,
) {
    if owners(object).is_empty() || is_going(object) {
        return;
    }
    let mut lost = Vec::new();
    let mut there = 0usize;
    let mut waiting = 0usize;
    for reference in owners(object) {
        match look_up(view, resources, object, reference) {
            Owner::Gone => lost.push(text(reference, "/uid").to_owned()),
            Owner::Going { foreground: true } => {
                waiting += 1;
                lost.push(text(reference, "/uid").to_owned());
            }
            Owner::Going { foreground: false } | Owner::There => there += 1,
        }
    }
    if lost.is_empty() {
        return;
    }
    if there == 0 {
        let has_own = waiting > 0;
        out.push(delete(
            resource,
            object,
            if has_own { Propagation::Foreground } else { Propagation::Background },
        ));
        return;
    }
    let mut next = object.clone();
    if let Some(list) = next.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut) {
        list.retain(|o| !lost.iter().any(|uid| text(o, "/uid") == uid));
    }
    out.push(Action::Update { resource: resource.resource.to_owned(), object: next });
}

fn owner(
    view: &dyn View,
    resources: &[Resource<'_>],
    resource: &Resource<'_>,
    object: &Value,
    out: &mut Vec<Action>,
) {
    let (foreground, orphan) = (has_finalizer(object, FOREGROUND), has_finalizer(object, ORPHAN));
    if !foreground && !orphan {
        return;
    }
    let uid = text(object, "/metadata/uid");
    let namespace = text(object, "/metadata/namespace");
    let owned = IndexKey::Owner(uid.to_owned());
    let mut blocked = false;
    let mut struck = false;
    for other in resources {
        for dependent in view.indexed(other.resource, &owned) {
            // A reference from another namespace is none: names do not reach across.
            if !namespace.is_empty() && text(&dependent, "/metadata/namespace") != namespace {
                continue;
            }
            let Some(reference) = owners(&dependent).iter().find(|o| text(o, "/uid") == uid) else {
                continue;
            };
            if orphan {
                struck = true;
                let mut next = dependent.as_ref().clone();
                if let Some(list) =
                    next.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut)
                {
                    list.retain(|o| text(o, "/uid") != uid);
                }
                out.push(Action::Update { resource: other.resource.to_owned(), object: next });
            } else {
                blocked |= reference.get("blockOwnerDeletion") == Some(&Value::Bool(true));
            }
        }
    }
    let done = if orphan { !struck } else { !blocked };
    if done {
        let name = if orphan { ORPHAN } else { FOREGROUND };
        let object = without_finalizer(object, name);
        out.push(Action::Update { resource: resource.resource.to_owned(), object });
    }
}
