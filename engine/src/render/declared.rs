//! The parameters a template declares → which given ones nobody declared, with the nearest known name.

use std::collections::BTreeMap;

use serde_json::Value as Json;

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
    /// A list of these.
    Elements(Box<Declared>),
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

impl Declared {
    /// The given parameters that are not declared.
    pub(super) fn undeclared(&self, parameter: &Json) -> Vec<Undeclared> {
        let mut found = Vec::new();
        self.walk(parameter, &mut "parameter".to_owned(), &mut found);
        found
    }

    fn walk(&self, given: &Json, path: &mut String, found: &mut Vec<Undeclared>) {
        let length = path.len();
        match (self, given) {
            (Self::Fields(declared), Json::Object(given)) => {
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
            (Self::Elements(declared), Json::Array(given)) => {
                for (index, value) in given.iter().enumerate() {
                    field_path::push_index(path, index);
                    declared.walk(value, path, found);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}
