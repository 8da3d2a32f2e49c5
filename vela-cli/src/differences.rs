//! Two values → the fields in which they differ, for people and for programs. Items of lists are matched by their names.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

use crate::screen::{BAD, GOOD, cut, styled};

/// Columns of a value that is shown in one line.
const LONGEST_VALUE: usize = 160;
/// Lines of a text that are compared one by one; longer ones are compared as a whole.
const MOST_LINES: usize = 5_000;

/// A field that differs.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    path: String,
    before: Option<Value>,
    after: Option<Value>,
}

/// The fields that differ, in the order of their paths.
pub(crate) fn between(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(Some(before), Some(after), "", &mut found);
    found
}

fn walk(before: Option<&Value>, after: Option<&Value>, path: &str, found: &mut Vec<Difference>) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for name in names {
                walk(before.get(name), after.get(name), &field(path, name), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => match (named(before), named(after)) {
            (Some(old), Some(new)) => {
                let gone = old
                    .iter()
                    .map(|(name, _)| *name)
                    .filter(|name| !new.iter().any(|(other, _)| other == name));
                for name in new.iter().map(|(name, _)| *name).chain(gone) {
                    let item = |all: &[(&str, &'_ Value)]| all.iter().position(|(other, _)| *other == name);
                    let (old_item, new_item) =
                        (item(&old).map(|at| old[at].1), item(&new).map(|at| new[at].1));
                    walk(old_item, new_item, &format!("{path}[{name}]"), found);
                }
            }
            _ => {
                for index in 0..before.len().max(after.len()) {
                    walk(before.get(index), after.get(index), &format!("{path}[{index}]"), found);
                }
            }
        },
        (before, after) if before == after => {}
        (before, after) => {
            found.push(Difference { path: path.to_owned(), before: before.cloned(), after: after.cloned() });
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
fn named(items: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let all: Option<Vec<(&str, &Value)>> =
        items.iter().map(|item| Some((item.get("name")?.as_str()?, item))).collect();
    let all = all?;
    let names: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    (names.len() == all.len()).then_some(all)
}

/// The value without the content of the Secrets in it, whether it is one or holds manifests of some. Equal contents look
/// alike, different ones do not.
pub(crate) fn concealed(value: &Value) -> Value {
    let is_secret = value["kind"] == "Secret" && value["apiVersion"] == "v1";
    let field = |(name, value): (&String, &Value)| {
        let contents = ["data", "stringData"].contains(&name.as_str()).then(|| value.as_object()).flatten();
        let value = match contents.filter(|_| is_secret) {
            Some(contents) => {
                let hidden = contents.iter().map(|(key, secret)| (key.clone(), json!(fingerprint(secret))));
                Value::Object(hidden.collect())
            }
            None => concealed(value),
        };
        (name.clone(), value)
    };
    match value {
        Value::Object(fields) => Value::Object(fields.iter().map(field).collect()),
        Value::Array(items) => items.iter().map(concealed).collect(),
        other => other.clone(),
    }
}

/// Tells two secrets apart without saying anything of them.
fn fingerprint(secret: &Value) -> String {
    use std::hash::{BuildHasher as _, RandomState};
    use std::sync::OnceLock;
    static SEED: OnceLock<RandomState> = OnceLock::new();
    let digest = SEED.get_or_init(RandomState::new).hash_one(secret.to_string());
    format!("(secret, {:04x} in this run)", digest & 0xffff)
}

/// The differences for people, set in below a heading.
pub(crate) fn render(differences: &[Difference]) -> String {
    differences.iter().map(line).collect()
}

/// The differences for programs.
pub(crate) fn data(differences: &[Difference]) -> Value {
    let one = |difference: &Difference| {
        let Difference { path, before, after } = difference;
        let mut value = Map::new();
        value.insert("path".to_owned(), json!(path));
        value.extend(before.clone().map(|before| ("before".to_owned(), before)));
        value.extend(after.clone().map(|after| ("after".to_owned(), after)));
        Value::Object(value)
    };
    differences.iter().map(one).collect()
}

fn line(difference: &Difference) -> String {
    let Difference { path, before, after } = difference;
    match (before, after) {
        (Some(Value::String(before)), Some(Value::String(after)))
            if before.contains('\n') || after.contains('\n') =>
        {
            format!("  ~ {path}:\n{}", lines(before, after))
        }
        (Some(before), Some(after)) => {
            format!("  ~ {path}: {} → {}\n", styled(BAD, &shown(before)), styled(GOOD, &shown(after)))
        }
        (None, Some(after)) => format!("  + {path}: {}\n", styled(GOOD, &shown(after))),
        (Some(before), None) => format!("  - {path}: {}\n", styled(BAD, &shown(before))),
        (None, None) => String::new(),
    }
}

/// The lines of a text that went and came.
fn lines(before: &str, after: &str) -> String {
    if before.lines().count().max(after.lines().count()) > MOST_LINES {
        return format!("      a text of {} bytes → one of {} bytes\n", before.len(), after.len());
    }
    let compared = TextDiff::from_lines(before, after);
    let changes = compared.iter_all_changes().filter_map(|change| {
        let text = cut(change.value().trim_end_matches('\n'), LONGEST_VALUE);
        match change.tag() {
            ChangeTag::Delete => Some(format!("      {}\n", styled(BAD, &format!("- {text}")))),
            ChangeTag::Insert => Some(format!("      {}\n", styled(GOOD, &format!("+ {text}")))),
            ChangeTag::Equal => None,
        }
    });
    changes.collect()
}

fn shown(value: &Value) -> String {
    cut(&value.to_string(), LONGEST_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_matched_by_name_and_texts_by_line() {
        let before = json!({"list": [{"name": "a", "x": 1}, {"name": "b"}], "plain": [1], "same": true, "text": "a\nb\n"});
        let after = json!({"list": [{"name": "new"}, {"name": "a", "x": 2}], "plain": [1, 2], "same": true, "text": "a\nc\n", "a/b": 1});
        let found = between(&before, &after);
        let shown = anstream::adapter::strip_str(&render(&found)).to_string();
        let expected = "  + [\"a/b\"]: 1\n  + list[new]: {\"name\":\"new\"}\n  ~ list[a].x: 1 → 2\n  - list[b]: {\"name\":\"b\"}\n  \
                        + plain[1]: 2\n  ~ text:\n      - b\n      + c\n";
        assert_eq!(shown, expected);
        assert_eq!(data(&found)[2], json!({"path": "list[a].x", "before": 1, "after": 2}));
        assert!(between(&before, &before).is_empty());
    }
}
