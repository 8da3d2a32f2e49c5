//! Fields of an object on the way to another version: found and renamed.

use serde_json::{Map, Value as Json};

pub(super) type Fields = Map<String, Json>;

pub(super) fn spec(object: &mut Fields) -> Option<&mut Fields> {
    object.get_mut("spec")?.as_object_mut()
}

/// Moves a field to another name; one that is there already stays.
pub(super) fn rename(fields: &mut Fields, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.entry(new).or_insert(value);
    }
}
