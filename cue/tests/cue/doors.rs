//! What the doors promise: inputs, paths, comments, origins, syntax, budgets, hostile input.

use serde_json::json;
use vela_cue::value::{FieldOptions, OriginKind};
use vela_cue::{Budget, Code, Input, Kind, Source, Template, parser};

fn template(text: &str) -> Template {
    match Template::compile(&[Source::new("in.cue", text)]) {
        Ok(template) => template,
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

#[test]
fn an_input_is_one_more_conjunct() {
    let template = template(
        "parameter: {image: string, port: *80 | int}\nout: \"\\(parameter.image):\\(parameter.port)\"\n",
    );
    let given = json!({"image": "nginx"});
    let root = template.instantiate(&[Input::new("parameter", &given)]).root();
    assert_eq!(root.lookup("out").as_str().as_deref(), Some("nginx:80"));
    assert_eq!(root.lookup("parameter.port").as_i64(), Some(80));
    assert!(root.lookup("parameter.port").is_choice());
    let wrong = json!({"image": 5});
    let root = template.instantiate(&[Input::new("parameter", &wrong)]).root();
    let diagnostics = root.validate(false).expect_err("an int is no string");
    let first = diagnostics.iter().next().expect("one diagnostic");
    assert_eq!((first.code, first.path.as_str()), (Code::Conflict, "parameter.image"));
    assert_eq!(diagnostics.position(first).map(|(_, line, column)| (line, column)), Some((1, 20)));
}

#[test]
fn what_is_not_known_yet_is_incomplete_only_when_asked_for() {
    let template = template("context: _\nout: name: context.name\n");
    let root = template.instantiate(&[]).root();
    assert!(root.validate(false).is_ok());
    let diagnostics = root.lookup("out").to_json().expect_err("the name is missing");
    assert!(diagnostics.is_incomplete(), "{diagnostics}");
    let context = json!({"name": "web"});
    let root = template.instantiate(&[Input::new("context", &context)]).root();
    assert_eq!(root.lookup("out").to_json().expect("known"), json!({"name": "web"}));
}

#[test]
fn values_tell_kind_fields_comments_and_origins() {
    let root = template(
        "spec: {\n\t// Who is asked.\n\t// +patchKey=name\n\tcontainers: [{name: \"a\"}]\n\treplicas?: int\n\tmode: *\"x\" | string\n}\ncopy: spec.mode\n",
    )
    .instantiate(&[])
    .root();
    let spec = root.lookup("spec");
    assert_eq!(spec.kind(), Kind::Struct);
    let names: Vec<String> = spec
        .fields(FieldOptions { optional: true, ..Default::default() })
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["containers", "replicas", "mode"]);
    let comments = spec.lookup("containers").comments();
    assert_eq!(comments.marker("patchKey"), Some("name"));
    assert_eq!(comments.doc, ["Who is asked."]);
    assert_eq!(spec.lookup("containers[0].name").as_str().as_deref(), Some("a"));
    let origins = spec.lookup("mode").origins();
    assert!(origins.iter().any(|o| o.kind == OriginKind::Default), "{origins:?}");
    assert!(!spec.lookup("replicas").exists());
}

#[test]
fn syntax_of_a_value_compiles_to_the_same_value() {
    let template = template("#D: {a: int, b: *\"x\" | string}\nx: #D & {a: 3}\nl: [x.a, \"\\(x.b)!\"]\n");
    let root = template.instantiate(&[]).root();
    let vela_cue::ast::ExprKind::Struct(lit) = root.syntax().kind else { panic!("a struct") };
    let file = vela_cue::ast::File { decls: lit.decls, ..Default::default() };
    let again = Template::compile_files(&[file], template.sources().clone()).expect("compiles");
    assert_eq!(again.instantiate(&[]).root().to_json().expect("known"), root.to_json().expect("known"));
}

#[test]
fn fill_and_unify_add_to_a_value() {
    let root = template("a: {x: int, y: x + 1}\nb: {x: 4}\n").instantiate(&[]).root();
    assert_eq!(root.lookup("a").fill("x", &json!(2)).to_json().expect("known"), json!({"x": 2, "y": 3}));
    let both = root.lookup("a").unify(&root.lookup("b"));
    assert_eq!(both.lookup("y").as_i64(), Some(5));
}

#[test]
fn a_value_of_another_instance_unifies_as_it_is_known_there() {
    let other = template(
        "import \"strings\"\nn: 3\nv: {\n\ta: n\n\tb: *\"x\" | \"y\"\n\tc?: int\n\td!: >2 & <9\n\te: [int, ...string]\n\t\
         f: strings.MinRunes(2)\n\tg: {[=~\"^p\"]: int, ...}\n\th: #closed\n\ti: null | int\n\tj: missing.deep\n}\n\
         #closed: {k: int}\nmissing: {...}\n",
    )
    .instantiate(&[])
    .root()
    .lookup("v");
    let with = |text: &str| template(text).instantiate(&[]).root().unify(&other);
    let fine = with("b: \"y\"\nc: 1\nd: 5\ne: [1, \"s\"]\nf: \"ab\"\ng: p1: 2\nh: k: 1\ni: 3\nj: 4\n");
    assert_eq!(fine.lookup("a").as_i64(), Some(3));
    assert_eq!(fine.lookup("b").as_str().as_deref(), Some("y"));
    assert_eq!(fine.lookup("e").to_json().expect("known"), json!([1, "s"]));
    assert_eq!(fine.lookup("g").to_json().expect("known"), json!({"p1": 2}));
    assert_eq!(with("d: 5\n").lookup("b").to_json().expect("the default"), json!("x"));
    for wrong in ["a: 4", "c: \"s\"", "d: 9", "e: [1, 2]", "f: \"a\"", "g: p1: \"s\"", "h: l: 1", "i: \"s\""]
    {
        assert!(with(wrong).validate(false).is_err(), "{wrong} was taken");
    }
    assert!(with("").lookup("j").validate(false).is_ok(), "what waits is no mistake");
    assert!(with("").lookup("j").to_json().is_err(), "what waits has no value");
}

#[test]
fn five_mistakes_give_five_diagnostics() {
    let text = "a: 1 2\nb: ]\nc: 3\nd: \"open\ne: {f: *}\ng: 0x\nh: [1, 2\n";
    let (_, mistakes) = parser::parse(&Source::new("in.cue", text), vela_cue::source::FileId(0));
    assert!(mistakes.len() >= 5, "{mistakes:?}");
}

#[test]
fn hostile_programs_end_with_a_diagnostic() {
    let deep = format!("a: {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(Template::compile(&[Source::new("in.cue", deep)]).is_err());
    let sums = format!("a: {}1", "1+".repeat(20_000));
    if let Ok(template) = Template::compile(&[Source::new("in.cue", sums)]) {
        let _ = template.instantiate(&[]).root().to_json();
    }
    for text in [
        "a: {b: a}\n",
        "a: b: c: {a}.b\n",
        "#f: {n: int, r: (#f & {n: 1}).r}\nx: #f\n",
        "a: [for x in a {x}]\n",
        "x: {for k, v in x {\"\\(k)x\": v}, a: 1}\n",
        "a: (1 | 2) & (b | 3)\nb: a\n",
    ] {
        let _ = template(text).instantiate(&[]).root().to_json();
    }
    let list: Vec<String> = (0..40).map(|i| format!("x: {{a{i}: 1}} | {{b{i}: 2}}")).collect();
    let template = template(&list.join("\n")).with_budget(Budget { steps: 50_000, ..Budget::default() });
    let diagnostics = template.instantiate(&[]).root().to_json().expect_err("2^40 combinations");
    assert_eq!(diagnostics.iter().next().map(|d| d.code), Some(Code::Budget));
}

/// A template is shared between the threads of a controller.
const _: fn() = || {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Template>();
};
