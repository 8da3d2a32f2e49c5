//! What `cue-eval` reads beside its inputs: packages of the module, replaced ones, and files that are embedded.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const MODULE: (&str, &str) =
    ("cue.mod/module.cue", "module: \"example.com/main@v0\"\nlanguage: version: \"v0.17.0\"\n");

/// Runs the command in a new folder with these files: its standard output, or what it says is wrong.
fn run(name: &str, files: &[(&str, &str)], arguments: &[&str]) -> Result<Value, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cue-modules").join(name);
    // What an earlier run left behind; on the first there is nothing.
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_cue-eval"))
        .args(arguments)
        .current_dir(&folder)
        .output()
        .expect("a process");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn a_module_is_replaced_by_a_folder() {
    let main = "package main\nimport (\n\"example.com/dep@v0:lib\"\n\"example.com/dep/sub\"\n)\nout: [lib.value, sub.value]\n";
    let dependency = "deps: \"example.com/dep@v0\": {v: \"v0.1.0\", replaceWith: \"./local\"}\n";
    let files = [
        MODULE,
        ("main.cue", main),
        ("local/lib.cue", "package lib\nimport \"example.com/dep/sub\"\nvalue: \"lib \" + sub.value\n"),
        ("local/sub/sub.cue", "package sub\nvalue: \"local\"\n"),
        ("cue.mod/pkg/example.com/dep/sub/sub.cue", "package sub\nvalue: \"vendored\"\n"),
    ];
    let export = ["export", "main.cue"];
    let local: Vec<_> = files.iter().copied().chain([("cue.mod/local-module.cue", dependency)]).collect();
    assert_eq!(run("replaced", &local, &export), Ok(json!({"out": ["lib local", "local"]})));
    let unlike = dependency.replace("@v0", "@v1");
    let other: Vec<_> = files.iter().copied().chain([("cue.mod/local-module.cue", &*unlike)]).collect();
    let message = run("other-major", &other, &export).expect_err("v0 is not replaced");
    assert!(message.contains("\"example.com/dep@v0:lib\" is not known"), "{message}");
}

#[test]
fn a_module_is_replaced_by_a_vendored_one() {
    let files = [
        MODULE,
        ("main.cue", "package main\nimport \"example.com/dep/sub\"\nout: sub.value\n"),
        ("cue.mod/local-module.cue", "deps: \"example.com/dep@v0\": replaceWith: \"example.com/fork@v0\"\n"),
        ("cue.mod/pkg/example.com/fork/sub/sub.cue", "package sub\nvalue: \"fork\"\n"),
    ];
    assert_eq!(run("fork", &files, &["export", "main.cue"]), Ok(json!({"out": "fork"})));
}

#[test]
fn a_broken_file_of_the_module_is_told_with_its_place() {
    let files = [
        MODULE,
        ("main.cue", "package main\nimport \"example.com/dep/sub\"\nout: sub.value\n"),
        ("cue.mod/local-module.cue", "deps: {\n\t\"a@v0\": replaceWith: nowhere\n}\n"),
    ];
    let message = run("broken", &files, &["export", "main.cue"]).expect_err("the file is wrong");
    assert!(message.contains("cue.mod/local-module.cue:2:23"), "{message}");
}

/// A folder with one file of each kind, and the fields that embed them.
fn embedding(fields: &str) -> Vec<(&'static str, String)> {
    let files = [
        MODULE,
        ("a.json", "{\"x\": 1.50, \"y\": [true, null, \"\\\\(z)\"]}"),
        ("b.yaml", "data: !!binary aGk=\n"),
        ("c.toml", "n = 3\n"),
        ("d.txt", "one\ntwo\n"),
        ("e.bin", "\u{1}a'\\"),
        ("y/1.json", "1"),
        ("y/2.json", "2"),
        ("y/.3.json", "3"),
        ("y/z/4.json", "4"),
        ("two.yaml", "1\n---\n2\n"),
        ("other/cue.mod/module.cue", "module: \"example.com/other@v0\"\n"),
        ("other/x.json", "1"),
    ];
    let main = format!("@extern(embed)\npackage main\n{fields}\n");
    files.into_iter().map(|(name, text)| (name, text.to_owned())).chain([("main.cue", main)]).collect()
}

fn embedded(name: &str, fields: &str, input: &str) -> Result<Value, String> {
    let files = embedding(fields);
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    run(name, &files, &["export", input])
}

#[test]
fn files_are_embedded_where_fields_ask_for_them() {
    let fields = "a: _ @embed(file=\"a.json\")\nb: _ @embed(file=b.yaml)\nc: {n: int} @embed(file=\"c.toml\")\n\
        d: string @embed(file=\"a.json\", type=text)\ne: bytes @embed(file=\"e.bin\", type=binary)\n\
        f: g: {\n\t@embed(file=\"c.toml\")\n\tm: 1\n}\nt: _ @embed(file=\"d.txt\") @other(x)\n\
        all: _ @embed(glob=\"y/*.json\")\nhidden: _ @embed(glob=\"y/.*.json\")\n\
        none: _ @embed(glob=\"nowhere/*.json\", allowEmptyGlob)\nlast: a.x";
    let expected = json!({
        "a": {"x": 1.5, "y": [true, null, "\\(z)"]},
        "b": {"data": "aGk="},
        "c": {"n": 3},
        "d": "{\"x\": 1.50, \"y\": [true, null, \"\\\\(z)\"]}",
        "e": "AWEnXA==",
        "f": {"g": {"n": 3, "m": 1}},
        "t": "one\ntwo\n",
        "all": {"y/1.json": 1, "y/2.json": 2},
        "hidden": {"y/.3.json": 3},
        "none": {},
        "last": 1.5,
    });
    assert_eq!(embedded("embedded", fields, "."), Ok(expected));
}

#[test]
fn files_that_are_named_one_by_one_embed_nothing() {
    let message = embedded("named", "a: _ @embed(file=\"a.json\")", "main.cue").expect_err("no file is read");
    assert!(message.contains("the folder of the package") && message.contains("main.cue:1:1"), "{message}");
}

#[test]
fn files_are_of_one_package() {
    let files = [
        ("a.cue", "package a\nx: 1\n"),
        ("b.cue", "package b\ny: 2\n"),
        ("c.cue", "package _\nz: 3\n"),
        ("d.cue", "v: 4\n"),
    ];
    let message = run("packages", &files, &["export", "a.cue", "b.cue"]).expect_err("there are two packages");
    assert!(
        message.contains("found packages \"a\" (a.cue) and \"b\" (b.cue)") && message.contains("b.cue:1:9"),
        "{message}"
    );
    let together = run("one-package", &files, &["export", "a.cue", "c.cue", "d.cue"]);
    assert_eq!(together, Ok(json!({"x": 1, "z": 3, "v": 4})));
}

#[test]
fn relative_imports_are_refused() {
    let files = [MODULE, ("main.cue", "import \"./y\"\nx: y.z\n"), ("y/y.cue", "package y\nz: 1\n")];
    let message = run("relative", &files, &["export", "main.cue"]).expect_err("the path is relative");
    assert!(
        message.contains("main.cue:1:8") && message.contains("relative import paths are not allowed"),
        "{message}"
    );
}

#[test]
fn every_wrong_attribute_is_told_with_its_place() {
    let cases = [
        ("@embed()", "needs file or glob"),
        ("@embed(file=\"a.json\", glob=\"*.json\")", "not both"),
        ("@embed(file=\"a.json\", allowEmptyGlob)", "belongs to glob"),
        ("@embed(file=\"a.json\", form=x)", "not \"form=x\""),
        ("@embed(file=\"../a.json\")", "leads out"),
        ("@embed(file=\"./a.json\")", "shortest form"),
        ("@embed(file=\"/etc/passwd\", type=text)", "only files below"),
        ("@embed(file=\"none.json\")", "none.json"),
        ("@embed(file=\"y\", type=json)", "is a folder"),
        ("@embed(file=\"e.bin\")", "does not tell"),
        ("@embed(file=\"a.json\", type=cue)", "\"cue\" cannot be embedded"),
        ("@embed(file=\"other/x.json\")", "another module"),
        ("@embed(file=\"d.txt\", type=json)", "d.txt"),
        ("@embed(file=\"two.yaml\")", "holds 2 values"),
        ("@embed(glob=\"n*.json\")", "no file matches"),
        ("@embed(glob=\"y/*\")", "type=…"),
        ("@embed(glob=\"[.json\")", "no pattern"),
    ];
    let fields: Vec<_> =
        cases.iter().enumerate().map(|(at, (text, _))| format!("f{at}: _ {text}\n")).collect();
    let message = embedded("wrong", &fields.concat(), ".").expect_err("all are wrong");
    for (at, (text, words)) in cases.iter().enumerate() {
        let place = format!("main.cue:{}:", at + 3);
        assert!(
            message.contains(&place) && message.contains(words),
            "{text}: no {place} {words} in\n{message}"
        );
    }
}

#[test]
fn only_a_module_embeds() {
    let files =
        [("main.cue", "@extern(embed)\npackage main\na: _ @embed(file=\"b.json\")\n"), ("b.json", "1")];
    let message = run("no-module", &files, &["export", "."]).expect_err("there is no module");
    assert!(message.contains("not in a module"), "{message}");
}
