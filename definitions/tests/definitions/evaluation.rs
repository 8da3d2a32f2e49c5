//! Every text against the recorded cases: same parameter and context, same result as the real one's.
//!
//! Components are held against recorded results. Traits are held against the definition that lies
//! in the case, both evaluated here, because a patch shows its result only on a workload; the
//! engine's own conformance run does that part.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vela_cue::value::FieldOptions;
use vela_cue::{Input, Source, Template};
use vela_definitions::{Definition, Kind, builtin, find};

/// Cases whose result differs on purpose; `known_differences.md` says why.
const DIFFERENT: &[&str] = &[
    "trait-command-09",
    "trait-container-image-06",
    "trait-env-11",
    "trait-startup-probe-05",
    "trait-storage-07",
];
/// Traits whose object has a name of ours, so that an edit changes it in place; theirs leaves the name to the renderer.
const NAMED: &[&str] = &["autoscale", "metrics", "route"];
/// Where the recorded `route`, of a later catalogue, writes an `ingressClass`, which the Route of 0.3 does not have.
const LATER_ROUTE: &str = "/outputs/route/spec";
/// Definitions whose message differs on purpose.
const OTHER_MESSAGES: &[&str] = &["expose", "gateway", "ingress", "ingress-1-20", "pure-ingress"];

struct Case {
    name: String,
    folder: PathBuf,
    failed: bool,
    definition: &'static Definition,
}

/// The cases of one kind whose definition is built in.
fn cases(of: &str) -> Vec<Case> {
    let root = vela_testkit::cases::folder("conformance/definitions");
    let manifest = fs::read_to_string(root.join("manifest.jsonl")).unwrap();
    let mut cases = Vec::new();
    for line in manifest.lines() {
        let entry: Json = serde_json::from_str(line).unwrap();
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let name = text("type");
        let definition = match of {
            "component" => find(Kind::Component, &name),
            "trait" => find(Kind::Trait, &name),
            _ => builtin().iter().find(|d| d.name == name && d.status.health.is_some()),
        };
        let Some(definition) = definition.filter(|_| text("kind") == of) else { continue };
        cases.push(Case {
            folder: root.join("cases").join(text("name")),
            name: text("name"),
            failed: text("status") == "error",
            definition,
        });
    }
    assert!(cases.len() > 50, "only {} cases of {of}", cases.len());
    cases
}

fn read(case: &Case, file: &str) -> Json {
    let text = fs::read_to_string(case.folder.join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The named fields of a text for a case; `Err` when one that exists cannot be given.
fn evaluate(case: &Case, text: &str, fields: &[&str]) -> Result<Json, String> {
    let mut context = read(case, "context.json");
    if let Some(context) = context.as_object_mut() {
        context.retain(|key, _| !key.starts_with("template-context"));
    }
    let parameter = read(case, "parameter.json");
    let sources =
        [Source::new(case.definition.name, text), Source::new("declared", "parameter: _\ncontext: _\n")];
    let template = Template::compile(&sources).map_err(|d| d.render(false))?;
    let inputs = [Input::new("parameter", &parameter), Input::new("context", &context)];
    let instance = template.instantiate(&inputs);
    let mut result = json!({});
    let parameter = instance.root().lookup("parameter");
    parameter.validate(false).map_err(|d| d.render(false))?;
    for field in fields {
        let value = instance.root().lookup(field);
        if value.exists() {
            let json = value.to_json().map_err(|d| d.render(false))?;
            let json = by_value(json);
            // Nothing made and nothing said are the same.
            if json != json!({}) && json != json!([]) {
                result[*field] = json;
            }
        }
    }
    match &result["errs"] {
        Json::Null => Ok(result),
        errors => Err(errors.to_string()),
    }
}

/// A text that is JSON as its value: the order of fields within is not promised.
fn by_value(json: Json) -> Json {
    match json {
        Json::String(text) if text.starts_with('{') => {
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
        Json::Array(items) => items.into_iter().map(by_value).collect(),
        Json::Object(fields) => fields.into_iter().map(|(name, value)| (name, by_value(value))).collect(),
        other => other,
    }
}

/// What a trait makes, without the metadata that the template gives it.
fn without_names(mut made: Json) -> Json {
    let outputs = made.get_mut("outputs").and_then(Json::as_object_mut);
    for object in outputs.into_iter().flat_map(|all| all.values_mut()) {
        object.as_object_mut().unwrap().remove("metadata");
    }
    made
}

fn report(wrong: &[String], all: usize) {
    assert!(wrong.is_empty(), "{} of {all} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn components_make_what_the_real_ones_make() {
    let cases = cases("component");
    let mut wrong = Vec::new();
    for case in &cases {
        let text = case.definition.template.unwrap();
        let ours = evaluate(case, text, &["output", "outputs"]);
        match (case.failed, ours) {
            (true, Err(_)) => {}
            // Without a workload there is no component.
            (true, Ok(json)) if json["output"].is_null() => {}
            // Without a kind it is no object, which the renderer says.
            (true, Ok(json)) if json["output"]["kind"].is_null() => {}
            (true, Ok(json)) => wrong.push(format!("{}: must fail, gives {json}", case.name)),
            (false, Err(error)) => wrong.push(format!("{}: {error}", case.name)),
            (false, Ok(ours)) => {
                let theirs = read(case, "output.json");
                if ours["output"] != theirs["output"] {
                    let (ours, theirs) = (&ours["output"], &theirs["output"]);
                    wrong.push(format!("{}:\n  ours   {ours}\n  theirs {theirs}", case.name));
                }
            }
        }
    }
    report(&wrong, cases.len());
}

#[test]
fn traits_ask_for_what_the_real_ones_ask() {
    let cases = cases("trait");
    let mut wrong = Vec::new();
    for case in &cases {
        if DIFFERENT.contains(&case.name.as_str()) {
            continue;
        }
        let fields = ["patch", "outputs", "errs"];
        let mut ours = evaluate(case, case.definition.template.unwrap(), &fields);
        if NAMED.contains(&case.definition.name) {
            ours = ours.map(without_names);
        }
        let text = fs::read_to_string(case.folder.join("template.cue")).unwrap();
        let mut theirs = evaluate(case, &text, &fields);
        if let Some(route) = theirs.as_mut().ok().and_then(|made| made.pointer_mut(LATER_ROUTE)) {
            route.as_object_mut().unwrap().remove("ingressClass");
        }
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {}
            (Err(_), _) if case.failed => {}
            // Theirs asks for `parameter.pvc` where none is given; only `outputs` can be told.
            (Ok(_), Err(_)) if !case.failed && case.definition.name == "storage" => {}
            (ours, theirs) => {
                wrong.push(format!("{}:\n  ours   {ours:?}\n  theirs {theirs:?}", case.name));
            }
        }
    }
    report(&wrong, cases.len());
}

#[test]
fn health_is_what_the_real_ones_say() {
    let cases = cases("health");
    let mut wrong = Vec::new();
    for case in &cases {
        let expected = read(case, "output.json");
        let status = case.definition.status;
        let health = status.health.map(|text| evaluate(case, text, &["isHealth"]));
        let healthy = matches!(&health, Some(Ok(json)) if json["isHealth"] == true);
        let message = status.message.map(|text| evaluate(case, text, &["message"]));
        let message = match &message {
            Some(Ok(json)) => json["message"].as_str().unwrap_or_default(),
            _ => "",
        };
        let same_message = OTHER_MESSAGES.contains(&case.definition.name)
            || message == expected["message"].as_str().unwrap_or_default();
        if healthy != (expected["healthy"] == true) || !same_message {
            wrong.push(format!("{}: {health:?} {message:?}, theirs {expected}", case.name));
        }
    }
    report(&wrong, cases.len());
}

#[test]
fn every_text_compiles_and_documents_its_parameters() {
    let mut documented = 0;
    // Steps import packages that the engine offers, and are compiled there.
    for definition in builtin().iter().filter(|one| one.kind != Kind::WorkflowStep) {
        for text in [definition.template, definition.status.health, definition.status.message] {
            let Some(text) = text else { continue };
            let sources =
                [Source::new(definition.name, text), Source::new("declared", "parameter: _\ncontext: _\n")];
            if let Err(diagnostics) = Template::compile(&sources) {
                panic!("{}: {}", definition.name, diagnostics.render(false));
            }
        }
        let Some(text) = definition.template else { continue };
        let source = Source::new(definition.name, text);
        let context = Source::new("declared", "context: _\n");
        let template = Template::compile(&[source, context]).unwrap();
        let instance = template.instantiate(&[]);
        let parameter = instance.root().lookup("parameter");
        for field in parameter.fields(FieldOptions { optional: true, ..FieldOptions::default() }) {
            let usage = field.value.comments();
            documented += 1;
            assert!(
                usage.marker("usage").is_some_and(|text| !text.is_empty()),
                "{}: parameter.{} says nothing to users",
                definition.name,
                field.name
            );
        }
    }
    assert!(documented > 100, "only {documented} parameters were seen");
}
