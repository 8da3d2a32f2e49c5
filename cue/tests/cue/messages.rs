//! What people read: each archive in `messages/` is a program that fails and the text, or the JSON, that says so.
//!
//! `UPDATE=1` writes them anew; the difference is read before it is committed.

use std::{fs, path::Path};

use vela_cue::{Code, Diagnostics, Format, Source, Template};
use vela_testkit::{Archive, golden};

fn failure(archive: &Archive) -> Diagnostics {
    let sources: Vec<Source> = archive
        .files
        .iter()
        .filter_map(|file| {
            Some(Source::new(&file.name, &file.text).with_format(Format::of_name(&file.name)?))
        })
        .collect();
    let result = Template::compile(&sources).and_then(|t| t.instantiate(&[]).root().to_json());
    result.expect_err("the program fails")
}

#[test]
fn messages_are_what_was_agreed_on() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the folder of messages").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let mut codes = Vec::new();
    for path in paths {
        let mut archive = Archive::parse(&fs::read_to_string(&path).expect("a readable archive"));
        let found = failure(&archive);
        codes.extend(found.iter().map(|d| d.code));
        archive.set("text", found.render(false));
        archive.set("lines", found.to_string());
        if archive.get("json").is_some() {
            archive.set("json", format!("{:#}", found.to_json()));
        }
        golden(&path, &archive.to_string());
    }
    let unmet: Vec<&str> =
        Code::ALL.iter().filter(|code| !codes.contains(code)).map(|code| code.as_str()).collect();
    assert_eq!(unmet, ["eval"], "codes without a message among the archives");
}

#[test]
fn a_long_list_is_cut_and_counted() {
    let text: String = (0..150).map(|i| format!("f{i}: int & \"x\"\n")).collect();
    let template = Template::compile(&[Source::new("in.cue", text)]).expect("compiles");
    let found = template.instantiate(&[]).root().validate(false).expect_err("150 conflicts");
    assert_eq!((found.len(), found.more()), (100, 50));
    assert!(found.to_string().ends_with("\nand 50 more"), "{found}");
}
