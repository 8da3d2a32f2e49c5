//! Printed values and formatted files: what the reference prints, and that it can be read back.

use std::{fs, path::Path};

use vela_cue::source::FileId;
use vela_cue::value::Shown;
use vela_cue::{Source, Template, format, parser};

/// Programs with what `cue eval` and `cue export --out cue` of the reference print.
#[test]
fn values_are_printed_as_the_reference_prints_them() {
    let text = include_str!("../printing/cases.txt");
    let mut count = 0;
    for case in text.split("==== ").filter(|case| !case.trim().is_empty()) {
        let mut parts = case.split("---- ");
        let (name, program) = parts.next().and_then(|p| p.split_once('\n')).expect("a name and a program");
        let template = Template::compile(&[Source::new("in.cue", program)]).expect("it compiles");
        for part in parts {
            let (command, expected) = part.split_once('\n').expect("a command and its output");
            let root = template.instantiate(&[]).root();
            let actual = match command {
                "eval" => {
                    let shown = Shown { defaults: true, definitions: true, ..Shown::default() };
                    format::format_file(&root.printed(shown), "").replace('\t', "    ")
                }
                _ => {
                    let shown = Shown { defaults: true, docs: true, ..Shown::default() };
                    format::format_simplified(&root.printed(shown), "")
                }
            };
            assert_eq!(actual, expected, "{name}: {command}");
            count += 1;
        }
    }
    assert!(count >= 8, "only {count} outputs");
}

/// All sources of our own tests and of the parse corpus: formatting twice changes nothing, and what the reference's
/// formatter made is left as it is.
#[test]
fn formatting_is_idempotent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for entry in fs::read_dir(root.join("tests/data")).expect("the folder of archives").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a readable archive");
        let program = text.split("-- in.cue --\n").nth(1).unwrap_or("");
        sources.push(program.split("\n-- ").next().unwrap_or("").to_owned());
    }
    let corpus = vela_testkit::cases::folder("conformance/cue/parse").join("cases.jsonl");
    let text = fs::read_to_string(corpus).expect("the parse corpus");
    sources.extend(text.lines().filter_map(|line| {
        let case: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(case["in"].as_str()?.to_owned())
    }));
    let mut formatted = 0;
    for source in &sources {
        let (file, mistakes) = parser::parse(&Source::new("in.cue", source.clone()), FileId(0));
        if !mistakes.is_empty() {
            continue;
        }
        let once = format::format_file(&file, source);
        let (again, mistakes) = parser::parse(&Source::new("in.cue", once.clone()), FileId(0));
        // A comment behind an operator or bracket can swallow what follows, in the reference too.
        if !mistakes.is_empty() {
            continue;
        }
        formatted += 1;
        assert_eq!(format::format_file(&again, &once), once, "{source}");
    }
    assert!(formatted > 2_000, "only {formatted} sources were formatted");
}

/// `def` says what the files declare once more, so both say the same.
#[test]
fn definitions_are_consolidated_without_being_evaluated() {
    let texts = [
        "package p\n\nimport \"strings\"\n\n// Who.\nname: strings.MinRunes(1)\n#D: {a?: int, ...} // dropped\n",
        "package p\n\n#D: b!: string\nuse: #D & {b: name}\n",
    ];
    let files: Vec<_> =
        texts.iter().map(|text| parser::parse(&Source::new("in.cue", *text), FileId(0)).0).collect();
    let file = vela_cue::export::definition::consolidated(&files).expect("no name stands in the way");
    assert_eq!(
        format::format_file(&file, ""),
        "package p\n\nimport \"strings\"\n\n// Who.\nname: strings.MinRunes(1)\n#D: {\n\ta?: int\n\t...\n}\n#D: b!: string\nuse: #D & {\n\tb: name\n}\n"
    );
    let clashing: Vec<_> = ["let x = 1\na: x\n", "x: 2\n"]
        .iter()
        .map(|text| parser::parse(&Source::new("in.cue", *text), FileId(0)).0)
        .collect();
    assert!(vela_cue::export::definition::consolidated(&clashing).is_none());
}
