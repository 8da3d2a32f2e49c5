//! The owner of each field: server-side apply, and the tracking of every other write in `metadata.managedFields`.
//!
//! An applied object is merged into the live one by the types of its fields ([`node`]); fields the same manager applied
//! before and no longer mentions are removed unless another manager owns them; fields another manager owns with another
//! value are conflicts, or change hands when forced.
mod managed;
pub(crate) mod node;
pub(crate) mod set;
pub(crate) mod walk;

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::builtin::types;
use crate::schema::Structural;
use managed::{Entry, Recorded};
use node::Node;
use set::{Set, path_text};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Where the types of the object come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Schema<'a> {
    /// The structural schema of a custom resource.
    Crd(&'a Structural),
    /// A built-in kind.
    BuiltIn {
        /// Its apiVersion.
        api_version: &'a str,
        /// Its kind.
        kind: &'a str,
    },
}

impl<'a> Schema<'a> {
    fn node(&self) -> Node<'a> {
        match self {
            Schema::Crd(structural) => Node::CustomRoot(structural.root()),
            Schema::BuiltIn { api_version, kind } => types::table()
                .kind_type(api_version, kind)
                .map_or(Node::Deduced, |ty| Node::BuiltIn(ty, None)),
        }
    }

    /// The object before it exists: built-in kinds have parts that are always there.
    fn nothing(&self) -> Value {
        match self.node() {
            Node::BuiltIn(ty, _) => types::empty(ty),
            _ => Value::Object(Map::new()),
        }
    }
}

/// The writer, its time and its subresource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The field manager.
    pub(crate) manager: &'a str,
    /// Take fields over from other managers instead of reporting conflicts.
    pub(crate) force: bool,
    /// The subresource written to, e.g. `status`.
    pub(crate) subresource: Option<&'a str>,
    /// The apiVersion the client speaks.
    pub(crate) api_version: &'a str,
    /// The time of the write, RFC 3339 with seconds.
    pub(crate) now: &'a str,
    /// Whether the kind has a `status` subresource; then a write of the object itself owns no field of status.
    pub(crate) status_subresource: bool,
    /// The types.
    pub(crate) schema: Schema<'a>,
}

impl Request<'_> {
    /// The fields a write to this subresource does not change, so it owns none of them.
    fn ignored(&self) -> Set {
        let mut set = Set::default();
        let field = |name: &str| set::Element::Field(name.to_owned());
        match self.subresource {
            None if self.status_subresource => set.insert(&[field("status")]),
            Some("status") => {
                set.insert(&[field("spec")]);
                for name in ["labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"] {
                    set.insert(&[field("metadata"), field(name)]);
                }
            }
            _ => {}
        }
        set
    }

    fn entry(&self, applied: bool, fields: Set) -> Entry {
        Entry {
            manager: self.manager.to_owned(),
            applied,
            api_version: self.api_version.to_owned(),
            subresource: self.subresource.unwrap_or_default().to_owned(),
            time: Some(self.now.to_owned()),
            fields,
        }
    }
}

/// A field two managers want different things of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The other manager.
    pub(crate) manager: String,
    /// The version the other manager wrote.
    pub(crate) api_version: String,
    /// The subresource it wrote through; empty for the object itself.
    pub(crate) subresource: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// The field, e.g. `.spec.replicas`.
    pub(crate) field: String,
}

impl Conflict {
    /// The other manager as messages name it: `"kubectl" using apps/v1`.
    pub(crate) fn with(&self) -> String {
        let mut out = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            let _ = write!(out, " with subresource {:?}", self.subresource);
        }
        if self.operation == "Update" {
            let _ = write!(out, " using {}", self.api_version);
        }
        out
    }
}

/// The message of an apply that met these conflicts.
pub(crate) fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", one.with(), one.field);
    }
    let mut sorted: Vec<&Conflict> = conflicts.iter().collect();
    sorted.sort_by_key(|c| c.with());
    let mut lines = Vec::new();
    let mut last = String::new();
    for conflict in sorted {
        let with = conflict.with();
        if with != last {
            lines.push(format!("conflicts with {with}:"));
            last = with;
        }
        lines.push(format!("- {}", conflict.field));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// Why an apply was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Error {
    /// Other managers own some of the fields with other values.
    #[error("{}", conflict_message(.0))]
    Conflict(Vec<Conflict>),
    /// The request makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// The object does not fit its type; the real API server answers this with status 500.
    #[error("{0}")]
    Untyped(String),
}

/// Applies an object: merged into the live one, with `managedFields` set.
pub(crate) fn server_side(
    live: Option<&Value>,
    applied: &Value,
    request: &Request<'_>,
) -> Result<Value, Error> {
    let version = applied.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if version != request.api_version {
        return Err(Error::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            request.api_version
        )));
    }
    if applied.pointer("/metadata/managedFields").is_some_and(|v| !v.is_null()) {
        return Err(Error::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let node = request.schema.node();
    walk::check(&node, applied).map_err(|why| {
        Error::Untyped(format!("failed to create typed patch object ({}): {why}", named(applied)))
    })?;
    let before = live.map(without_owners);
    let mut entries = match live.map(managed::read) {
        Some(Recorded::Owners(entries)) => entries,
        _ => Vec::new(),
    };
    if entries.is_empty()
        && let Some(before) = &before
    {
        // Objects written before owners were tracked: the fields that exist belong to an unknown manager.
        let found = walk::compare(&node, &request.schema.nothing(), before);
        let fields = strip(&found.added.union(&found.modified)).without_subtrees(&request.ignored());
        let mut entry = request.entry(false, fields);
        entry.manager = BEFORE_FIRST_APPLY.to_owned();
        entry.subresource = String::new();
        entries.push(entry);
    }
    let mut result = apply_over(&node, before.as_ref(), applied, entries.clone(), request, request.force);
    if let (Err(Error::Conflict(conflicts)), "kubectl", Some(before)) = (&result, request.manager, &before) {
        // kubectl moving from client-side to server-side apply owns what its annotation says it applied.
        let allowed = last_applied_fields(&node, before);
        let left: Vec<Conflict> = conflicts.iter().filter(|c| !allowed.contains(&c.field)).cloned().collect();
        result = if left.is_empty() {
            apply_over(&node, Some(before), applied, entries, request, true)
        } else {
            Err(Error::Conflict(left))
        };
    }
    let (mut merged, entries) = result?;
    if request.manager == "kubectl" && annotation(&merged, LAST_APPLIED).is_some() {
        let mut said = applied.clone();
        if let Some(map) = said.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            map.remove(LAST_APPLIED);
        }
        if let Some(map) = merged.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            map.insert(LAST_APPLIED.to_owned(), format!("{said}\n").into());
        }
    }
    managed::write(&mut merged, entries);
    Ok(merged)
}

fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}

fn named(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    format!("{namespace}/{name}; {}, Kind={}", text("/apiVersion"), text("/kind"))
}

/// The paths kubectl's annotation says it applied and that still have the value it gave them.
fn last_applied_fields(node: &Node<'_>, live: &Value) -> Vec<String> {
    let Some(last) = annotation(live, LAST_APPLIED).and_then(|t| serde_json::from_str::<Value>(t).ok())
    else {
        return Vec::new();
    };
    if walk::check(node, &last).is_err() {
        return Vec::new();
    }
    let changed = walk::compare(node, &last, live);
    let kept = walk::field_set(node, &last).difference(&changed.modified.union(&changed.removed));
    kept.paths().iter().map(|p| path_text(p)).collect()
}

fn without_owners(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(metadata) = out.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    out
}

/// Without the fields that identify the object: they have no owner.
fn strip(set: &Set) -> Set {
    let mut gone = Set::default();
    let field = |name: &str| set::Element::Field(name.to_owned());
    for name in ["apiVersion", "kind", "metadata"] {
        gone.insert(&[field(name)]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        gone.insert(&[field("metadata"), field(name)]);
    }
    set.difference(&gone)
}

fn apply_over(
    node: &Node<'_>,
    live: Option<&Value>,
    applied: &Value,
    mut entries: Vec<Entry>,
    request: &Request<'_>,
    force: bool,
) -> Result<(Value, Vec<Entry>), Error> {
    let none = Value::Object(Map::new());
    let before = live.unwrap_or(&none);
    let wanted = prune_ignored(node, applied, request);
    let merged = walk::merge(node, Some(before), Some(&wanted)).unwrap_or_else(|| none.clone());
    let said = walk::field_set(node, &wanted);
    let mine = request.entry(true, strip(&said).without_subtrees(&request.ignored()));
    let at = entries.iter().position(|e| e.same_owner(&mine));
    let last = at.map(|i| entries.remove(i));
    let merged = match &last {
        Some(last) => give_up(node, &merged, &last.fields, &said, &entries),
        None => merged,
    };
    let change = walk::compare(node, before, &merged);
    let touched = change.modified.union(&change.added);
    let mut conflicts = Vec::new();
    for entry in &entries {
        for path in entry.fields.intersection(&touched).paths() {
            conflicts.push(Conflict {
                manager: entry.manager.clone(),
                api_version: entry.api_version.clone(),
                subresource: entry.subresource.clone(),
                operation: if entry.applied { "Apply" } else { "Update" }.to_owned(),
                field: path_text(&path),
            });
        }
    }
    if !force && !conflicts.is_empty() {
        return Err(Error::Conflict(conflicts));
    }
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&touched).difference(&change.removed);
    }
    let unchanged = *before == merged && last.as_ref().is_some_and(|l| l.fields == mine.fields);
    let time = if unchanged { last.and_then(|l| l.time) } else { mine.time.clone() };
    entries.push(Entry { time, ..mine });
    Ok((merged, entries))
}

/// The applied object without what cannot be written to this subresource.
fn prune_ignored(node: &Node<'_>, applied: &Value, request: &Request<'_>) -> Value {
    let ignored = request.ignored();
    if ignored.is_empty() {
        return applied.clone();
    }
    walk::remove(node, applied, &ignored).unwrap_or_else(|| applied.clone())
}

/// Removes the fields that this manager applied before, does not apply any more, and no other manager owns.
fn give_up(node: &Node<'_>, merged: &Value, last: &Set, mine: &Set, others: &[Entry]) -> Value {
    let whole = |set: &Set| walk::with_declared_parents(node, set);
    let nothing = Value::Object(Map::new());
    let last = whole(last);
    let pruned = walk::remove(node, merged, &last).unwrap_or_else(|| nothing.clone());
    let owned = others.iter().fold(mine.clone(), |all, e| all.union(&e.fields));
    let merged_set = whole(&walk::field_set(node, merged));
    let pruned_set = whole(&walk::field_set(node, &pruned));
    // Every pruned field without an owner goes; a field with an owner comes back …
    let gone = merged_set.difference(&pruned_set.union(&whole(&owned)));
    let pruned = walk::remove(node, merged, &gone).unwrap_or_else(|| nothing.clone());
    // … and so does what was never this manager's, but stood inside something that was.
    let pruned_set = whole(&walk::field_set(node, &pruned));
    let gone = merged_set.difference(&pruned_set).intersection(&last);
    walk::remove(node, merged, &gone).unwrap_or(nothing)
}

/// Records in `new` who owns what after a create, update or patch that turns `old` into `new`.
pub(crate) fn track_update(old: Option<&Value>, new: &mut Value, request: &Request<'_>) {
    let node = request.schema.node();
    let recorded = match (request.subresource, managed::read(new)) {
        (None, Recorded::Reset) => Recorded::Reset,
        (None, Recorded::Owners(entries)) => Recorded::Owners(entries),
        // Through a subresource, or saying nothing, a client cannot change who owns what.
        _ => old.map_or(Recorded::Nothing, managed::read),
    };
    let mut entries = match recorded {
        Recorded::Owners(entries) => entries,
        Recorded::Reset => Vec::new(),
        Recorded::Nothing => Vec::new(),
    };
    if let (Some(old), true) = (old, entries.is_empty()) {
        let forgotten = !matches!(managed::read(old), Recorded::Owners(_));
        let asked = matches!(managed::read(new), Recorded::Reset);
        if forgotten || asked {
            // An object whose owners are not tracked stays so until a client applies to it.
            managed::write(new, Vec::new());
            return;
        }
    }
    let before = old.map_or_else(|| request.schema.nothing(), without_owners);
    let change = walk::compare(&node, &before, &without_owners(new));
    let touched = change.modified.union(&change.added);
    for entry in &mut entries {
        entry.fields = entry.fields.difference(&touched.union(&change.removed));
    }
    let mine = request.entry(false, strip(&touched).without_subtrees(&request.ignored()));
    match entries.iter_mut().find(|e| e.same_owner(&mine)) {
        Some(entry) if !mine.fields.is_empty() => {
            entry.fields = entry.fields.union(&mine.fields);
            entry.time = mine.time;
        }
        Some(_) => {}
        None => entries.push(mine),
    }
    entries.retain(|e| !e.fields.is_empty());
    managed::fold_old_updates(&mut entries);
    managed::write(new, entries);
}

#[cfg(test)]
mod tests;
