//! The selector of a policy's rule: which rendered objects the rule is for.

use serde_json::Value as Json;

/// The lists that a selector may have, and where an object has what they name. Objects say by labels whose they are.
pub(super) const LISTS: [(&str, &str); 6] = [
    ("componentNames", "/metadata/labels/app.oam.dev~1component"),
    ("componentTypes", "/metadata/labels/workload.oam.dev~1type"),
    ("oamTypes", "/metadata/labels/app.oam.dev~1resourceType"),
    ("traitTypes", "/metadata/labels/trait.oam.dev~1type"),
    ("resourceTypes", "/kind"),
    ("resourceNames", "/metadata/name"),
];

/// Every list that it has must name the object; one without lists is for no object, as upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selector {
    lists: Vec<(&'static str, Vec<String>)>,
}

impl Selector {
    /// Of the lists that are written, each by the place in an object that it is about; an empty one says nothing.
    pub(super) fn new(lists: Vec<(&'static str, Vec<String>)>) -> Self {
        Self { lists: lists.into_iter().filter(|(_, names)| !names.is_empty()).collect() }
    }

    /// Is it for no object?
    pub(super) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Is it for this object?
    pub(super) fn matches(&self, object: &Json) -> bool {
        let value = |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default();
        !self.is_empty()
            && self.lists.iter().all(|(pointer, names)| names.iter().any(|name| name == value(pointer)))
    }
}

/// The first of these rules that is for the object.
pub(super) fn first<'a, T>(rules: &'a [(Selector, T)], object: &Json) -> Option<&'a T> {
    rules.iter().find(|(selector, _)| selector.matches(object)).map(|(_, rule)| rule)
}
