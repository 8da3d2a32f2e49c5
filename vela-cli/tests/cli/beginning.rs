//! `vela init`: the file of an application is written by flags and by answers, and a dry run takes it.

use std::io::Write as _;
use std::process::Stdio;

use crate::pty::Pty;
use crate::{CommandOutput, PAGE, Person};

/// `vela init --offline` with these words, on a terminal where a person types the lines.
fn typed(person: &Person, words: &[&str], lines: &[&str]) -> CommandOutput {
    let Pty { mut keyboard, terminal } = Pty::open();
    for line in lines {
        keyboard.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    // Ctrl-D: a question too many ends the command instead of waiting.
    keyboard.write_all(b"\x04").unwrap();
    let mut command = person.command(&[&["init", "--offline"], words].concat());
    command.stdin(terminal.try_clone().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    CommandOutput::of(&command.output().unwrap())
}

fn written(person: &Person, name: &str) -> String {
    std::fs::read_to_string(person.path(name)).unwrap()
}

#[test]
fn an_application_is_written_by_flags_alone() {
    let person = Person::new();
    let words = [
        "init",
        "shop",
        "--offline",
        "--image",
        "nginx:1.27",
        "--port",
        "80",
        "-p",
        "81",
        "--env",
        "A=b=c",
        "--set",
        "cpu=0.5",
    ];
    let said = person.types(&[&words[..], &["--set", "imagePullPolicy=Always"]].concat()).ok();
    assert!(said.err.contains("vela.yaml is written") && said.out.is_empty(), "{said:?}");
    let text = written(&person, "vela.yaml");
    for words in [
        "kind: Application",
        "name: shop",
        "type: webservice",
        "image: nginx:1.27",
        "port: 81",
        "value: b=c",
        "cpu: '0.5'",
    ] {
        assert!(text.replace('"', "'").contains(words), "{words:?} is not in\n{text}");
    }
    // The file is the usual one of its folder.
    let dry = person.types(&["dry-run", "--offline"]).ok();
    for words in ["containerPort: 81", "imagePullPolicy: Always", "kind: Service"] {
        assert!(dry.out.contains(words), "{words:?} is not in\n{}", dry.out);
    }
    person
        .types(&["init", "shop", "--offline", "--image", "a"])
        .fails(1, &["vela.yaml is there already", "--output"]);
    let shown = person
        .types(&[
            "init",
            "jobs",
            "--offline",
            "-t",
            "cron-task",
            "--image",
            "busybox",
            "--set",
            "schedule=*/5 * * * *",
            "--set",
            "cmd=sh,-c",
            "--render-only",
        ])
        .ok();
    let file = person.write("jobs.yaml", &shown.out);
    let dry = person.types(&["dry-run", "--offline", &file]).ok();
    assert!(dry.out.contains("kind: CronJob") && dry.out.contains("- -c"), "{dry:?}");
}

#[test]
fn every_component_type_says_what_it_needs() {
    let person = Person::new();
    let types = person.types(&["def", "list", "--offline", "-t", "component", "-o", "json"]).ok();
    let types: Vec<serde_json::Value> = serde_json::from_str(&types.out).unwrap();
    assert!(types.len() > 5, "{types:?}");
    for type_ in types.iter().map(|one| one["name"].as_str().unwrap()) {
        let bare = person.types(&["init", "a", "--offline", "-t", type_, "--render-only"]);
        let said = match bare.code {
            Some(1) if bare.err.contains("error[") => bare.fails(1, &["No file was written", "vela show"]),
            Some(1) => bare.fails(1, &[&format!("a component of the type {type_} needs"), "add --"]),
            _ => bare.ok(),
        };
        assert!(!said.err.contains("panicked"), "{said:?}");
    }
    let person = Person::new();
    for (words, expected) in [
        (&["--image", "a", "--set", "cpuu=1"][..], &["has no parameter \"cpuu\"", "cpu"][..]),
        (&["--image", "a", "-t", "webservise"], &["there is no type \"webservise\"", "webservice"]),
        (&["-t", "worker", "--image", "a", "--port", "80"], &["the type worker has no parameter \"port\""]),
        (&["--image", "a", "--set", "imagePullPolicy=Sometimes"], &["imagePullPolicy", "Always"]),
        (&["--image", "a", "--set", "image.tag=b"], &["--set image.tag"]),
        (&["--image", "a", "--set", "ports=80"], &["--set ports", "it is a list"]),
    ] {
        person.types(&[&["init", "a", "--offline"], words].concat()).fails(1, expected);
    }
    person.types(&["init", "--offline"]).fails(1, &["the application has no name", "vela init NAME"]);
    person.types(&["init", "a", "--env", "x"]).fails(2, &["NAME=VALUE"]);
    assert!(!person.path("vela.yaml").exists() && !person.path("vela").exists(), "nothing is written");
}

#[test]
fn a_person_is_asked_for_what_is_missing() {
    let person = Person::new();
    let said = typed(&person, &[], &["Shop", "shop", "webservise", "", "nginx:1.27", "n"]).ok();
    for words in [
        "Name of the application:",
        "lower-case letters",
        "[webservice]:",
        "there is no type",
        "image (string)",
    ] {
        assert!(said.err.contains(words), "{words:?} is not in\n{}", said.err);
    }
    assert!(written(&person, "vela.yaml").contains("image: nginx:1.27"));
    person.types(&["dry-run", "--offline"]).ok();
    // The questions follow the schema of the type, those that must be answered first.
    let definition = PAGE.replace("handlebars:\n      template: |", "cue:\n      template: |");
    let template = "        output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: {a: \"\\(parameter.size)\", b: parameter.word, c: \"\\(parameter.loud)\"}}\n        parameter: {\n        \t// +usage=How loud\n        \tloud: *false | bool\n        \tword: string\n        \tsize: int\n        }\n";
    let head = &definition[..definition.find("        apiVersion: apps/v1").unwrap()];
    let own = person.write("own.yaml", format!("{head}{template}"));
    let words = ["site", "-t", "page", "-d", &own, "-o", "site.yaml"];
    let said = typed(&person, &words, &["hello", "many", "3", "y", "true"]).ok();
    let at = |words: &str| {
        said.err.find(words).unwrap_or_else(|| unreachable!("{words:?} is not in {}", said.err))
    };
    assert!(
        at("size (int)") < at("loud (bool) - How loud [false]") && at("word (string)") < at("loud (bool)"),
        "{said:?}"
    );
    let text = written(&person, "site.yaml");
    assert!(
        text.contains("size: 3") && text.contains("loud: true") && text.contains("word: hello"),
        "{text}"
    );
    let dry = person.types(&["dry-run", "--offline", "-d", &own, "site.yaml"]).ok();
    assert!(dry.out.contains("b: hello"), "{dry:?}");
    // Answers that end before the last question write nothing.
    typed(&person, &["other", "-o", "other.yaml"], &["webservice"])
        .fails(130, &["ended before the last question"]);
    assert!(!person.path("other.yaml").exists());
}
