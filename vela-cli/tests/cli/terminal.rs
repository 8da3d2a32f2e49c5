//! What comes from files and clusters reaches a terminal as text, never as a command.

use crate::{CommandOutput, PAGE, Person, site};

/// Into the clipboard, a cleared screen, a C1 command, a turned direction.
const HOSTILE: &str = r"\e]52;c;cm0gLXJm\a \e[2J \x9b2J \u202Egnp";

#[track_caller]
fn harmless(said: &CommandOutput) {
    for text in [&said.out, &said.err] {
        let commands = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || c == '\u{202e}';
        assert!(!text.contains(commands), "{text:?}");
    }
}

/// A definition with hostile words in its description, its parameter's and its status.
fn definition() -> String {
    format!(
        r#"apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata:
  name: page
  annotations: {{definition.oam.dev/description: "{HOSTILE}"}}
spec:
  workload: {{definition: {{apiVersion: apps/v1, kind: Deployment}}}}
  status:
    customStatus: |
      message: "\u001b]52;c;cm0gLXJm\u0007 \u001b[2J \u009b2J \u202egnp"
  schematic:
    cue:
      template: |
        output: {{
        	apiVersion: "v1"
        	kind:       "ConfigMap"
        	data: paused: "\(parameter.paused)"
        }}
        parameter: {{
        	// +usage={HOSTILE}
        	image:    *"\u001b[2J" | string
        	replicas: int
        	paused:   bool
        }}
"#
    )
}

#[test]
fn no_command_for_the_terminal_gets_through() {
    let person = Person::new();
    person.write("site/page.yaml", definition());
    person.write("site/app.yaml", site(false));
    let up = person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();
    let mut shown = 0;
    for words in
        [["status", "site"].as_slice(), &["ls"], &["show", "page"], &["show"], &["ls", "-A", "-o", "yaml"]]
    {
        let said = person.types(words).ok();
        harmless(&said);
        shown += usize::from(said.out.contains(r"\u{1b}]52;c;cm0gLXJm\u{7}"));
    }
    harmless(&up);
    assert!(up.out.contains(r"\u{1b}[2J") && shown >= 2, "the words are told, as text: {shown} {up:?}");

    let json = person.types(&["status", "site", "-o", "json"]).ok();
    harmless(&json);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let message = value["status"]["services"][0]["message"].as_str().unwrap();
    assert_eq!(message, "\u{1b}]52;c;cm0gLXJm\u{7} \u{1b}[2J \u{9b}2J \u{202e}gnp", "programs get the value");
}

#[test]
fn names_and_kinds_in_errors_are_harmless() {
    let person = Person::new();
    for (what, text) in [
        (
            "kind",
            format!("apiVersion: core.oam.dev/v1beta1\nkind: \"App{HOSTILE}\"\nmetadata: {{name: a}}\n"),
        ),
        ("type", site(false).replace("type: page", &format!("type: \"{HOSTILE}\""))),
        ("field", site(false).replace("replicas: 2", &format!("\"{HOSTILE}\": 2"))),
        ("name", site(false).replace("name: site", &format!("name: \"{HOSTILE}\""))),
    ] {
        let path = person.write("app.yaml", text);
        let page = person.write("page.yaml", PAGE);
        for words in
            [["up", "-f", &path, "-f", &page].as_slice(), &["dry-run", "--offline", "-f", &path, "-f", &page]]
        {
            let said = person.types(words);
            assert_ne!(said.code, Some(101), "{what}");
            harmless(&said);
        }
    }
}
