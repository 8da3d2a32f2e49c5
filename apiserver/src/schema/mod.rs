//! The schemas of custom resources: compiled once per version, then pruning, defaulting and validation.
mod compile;
mod defaults;
mod formats;
mod prune;
mod validate;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::builtin::types::ListKind;
use crate::cause::Cause;

/// A JSON type, as OpenAPI names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub struct Node {
    /// The type; none where anything, or a number or text, may stand.
    pub ty: Option<Kind>,
    /// `null` is a value of its own here.
    pub nullable: bool,
    /// A whole number or text.
    pub int_or_string: bool,
    /// Unknown fields are kept.
    pub preserve_unknown: bool,
    /// A whole Kubernetes object stands here.
    pub embedded: bool,
    /// The declared fields.
    pub properties: BTreeMap<String, Node>,
    /// The type of undeclared fields.
    pub additional: Option<Box<Node>>,
    /// The type of list items.
    pub items: Option<Box<Node>>,
    /// How list items are told apart.
    pub list: ListKind,
    /// Merged as a whole.
    pub map_atomic: bool,
    /// The value where none is given.
    pub default: Option<Value>,
    pub(crate) rules: Rules,
}

/// What values of a place must satisfy beyond their type.
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

/// The schema of one version of a custom resource, compiled.
pub struct Structural {
    root: Node,
    rules: Option<kube_cel::CompiledSchema>,
    source: Value,
}

impl std::fmt::Debug for Structural {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Structural").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Structural {
    /// Compiles `openAPIV3Schema`; the causes name what makes it not a structural schema.
    pub fn compile(open_api_v3_schema: &Value) -> Result<Structural, Vec<Cause>> {
        compile::compile(open_api_v3_schema)
    }

    /// The root of the schema.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// The schema it was compiled from.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Drops unknown fields and gives back their paths.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.root, object)
    }

    /// Fills in defaults; a `null` where a default stands and null is not allowed counts as absent.
    pub fn apply_defaults(&self, object: &mut Value) {
        defaults::apply(&self.root, object);
    }

    /// Checks the object against the schema and its rules; `old` is the object before an update.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        validate::validate(&self.root, self.rules.as_ref(), new, old)
    }
}

#[cfg(test)]
pub(crate) mod tests;
