//! Lists the fields in which two objects differ, with both values: items of lists by their places, or by their names.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

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

/// The same, but items of lists are matched by their names where each has one of its own, and paths say these names.
pub fn by_name(old: &Json, new: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    walk_named(Some(old), Some(new), "", &mut found);
    found
}

fn walk_named(old: Option<&Json>, new: Option<&Json>, path: &str, found: &mut Vec<Difference>) {
    match (old, new) {
        (Some(Json::Object(old)), Some(Json::Object(new))) => {
            for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
                walk_named(old.get(name), new.get(name), &field(path, name), found);
            }
        }
        (Some(Json::Array(old)), Some(Json::Array(new))) => match (named(old), named(new)) {
            (Some(before), Some(after)) => {
                let gone = before.iter().filter(|(name, _)| !after.iter().any(|(other, _)| other == name));
                for (name, _) in after.iter().chain(gone) {
                    let item = |all: &[(&str, &'_ Json)]| all.iter().position(|(other, _)| other == name);
                    let (old, new) =
                        (item(&before).map(|at| before[at].1), item(&after).map(|at| after[at].1));
                    walk_named(old, new, &format!("{path}[{name}]"), found);
                }
            }
            _ => {
                for index in 0..old.len().max(new.len()) {
                    walk_named(old.get(index), new.get(index), &format!("{path}[{index}]"), found);
                }
            }
        },
        (old, new) if old == new => {}
        (old, new) => {
            found.push(Difference { path: path.to_owned(), old: old.cloned(), new: new.cloned() });
        }
    }
}

fn field(path: &str, name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match (is_plain, path) {
        (true, "") => name.to_owned(),
        (true, _) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", json!(name)),
    }
}

/// The items with their names, where each has one of its own.
fn named(items: &[Json]) -> Option<Vec<(&str, &Json)>> {
    let all: Option<Vec<(&str, &Json)>> =
        items.iter().map(|item| Some((item.get("name")?.as_str()?, item))).collect();
    let all = all?;
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    (names.len() == all.len()).then_some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn items_are_matched_by_their_names() {
        let old = json!({"list": [{"name": "a", "x": 1}, {"name": "b"}], "plain": [1], "a/b": 1});
        let new = json!({"list": [{"name": "new"}, {"name": "a", "x": 2}], "plain": [1, 2]});
        let paths: Vec<String> = super::by_name(&old, &new).into_iter().map(|found| found.path).collect();
        assert_eq!(paths, ["[\"a/b\"]", "list[new]", "list[a].x", "list[b]", "plain[1]"]);
    }

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
