//! JSON, YAML and TOML beside CUE: values, places, comments, several documents, and limits.

use serde_json::json;
use vela_cue::{Code, Diagnostics, Format, Source, Template, Value, data_file};

fn root(sources: &[Source]) -> Value {
    match Template::compile(sources) {
        Ok(template) => template.instantiate(&[]).root(),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn file(name: &str, text: &str) -> Source {
    Source::new(name, text).with_format(Format::of_name(name).expect("a known ending"))
}

/// `file:line:column code` of each.
fn places(found: &Diagnostics) -> Vec<String> {
    let place = |d: &vela_cue::Diagnostic| {
        let (file, line, column) = found.position(d).expect("a place");
        format!("{file}:{line}:{column} {}", d.code)
    };
    found.iter().map(place).collect()
}

#[test]
fn every_format_is_a_conjunct_beside_the_cue_files() {
    let all = [
        file("rules.cue", "a: int\nb: {c: string, d: *true | bool}\nl: [...number]\n"),
        file("a.json", "{\"a\": -1}"),
        file("b.yaml", "b:\n  c: yes\n"),
        file("c.toml", "l = [1, 2.5]\n"),
    ];
    assert_eq!(
        root(&all).to_json().expect("complete"),
        json!({"a": -1, "b": {"c": "yes", "d": true}, "l": [1, 2.5]})
    );
    let list = [file("l.yaml", "- 1\n- {x: ~}\n")];
    assert_eq!(root(&list).to_json().expect("complete"), json!([1, {"x": null}]));
    assert_eq!(root(&[file("e.yaml", "")]).to_json().expect("complete"), json!(null));
}

#[test]
fn a_mistake_names_the_place_in_the_data_file() {
    let rules = file("rules.cue", "a: int\n#B: {c: string}\nb: #B\nl: [...number]\n");
    for (data, expected) in [
        (
            file("d.yaml", "# first\nb:\n  c: 5\n  x: 1\n"),
            vec!["d.yaml:3:6 conflict", "d.yaml:4:3 not_allowed"],
        ),
        (file("d.yaml", "l:\n- 1\n- two\n"), vec!["d.yaml:3:3 conflict"]),
        (file("d.yaml", "x: &x [a]\nl: *x\n"), vec!["d.yaml:1:8 conflict"]),
        (file("d.json", "{\n  \"a\": \"one\"\n}\n"), vec!["d.json:2:8 conflict"]),
        (file("d.toml", "a = 'one'\n[b]\nc = 5\n"), vec!["d.toml:1:5 conflict", "d.toml:3:5 conflict"]),
    ] {
        let found = root(&[rules.clone(), data.clone()]).validate(false).expect_err("does not fit");
        assert_eq!(places(&found), expected, "{}", data.text);
    }
}

#[test]
fn a_broken_text_names_its_place() {
    for (data, expected) in [
        (file("d.yaml", "a: 1\nb: [1\nc: 2\n"), "d.yaml:3:2 syntax"),
        (file("d.yaml", "a: *absent\n"), "d.yaml:1:4 syntax"),
        (file("d.json", "{\"a\": [1,}"), "d.json:1:10 syntax"),
        (file("d.json", "{a: 1}"), "d.json:1:2 syntax"),
        (file("d.toml", "a = 1\nb = = 2\n"), "d.toml:2:5 syntax"),
    ] {
        let Err(found) = Template::compile(std::slice::from_ref(&data)) else { panic!("{}", data.text) };
        assert_eq!(places(&found), [expected], "{}", data.text);
    }
}

#[test]
fn comments_of_yaml_stay_with_their_fields() {
    let text =
        "# +usage=The image\nimage: nginx # the newest\nports:\n# +short=p\n- 80\n\n# apart\n\nlast: 1\n";
    let root = root(&[file("d.yaml", text)]);
    let comments = root.lookup("image").comments();
    assert_eq!(comments.marker("usage"), Some("The image"));
    assert_eq!(comments.doc, ["the newest"]);
    assert!(root.lookup("last").comments().doc.is_empty(), "{:?}", root.lookup("last").comments());
}

#[test]
fn documents_of_a_stream_are_checked_together_or_one_by_one() {
    let stream = file("s.yaml", "a: 1\n---\na: x\n---\nb: 2\n");
    assert_eq!(data_file::documents(&stream), Ok(3));
    let found = root(std::slice::from_ref(&stream)).validate(false).expect_err("1 is not x");
    assert_eq!(places(&found), ["s.yaml:1:4 conflict"]);
    let values: Vec<_> = (0..3)
        .map(|at| root(&[stream.clone().with_format(Format::YamlDocument(at))]).to_json().expect("complete"))
        .collect();
    assert_eq!(values, [json!({"a": 1}), json!({"a": "x"}), json!({"b": 2})]);
    assert!(data_file::documents(&file("s.yaml", "a: [")).is_err());
}

#[test]
fn nested_and_doubled_data_meets_limits() {
    let deep = format!("a: {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for at in 1..10 {
        let before = format!("*a{}", at - 1);
        bomb.push_str(&format!("a{at}: &a{at} [{}]\n", vec![before; 10].join(", ")));
    }
    for (name, text) in [
        ("d.yaml", deep.clone()),
        ("d.json", deep.replace("a: ", "")),
        ("d.yaml", bomb),
        ("d.toml", deep.replace(':', "=")),
    ] {
        let Err(found) = Template::compile(&[file(name, &text)]) else { panic!("{name} was read") };
        let first = found.iter().next().expect("one diagnostic");
        assert!(matches!(first.code, Code::Syntax | Code::Budget), "{found}");
        assert!(found.position(first).is_some(), "{found}");
    }
}
