//! The dry run of each archive in `tests/data/dry_run`: `app.yaml` and `definitions.yaml` give `output`, objects or
//! diagnostics.

use std::fs;
use std::path::{Path, PathBuf};

use vela_engine::render::{Rendered, RenderedObject, State, ValueOrigin};
use vela_engine::{Templates, dry_run, manifest};
use vela_testkit::{Archive, golden};

use crate::snapshots;

fn archives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dry_run");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Every application of the text, rendered with the definitions; diagnostics where that fails.
pub(crate) fn output(app: &str, definitions: &str) -> String {
    let applications = match manifest::read("app.yaml", app) {
        Ok(documents) => documents,
        Err(errors) => return format!("{errors}\n"),
    };
    let snapshot = snapshots::of(definitions);
    let templates = Templates::new();
    let mut text = String::new();
    for application in applications.iter() {
        match dry_run::render(application, &snapshot, &templates) {
            Ok(rendered) => {
                for warning in rendered.warnings() {
                    text += &format!("{warning}\n");
                }
                text += dry_run::text(&rendered).trim_end();
                text += "\n";
            }
            Err(errors) => text += &format!("{errors}\n"),
        }
    }
    text
}

#[test]
fn archives_give_their_output() {
    for path in archives() {
        let mut archive = Archive::parse(&fs::read_to_string(&path).unwrap());
        let output = output(archive.get("app.yaml").unwrap(), archive.get("definitions.yaml").unwrap_or(""));
        archive.set("output", output);
        golden(&path, &archive.to_string());
    }
}

#[test]
fn yaml_reads_back_as_what_was_written() {
    let long = "word ".repeat(60);
    let texts = [
        "",
        "yes",
        "on",
        "y",
        "n",
        "012",
        "0x10",
        "1e3",
        "1_000",
        "~",
        "null",
        "true",
        "- a",
        "a: b",
        "a #b",
        "{",
        "[",
        "*x",
        "&x",
        "!x",
        "%x",
        "@x",
        "`x",
        "'",
        "\"",
        "two\nlines\n",
        "two\nlines",
        "  indented\nmore",
        "trailing \nspace",
        "tab\there",
        "ä…🙂",
        "2026-11-21",
        "12:30",
        ".5",
        "+1",
        "-",
        "?",
        "\u{7}",
        "\r\n",
        " ",
        "#",
        "<<",
        "=",
        &long,
    ];
    for text in texts {
        let value =
            serde_json::json!({"value": text, "list": [text], text: 1, "deep": {"a": [[text], {"b": text}]}});
        let written = dry_run::yaml(&value);
        let read =
            manifest::read("written", &written).map(|documents| documents.as_slice()[0].value().clone());
        assert_eq!(read, Ok(value), "{written}");
    }
}

const TRACED: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: page}
spec:
  workload: {definition: {apiVersion: apps/v1, kind: Deployment}}
  schematic:
    cue:
      template: |
        parameter: {image: string, port: *80 | int}
        output: {
          apiVersion: "apps/v1"
          kind: "Deployment"
          spec: template: spec: containers: [{
            name: context.name
            image: parameter.image
            ports: [{containerPort: parameter.port}]
          }]
        }
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: helper}
spec:
  schematic:
    cue:
      template: |
        parameter: {image: string}
        patch: {
          // +patchKey=name
          spec: template: spec: containers: [{name: "helper", image: parameter.image}]
        }
"#;

/// The origin of each value: its path, the line of the manifest that gave it, the definition and the line in it.
fn traced(app: &str) -> Vec<String> {
    let application = manifest::read("app.yaml", app).unwrap().as_slice()[0].clone();
    let rendered = dry_run::explain(&application, &snapshots::of(TRACED), &Templates::new()).unwrap();
    let line = |origin: &ValueOrigin| {
        let given = origin.given.as_ref().map_or_else(|| "-".to_owned(), |place| place.line.to_string());
        format!("{} {given} {}:{}", origin.path, origin.definition.definition, origin.definition.line)
    };
    objects(&rendered).into_iter().flat_map(dry_run::origins).map(line).collect()
}

fn objects(rendered: &Rendered) -> Vec<&RenderedObject> {
    let ready = rendered.components().iter().filter_map(|component| match &component.state {
        State::Ready(objects) => Some(objects),
        State::Pending(_) => None,
    });
    ready.flatten().collect()
}

#[test]
fn an_explanation_says_where_each_value_was_written() {
    let app = r#"apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop, namespace: default}
spec:
  components:
    - name: cart
      type: page
      properties:
        image: nginx
      traits:
        - type: helper
          properties:
            image: busybox
"#;
    let (page, helper) = ("component definition \"page\"", "trait definition \"helper\"");
    let containers = "spec.template.spec.containers";
    let found = traced(app);
    for expected in [
        format!("kind - {page}:4"),
        format!("{containers}[0].name - {page}:6"),
        format!("{containers}[0].image 9 {page}:7"),
        format!("{containers}[0].ports[0].containerPort - {page}:8"),
        format!("{containers}[1].name - {helper}:4"),
        format!("{containers}[1].image 13 {helper}:4"),
    ] {
        assert!(found.contains(&expected), "{expected}: {found:#?}");
    }
    // No definition wrote the labels that every object gets.
    assert!(found.iter().all(|line| !line.starts_with("metadata")), "{found:#?}");
    let swapped = app.replace("image: nginx", "image: busybox");
    let expected = format!("{containers}[0].image 9 {page}:7");
    assert!(traced(&swapped).contains(&expected), "an equal value of another item is another's");
}

#[test]
fn a_dry_run_without_explanation_traces_nothing() {
    let text = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: a, namespace: b}\nspec:\n  components:\n    - {name: c, type: page, properties: {image: d}}\n";
    let application = manifest::read("app.yaml", text).unwrap().as_slice()[0].clone();
    let rendered = dry_run::render(&application, &snapshots::of(TRACED), &Templates::new()).unwrap();
    let objects = objects(&rendered);
    assert!(objects.len() == 1 && objects[0].origins.is_empty(), "{rendered:?}");
}
