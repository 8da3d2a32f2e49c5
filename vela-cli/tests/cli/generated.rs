//! `vela def gen-api`: clients are generated, compile, and write Applications that `vela` takes.

use std::process::{Command, Output};

use serde_json::Value;

use crate::{Person, golden};

/// Parameters of every shape, with names that are no identifiers.
const ODD: &str = r#""odd-one": {
	type: "component"
	description: "Has every shape */ of a parameter."
	attributes: workload: definition: {apiVersion: "v1", kind: "ConfigMap"}
}
template: {
	output: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		data: name: parameter.name
	}
	parameter: {
		// +usage=What to call it
		name: string
		// +usage=How it goes
		mode: *"slow" | "fast" | "very-fast"
		level: 1 | 2
		class?:  string
		type?:   string
		"a-b"?:  bool
		a_b?:    bool
		"3d"?:   number
		"a,b"?: string
		count: *3 | int & >=1
		port?: int | string
		nested?: {
			deep: {import: string, items: [...{key: string, value?: int}]}
		}
		labels?: [string]: string
		places?: [string]: {zone: string}
		anything?: {...}
		list: [...string]
		if nested != _|_ {
			extra: string
		}
	}
}
"#;

/// A trait whose properties are a map, and whose name is a word of each language.
const OTHER: &str = r#""import": {
	type: "trait"
	attributes: appliesToWorkloads: ["*"]
}
template: {
	patch: metadata: annotations: parameter
	parameter: [string]: string | null
}
"#;

fn generate(person: &Person, lang: &str, more: &[&str]) -> String {
    person.write("odd-one.cue", ODD);
    person.write("import.cue", OTHER);
    let words = ["def", "gen-api", "odd-one.cue", "import.cue", "--lang", lang, "-o", "client"];
    let said = person.types(&[&words[..], more].concat()).ok();
    for part in ["types of 2 definitions", "component odd-one: no type has a field for the parameter \"a,b\""]
    {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    let file = match lang {
        "typescript" => "vela.ts",
        "python" => "vela.py",
        _ => "vela.go",
    };
    std::fs::read_to_string(person.path("client").join(file)).unwrap()
}

#[test]
fn clients_have_a_type_for_every_shape() {
    let person = Person::new();
    for (lang, file) in
        [("typescript", "client.ts.txt"), ("go", "client.go.txt"), ("python", "client.py.txt")]
    {
        let text = generate(&person, lang, &[]);
        golden(file, &text);
        assert_eq!(generate(&person, lang, &[]), text, "it is generated again, and the same");
    }
}

#[test]
fn every_built_in_definition_has_a_client() {
    let person = Person::new();
    for (lang, file, part) in [
        ("ts", "vela.ts", "export function webserviceComponent(name: string, properties: "),
        ("go", "vela.go", "func NewWebserviceComponent(name string, properties "),
        ("py", "vela.py", "def webservice_component(name: str, properties: "),
    ] {
        person.types(&["def", "gen-api", "--all", "--offline", "-l", lang, "-o", "out"]).ok();
        let text = std::fs::read_to_string(person.path("out").join(file)).unwrap();
        assert!(text.contains(part), "{lang}");
    }
}

#[test]
fn what_cannot_be_generated_is_told() {
    let person = Person::new();
    let words = |what: &[&str]| person.types(&[&["def", "gen-api", "--offline", "-o", "out"], what].concat());
    words(&["webservise", "-l", "go"]).fails(1, &["there is no definition \"webservise\"", "webservice"]);
    words(&["-l", "go"]).fails(2, &["--all"]);
    words(&["webservice"]).fails(2, &["--lang"]);
    words(&["webservice", "-l", "rust"]).fails(2, &["typescript", "python"]);
    words(&["webservice", "-l", "go", "--package", "go-vela"]).fails(1, &["no name of a package"]);
    words(&["none.cue", "-l", "go"]).fails(1, &["none.cue cannot be read"]);
    person.write("out/vela.py", "print('mine')\n");
    words(&["webservice", "-l", "python"]).fails(1, &["vela.py is there already, and was not generated"]);
    assert_eq!(std::fs::read_to_string(person.path("out/vela.py")).unwrap(), "print('mine')\n");
}

/// Runs a tool of a language, which a machine may lack: then the test says so.
fn run(tool: &str, words: &[&str], person: &Person) -> Output {
    let output = Command::new(tool).args(words).current_dir(person.path("client")).output();
    let output =
        output.unwrap_or_else(|error| unreachable!("{tool} is needed, and cannot be started: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{tool}: {}{}", text(&output.stdout), text(&output.stderr));
    output
}

/// The manifest that a program printed is one that `vela` takes, with these properties.
fn taken(person: &Person, manifest: &[u8]) {
    let app = person.write("app.json", manifest);
    person.types(&["dry-run", "--offline", "-d", "odd-one.cue", "-d", "import.cue", &app]).ok();
    let app: Value = serde_json::from_slice(manifest).unwrap();
    let component = &app["spec"]["components"][0];
    let expected = serde_json::json!({
        "name": "one", "type": "odd-one", "dependsOn": ["two"],
        "properties": {"name": "x", "mode": "very-fast", "level": 2, "a-b": true, "port": "http", "class": "c",
            "nested": {"deep": {"import": "i", "items": [{"key": "k"}]}}, "extra": "e", "labels": {"l": "v"}},
        "traits": [{"type": "import", "properties": {"note": "n"}}],
    });
    assert_eq!(component, &expected);
    assert_eq!(app["spec"]["workflow"]["steps"][0]["type"], "deploy");
}

#[test]
#[ignore = "needs python3: cargo test -p vela-cli --test cli the_client_in_python -- --ignored"]
fn the_client_in_python_runs() {
    let person = Person::new();
    generate(&person, "python", &[]);
    let program = r#"import typing, vela
from vela import *

properties = OddOneComponentProperties(
    name="x", mode="very-fast", level=2, a_b=True, port="http", class_="c",
    nested=OddOneComponentNested(OddOneComponentNestedDeep("i", [OddOneComponentNestedDeepItems(key="k")])),
    extra="e", labels={"l": "v"},
)
two = odd_one_component("two", OddOneComponentProperties(name="y", level=1))
one = odd_one_component("one", properties).depends_on("two").with_traits(import_trait({"note": "n"}))
for name, one_type in vars(vela).items():
    if isinstance(one_type, type):
        typing.get_type_hints(one_type)
app = Application("shop", "default").component(one, two).step(WorkflowStep("deploy", "all", {"policies": []}))
print(app)
"#;
    person.write("client/program.py", program);
    taken(&person, &run("python3", &["program.py"], &person).stdout);
    person.types(&["def", "gen-api", "--all", "--offline", "-l", "python", "-o", "client"]).ok();
    run("python3", &["-W", "error", "vela.py"], &person);
}

#[test]
#[ignore = "needs go: cargo test -p vela-cli --test cli the_client_in_go -- --ignored"]
fn the_client_in_go_compiles_and_runs() {
    let person = Person::new();
    generate(&person, "go", &["--package", "client"]);
    person.write("client/go.mod", "module example.com/client\n\ngo 1.18\n");
    let program = r#"package main

import (
	"encoding/json"
	"fmt"

	vela "example.com/client"
)

func main() {
	properties := vela.OddOneComponentProperties{
		Name: "x", Mode: vela.Ptr(vela.OddOneComponentModeVeryFast), Level: vela.OddOneComponentLevelN2,
		AB: vela.Ptr(true), Port: "http", Class: vela.Ptr("c"), Extra: vela.Ptr("e"),
		Nested: &vela.OddOneComponentNested{Deep: vela.OddOneComponentNestedDeep{
			Import: "i", Items: []vela.OddOneComponentNestedDeepItems{{Key: "k"}},
		}},
		Labels: map[string]string{"l": "v"},
	}
	two := vela.NewOddOneComponent("two", vela.OddOneComponentProperties{Name: "y", Level: vela.OddOneComponentLevelN1})
	one := vela.NewOddOneComponent("one", properties).After("two")
	one.With(vela.NewImportTrait(vela.ImportTraitProperties{"note": vela.Ptr("n")}))
	app := vela.NewApplication("shop").In("default").Add(one, two)
	app.AddStep(&vela.WorkflowStep{Name: "all", Type: "deploy", Properties: map[string]any{"policies": []string{}}})
	text, err := json.Marshal(app)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
"#;
    person.write("client/program/main.go", program);
    taken(&person, &run("go", &["run", "./program"], &person).stdout);
    person.types(&["def", "gen-api", "--all", "--offline", "-l", "go", "-o", "client/all"]).ok();
    run("go", &["vet", "./all"], &person);
    assert_eq!(run("gofmt", &["-l", "vela.go", "all"], &person).stdout, b"");
}

#[test]
#[ignore = "needs tsc and node: cargo test -p vela-cli --test cli the_client_in_typescript -- --ignored"]
fn the_client_in_typescript_compiles_and_runs() {
    let person = Person::new();
    generate(&person, "typescript", &[]);
    let program = r#"import { Application, WorkflowStep, importTrait, oddOneComponent } from "./vela.js";

const two = oddOneComponent("two", { name: "y", level: 1 });
const one = oddOneComponent("one", {
  name: "x", mode: "very-fast", level: 2, "a-b": true, port: "http", class: "c",
  nested: { deep: { import: "i", items: [{ key: "k" }] } }, extra: "e", labels: { l: "v" },
}).dependsOn("two").with(importTrait({ note: "n" }));
// @ts-expect-error: 3 is none of the levels
oddOneComponent("wrong", { name: "z", level: 3 });
const app = new Application("shop", "default").component(one, two);
console.log(String(app.step(new WorkflowStep("deploy", "all", { policies: [] }))));
"#;
    person.write("client/program.ts", program);
    let strict = ["--strict", "--target", "es2020", "--module", "commonjs", "--lib", "es2020,dom"];
    run("tsc", &[&strict[..], &["program.ts"]].concat(), &person);
    taken(&person, &run("node", &["program.js"], &person).stdout);
    person.types(&["def", "gen-api", "--all", "--offline", "-l", "typescript", "-o", "client"]).ok();
    run("tsc", &[&strict[..], &["--noEmit", "vela.ts"]].concat(), &person);
}
