//! Lists the fields in which two objects differ, with both values.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::field_path;

/// One field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its path.
    pub path: String,
    /// Value before; absent if there was none.
    pub old: Option<Json>,
    /// Value after; absent if there is none.
    pub new: Option<Json>,
}

/// The differences from `old` to `new`, in the order of paths.
pub fn diff(old: &Json, new: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(Some(old), Some(new), &mut String::new(), &mut found);
    found
}

fn walk(old: Option<&Json>, new: Option<&Json>, path: &mut String, found: &mut Vec<Difference>) {
    let length = path.len();
    match (old, new) {
        (Some(Json::Object(old)), Some(Json::Object(new))) => {
            for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                field_path::push_field(path, name);
                walk(old.get(name), new.get(name), path, found);
                path.truncate(length);
            }
        }
        (Some(Json::Array(old)), Some(Json::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                field_path::push_index(path, index);
                walk(old.get(index), new.get(index), path, found);
                path.truncate(length);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(Difference { path: path.clone(), old: old.cloned(), new: new.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn added_changed_and_removed_fields_are_told() {
        let old = json!({"a": 1, "b": [1, 2], "c": "x"});
        let new = json!({"a": 2, "b": [1], "d": true});
        let paths: Vec<String> =
            super::diff(&old, &new).into_iter().map(|difference| difference.path).collect();
        assert_eq!(paths, ["a", "b[1]", "c", "d"]);
        assert_eq!(super::diff(&old, &old), []);
    }
}
