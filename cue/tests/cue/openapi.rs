//! Programs in `openapi/` with the schema of `parameter` that the peers' encoder and clean-up give for them.

use std::{fs, path::Path};

use vela_cue::export::openapi::{self, DescriptionMarkers};
use vela_cue::source::Sources;
use vela_cue::{Source, parser};

const USAGE: DescriptionMarkers = DescriptionMarkers { before: "+usage=", behind: "+short" };

fn schema(text: &str, markers: Option<DescriptionMarkers>) -> serde_json::Value {
    let source = Source::new("in.cue", text);
    let id = Sources::default().add(source.clone());
    let (file, mistakes) = parser::parse(&source, id);
    assert!(mistakes.is_empty(), "{text}");
    openapi::schema_of_field(&[file], "parameter", markers)
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
            let found = schema(program, Some(USAGE));
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
    assert_eq!(schema("nop: {}", None), serde_json::json!({"type": "object"}));
}

#[test]
fn a_field_is_described_by_its_comment_or_the_marked_part() {
    let text =
        "parameter: {\n\t// A note for authors.\n\t// +usage=Where it listens\n\t// +short=p\n\tport: int\n}";
    let described = |markers| schema(text, markers)["properties"]["port"]["description"].clone();
    assert_eq!(described(Some(USAGE)), "Where it listens");
    let whole = described(None);
    assert!(
        whole.as_str().is_some_and(|all| all.contains("A note for authors.") && all.contains("+usage=Where")),
        "{whole}"
    );
}
