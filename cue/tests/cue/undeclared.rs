//! Parts of an input that only the input declares: at every depth, through references, patterns and alternatives.

use serde_json::{Value as Json, json};
use vela_cue::input::Segment;
use vela_cue::{Input, Source, Template};

/// The paths that are told, written `a.0.b`.
fn undeclared(text: &str, given: &Json) -> Vec<String> {
    let template = Template::compile(&[Source::new("t.cue", text)]).expect("compiles");
    let root = template.instantiate(&[Input::new("p", given)]).root();
    let path = |path: &[Segment]| {
        let words = path.iter().map(|segment| match segment {
            Segment::Field(name) => name.clone(),
            Segment::Index(index) => index.to_string(),
        });
        words.collect::<Vec<_>>().join(".")
    };
    root.lookup("p").undeclared(given).iter().map(|undeclared| path(&undeclared.path)).collect()
}

#[test]
fn a_slip_is_told_wherever_it_stands() {
    let given = json!({"a": {"x": 1, "y": 2}, "b": [{"x": 1}, {"y": 2}], "c": {"k": {"y": 1}}, "d": 1});
    let text = "p: {a: {x: int}, b: [...{x?: int}], c: [string]: {x?: int}}";
    assert_eq!(undeclared(text, &given), ["a.y", "b.1.y", "c.k.y", "d"]);
}

#[test]
fn what_is_declared_elsewhere_is_declared() {
    let given = json!({"a": {"x": 1, "y": 2, "z": 3}});
    for text in [
        "p: a: #A & {z: int}\n#A: {x: int, y: int, ...}",
        "p: a: A & B\nA: {x: int}\nB: {y: int, z?: int}",
        "p: a: {x: int, if x > 0 {y: int}, [=~\"^z\"]: int}",
        "p: a: {for k in [\"x\", \"y\", \"z\"] {(k): int}}",
        "p: a: {x: int, ...}",
        "p: a: {...}",
        "p: a: {}",
        "p: a: _",
        "p: _",
    ] {
        assert_eq!(undeclared(text, &given), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn alternatives_that_are_left_declare_what_any_of_them_declares() {
    let text = "p: {x: {n: string, v?: string} | {n: string, from?: {k: string}}}";
    // Both come to the same value; only one of them declares the field.
    assert_eq!(undeclared(text, &json!({"x": {"n": "a", "v": "b"}})), Vec::<String>::new());
    assert_eq!(undeclared(text, &json!({"x": {"n": "a", "from": {"k": "b"}}})), Vec::<String>::new());
    assert_eq!(undeclared(text, &json!({"x": {"n": "a", "valeu": "b"}})), ["x.valeu"]);
    assert_eq!(undeclared(text, &json!({"x": {"n": "a", "from": {"k": "b", "kye": "c"}}})), ["x.from.kye"]);
    // An alternative that fails declares nothing.
    let text = "p: {x: {t: \"a\", only: int} | {t: \"b\", other: int}}";
    assert_eq!(undeclared(text, &json!({"x": {"t": "b", "other": 1, "only": 2}})), ["x.only"]);
    let text = "p: {x: *{a: 1} | {b: 2} | null}, q: p.x";
    assert_eq!(undeclared(text, &json!({"x": {"b": 2, "c": 3}})), ["x.c"]);
    let text = "p: {x: ({a?: int} | {b?: int}) & ({c?: int} | {d?: int})}";
    assert_eq!(undeclared(text, &json!({"x": {"a": 1, "d": 2, "e": 3}})), ["x.e"]);
    assert_eq!(undeclared(text, &json!({"x": {"b": 1, "c": 2}})), Vec::<String>::new());
}

#[test]
fn a_reference_within_the_input_declares_no_field() {
    assert_eq!(undeclared("p: {a: {x?: int}, b: a}", &json!({"a": {"y": 1}, "b": {"y": 1}})), ["a.y", "b.y"]);
}
