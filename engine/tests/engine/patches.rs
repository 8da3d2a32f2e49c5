//! Patches written in CUE on workloads written in CUE: what comments, open lists and defaults do.

use serde_json::{Value as Json, json};
use vela_engine::render::single;

fn patched(base: &str, patch: &str) -> Option<Json> {
    single::patches(base, &[patch]).ok()
}

const TWO: &str = r#"c: [{name: "b", x: 1}, {name: "a", y: 1}]"#;

#[test]
fn a_marker_counts_where_it_belongs_to_the_field() {
    let expected = Some(json!({"c": [{"name": "b", "x": 1}, {"name": "a", "y": 1, "z": 1}]}));
    let change = r#"c: [{name: "a", z: 1}]"#;
    assert_eq!(patched(TWO, &format!("patch: {{\n// +patchKey=name\n{change}\n}}")), expected);
    // Inherited from above, brought by a reference, inside a guard.
    assert_eq!(patched(TWO, &format!("// +patchKey=name\npatch: {{\n{change}\n}}")), expected);
    assert_eq!(patched(TWO, &format!("patch: #P\n#P: {{\n// +patchKey=name\n{change}\n}}")), expected);
    assert_eq!(patched(TWO, &format!("patch: {{if true {{\n// +patchKey=name\n{change}\n}}}}")), expected);
    // A comment parted from the field by an empty line belongs to no field.
    assert_eq!(patched(TWO, &format!("patch: {{\n// +patchKey=name\n\n{change}\n}}")), None);
}

#[test]
fn a_key_that_is_still_a_choice_matches_by_position() {
    let base = r#"c: [{name: *"a" | string, x: 1}]"#;
    let change = |name: &str| format!("patch: {{\n// +patchKey=name\nc: [{{name: {name}, y: 1}}]\n}}");
    assert_eq!(patched(base, &change("\"b\"")), Some(json!({"c": [{"name": "b", "x": 1, "y": 1}]})));
    let base = r#"c: [{name: "a", x: 1}]"#;
    assert_eq!(
        patched(base, &change("*\"b\" | string")),
        Some(json!({"c": [{"name": "a", "x": 1, "y": 1}]}))
    );
    let expected = json!({"c": [{"name": "a", "x": 1}, {"name": "b", "y": 1}]});
    assert_eq!(patched(base, &change("\"b\"")), Some(expected));
}

#[test]
fn a_list_of_a_type_changes_every_element() {
    let expected = json!({"c": [{"name": "b", "x": 1, "z": 2}, {"name": "a", "y": 1, "z": 2}]});
    for marker in ["", "// +patchKey=name"] {
        let change = format!("patch: {{\n{marker}\nc: [...{{z: 2}}]\n}}");
        assert_eq!(patched(TWO, &change), Some(expected.clone()), "{marker}");
    }
    assert_eq!(patched(TWO, "patch: c: [...{x: 2}]"), None);
}

#[test]
fn keys_inside_an_element_count_with_further_elements() {
    let base = r#"c: [{name: "a", env: [{name: "A", value: "1"}]}, {name: "b"}]"#;
    let change = "patch: c: [{\n// +patchKey=name\nenv: [{name: \"B\", value: \"2\"}]\n}, ...]";
    let both = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]);
    assert_eq!(patched(base, change), Some(json!({"c": [{"name": "a", "env": both}, {"name": "b"}]})));
    let nothing = "patch: c: [{\n// +patchKey=name\nenv: []\n}, ...]";
    let same = json!({"c": [{"name": "a", "env": [{"name": "A", "value": "1"}]}, {"name": "b"}]});
    assert_eq!(patched(base, nothing), Some(same));
    // Without `...` a list of another length is another list.
    assert_eq!(patched(base, "patch: c: [{x: 1}]"), None);
    // What the patch says of further elements holds for those it does not name.
    let typed = "patch: c: [{x: 1}, ...{y: 2}]";
    assert_eq!(
        patched(r#"c: [{name: "a"}, {name: "b"}]"#, typed),
        Some(json!({"c": [{"name": "a", "x": 1}, {"name": "b", "y": 2}]}))
    );
    assert_eq!(patched(r#"c: [{name: "a"}, {y: 1}]"#, typed), None);
}

#[test]
fn a_patch_of_all_elements_holds_for_elements_of_later_ones() {
    let every = "patch: c: [...{z: 2}]";
    let add = "patch: {\n// +patchKey=name\nc: [{name: \"n\"}]\n}";
    let expected =
        json!({"c": [{"name": "b", "x": 1, "z": 2}, {"name": "a", "y": 1, "z": 2}, {"name": "n", "z": 2}]});
    assert_eq!(single::patches(TWO, &[every, add]).ok(), Some(expected));
    let other = "patch: {\n// +patchKey=name\nc: [{name: \"n\", z: 3}]\n}";
    assert!(single::patches(TWO, &[every, other]).is_err());
    // An object may say so itself.
    let base = "c: [{name: \"a\"}, ...{z: 2}]";
    assert_eq!(patched(base, add), Some(json!({"c": [{"name": "a"}, {"name": "n", "z": 2}]})));
}

#[test]
fn what_is_open_stays_open_beside_a_type_of_all_elements() {
    let base = "c: [{name: \"a\", size: int}]";
    let (every, close) = ("patch: c: [...{z: 2}]", "patch: c: [{size: 3}]");
    let expected = json!({"c": [{"name": "a", "size": 3, "z": 2}]});
    assert_eq!(single::patches(base, &[every, close]).ok(), Some(expected));
    assert!(single::patches(base, &[every]).is_err());
}

#[test]
fn strategies_replace_what_unification_cannot() {
    let base = "a: 1\nb: {c: 2, d: 3}\nl: [1, 2, 3]";
    let retain = "patch: {\n// +patchStrategy=retainKeys\na: 5\n// +patchStrategy=retainKeys\nb: {c: 3}\n}";
    assert_eq!(patched(base, retain), Some(json!({"a": 5, "b": {"c": 3}, "l": [1, 2, 3]})));
    let replace = "patch: {\n// +patchStrategy=replace\nl: [4]\n}";
    assert_eq!(patched(base, replace), Some(json!({"a": 1, "b": {"c": 2, "d": 3}, "l": [4]})));
    let merge = "// +patchStrategy=jsonMergePatch\npatch: {a: null, l: [0]}";
    assert_eq!(patched(base, merge), Some(json!({"b": {"c": 2, "d": 3}, "l": [0]})));
    let steps =
        "// +patchStrategy=jsonPatch\npatch: {operations: [{op: \"replace\", path: \"/l/1\", value: 7}]}";
    assert_eq!(patched(base, steps), Some(json!({"a": 1, "b": {"c": 2, "d": 3}, "l": [1, 7, 3]})));
    assert_eq!(
        patched(base, "patch: l: [1, 2, 3, 4]").map(|made| made["l"].clone()),
        Some(json!([1, 2, 3, 4]))
    );
    assert_eq!(patched(base, "patch: l: [1, 2]"), None);
    assert_eq!(patched(base, "patch: a: 2"), None);
}
