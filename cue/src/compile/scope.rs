//! The possible meanings of a name at a place.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    ir::{ExprId, Label},
    source::Span,
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Field(Label),
    /// An alias of a field with a computed label.
    Dynamic(ExprId),
    Let(u32),
    ForKey,
    ForValue,
    ClauseLet,
    PatternLabel,
    Own,
    /// A name whose label is a constant.
    Constant(Label),
}

/// One level of names; every level is one environment when evaluated.
pub(super) struct Scope {
    pub(super) names: FxHashMap<String, Name>,
    /// Names that must be used, with their places.
    pub(super) must_use: Vec<(String, Span)>,
    pub(super) used: FxHashSet<String>,
    pub(super) is_struct: bool,
}

impl Scope {
    pub(super) fn structure(names: FxHashMap<String, Name>) -> Self {
        Self { names, must_use: Vec::new(), used: FxHashSet::default(), is_struct: true }
    }

    pub(super) fn of(names: impl IntoIterator<Item = (String, Name)>) -> Self {
        Self {
            names: names.into_iter().collect(),
            must_use: Vec::new(),
            used: FxHashSet::default(),
            is_struct: false,
        }
    }

    pub(super) fn set(&mut self, name: &str, meaning: Name) {
        self.names.insert(name.to_owned(), meaning);
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.names.remove(name);
    }

    pub(super) fn names_contain(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn visible(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub(super) fn let_index(&self, name: &str) -> Option<u32> {
        match self.names.get(name) {
            Some(Name::Let(index)) => Some(*index),
            _ => None,
        }
    }

    pub(super) fn require(&mut self, name: &str, span: Span) {
        self.must_use.push((name.to_owned(), span));
    }
}
