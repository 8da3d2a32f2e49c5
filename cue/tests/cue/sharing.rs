//! Values that are references and nothing else share what they refer to, and it must not show.

use serde_json::json;
use vela_cue::value::OriginKind;
use vela_cue::{Input, Source, Template, Value};

fn root(text: &str) -> Value {
    match Template::compile(&[Source::new("in.cue", text)]) {
        Ok(template) => template.instantiate(&[]).root(),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

#[test]
fn a_long_chain_of_references_is_linear_in_both_directions() {
    let length = 20_000;
    let mut down = String::from("a0: {v: 1}\n");
    let mut up = format!("a{length}: {{v: 1}}\n");
    for at in 0..length {
        down.push_str(&format!("a{}: a{at}\n", at + 1));
        up.push_str(&format!("a{at}: a{}\n", at + 1));
    }
    for (text, end) in [(down, length), (up, 0)] {
        let root = root(&text);
        assert!(root.validate(true).is_ok());
        assert_eq!(root.lookup(&format!("a{end}.v")).as_i64(), Some(1));
    }
}

#[test]
fn a_path_and_the_origins_tell_how_a_value_was_reached() {
    let root = root("a: b: {c: *1 | int}\nd: a\ne: {f: d.b}\n");
    let value = root.lookup("e.f.c");
    assert_eq!(value.path(), "e.f.c");
    assert_eq!(root.lookup("d.b.c").path(), "d.b.c");
    assert_eq!(root.lookup("a.b.c").path(), "a.b.c");
    assert_eq!(value.as_i64(), Some(1));
    let places: Vec<(u32, OriginKind)> = value
        .origins()
        .iter()
        .map(|o| (o.span.start, o.kind))
        .filter(|o| o.1 == OriginKind::Reference)
        .collect();
    assert_eq!(places, [(32, OriginKind::Reference)], "the reference `d.b`");
    assert!(value.origins().iter().any(|o| o.kind == OriginKind::Default));
}

#[test]
fn what_is_added_to_one_name_does_not_reach_the_other() {
    let root = root("a: {x: int, y?: int}\nb: a\nc: a & {x: 2}\nb: y: 3\nd: a\n");
    assert_eq!(root.lookup("b.y").as_i64(), Some(3));
    assert!(!root.lookup("a.y").exists());
    assert!(!root.lookup("d.y").exists());
    assert_eq!(root.lookup("c.x").as_i64(), Some(2));
    assert_eq!(root.lookup("a.x").as_i64(), None);
    let filled = root.lookup("d").fill("x", &json!(7));
    assert_eq!(filled.lookup("x").as_i64(), Some(7));
    assert_eq!(root.lookup("a.x").as_i64(), None);
}

#[test]
fn an_input_reaches_all_names_of_a_value() {
    let template =
        Template::compile(&[Source::new("in.cue", "a: {x: int | *1}\nb: a\nc: {d: b}\n")]).expect("compiles");
    let given = json!({"x": 5});
    let root = template.instantiate(&[Input::new("a", &given)]).root();
    assert_eq!(root.to_json().expect("known"), json!({"a": {"x": 5}, "b": {"x": 5}, "c": {"d": {"x": 5}}}));
    let own = template.instantiate(&[Input::new("b", &given)]).root();
    assert_eq!(own.to_json().expect("known"), json!({"a": {"x": 1}, "b": {"x": 5}, "c": {"d": {"x": 5}}}));
}

#[test]
fn structures_that_hold_each_other_are_a_cycle_and_not_a_hang() {
    let cyclic = root("a: {b: c}\nc: {d: a}\n");
    let diagnostics = cyclic.to_json().expect_err("it has no end");
    assert!(diagnostics.iter().all(|d| d.code == vela_cue::Code::StructuralCycle), "{diagnostics}");
    let open = root("a: {v: 1, next?: b}\nb: {w: 2, back?: a}\nc: a & {next: back: v: 1}\n");
    assert!(open.validate(true).is_ok());
    // Optional fields may lead round in circles; an export of them must end.
    assert!(!format!("{:?}", open.syntax()).is_empty());
    assert!(open.tree().is_object());
}

#[test]
fn a_closed_value_stays_closed_under_another_name() {
    let closed = root("#D: {x: int}\na: #D\nb: a & {y: 1}\nc: a\n");
    let diagnostics = closed.validate(false).expect_err("y is not allowed");
    assert_eq!(diagnostics.iter().next().map(|d| d.path.as_str()), Some("b.y"));
    let apart = root("#D: {x: {z: 1}}\nv: {z: 1}\na: #D & {w: v}\nok: v\n");
    let diagnostics = apart.validate(false).expect_err("w is not allowed");
    assert!(diagnostics.iter().all(|d| d.path == "a.w"), "{diagnostics}");
    assert_eq!(apart.lookup("ok.z").as_i64(), Some(1));
}
