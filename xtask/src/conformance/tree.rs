//! Compares two evaluation trees: kind, value, default and error class of every field.
//!
//! Level 2 of the scorer that lies beside the cases: hidden fields and definitions count, defaults count, and an
//! incomplete value is told from a contradiction. Optional fields and constraints (level 3) do not count yet.

use std::collections::BTreeMap;

use super::json::Json;

/// What is known of one place in the tree.
type Places = BTreeMap<String, String>;

/// Whether the tree `actual` says the same as `expected`.
pub(crate) fn same(actual: &Json, expected: &Json) -> bool {
    match (actual.get("buildError"), expected.get("buildError")) {
        (a, Some(_)) => a.is_some(),
        (Some(_), None) => false,
        (None, None) => places(actual) == places(expected),
    }
}

/// The first place that differs, and how.
pub(crate) fn difference(actual: &Json, expected: &Json) -> String {
    match (actual.get("buildError"), expected.get("buildError")) {
        (None, Some(_)) => return "the program compiles and must not".to_owned(),
        (Some(_), None) => return "the program does not compile".to_owned(),
        _ => {}
    }
    let (actual, expected) = (places(actual), places(expected));
    let all: std::collections::BTreeSet<&String> = actual.keys().chain(expected.keys()).collect();
    let at = |places: &Places, path: &str| places.get(path).map_or("nothing", String::as_str).to_owned();
    let first = all.into_iter().find(|path| actual.get(*path) != expected.get(*path));
    first.map_or_else(String::new, |path| {
        format!("at {path:?}: {} instead of {}", at(&actual, path), at(&expected, path))
    })
}

fn places(tree: &Json) -> Places {
    let mut places = Places::new();
    if let Some(root) = tree.get("root") {
        visit(root, "", &mut places);
    }
    places
}

fn visit(node: &Json, path: &str, places: &mut Places) {
    // The recorder stops at a depth; what lies below was not seen by anybody.
    if node.get("cut").is_some_and(Json::is_true) || *node == Json::Null {
        return;
    }
    let kind = node.get("kind").and_then(Json::as_str).unwrap_or_default();
    let says = match node.get("error").and_then(Json::as_str) {
        Some("incomplete" | "cycle") => "error incomplete".to_owned(),
        Some(_) => "error fatal".to_owned(),
        None => {
            let value = node.get("value").map(|v| {
                match v.as_str().filter(|_| is_number(kind)).and_then(Json::number) {
                    Some(number) => format!("{number:?}"),
                    None => format!("{v:?}"),
                }
            });
            format!("kind {kind} value {value:?}")
        }
    };
    places.insert(path.to_owned(), says);
    if let Some(default) = node.get("default") {
        visit(default, &format!("{path}/*"), places);
    }
    for field in node.get("fields").map(Json::items).unwrap_or_default() {
        let name = field.get("name").and_then(Json::as_str).unwrap_or_default();
        if field.get("type").and_then(Json::as_str) == Some("regular")
            && let Some(child) = field.get("node")
        {
            visit(child, &format!("{path}/{name}"), places);
        }
    }
    for (index, element) in node.get("elems").map(Json::items).unwrap_or_default().iter().enumerate() {
        visit(element, &format!("{path}/[{index}]"), places);
    }
}

fn is_number(kind: &str) -> bool {
    matches!(kind, "int" | "float" | "number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same_text(actual: &str, expected: &str) -> bool {
        same(&Json::parse(actual).unwrap(), &Json::parse(expected).unwrap())
    }

    #[test]
    fn error_classes_and_values_count_but_messages_do_not() {
        let incomplete = r#"{"root":{"error":"incomplete","msg":"a"}}"#;
        let cycle = r#"{"root":{"error":"cycle","msg":"b"}}"#;
        let fatal = r#"{"root":{"error":"eval"}}"#;
        assert!(same_text(incomplete, cycle));
        assert!(!same_text(incomplete, fatal));
        let one = r#"{"root":{"kind":"struct","fields":[{"name":"a","type":"regular","node":{"kind":"int","value":"1"}}]}}"#;
        let two = one.replace("\"1\"", "\"2\"");
        assert!(same_text(one, one));
        assert!(!same_text(one, &two));
    }
}
