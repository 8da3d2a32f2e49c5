//! Manifests: many documents, positions, and every way a text can be bad.

use serde_json::json;
use vela_engine::{Code, manifest};

#[test]
fn documents_keep_the_place_of_every_field() {
    let text = "# one\na: {b: [1, two]}\n---\n\n---\napiVersion: v1\nkind: List\nitems:\n- kind: X\n  metadata: {name: n}\n- kind: Z\n";
    let documents = manifest::read("m.yaml", text).unwrap();
    let documents = documents.as_slice();
    assert_eq!(documents.len(), 3);
    assert_eq!(documents[0].value(), &json!({"a": {"b": [1, "two"]}}));
    assert_eq!(documents[0].places().value("a.b[1]").unwrap().to_string(), "m.yaml:2:12");
    assert_eq!(documents[0].places().key("a.b").unwrap().to_string(), "m.yaml:2:5");
    assert_eq!(documents[1].places().value("metadata.name").unwrap().to_string(), "m.yaml:10:20");
    assert_eq!(documents[2].kind(), "Z");
    // A field that is not there is looked for where it would have to be.
    assert_eq!(documents[1].places().value("metadata.labels").unwrap().to_string(), "m.yaml:10:3");
}

#[test]
fn anchors_merges_and_json_are_read() {
    let text = "base: &b {x: 1, z: 2}\nmore:\n  <<: *b\n  z: 3\n---\n{\"a\": \"\\u00e4\", \"1\": true}\n---\n1: one\nn: bool\n";
    let documents = manifest::read("m", text).unwrap();
    let values: Vec<_> = documents.iter().map(|document| document.value().clone()).collect();
    assert_eq!(values[0], json!({"base": {"x": 1, "z": 2}, "more": {"x": 1, "z": 3}}));
    assert_eq!(values[1], json!({"a": "ä", "1": true}));
    assert_eq!(values[2], json!({"1": "one", "false": "bool"}));
}

#[test]
fn quoted_texts_may_go_on_no_further_in_than_their_field() {
    let text = "m:\n  a:\n    one: \"first\n    second\nthird\n\n  fourth\"\n    two: 2\n---\nb: 'x\ny'\n";
    let documents = manifest::read("m.yaml", text).unwrap();
    let documents = documents.as_slice();
    assert_eq!(documents[0].value(), &json!({"m": {"a": {"one": "first second third\nfourth", "two": 2}}}));
    assert_eq!(documents[0].places().value("m.a.two").unwrap().to_string(), "m.yaml:8:10");
    assert_eq!(documents[1].value(), &json!({"b": "x y"}));
    // However many there are, and however deep.
    let texts: String =
        (0..100).map(|number| format!("- deep:\n    t{number}: \"one\n  two\nthree\"\n")).collect();
    let read = manifest::read("m.yaml", &texts).unwrap();
    assert_eq!(read.as_slice()[0].value()[99], json!({"deep": {"t99": "one two three"}}));
    // But not without end: what is read again and again is counted.
    let many = format!("a: \"x\n{}\"\nb: \"{}\"\n", "y\n".repeat(100), "z".repeat(1 << 20));
    assert!(manifest::read("m.yaml", &many).unwrap_err().to_string().contains("m.yaml:"));
}

#[test]
fn of_a_field_written_twice_the_last_one_holds_with_a_warning() {
    let text =
        "kind: List\napiVersion: v1\nitems:\n- kind: X\n  metadata: {name: n}\n  a: {b: 1}\n  a:\n    b: 2\n";
    let documents = manifest::read("m.yaml", text).unwrap();
    let document = &documents.as_slice()[0];
    assert_eq!(document.value()["a"], json!({"b": 2}));
    assert_eq!(document.places().value("a.b").unwrap().to_string(), "m.yaml:8:8");
    let warnings: Vec<String> = document.warnings().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "m.yaml:7:3: warning[duplicate_name]: field \"a\" is written twice in one mapping; the last one holds\n  \
          help: the other one is at m.yaml:6:3"
        ]
    );
}

#[test]
fn every_syntax_error_is_told_with_its_place() {
    let errors = manifest::read("m.yaml", "a: [1\n---\nb: 1\n- 2\n---\nc: \"x\n").unwrap_err();
    let places: Vec<String> =
        errors.iter().map(|error| error.manifest.clone().unwrap().to_string()).collect();
    assert!(errors.len() >= 2, "{errors}");
    assert!(errors.iter().all(|error| error.code == Code::Syntax), "{errors}");
    assert!(places.iter().any(|place| place.starts_with("m.yaml:4:")), "{errors}");
}

#[test]
fn hostile_texts_meet_limits_not_the_stack_or_memory() {
    let deep = "[".repeat(100_000);
    let nested_map: String = (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 10].join(", ");
        laughs += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let mut ladder = "a0: &a0 [x]\n".to_owned();
    for level in 1..5000 {
        ladder += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    for text in [&deep, &nested_map, &laughs, &ladder] {
        assert!(manifest::read("m", text).is_err());
    }
    let huge = " ".repeat(manifest::TEXT_LIMIT + 1);
    assert_eq!(manifest::read("m", &huge).unwrap_err().iter().next().unwrap().code, Code::Limit);
}
