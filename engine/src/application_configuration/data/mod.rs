//! Data flow between the workloads and traits of a configuration: dataOutputs and dataInputs.
//!
//! ```text
//! entry of the configuration ─read─▶ Flow ─graph─▶ names and cycles checked          (parse)
//! Rendered, Objects ─wanted─▶ objects to look at ─fill─▶ filled objects, what waits, StorePlan  (after render)
//! StorePlan, what was applied ─content─▶ the store as it must be                     (after apply)
//! ```
//!
//! **Paths.** `fieldPath`, `toFieldPaths` and `toFieldPath` are field paths (`spec.list[0].name`,
//! `metadata.labels[app.oam.dev/name]`). A path that begins with `$` is a JSONPath (RFC 9535): one that can only name
//! one place means that place; one with wildcards, filters, slices or `..` reads as the list of what it matches and
//! writes to every match. `toDataPath` names a place in the JSON text that stands at `toFieldPath`: dots separate
//! (`\.` is a dot), a path that begins with `/` is a JSON pointer, one that begins with `$` a JSONPath.
//!
//! **Same twice.** Inputs are written into freshly rendered objects, so a reconcile that is run again appends nothing a second
//! time. Stores live on, so appending to a list in an output store adds only what the list does not have yet, and
//! operations that would change the store at every reconcile are refused ([`StorePlan::content`]).

mod condition;
mod fill;
mod flow;
mod graph;
mod limits;
mod operation;
mod path;
mod read;
mod readiness;
mod store;
mod syntax;

use std::collections::BTreeMap;

use super::revision::component_of;
use super::{items, text};
use crate::diagnostic::Diagnostics;
use crate::manifest::Document;

pub use flow::{fill, wanted};
pub use limits::{
    DOCUMENT_LIMIT, FILLED_LIMIT, FLOW_LIMIT, LIST_LIMIT, MERGE_LIMIT, PATH_LIMIT, VALUE_LIMIT,
};
pub use path::{Path, Place, Verb};
pub use store::StorePlan;
pub use syntax::{Condition, Flow, Input, Objects, Operation, Operator, Output, Store};

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
