//! Values that flow between the workloads and traits of a configuration: dataOutputs and dataInputs → filled objects.
//!
//! ```text
//! entry of the configuration ─read─▶ Flow ─graph─▶ names and cycles checked          (parse)
//! Rendered, World ─wanted─▶ objects to look at ─fill─▶ filled objects, what waits, StorePlan  (after render)
//! StorePlan, what was applied ─content─▶ the store as it must be                     (after apply)
//! ```
//!
//! **Paths.** `fieldPath`, `toFieldPaths` and `toFieldPath` are field paths (`spec.list[0].name`,
//! `metadata.labels[app.oam.dev/name]`). A path that begins with `$` is a JSONPath (RFC 9535): one that can only name
//! one place means that place; one with wildcards, filters, slices or `..` reads as the list of what it matches and
//! writes to every match. `toDataPath` names a place in the JSON text that stands at `toFieldPath`: dots separate
//! (`\.` is a dot), a path that begins with `/` is a JSON pointer, one that begins with `$` a JSONPath.
//!
//! **Same twice.** Inputs are written into freshly rendered objects, so a lap that is run again appends nothing a second
//! time. Stores live on, so appending to a list in an output store adds only what the list does not have yet, and
//! operations that would change the store at every lap are refused ([`StorePlan::content`]).

mod condition;
mod fill;
mod flow;
mod graph;
mod operation;
mod path;
mod read;
mod readiness;
mod store;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::revision::component_of;
use super::{items, text};
use crate::diagnostic::Diagnostics;
use crate::manifest::Document;
use crate::observed::ObjectKey;

pub use path::{Path, Place};

pub use flow::{fill, wanted};
pub use store::StorePlan;

/// Inputs and outputs of one configuration, together; more are refused, since each is looked at in every lap.
pub const FLOW_LIMIT: usize = 10_000;
/// Operations of one store, conditions of one list, paths of one input: far beyond what anybody writes by hand.
pub const LIST_LIMIT: usize = 256;
/// Longer paths, in bytes, are refused.
pub const PATH_LIMIT: usize = 1024;
/// Larger values, as JSON text, are not passed on: the API server stores no object of twice that size.
pub const VALUE_LIMIT: usize = 1 << 20;
/// Larger JSON texts in a store are not patched, for the same reason.
pub const DOCUMENT_LIMIT: usize = 1 << 20;
/// What one lap writes into all objects of a configuration: a value may go to many places.
pub const FILLED_LIMIT: usize = 64 << 20;
/// Comparisons of elements of two lists that are merged by keys.
pub const MERGE_LIMIT: usize = 1_000_000;

/// Live objects by identity: those that [`wanted`] named and that exist.
pub type World = BTreeMap<ObjectKey, Json>;

/// What one workload or trait takes from others and gives to others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    /// What it takes, in order.
    pub inputs: Vec<Input>,
    /// What it gives.
    pub outputs: Vec<Output>,
}

impl Flow {
    /// Neither takes nor gives.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.outputs.is_empty()
    }
}

/// A value that an object gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Where it is written in the configuration.
    pub at: String,
    /// Name by which inputs ask for it; "" where only a store takes it.
    pub name: String,
    /// Where the value stands in the object.
    pub field: Option<Path>,
    /// All must hold before the value counts.
    pub conditions: Vec<Condition>,
    /// An object that keeps the value in between.
    pub store: Option<Store>,
}

/// A value that an object takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Where it is written in the configuration.
    pub at: String,
    /// Name of the output; "" where only a store gives.
    pub from: String,
    /// Where the value goes.
    pub to: Vec<Path>,
    /// Keys by which elements of a list are matched; none appends.
    pub keys: Vec<String>,
    /// All must hold on the object as it exists now; one that does not exist yet may be made.
    pub conditions: Vec<Condition>,
    /// An object that kept values in between.
    pub store: Option<Store>,
}

/// An object that keeps values in between.
#[derive(Debug, Clone, PartialEq)]
pub struct Store {
    /// Its identity; it lives in the configuration's namespace.
    pub key: ObjectKey,
    /// What is done with it, in order.
    pub operations: Vec<Operation>,
}

/// What an operation does with the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Sets a field, inserts into or appends to a list.
    Add,
    /// Takes away; what is not there is taken away already. Also written `delete`.
    Remove,
    /// Sets a field or an element.
    Replace,
}

/// One change of an object, in the form of a JSON patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Where it is written in the configuration.
    pub at: String,
    /// What it does.
    pub verb: Verb,
    /// Where in the object.
    pub to: Place,
    /// Where in the JSON text at that place.
    pub data: Option<Place>,
    /// The value, if it is written here.
    pub value: Option<String>,
    /// Where the value stands in the source.
    pub from: Option<Path>,
    /// All must hold on the source.
    pub conditions: Vec<Condition>,
}

/// How a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal; a field that does not exist is not unequal.
    NotEq,
    /// Not the empty string.
    NotEmpty,
}

/// Something that must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// How it compares.
    pub operator: Operator,
    /// With what; "" means that `value_from` says it.
    pub value: String,
    /// Where what to compare with stands in the ApplicationConfiguration.
    pub value_from: Option<Path>,
    /// Where the compared value stands; without it, the value itself is compared.
    pub field: Option<Path>,
}

/// The data flow of every workload and trait by the path of its entry, and what is wrong with it.
pub(super) fn flows(document: &Document, namespace: &str) -> (BTreeMap<String, Flow>, Diagnostics) {
    let mut reader = read::Reader::new(document, namespace);
    let mut read = Vec::new();
    for (index, entry) in items(document.value(), &["spec", "components"]).iter().enumerate() {
        let path = format!("spec.components[{index}]");
        let name = match text(entry, &["revisionName"]) {
            "" => text(entry, &["componentName"]),
            revision => component_of(revision),
        };
        let flow = reader.flow(&path, entry);
        read.push((path.clone(), name.to_owned(), flow));
        for (index, entry) in items(entry, &["traits"]).iter().enumerate() {
            let path = format!("{path}.traits[{index}]");
            let flow = reader.flow(&path, entry);
            read.push((path, format!("{name}/{}", text(entry, &["trait", "kind"])), flow));
        }
    }
    let members: Vec<_> =
        read.iter().map(|(_, label, flow)| graph::Member { label: label.clone(), flow }).collect();
    let mut found = reader.into_found();
    found.extend(graph::check(document, &members));
    let flows = read.into_iter().filter(|(_, _, flow)| !flow.is_empty());
    (flows.map(|(path, _, flow)| (path, flow)).collect(), found)
}

/// About how many bytes a value takes as JSON text.
fn size(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => 4,
        Json::Number(_) => 8,
        Json::String(text) => text.len() + 2,
        Json::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Json::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + size(field) + 4).sum::<usize>() + 2
        }
    }
}
