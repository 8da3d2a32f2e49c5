//! Programs in `openapi/` with the schema of `parameter` that the peers' encoder and clean-up give for them.

use std::{fs, path::Path};

use vela_cue::{Source, Sources, export::openapi, parser};

fn schema(text: &str) -> serde_json::Value {
    let source = Source::new("in.cue", text);
    let id = Sources::default().add(source.clone());
    let (file, mistakes) = parser::parse(&source, id);
    assert!(mistakes.is_empty(), "{text}");
    openapi::schema_of_field(&[file], "parameter")
}

#[test]
fn schemas_are_those_of_the_peers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    let (mut count, mut failures) = (0, String::new());
    for entry in fs::read_dir(folder).expect("the folder of programs") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a readable file");
        for case in text.split("-- in.cue --\n").skip(1) {
            let (program, expected) = case.split_once("-- openapi.json --\n").expect("a schema");
            let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
            let found = schema(program);
            count += 1;
            if found != expected {
                failures.push_str(&format!("{program}got {found:#}\nwant {expected:#}\n"));
            }
        }
    }
    assert!(count > 30, "only {count} programs found");
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn without_the_field_any_object_is_admitted() {
    assert_eq!(schema("nop: {}"), serde_json::json!({"type": "object"}));
}
