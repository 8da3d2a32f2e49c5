//! The parameters a template declares → which given ones nobody declared, with the nearest known name.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use vela_cue::{FieldOptions, Kind, Value};

use crate::field_path;
use crate::nearest;

/// Declarations nested deeper than this are not looked at: what is given there is taken as declared.
pub(super) const DEPTH_LIMIT: usize = 16;

/// What may be given at one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Declared {
    /// Anything: a scalar, an open struct, alternatives, or too deep to look.
    #[default]
    Anything,
    /// A struct of these fields.
    Fields(BTreeMap<String, Declared>),
}

/// A given parameter that nobody declared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Undeclared {
    /// Its path from `parameter` on.
    pub(super) path: String,
    /// Its name.
    pub(super) name: String,
    /// What may have been meant.
    pub(super) hint: Option<String>,
}

/// More declarations are not looked at: definitions may contain each other.
const COUNT_LIMIT: usize = 2000;

impl Declared {
    /// What a `parameter` value declares.
    pub(super) fn of(parameter: &Value) -> Self {
        Self::look(parameter, 0, &mut 0)
    }

    fn look(value: &Value, depth: usize, count: &mut usize) -> Self {
        *count += 1;
        if depth > DEPTH_LIMIT || *count > COUNT_LIMIT || value.kind() != Kind::Struct || !value.is_concrete()
        {
            return Self::Anything;
        }
        let fields = value.fields(FieldOptions { optional: true, ..FieldOptions::default() });
        if fields.is_empty() || value.is_extensible() {
            return Self::Anything;
        }
        Self::Fields(
            fields
                .into_iter()
                .map(|field| (field.name, Self::look(&field.value, depth + 1, count)))
                .collect(),
        )
    }

    /// The given parameters that are not declared.
    pub(super) fn undeclared(&self, parameter: &Json) -> Vec<Undeclared> {
        let mut found = Vec::new();
        self.walk(parameter, &mut "parameter".to_owned(), &mut found);
        found
    }

    fn walk(&self, given: &Json, path: &mut String, found: &mut Vec<Undeclared>) {
        let (Self::Fields(declared), Json::Object(given)) = (self, given) else { return };
        let length = path.len();
        for (name, value) in given {
            field_path::push_field(path, name);
            match declared.get(name) {
                Some(declared) => declared.walk(value, path, found),
                None => found.push(Undeclared {
                    path: path.clone(),
                    name: name.clone(),
                    hint: nearest::advice(name, "parameters", declared.keys().map(String::as_str)),
                }),
            }
            path.truncate(length);
        }
    }
}
