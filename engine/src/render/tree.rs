//! Converts a CUE value to the tree that patches work on: markers are kept, types and open choices stay open.

use std::rc::Rc;

use serde_json::Value as Json;
use vela_cue::value::FieldOptions;
use vela_cue::{Kind, Value};

use super::patch::{Constraint, Field, Markers, Tree};

/// Values nested deeper than this are not taken from a template: no object is.
pub(super) const DEPTH_LIMIT: usize = 100;

/// A type, bound or default of a template.
struct Open(Value);

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl Constraint for Open {
    fn default_value(&self) -> Option<Json> {
        self.0.to_json().ok()
    }

    fn meet(&self, value: &Json) -> Result<Json, String> {
        self.0.fill("", value).to_json().map_err(|found| found.to_string())
    }

    fn text(&self) -> String {
        kind_name(self.0.kind()).to_owned()
    }
}

/// The use of a tree.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// An object: its lists are open for patches anyway.
    Object,
    /// A patch: a list that ends in `...` accepts further elements, any other does not.
    Patch,
}

/// A value with the markers of its fields; nothing when it is nested too deep.
pub(crate) fn tree(value: &Value, use_: Use, depth: usize) -> Option<Tree> {
    if depth > DEPTH_LIMIT {
        return None;
    }
    match shape(value) {
        Shape::Struct => {
            let mut fields = Vec::new();
            // Objects have no order of fields; that of the findings follows the names.
            let mut listed = value.fields(FieldOptions { unordered: true, ..FieldOptions::default() });
            listed.sort_by(|one, other| one.name.cmp(&other.name));
            for field in listed {
                // Only those of a patch are asked for.
                let markers = if use_ == Use::Patch { markers(&field.value) } else { Markers::default() };
                fields.push(Field { name: field.name, value: tree(&field.value, use_, depth + 1)?, markers });
            }
            Some(Tree::Struct(fields))
        }
        Shape::List => {
            let elements = value.elements();
            let elements: Vec<Tree> =
                elements.iter().map(|element| tree(element, use_, depth + 1)).collect::<Option<_>>()?;
            Some(match value.further_elements() {
                Some(rest) if rest.kind() != Kind::Any => Tree::OpenList(elements, vec![Rc::new(Open(rest))]),
                Some(_) if use_ == Use::Patch => Tree::OpenList(elements, Vec::new()),
                _ => Tree::List(elements),
            })
        }
        Shape::Plain(value) => Some(Tree::Scalar(value)),
        Shape::Open => Some(Tree::Open(Rc::new(Open(value.clone())))),
    }
}

/// The role of a value in a patch.
pub(super) enum Shape {
    Struct,
    List,
    Plain(Json),
    Open,
}

/// The shape of a value.
pub(super) fn shape(value: &Value) -> Shape {
    match value.kind() {
        Kind::Struct if value.is_concrete() => Shape::Struct,
        Kind::List if value.is_concrete() => Shape::List,
        _ if !value.is_concrete() || value.is_choice() => Shape::Open,
        _ => value.to_json().map_or(Shape::Open, Shape::Plain),
    }
}

/// The marks of a field's comments for a patch.
pub(crate) fn markers(value: &Value) -> Markers {
    let mut found = Markers::default();
    for (key, value) in value.comments().markers {
        match key.as_str() {
            "patchKey" => found.patch_key = Some(value),
            "patchStrategy" => found.strategy = Some(value),
            _ => {}
        }
    }
    found
}

/// The name of an unknown value.
pub(crate) const UNKNOWN: &str = "any value";

/// The word of users for a kind.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Bytes => "bytes",
        Kind::List => "list",
        Kind::Struct => "struct",
        Kind::Bottom | Kind::Any => UNKNOWN,
    }
}
