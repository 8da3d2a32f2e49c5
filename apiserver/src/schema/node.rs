//! One place of a structural schema: its type, what stands below it, and what its values must satisfy.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::builtin::types::ListKind;

/// A JSON type, as OpenAPI names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An object.
    Object,
    /// A list.
    Array,
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Object => "object",
            Kind::Array => "array",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
        }
    }
}

/// One place of a structural schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    /// The type; none where anything, or a number or text, may stand.
    pub(crate) ty: Option<Kind>,
    /// `null` is a value of its own here.
    pub(crate) nullable: bool,
    /// A whole number or text.
    pub(crate) int_or_string: bool,
    /// Unknown fields are kept.
    pub(crate) preserve_unknown: bool,
    /// A whole Kubernetes object stands here.
    pub(crate) embedded: bool,
    /// The declared fields.
    pub(crate) properties: BTreeMap<String, Node>,
    /// The type of undeclared fields.
    pub(crate) additional: Option<Box<Node>>,
    /// The type of list items.
    pub(crate) items: Option<Box<Node>>,
    /// How list items are told apart.
    pub(crate) list: ListKind,
    /// Merged as a whole.
    pub(crate) map_atomic: bool,
    /// The value where none is given.
    pub(crate) default: Option<Value>,
    pub(crate) rules: Rules,
}

/// The constraints of a place beyond its type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) format: String,
    pub(crate) pattern: Option<(String, Option<Regex>)>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
}
