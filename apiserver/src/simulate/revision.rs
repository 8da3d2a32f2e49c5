//! A workload whose pods change in place, and its pod template → the ControllerRevision that keeps the template by name.
use std::sync::Arc;

use serde_json::{Value, json};

use super::object::{self, number};
use super::{Action, IndexKey, Outcome, View};

const RESOURCE: &str = "controllerrevisions.apps";

/// The name of a pod template: that of the workload and a hash.
pub(super) fn name(owner: &Value, pattern: &Value) -> String {
    format!("{}-{}", object::name(owner), object::short_hash(pattern))
}

/// Keeps the template under its revision name.
pub(super) fn record(view: &dyn View, owner: &Value, pattern: &Value, revision: &str, out: &mut Outcome) {
    let known = view.indexed(RESOURCE, &IndexKey::Owner(object::uid(owner).to_owned()));
    let mine: Vec<&Arc<Value>> =
        known.iter().filter(|r| object::is_controlled_by(r, object::uid(owner))).collect();
    if mine.iter().any(|r| object::name(r) == revision) {
        return;
    }
    let number = 1 + mine.iter().map(|r| number(r, "/revision")).max().unwrap_or(0);
    let (version, kind) = (object::text(owner, "/apiVersion"), object::text(owner, "/kind"));
    let object = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": revision, "namespace": object::namespace(owner),
            "labels": pattern.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({})),
            "ownerReferences": object::owner_reference(version, kind, owner),
        },
        "data": {"spec": {"template": pattern}},
        "revision": number,
    });
    out.actions.push(Action::Create { resource: RESOURCE.to_owned(), object });
}

/// The template that a revision name stands for, if it was kept.
pub(super) fn template(view: &dyn View, owner: &Value, revision: &str) -> Option<Value> {
    let found = view.get(RESOURCE, object::namespace(owner), revision)?;
    found.pointer("/data/spec/template").cloned()
}
