//! Each file in `data/` holds `in.cue` and either `export.json` (what the reference exports) or `diagnostics`
//! (`line:column code path` of each).

use std::{fmt::Write as _, fs, path::Path};

use vela_cue::{Diagnostics, Source, Template};

fn sections(text: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("-- ").and_then(|l| l.strip_suffix(" --")) {
            out.push((name.to_owned(), String::new()));
        } else if let Some((_, body)) = out.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    out
}

fn section<'a>(sections: &'a [(String, String)], name: &str) -> Option<&'a str> {
    sections.iter().find(|(n, _)| n == name).map(|(_, body)| body.as_str())
}

fn listed(diagnostics: &Diagnostics) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics.iter() {
        let (_, line, column) = diagnostics.position(diagnostic).unwrap_or(("", 0, 0));
        let path = if diagnostic.path.is_empty() { "-" } else { &diagnostic.path };
        writeln!(out, "{line}:{column} {} {path}", diagnostic.code.as_str()).expect("writes to a string");
    }
    out
}

fn run(text: &str) -> Result<serde_json::Value, Diagnostics> {
    Template::compile(&[Source::new("in.cue", text)])?.instantiate(&[]).root().to_json()
}

#[test]
fn archives_give_the_results_of_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut failures = String::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the folder of archives") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sections = sections(&fs::read_to_string(&path).expect("a readable archive"));
        let result = run(section(&sections, "in.cue").expect("a program"));
        count += 1;
        if let Some(expected) = section(&sections, "export.json") {
            let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
            match result {
                Ok(value) if same(&value, &expected) => {}
                Ok(value) => writeln!(failures, "{name}: got {value}\n  want {expected}").expect("writes"),
                Err(diagnostics) => writeln!(failures, "{name}: {diagnostics}").expect("writes"),
            }
        } else {
            let expected = section(&sections, "diagnostics").expect("a result");
            match result {
                Ok(value) => writeln!(failures, "{name}: exported {value}").expect("writes"),
                Err(diagnostics) if listed(&diagnostics) == expected => {}
                Err(diagnostics) => {
                    writeln!(failures, "{name}: got\n{}want\n{expected}", listed(&diagnostics))
                        .expect("writes");
                }
            }
        }
    }
    assert!(count > 20, "only {count} archives found");
    assert!(failures.is_empty(), "{failures}");
}

/// Equal, numbers by value.
fn same(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}
