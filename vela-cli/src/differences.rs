//! Two values → the fields in which they differ, for people and for programs. Items of lists are matched by their names.

use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};
pub(crate) use vela_engine::diff::{Difference, by_name as between};

use crate::screen::{BAD, GOOD, cut, styled};

/// Columns of a value that is shown in one line.
const LONGEST_VALUE: usize = 160;
/// Lines of a text that are compared one by one; longer ones are compared as a whole.
const MOST_LINES: usize = 5_000;

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
        let Difference { path, old: before, new: after } = difference;
        let mut value = Map::new();
        value.insert("path".to_owned(), json!(path));
        value.extend(before.clone().map(|before| ("before".to_owned(), before)));
        value.extend(after.clone().map(|after| ("after".to_owned(), after)));
        Value::Object(value)
    };
    differences.iter().map(one).collect()
}

fn line(difference: &Difference) -> String {
    let Difference { path, old: before, new: after } = difference;
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
