//! Texts of older releases: what they gave then, they give in their era, and the newest one refuses it with words.

use serde_json::{Value as Json, json};
use vela_cue::{Era, Source, Template};

fn export(text: &str, era: Era) -> Result<Json, String> {
    let source = Source::new("in.cue", text).with_era(era);
    let template = Template::compile(&[source]).map_err(|d| d.to_string())?;
    template.instantiate(&[]).root().to_json().map_err(|d| d.to_string())
}

/// Programs with what both 0.2.2 and 0.9.2 export; 0.17.1 refuses each.
fn only_old() -> Vec<(&'static str, Json)> {
    vec![
        ("a: [1] + [2]", json!({"a": [1, 2]})),
        ("a: 2 * [\"x\"]", json!({"a": ["x", "x"]})),
        ("a: [1] * 0\nb: (a+[2])[0]", json!({"a": [], "b": 2})),
        (
            "a: [1]\nb: a + [if true {2}] + [for x in a {x}]\nc: len(b)",
            json!({"a": [1], "b": [1, 2, 1], "c": 3}),
        ),
        ("a: *[] | [...string]\nb: a + [\"x\"]", json!({"a": [], "b": ["x"]})),
        ("a: [...string] + [\"x\"]", json!({"a": ["x"]})),
        (
            "a: [1, 2] + [{x: 1}]\nb: a[2].x\nc: [for v in a + [3] {v}]",
            json!({"a": [1, 2, {"x": 1}], "b": 1, "c": [1, 2, {"x": 1}, 3]}),
        ),
        ("a: 2 * [1, 2] & [1, 2, 1, 2]", json!({"a": [1, 2, 1, 2]})),
        ("a: [string, 1] + [int]\na: [\"x\", 1, 2]", json!({"a": ["x", 1, 2]})),
        ("_a: [1, 2, 3]\nx: _a[1:] + _a[:1]", json!({"x": [2, 3, 1]})),
        (
            "p: c: [...string]\np: c: [\"a\"]\nb: {if p.c != _|_ {args: p.c + [\"-v\"]}}",
            json!({"p": {"c": ["a"]}, "b": {"args": ["a", "-v"]}}),
        ),
        (
            "x: 10 quo 3\ny: -10 rem 3\nz: -10 mod 3\nw: -10 div 3\nv: 1+10 div 3*2",
            json!({"x": 3, "y": -1, "z": 2, "w": -4, "v": 7}),
        ),
        ("div: 3\nx: 7 div 2\ny: div", json!({"div": 3, "x": 3, "y": 3})),
        ("x: >=1 & <=1\ny: x + 1\nz: \"\\(x)\"", json!({"x": 1, "y": 2, "z": "1"})),
        ("x: >=1 & <=1 & int", json!({"x": 1})),
        ("a: \"\"\"\n\tx {\n\t}\"\"\"", json!({"a": "\tx {\n\t}"})),
        ("a: #\"\"\"\n\tx {\n\t\\#(b)}\"\"\"#\nb: 1", json!({"a": "\tx {\n\t1}", "b": 1})),
        ("a: \"\"\"\nx\\(1)\n  y\"\"\"", json!({"a": "x1\n  y"})),
    ]
}

#[test]
fn an_older_era_gives_what_its_release_gave() {
    for (text, expected) in only_old() {
        for era in [Era::V0_2, Era::V0_9] {
            assert_eq!(export(text, era), Ok(expected.clone()), "{era}: {text}");
        }
        assert!(export(text, Era::V0_17).is_err(), "the newest release refuses {text}");
    }
}

#[test]
fn a_guard_beside_a_type_is_a_bound() {
    let field = "x: *45 | int & {if x < 1 {_|_}, if 99 < x || x == 13 {_|_}}\n";
    for (given, expected) in
        [("", Some(45)), ("x: 5", Some(5)), ("x: 0", None), ("x: 100", None), ("x: 13", None)]
    {
        let text = format!("{field}{given}");
        let exported = export(&text, Era::V0_9);
        match expected {
            Some(number) => assert_eq!(exported, Ok(json!({"x": number})), "{text}"),
            None => assert!(exported.is_err(), "{text}: {exported:?}"),
        }
    }
    // Alone it is a struct, in every era.
    for era in Era::ALL {
        assert_eq!(export("y: 1\nx: {if y < 1 {_|_}}", era), Ok(json!({"y": 1, "x": {}})));
    }
}

#[test]
fn the_newest_release_says_what_to_write_instead() {
    for (text, place, instead) in [
        ("a: [1] + [2]", "in.cue:1:4", "list.Concat"),
        ("a: [1] * 2", "in.cue:1:4", "list.Repeat"),
        ("a: 7 div 2", "in.cue:1:6", "div(7, …)"),
    ] {
        let message = export(text, Era::V0_17).expect_err("refused");
        assert!(message.contains(place) && message.contains(instead), "{text}: {message}");
    }
}

#[test]
fn lists_of_an_older_era_have_a_limit() {
    let message = export("a: 100000000 * [1]", Era::V0_9).expect_err("too long");
    assert!(message.contains("more than"), "{message}");
    assert!(export("a: -1 * [1]", Era::V0_9).is_err());
}
