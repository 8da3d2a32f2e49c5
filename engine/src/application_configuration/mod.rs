//! v1alpha2: ApplicationConfiguration and Components through the same phases as an Application.
//!
//! ```text
//! Application (v1alpha2) ─parse … render─▶ Rendered ─compose─▶ ApplicationConfiguration, Components (objects)
//! Component ─revision─▶ ControllerRevision
//! ApplicationConfiguration, Components, definitions ─parse─▶ Parsed ─render─▶ Rendered ─graph─▶ Graph ─status─▶ JSON
//! ```
//!
//! Values that flow between components (`dataInputs`, `dataOutputs`) are written into the rendered objects between
//! render and graph; an object whose input is not there yet is marked and not applied.

pub mod apply_once;
pub mod compose;
pub mod data;
pub mod garbage;
pub mod graph;
pub mod handover;
pub mod hook;
pub mod last_good;
mod metadata;
pub mod parse;
mod recorded_reference;
pub mod render;
mod resource_names;
pub mod revision;
pub mod rolled_components;
pub mod rolling;
pub mod rules;
pub mod status;
pub mod type_resolution;

pub use apply_once::ApplyOnce;
pub use compose::{Composed, compose};
pub use garbage::Garbage;
pub use graph::{Graph, graph};
pub use parse::{Parsed, parse, references};
pub use render::{Rendered, render};
pub use resource_names::{application, is_controlled_by_application, is_of_a_revision};
pub use rolling::is_passive;

/// API group of the objects of this era.
const GROUP: &str = "core.oam.dev";
/// API version of the objects of this era.
pub const API_VERSION: &str = "core.oam.dev/v1alpha2";
/// Kind of a configuration.
pub const KIND: &str = "ApplicationConfiguration";

use serde_json::Value as Json;

/// Text at a path of fields, or "".
fn text<'a>(value: &'a Json, path: &[&str]) -> &'a str {
    path.iter().try_fold(value, |value, key| value.get(key)).and_then(Json::as_str).unwrap_or("")
}

/// Items of the list at a path of fields, or none.
fn items<'a>(value: &'a Json, path: &[&str]) -> &'a [Json] {
    let list = path.iter().try_fold(value, |value, key| value.get(key)).and_then(Json::as_array);
    list.map_or(&[], Vec::as_slice)
}
