//! Descriptions of parameters, from each language that definitions are written in.

use serde_json::{Value as Json, json};

use super::{Parameter, Parameters, parameters};
use crate::Definition;

fn described(schematic: Json) -> Parameters {
    let object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "a"},
        "spec": {"schematic": schematic},
    });
    parameters(&Definition::from_object(object).unwrap())
}

fn cue(template: &str) -> Parameters {
    described(json!({"cue": {"template": template}}))
}

fn child<'a>(parameter: &'a Parameter, name: &str) -> &'a Parameter {
    parameter.children.iter().find(|child| child.name == name).unwrap()
}

const WEB: &str = r##"
parameter: {
	// +usage=When to pull
	policy?: "Always" | "Never"
	// +usage=Image to run
	image: string
	// +usage=Ports to open
	ports?: [...{
		port: int & >=1 & <=65535
		protocol: *"TCP" | "UDP"
	}]
	env?: [string]: string
	from: [string]: #Source
	name?: =~"^[a-z]+$"
	size: *1 | int
	limits: cpu: *"1" | string
	either: string | int
}
#Source: {
	// +usage=Name of the Secret
	secret: string
	key?: string
}
"##;

#[test]
fn everything_a_newcomer_writes_is_described() {
    let web = cue(WEB).root;
    let names: Vec<&str> = web.children.iter().map(|child| child.name.as_str()).collect();
    assert_eq!(names[..2], ["image", "either"], "what must be given comes first: {names:?}");
    let image = child(&web, "image");
    assert_eq!(
        (image.type_.as_str(), image.required, image.description.as_str()),
        ("string", true, "Image to run")
    );
    assert_eq!(child(&web, "policy").allowed, [json!("Always"), json!("Never")]);
    let ports = child(&web, "ports");
    assert_eq!((ports.type_.as_str(), ports.required), ("[]object", false));
    assert_eq!(child(ports, "port").rules, [">= 1", "<= 65535"]);
    let protocol = child(ports, "protocol");
    assert_eq!((&protocol.default, protocol.required), (&Some(json!("TCP")), false));
    assert_eq!(protocol.allowed, [json!("TCP"), json!("UDP")]);
    assert_eq!(child(&web, "env").type_, "map[string]string");
    let from = child(&web, "from");
    assert_eq!((from.type_.as_str(), from.required), ("map[string]object", false), "without any it is empty");
    assert_eq!(child(from, "secret").description, "Name of the Secret");
    assert_eq!(child(&web, "name").rules, ["matches ^[a-z]+$"]);
    assert_eq!(child(&web, "size").default, Some(json!(1)));
    assert!(!child(&web, "limits").required, "everything in it has a default");
    assert_eq!(child(&web, "either").type_, "string | int");
}

const CONDITIONAL: &str = r##"
parameter: {
	mode: *"local" | "remote" | "mirror"
	if mode == "local" {
		// +usage=Folder to serve
		folder: string
	}
	if mode == "remote" {
		// +usage=Where it is
		url:   string
		port?: int
		cache: string
		if port != _|_ if url != "" {tls: *true | bool}
	}
	auth?: {
		kind: *"none" | "basic"
		if kind == "basic" {user: string}
	}
	if mode == "mirror" {cache: string}
	for name in ["a", "b"] {(name): string}
}
if parameter.mode == "remote" {parameter: region: string}
"##;

#[test]
fn what_is_declared_under_a_condition_is_described_with_it() {
    let described = cue(CONDITIONAL);
    let shape = |one: &Parameter| (one.type_.clone(), one.required, one.condition.clone());
    let some = |condition: &str| Some(condition.to_owned());
    let root = &described.root;
    assert_eq!(shape(child(root, "mode")), ("string".to_owned(), false, None));
    let local = (String::from("string"), true, some(r#"mode == "local""#));
    assert_eq!(shape(child(root, "folder")), local, "it holds by default");
    assert_eq!(child(root, "url").description, "Where it is");
    assert_eq!(shape(child(root, "url")), ("string".to_owned(), true, some(r#"mode == "remote""#)));
    assert_eq!(shape(child(root, "port")), ("int".to_owned(), false, some(r#"mode == "remote""#)));
    let inner = some(r#"mode == "remote" && port != _|_ && url != """#);
    assert_eq!(shape(child(root, "tls")), ("bool".to_owned(), false, inner));
    assert_eq!(shape(child(root, "region")).2, some(r#"parameter.mode == "remote""#));
    assert_eq!(shape(child(root, "cache")).2, some(r#"mode == "remote" || mode == "mirror""#));
    let auth = child(root, "auth");
    assert!(!auth.required, "with nothing given its condition does not hold");
    assert_eq!(shape(child(auth, "user")), ("string".to_owned(), true, some(r#"kind == "basic""#)));

    let text = described.markdown(3);
    let row = r#"| `url` | `string` | yes |  | Where it is; only if `mode == "remote"` |"#;
    assert!(text.contains(row), "{text}");
    let json = serde_json::to_value(&described).unwrap();
    let url = json["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "url").unwrap();
    assert_eq!((&url["if"], &url["required"]), (&json!(r#"mode == "remote""#), &json!(true)));
}

#[test]
fn what_conditions_declare_in_alternatives_is_described_once() {
    let either = "parameter: #One | #Two\n#One: {a: *1 | int, if a > 1 {b: int}}\n\
                  #Two: {c: string, if c == \"x\" || c == \"y\" if c != \"z\" {d: int}}\n";
    let root = cue(either).root;
    let conditions: Vec<(&str, Option<&str>)> =
        root.children.iter().map(|one| (one.name.as_str(), one.condition.as_deref())).collect();
    assert_eq!(
        conditions,
        [
            ("a", None),
            ("c", None),
            ("b", Some("a > 1")),
            ("d", Some(r#"(c == "x" || c == "y") && c != "z""#))
        ]
    );
}

#[test]
fn parameters_as_a_whole_may_be_a_map_or_alternatives() {
    let map = cue("// +usage=Labels by name\nparameter: [string]: string | null\n").root;
    assert_eq!(
        (map.type_.as_str(), map.description.as_str()),
        ("map[string](string | null)", "Labels by name")
    );
    let either =
        cue("parameter: *#One | close({many: [...#One]})\n#One: {name: string, size: *1 | int}\n").root;
    assert_eq!(either.one_of, [vec!["name".to_owned()], vec!["many".to_owned()]]);
    assert_eq!(child(&either, "many").type_, "[]object");
}

#[test]
fn variables_of_terraform_are_parameters() {
    let configuration = r#"
# variable "commented" {}
provider "x" { region = var.region }
variable "region" { type = string }
variable "tags" {
  description = "Tags { of \"it\", by default = none"
  type        = map(string)
  default     = {
    a = "b"
  }
}
variable names {
  type    = list(string)
  default = ["x"]
  validation { condition = length(var.names) > 0 }
}
output "a" { value = var.names }
"#;
    let found = described(json!({"terraform": {"configuration": configuration}})).root.children;
    let names: Vec<(&str, &str, bool)> =
        found.iter().map(|one| (one.name.as_str(), one.type_.as_str(), one.required)).collect();
    assert_eq!(
        names,
        [("region", "string", true), ("tags", "map[string]string", false), ("names", "[]string", false)]
    );
    assert_eq!(found[1].description, "Tags { of \"it\", by default = none");
    assert_eq!(found[2].default, Some(json!(["x"])));
    let remote = json!({"terraform": {"type": "remote", "configuration": "https://a/b.git", "path": "c"}});
    assert!(described(remote).note.unwrap().contains("https://a/b.git in c"));
}

#[test]
fn other_languages_say_what_they_can() {
    let text =
        "a: {{parameter.image}}\nb: {{#if parameter.probe.path}}{{parameter.probe.path}}{{/if}} parameter.no";
    let found = described(json!({"handlebars": {"template": text}}));
    let names: Vec<&str> = found.root.children.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["image", "probe"]);
    assert_eq!(found.root.children[1].children[0].name, "path");
    let release = json!({"chart": {"spec": {"chart": "podinfo", "version": "6.0.0"}}});
    let found = described(json!({"helm": {"release": release, "repository": {"url": "https://charts"}}}));
    assert!(found.note.unwrap().contains("podinfo 6.0.0 of https://charts"));
    let kube = json!({"kube": {"template": {}, "parameters": [
        {"name": "image", "type": "string", "required": true, "fieldPaths": ["spec.image"]}]}});
    let found = described(kube).root.children;
    assert_eq!((found[0].required, found[0].description.as_str()), (true, "Written at spec.image"));
    assert!(described(json!(null)).root.children.is_empty());
}

#[test]
fn markdown_has_a_table_for_every_object() {
    let text = cue(WEB).markdown(3);
    for words in [
        "| `image` | `string` | yes |  | Image to run |",
        "### `ports[]`",
        "### `from.NAME`",
        "| `protocol` | `string` |  | `\"TCP\"` | one of `\"TCP\"`, `\"UDP\"` |",
        "`string \\| int`",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}
