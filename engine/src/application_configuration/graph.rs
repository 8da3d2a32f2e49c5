//! Builds the graph of a rendered configuration: the order of applying, the scopes to edit, and what is left over from
//! before.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::render::{Rendered, RenderedComponent, RenderedObject};
use super::{items, text};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path;
use crate::observed::ObjectKey;

/// The desired objects of a configuration.
#[derive(Debug, Clone)]
pub struct Graph {
    rendered: Rendered,
}

/// A scope whose list of workloads must change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeChange {
    /// The scope.
    pub scope: ObjectKey,
    /// Path of its list.
    pub path: String,
    /// The workload: `{apiVersion, kind, name}`.
    pub workload: Json,
}

impl Graph {
    /// The rendered components.
    pub fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    /// The components in order.
    pub fn components(&self) -> &[RenderedComponent] {
        &self.rendered.components
    }

    /// Every object in the order of applying: per component the workload, then its traits.
    pub fn objects(&self) -> impl Iterator<Item = &RenderedObject> {
        self.components().iter().flat_map(RenderedComponent::objects)
    }

    /// Memberships in scopes that must exist.
    pub fn memberships(&self) -> Vec<ScopeChange> {
        self.components().iter().flat_map(memberships).collect()
    }

    /// Scopes the previous status names that a workload is not a member of any more: scope and workload.
    pub fn dropped_memberships(&self) -> Vec<(ObjectKey, Json)> {
        let mut dropped = Vec::new();
        let namespace = self.rendered.document.namespace();
        for entry in items(self.rendered.document.value(), &["status", "workloads"]) {
            let Some(workload) = entry.get("workloadRef") else { continue };
            let workload = json!({
                "apiVersion": text(workload, &["apiVersion"]),
                "kind": text(workload, &["kind"]),
                "name": text(workload, &["name"]),
            });
            let kept = self.components().iter().find(|component| component.workload_reference() == workload);
            for scope in items(entry, &["scopes"]).iter().filter_map(|scope| scope.get("scopeRef")) {
                let key = reference_key(scope, namespace);
                if !kept.is_some_and(|component| component.scopes.iter().any(|(scope, _)| *scope == key)) {
                    dropped.push((key, workload.clone()));
                }
            }
        }
        dropped
    }
}

fn reference_key(reference: &Json, namespace: &str) -> ObjectKey {
    let part = |field| text(reference, &[field]).to_owned();
    ObjectKey::local(part("apiVersion"), part("kind"), namespace, part("name"))
}

/// Memberships in scopes that a component's workload must have.
pub fn memberships(component: &RenderedComponent) -> Vec<ScopeChange> {
    let listed = component.scopes.iter().filter(|(_, path)| !path.is_empty());
    listed
        .map(|(scope, path)| ScopeChange {
            scope: scope.clone(),
            path: path.clone(),
            workload: component.workload_reference(),
        })
        .collect()
}

/// Checks that no object is wanted twice, and that each may be made; what flows into an object may have sent it elsewhere.
///
/// # Errors
/// An object that two components make, or that may not be made.
pub fn graph(rendered: Rendered) -> Result<Graph, Diagnostics> {
    let graph = Graph { rendered };
    let mut seen = BTreeSet::new();
    let mut found = Diagnostics::new();
    for (index, component) in graph.components().iter().enumerate() {
        for object in component.objects() {
            let Rendered { document, namespace, bounds, .. } = &graph.rendered;
            bounds.judge(&object.object, namespace, (document, &object.path), &mut found);
        }
        for key in component.objects().map(RenderedObject::key) {
            if !seen.insert(key.clone()) {
                let path = format!("spec.components[{index}]");
                let message =
                    format!("{key} is made twice, the second time by component {:?}", component.name);
                found.push(Diagnostic::error(Code::Collision, message).at(&graph.rendered.document, path));
            }
        }
    }
    found.or(()).map(|_| graph)
}

/// The scope with the workload in its list, or nothing if it is there already.
///
/// # Errors
/// There is no list at the path.
pub fn add_member(scope: &Json, change: &ScopeChange) -> Result<Option<Json>, field_path::Error> {
    let list = field_path::get(scope, &change.path)?;
    let Some(list) = list.as_array() else {
        let found = field_path::type_name(list);
        return Err(field_path::Error::WrongType { path: change.path.clone(), expected: "an array", found });
    };
    if list.iter().any(|entry| is_same_reference(entry, &change.workload)) {
        return Ok(None);
    }
    let mut list = list.clone();
    list.push(change.workload.clone());
    let mut scope = scope.clone();
    field_path::set(&mut scope, &change.path, Json::Array(list))?;
    Ok(Some(scope))
}

/// The scope without the workload in its list, or nothing if it is not there.
///
/// # Errors
/// The path is malformed, or leads through a value of another type.
pub fn remove_member(scope: &Json, path: &str, workload: &Json) -> Result<Option<Json>, field_path::Error> {
    let Some(list) = field_path::find(scope, path)?.and_then(Json::as_array) else { return Ok(None) };
    let Some(position) = list.iter().position(|entry| is_same_reference(entry, workload)) else {
        return Ok(None);
    };
    let mut list = list.clone();
    list.swap_remove(position);
    let mut scope = scope.clone();
    field_path::set(&mut scope, path, Json::Array(list))?;
    Ok(Some(scope))
}

fn is_same_reference(a: &Json, b: &Json) -> bool {
    ["apiVersion", "kind", "name"].iter().all(|field| text(a, &[field]) == text(b, &[field]))
}
