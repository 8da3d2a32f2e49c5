//! Policy `replication`: of which components a `deploy` step makes several, each with a key of its own.

use super::reader::Reader;
use crate::diagnostic::{Code, Diagnostic};
use crate::names;
use crate::parse::Policy;

/// Its type, as applications name it.
pub(super) const TYPE: &str = "replication";

/// More copies of one component are refused.
const KEYS_AT_MOST: usize = 100;

/// The content of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replication {
    /// Its name; one is made up where it has none, as upstream.
    pub(crate) name: String,
    /// Field path.
    pub(crate) path: String,
    /// The keys, one for each copy; templates put them into the names of objects.
    pub(crate) keys: Vec<String>,
    /// Names of components; every component where there is none.
    selector: Vec<String>,
}

impl Replication {
    /// Does it make several of this component?
    pub(crate) fn selects(&self, component: &str) -> bool {
        self.selector.is_empty() || self.selector.iter().any(|name| name == component)
    }
}

/// Reads one policy; what is wrong with it is found with its place.
pub(super) fn read(policy: &Policy, name: String, reader: &mut Reader<'_>) -> Replication {
    let at = reader.properties(policy, &["keys", "selector"]);
    let mut keys = reader.texts(&at, "keys");
    if keys.is_empty() {
        let message = "a replication policy needs keys, one for each copy".to_owned();
        let hint = Some("write them like `keys: [beijing, hangzhou]`".to_owned());
        reader.error(Code::MissingField, at.path("keys"), message, hint);
    }
    if keys.len() > KEYS_AT_MOST {
        let message = format!("{} keys; the limit is {KEYS_AT_MOST}", keys.len());
        reader.error(Code::Limit, at.path("keys"), message, None);
        keys.clear();
    }
    for (index, key) in keys.iter().enumerate() {
        let path = format!("{}[{index}]", at.path("keys"));
        if !names::is_label(key) {
            let message = format!("{key:?} cannot be part of the names of objects");
            let hint = "lower-case letters, digits and inner hyphens, at most 63".to_owned();
            reader.error(Code::WrongType, path, message, Some(hint));
        } else if keys[..index].contains(key) {
            reader.error(Code::DuplicateName, path, format!("key {key:?} is used twice"), None);
        }
    }
    let selector = reader.texts(&at, "selector");
    let components = reader.app.components().iter().map(|component| component.name.as_str());
    if !selector.is_empty() && !components.clone().any(|name| selector.iter().any(|one| one == name)) {
        let hint = crate::nearest::advice(&selector[0], "components", components);
        let error = Diagnostic::error(Code::UnknownReference, "no component selected to replicate");
        reader.found.push(error.hint_opt(hint).at(reader.app.document(), at.path("selector")));
    }
    Replication { name, path: policy.path.clone(), keys, selector }
}
