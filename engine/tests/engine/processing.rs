//! A trait that asks elsewhere before it renders: the request comes out as data, the answer goes in as data.

use std::collections::BTreeMap;

use serde_json::json;
use vela_engine::render::processing::Request;
use vela_engine::render::{self, Inputs, State};
use vela_engine::{Code, Diagnostics, Rendered, Templates, manifest, parse, plan, revision};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: note}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic: {cue: {template: 'output: {apiVersion: "v1", kind: "ConfigMap"}'}}
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: account}
spec:
  schematic:
    cue:
      template: |
        processing: {
          output: token: *"" | string
          http: {
            method: *"POST" | string
            url:    parameter.service
            request: header: "authorization": parameter.id
          }
        }
        patch: data: token: processing.output.token
        parameter: {service: string, id: string}
"#;

fn rendered(properties: &str, inputs: &Inputs) -> Result<Rendered, Diagnostics> {
    let snapshot = snapshots::of(DEFINITIONS);
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: a}}\nspec:\n  components:\n  \
         - {{name: main, type: note, traits: [{{type: account, properties: {properties}}}]}}\n"
    );
    let document = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
    let revision = revision::revision(parse::parse(&document, &snapshot).unwrap(), None);
    render::render(&plan::plan(revision).unwrap(), &Templates::new(), inputs)
}

const PROPERTIES: &str = "{service: 'https://accounts.example.com', id: u1}";

#[test]
fn a_trait_waits_for_the_answer_and_then_uses_it() {
    let asking = Inputs { answers: Some(BTreeMap::new()), ..Inputs::default() };
    let waiting = rendered(PROPERTIES, &asking).unwrap();
    let component = &waiting.components()[0];
    assert!(
        matches!(&component.state, State::Pending(missing) if missing[0].contains("accounts.example.com"))
    );
    let expected = Request {
        method: "POST".to_owned(),
        url: "https://accounts.example.com".to_owned(),
        header: BTreeMap::from([("authorization".to_owned(), "u1".to_owned())]),
        ..Request::default()
    };
    assert_eq!(component.requests.iter().collect::<Vec<_>>(), [&expected]);

    let answers = BTreeMap::from([(expected, json!({"token": "secret"}))]);
    let done = rendered(PROPERTIES, &Inputs { answers: Some(answers), ..Inputs::default() }).unwrap();
    let State::Ready(objects) = &done.components()[0].state else { panic!("it has its answer") };
    assert_eq!(objects[0].object["data"], json!({"token": "secret"}));
    assert!(done.components()[0].requests.is_empty());
}

#[test]
fn a_caller_without_providers_gets_an_error() {
    let errors = rendered(PROPERTIES, &Inputs::default()).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().code, Code::NotSupported);
    let asking = Inputs { answers: Some(BTreeMap::new()), ..Inputs::default() };
    let errors = rendered("{service: 'https://accounts.example.com'}", &asking).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().code, Code::Parameter);
}
