//! The dry run of each archive in `tests/data/dry_run`: `app.yaml` and `definitions.yaml` give `output`, objects or
//! diagnostics.

use std::fs;
use std::path::{Path, PathBuf};

use vela_engine::{Templates, dry_run, manifest};
use vela_testkit::{Archive, golden};

use crate::snapshots;

fn archives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dry_run");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Every application of the text, rendered with the definitions; diagnostics where that fails.
pub(crate) fn output(app: &str, definitions: &str) -> String {
    let applications = match manifest::read("app.yaml", app) {
        Ok(documents) => documents,
        Err(errors) => return format!("{errors}\n"),
    };
    let snapshot = snapshots::of(definitions);
    let templates = Templates::new();
    let mut text = String::new();
    for application in applications.iter() {
        match dry_run::render(application, &snapshot, &templates) {
            Ok(rendered) => {
                for warning in rendered.warnings() {
                    text += &format!("{warning}\n");
                }
                text += dry_run::text(&rendered).trim_end();
                text += "\n";
            }
            Err(errors) => text += &format!("{errors}\n"),
        }
    }
    text
}

#[test]
fn archives_give_their_output() {
    for path in archives() {
        let mut archive = Archive::parse(&fs::read_to_string(&path).unwrap());
        let output = output(archive.get("app.yaml").unwrap(), archive.get("definitions.yaml").unwrap_or(""));
        archive.set("output", output);
        golden(&path, &archive.to_string());
    }
}

#[test]
fn yaml_reads_back_as_what_was_written() {
    let long = "word ".repeat(60);
    let texts = [
        "",
        "yes",
        "on",
        "y",
        "n",
        "012",
        "0x10",
        "1e3",
        "1_000",
        "~",
        "null",
        "true",
        "- a",
        "a: b",
        "a #b",
        "{",
        "[",
        "*x",
        "&x",
        "!x",
        "%x",
        "@x",
        "`x",
        "'",
        "\"",
        "two\nlines\n",
        "two\nlines",
        "  indented\nmore",
        "trailing \nspace",
        "tab\there",
        "ä…🙂",
        "2026-11-21",
        "12:30",
        ".5",
        "+1",
        "-",
        "?",
        "\u{7}",
        "\r\n",
        " ",
        "#",
        "<<",
        "=",
        &long,
    ];
    for text in texts {
        let value =
            serde_json::json!({"value": text, "list": [text], text: 1, "deep": {"a": [[text], {"b": text}]}});
        let written = dry_run::yaml(&value);
        let read =
            manifest::read("written", &written).map(|documents| documents.as_slice()[0].value().clone());
        assert_eq!(read, Ok(value), "{written}");
    }
}
