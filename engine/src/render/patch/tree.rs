//! An object that is still being patched: values with their constraints, and the fields that are left out.

use std::fmt;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use crate::field_path;

/// A value that is not a plain one: a default, a type or a bound that a concrete value may still meet.
pub trait Constraint: fmt::Debug {
    /// The value it stands for by default; nothing while it is incomplete.
    fn default_value(&self) -> Option<Json>;
    /// It and a concrete value at once, or why they conflict.
    ///
    /// # Errors
    /// Why they conflict.
    fn meet(&self, value: &Json) -> Result<Json, String>;
    /// How it reads, for messages.
    fn text(&self) -> String;
}

/// A value as patches see it: markers kept.
#[derive(Debug, Clone)]
pub enum Tree {
    /// Null, boolean, number or string.
    Scalar(Json),
    /// A struct; fields in their order.
    Struct(Vec<Field>),
    /// A list.
    List(Vec<Tree>),
    /// A list with `...`: further elements are welcome, and must meet each of the constraints.
    OpenList(Vec<Tree>, Vec<Rc<dyn Constraint>>),
    /// Not a plain value yet.
    Open(Rc<dyn Constraint>),
}

/// A field of a struct with the `+key=value` markers in its comments.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Tree,
    /// The marks in its comments.
    pub markers: Markers,
}

/// The marks of comments on a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// Fields that identify list elements (`a,b` are tried in turn); inherited by everything below.
    pub patch_key: Option<String>,
    /// `retainKeys`, `replace`, `jsonPatch` or `jsonMergePatch`.
    pub strategy: Option<String>,
}

/// A value without a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {text} is not a value yet")]
pub struct Incomplete {
    /// Where.
    pub path: String,
    /// The value at that place.
    pub text: String,
}

impl From<&Json> for Tree {
    fn from(value: &Json) -> Self {
        match value {
            Json::Array(items) => Self::List(items.iter().map(Tree::from).collect()),
            Json::Object(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(name, value)| Field {
                        name: name.clone(),
                        value: value.into(),
                        markers: Markers::default(),
                    })
                    .collect(),
            ),
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

impl Tree {
    /// The value as JSON, what is incomplete left out.
    pub fn to_json(&self) -> Json {
        let mut left_out = Vec::new();
        self.json(&mut String::new(), &mut left_out).unwrap_or(Json::Null)
    }

    /// The value as JSON, if it is complete; else what is not.
    ///
    /// # Errors
    /// Each part that is incomplete.
    pub fn finish(&self) -> Result<Json, Vec<Incomplete>> {
        let mut left_out = Vec::new();
        let value = self.json(&mut String::new(), &mut left_out);
        if left_out.is_empty() { Ok(value.unwrap_or(Json::Null)) } else { Err(left_out) }
    }

    fn json(&self, path: &mut String, left_out: &mut Vec<Incomplete>) -> Option<Json> {
        let length = path.len();
        match self {
            Self::Scalar(value) => Some(value.clone()),
            Self::List(items) | Self::OpenList(items, _) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    field_path::push_index(path, index);
                    list.extend(item.json(path, left_out));
                    path.truncate(length);
                }
                Some(Json::Array(list))
            }
            Self::Struct(fields) => {
                let mut object = Map::new();
                for field in fields {
                    field_path::push_field(path, &field.name);
                    if let Some(value) = field.value.json(path, left_out) {
                        object.insert(field.name.clone(), value);
                    }
                    path.truncate(length);
                }
                Some(Json::Object(object))
            }
            Self::Open(constraint) => {
                let value = constraint.default_value();
                if value.is_none() {
                    left_out.push(Incomplete { path: path.clone(), text: constraint.text() });
                }
                value
            }
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Scalar(value) => value.to_string(),
            Self::Struct(_) => "a struct".to_owned(),
            Self::List(_) | Self::OpenList(..) => "a list".to_owned(),
            Self::Open(constraint) => constraint.text(),
        }
    }

    /// The value at a dotted path.
    pub(super) fn key(&self, path: &str) -> Key<'_> {
        let mut tree = self;
        for name in path.split('.') {
            let Self::Struct(fields) = tree else { return Key::None };
            let Some(field) = fields.iter().find(|field| field.name == name) else { return Key::None };
            tree = &field.value;
        }
        match tree {
            // A negative number is an operation on a literal.
            Self::Scalar(value) if value.as_f64().is_none_or(|number| number >= 0.0) => Key::Literal(value),
            _ => Key::Other,
        }
    }
}

/// The key of an element of a list.
pub(super) enum Key<'a> {
    None,
    Literal(&'a Json),
    /// Something, but not a literal: it may still become one.
    Other,
}
