//! Each file in `data/` holds `in.cue` and one of: `export.json` (what the reference exports), `ordered.json` (the same,
//! fields in its order), `diagnostics` (`line:column code path` of each) or `tree` (kind, value or error of each node).

use std::{fmt::Write as _, fs, path::Path};

use vela_cue::{Diagnostics, Source, Template, Value, packages::json_marshal_indented};

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

fn value(text: &str) -> Result<Value, Diagnostics> {
    Ok(Template::compile(&[Source::new("in.cue", text)])?.instantiate(&[]).root())
}

fn run(text: &str) -> Result<serde_json::Value, Diagnostics> {
    value(text)?.to_json()
}

/// What `ordered.json` or `tree` demands, against what comes; nothing when they agree or the archive has neither.
fn differs(sections: &[(String, String)]) -> Option<String> {
    let program = section(sections, "in.cue")?;
    let (expected, found) = if let Some(expected) = section(sections, "ordered.json") {
        let data = value(program).and_then(|v| v.to_data());
        (expected, data.map(|data| json_marshal_indented(&data, "    ").expect("JSON") + "\n"))
    } else {
        let mut out = String::new();
        let tree = value(program).map(|v| v.tree());
        let tree = tree.map(|tree| {
            outline(&tree["root"], "", &mut out);
            out
        });
        (section(sections, "tree")?, tree)
    };
    match found {
        Ok(found) if found == expected => None,
        Ok(found) => Some(format!("got\n{found}want\n{expected}")),
        Err(diagnostics) => Some(diagnostics.to_string()),
    }
}

/// One line for each node: path, then kind with value, or error; `^` marks an error that stands below.
fn outline(node: &serde_json::Value, path: &str, out: &mut String) {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let name = if path.is_empty() { "." } else { path };
    let mut line = format!("{name} ");
    match (text("error"), node["childError"].as_bool()) {
        ("", _) => line.push_str(text("kind")),
        (error, Some(true)) => line.push_str(&format!("^{error}")),
        (error, _) => line.push_str(error),
    }
    match &node["value"] {
        serde_json::Value::Null => {}
        value => line.push_str(&format!(" {value}")),
    }
    writeln!(out, "{line}").expect("writes to a string");
    if node["default"].is_object() {
        outline(&node["default"], &format!("{path}*"), out);
    }
    for field in node["fields"].as_array().into_iter().flatten() {
        let mark = match field["type"].as_str() {
            Some("optional") => "?",
            Some("required") => "!",
            _ => "",
        };
        outline(&field["node"], &format!("{path}.{}{mark}", field["name"].as_str().unwrap_or_default()), out);
    }
    for (at, element) in node["elems"].as_array().into_iter().flatten().enumerate() {
        outline(element, &format!("{path}.{at}"), out);
    }
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
        count += 1;
        if section(&sections, "tree").or(section(&sections, "ordered.json")).is_some() {
            if let Some(difference) = differs(&sections) {
                writeln!(failures, "{name}: {difference}").expect("writes");
            }
            continue;
        }
        let result = run(section(&sections, "in.cue").expect("a program"));
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
