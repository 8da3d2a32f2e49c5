//! Templates beside what kubectl answered, and wrong ones.

use serde_json::{Value, json};

use super::Template;

fn answer(template: &str, value: &Value) -> Result<String, String> {
    Template::read(template)?.text(value)
}

/// What kubectl 1.32 answered to `kubectl label --local -f OBJECT x-y=1 --overwrite -o jsonpath=TEMPLATE`; null is a
/// refusal. A third value is our answer where it differs.
#[test]
fn templates_answer_as_those_of_kubectl() {
    let recorded: Value = serde_json::from_str(include_str!("recorded.json")).expect("the recorded answers");
    let cases = recorded["cases"].as_array().expect("cases");
    assert!(cases.len() > 80);
    for case in cases {
        let template = case[0].as_str().expect("a template");
        let expected = case.get(2).unwrap_or(&case[1]);
        let found = answer(template, &recorded["object"]);
        assert_eq!(found.as_deref().ok(), expected.as_str(), "{template}: {found:?}");
    }
}

#[test]
fn a_list_is_seen_as_items() {
    let rows = json!([{"name": "a"}, {"name": "b"}]);
    assert_eq!(answer("{.items[*].name}", &rows).unwrap(), "a b");
    assert_eq!(answer("{range .items[*]}{.name}{\"\\n\"}{end}", &rows).unwrap(), "a\nb\n");
    assert_eq!(answer("{.items[?match(@.name, \"a|c\")].name}", &rows).unwrap(), "a");
}

#[test]
fn a_template_without_braces_is_a_path() {
    let value = json!({"metadata": {"name": "web"}, "data": {"a b": 1}});
    assert_eq!(answer(".metadata.name", &value).unwrap(), "web");
    assert_eq!(answer("{.data['a b']}", &value).unwrap(), "1");
    assert_eq!(answer("{.}", &value).unwrap(), value.to_string());
}

#[test]
fn a_wrong_template_says_where_and_how() {
    let value = json!({"rows": []});
    for (template, expected) in [
        ("", "the template is empty: write a path in braces, such as {.metadata.name}"),
        ("{.a", "{.a: the closing } is missing"),
        ("x", "\"x\" is no path: it begins with a dot, as in {.x}"),
        ("{metadata.name}", "\"metadata.name\" is no path: it begins with a dot, as in {.metadata.name}"),
        ("{range .a}x", "{range .a} is not closed: {end} is missing"),
        ("{range}{end}", "{range} needs a path, such as {range .items[*]}"),
        ("{.a}{end}", "{end} closes no range: there is no {range …} before it"),
        (
            "{\"\\q\"}",
            "{\"\\q\"}: an escape is not known; there are \\n, \\t, \\r, \\\\, \\\", \\' and \\u0041",
        ),
        ("{.a[0}", "path .a[0: [0: the closing ] is missing"),
        ("{.a .b}", "path .a .b: ' ' is not expected before \" .b\": a path has .name, [0], [*] and [?(…)]"),
        ("{.rows[0].x}", "path .rows[0].x: there is no element [0]: the list is empty"),
        ("{[1]}", "path [1]: [1] asks for an element of what is no list"),
    ] {
        assert_eq!(answer(template, &value).unwrap_err(), expected, "{template}");
    }
    let filter = answer("{.rows[?(@.a=~1)]}", &value).unwrap_err();
    assert!(filter.starts_with("path .rows[?(@.a=~1)]: [?(@.a=~1)] is not known: there are [0]"), "{filter}");
}

#[test]
fn long_and_deep_templates_are_refused_or_end() {
    let deep = format!("{}{{.a}}{}", "{range .a}".repeat(9), "{end}".repeat(9));
    assert_eq!(Template::read(&deep).unwrap_err(), "ranges lie more than 8 deep in each other");
    assert!(Template::read(&"{.a}".repeat(5000)).unwrap_err().contains("at most 16384 are read"));
    let filter = |depth: usize| format!("{{.a[?({}@.b==1{})]}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(answer(&filter(1), &json!({"a": [{"b": 1}]})).unwrap(), "{\"b\":1}");
    assert!(Template::read(&filter(240)).unwrap_err().contains("is not known: there are [0]"));
    let long = format!("{{.a[?(@.b==\"{}\")]}}", "x".repeat(600));
    assert!(Template::read(&long).unwrap_err().contains("at most 512 are read"));
    let rows = json!({"a": vec![json!({"a": vec![0; 2000]}); 2000]});
    let many = answer("{..a[*]}{..a[*]}", &rows).unwrap_err();
    assert_eq!(many, "path ..a[*] leads to more than 1000000 values");
}
