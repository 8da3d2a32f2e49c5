//! The data flow as authors write it: the values that an object takes and gives, where, and under which conditions.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::path::{Path, Place, Verb};
use crate::observed::ObjectKey;

/// Live objects by identity: those that [`wanted`] named and that exist.
pub type Objects = BTreeMap<ObjectKey, Json>;

/// The values that one workload or trait takes from others and gives to others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    /// The values that it takes, in order.
    pub inputs: Vec<Input>,
    /// The values that it gives.
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
    /// The operations on it, in order.
    pub operations: Vec<Operation>,
}

/// One change of an object, in the form of a JSON patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Where it is written in the configuration.
    pub at: String,
    /// The kind of the operation.
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
