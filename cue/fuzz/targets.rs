//! Any bytes in; nothing out: each target hands them to one part of the room, which may refuse them and nothing else.
//!
//! A panic, an endless loop, memory without bound and a stack that overflows are the mistakes to be found. Shared by the
//! runner (`cargo xtask fuzz`) and the tests that replay what was found.

use vela_cue::packages::{json_marshal, json_read, yaml_marshal_stream, yaml_read_stream};
use vela_cue::source::FileId;
use vela_cue::{Budget, Source, Template, export, format, literal, parser, regexp::Regexp};

/// The parts that take input from outside.
pub(crate) const TARGETS: [&str; 8] =
    ["parse", "literal", "evaluate", "json", "yaml", "toml", "template", "regexp"];

/// Small, so that a program which does not end is told from one that takes its time.
fn budget() -> Budget {
    Budget { steps: 100_000, depth: 200, output: 1 << 20, ..Budget::default() }
}

/// What a template of text is filled with.
const VALUES: &str = r#"{a: 1, b: ["x", "y"], c: {d: "e", f: 2.5}, g: null, h: true, s: "text"}"#;

/// Most matches asked of a pattern.
const MATCHES: usize = 100;

/// Hands the bytes to a target; an unknown one takes nothing.
pub(crate) fn run(target: &str, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match target {
        "parse" => parse(&text),
        "literal" => literal(&text),
        "evaluate" => evaluate(&text),
        "json" => json(input),
        "yaml" => yaml(&text),
        "toml" => call("encoding/toml", "toml.Unmarshal", &text, ""),
        "template" => call("text/template", "template.Execute", &text, VALUES),
        "regexp" => regexp(&text),
        _ => {}
    }
}

fn parse(text: &str) {
    let source = Source::new("in.cue", text);
    let (file, mistakes) = parser::parse(&source, FileId(0));
    if !mistakes.is_empty() {
        return;
    }
    let formatted = format::format_file(&file, text);
    let (_, mistakes) = parser::parse(&Source::new("in.cue", formatted.as_str()), FileId(0));
    assert!(mistakes.is_empty(), "formatted text does not parse: {formatted:?}");
    let _ = export::openapi::schema_of_field(&[file], "parameter", None);
}

fn literal(text: &str) {
    let _ = literal::unquote(text);
    let _ = literal::parse_number(text);
    let quoted = literal::quote_string(text);
    let read = literal::unquote(&quoted).map(|(_, bytes)| bytes);
    assert_eq!(read.ok().as_deref(), Some(text.as_bytes()), "quoting {text:?} gives {quoted}");
}

fn evaluate(text: &str) {
    let template = match Template::compile(&[Source::new("in.cue", text)]) {
        Ok(template) => template.with_budget(budget()),
        Err(diagnostics) => {
            let _ = (diagnostics.render(false), diagnostics.to_json());
            return;
        }
    };
    let root = template.instantiate(&[]).root();
    if let Err(diagnostics) = root.to_json() {
        let _ = (diagnostics.render(false), diagnostics.to_json());
    }
    let _ = root.validate(false);
    let _ = root.tree();
    let _ = format::format_expr(&root.syntax());
}

fn json(input: &[u8]) {
    let Ok(data) = json_read(input) else { return };
    let Ok(text) = json_marshal(&data) else { return };
    assert!(json_read(text.as_bytes()).is_ok(), "written JSON is not read again: {text}");
}

fn yaml(text: &str) {
    let Ok(documents) = yaml_read_stream(text) else { return };
    let Ok(written) = yaml_marshal_stream(&documents) else { return };
    // The reference writes the name of a merge without quotes too.
    assert!(
        written.contains("<<") || yaml_read_stream(&written).is_ok(),
        "written YAML is not read again: {written:?}"
    );
}

/// A builtin with the text as its first argument.
fn call(package: &str, function: &str, text: &str, more: &str) {
    let text = literal::quote_string(text);
    let comma = if more.is_empty() { "" } else { ", " };
    let program = format!("import {package:?}\n\nx: {function}({text}{comma}{more})\n");
    evaluate(&program);
}

/// The first line is a pattern, the rest is what it is looked for in.
fn regexp(text: &str) {
    let (pattern, text) = text.split_once('\n').unwrap_or((text, "abc ABC 123"));
    let Ok(regexp) = Regexp::compile(pattern) else { return };
    let _ = (regexp.is_match(text), regexp.group_names().len(), regexp.matches(text, MATCHES).len());
}
