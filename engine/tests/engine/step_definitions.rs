//! The built-in workflow steps ask for the same, and call the same, as the real ones.

// A test says what is wrong by panicking; helpers of tests too.
#![allow(clippy::panic)]

use std::fs;

use serde_json::{Value as Json, json};
use vela_definitions::{Definition, Kind, builtin, find};
use vela_engine::definition::{DEFAULT_ERA, record};
use vela_engine::steps::{Answer, Step, Stop};

/// Cases whose calls differ, each with the reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("step-clean-jobs-02", "the kind of the pods is Pod; no server knows `pod`"),
    ("step-restart-workflow-02", "the script is another one, for any shell"),
];

fn compiled(definition: &Definition) -> Step {
    let step = Step::compile(definition.name, definition.template.unwrap(), DEFAULT_ERA);
    step.unwrap_or_else(|found| panic!("{}: {found}", definition.name))
}

/// All calls of a step at the first look, in order, as the cases write them.
fn calls(definition: &Definition, parameter: &Json, context: &Json) -> Result<Vec<Json>, String> {
    let questions = compiled(definition).run(parameter, context).questions();
    let calls = questions.map_err(|found| found.to_string())?.into_iter().map(|(question, open)| {
        let params = if open.is_none() { question.params } else { Json::Null };
        json!({
            "path": question.path,
            "do": question.function,
            "provider": question.provider,
            "params": params,
            "open": open.is_some(),
        })
    });
    Ok(calls.collect())
}

/// A recorded call in the same form.
fn recorded(call: &Json) -> Json {
    json!({
        "path": call["path"],
        "do": call["do"],
        "provider": call["provider"],
        "params": call["params"],
        "open": call.get("paramsError").is_some(),
    })
}

/// Numbers count by their value.
fn same(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Number(ours), Json::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Json::Object(ours), Json::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().all(|(name, value)| theirs.get(name).is_some_and(|theirs| same(value, theirs)))
        }
        _ => ours == theirs,
    }
}

#[test]
fn steps_call_what_the_real_ones_call() {
    let root = vela_testkit::cases::folder("conformance/definitions");
    let manifest = fs::read_to_string(root.join("manifest.jsonl")).unwrap();
    let (mut judged, mut wrong) = (0, Vec::new());
    for line in manifest.lines() {
        let entry: Json = serde_json::from_str(line).unwrap();
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let definition = find(Kind::WorkflowStep, text("type")).filter(|_| text("kind") == "step");
        let Some(definition) = definition else { continue };
        let folder = root.join("cases").join(text("name"));
        let read = |file: &str| -> Json {
            match fs::read_to_string(folder.join(file)) {
                Ok(text) => serde_json::from_str(&text).unwrap(),
                Err(_) => json!({}),
            }
        };
        let ours = calls(definition, &read("parameter.json"), &read("context.json"));
        let theirs: Vec<Json> = read("calls.json").as_array().into_iter().flatten().map(recorded).collect();
        let is_same = match &ours {
            Err(_) => text("status") == "error",
            Ok(ours) => text("status") != "error" && same(&json!(ours), &json!(theirs)),
        };
        judged += 1;
        let is_listed = DIFFERENT.iter().any(|(name, _)| *name == text("name"));
        if is_same == is_listed {
            wrong.push(format!("{}:\n  ours   {ours:?}\n  theirs {theirs:?}", text("name")));
        }
    }
    assert!(judged > 80, "only {judged} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_step_compiles_and_documents_its_parameters() {
    let mut documented = 0;
    for definition in builtin().iter().filter(|one| one.kind == Kind::WorkflowStep) {
        compiled(definition);
        let parsed = vela_engine::Definition::from_object(definition.manifest("vela-system")).unwrap();
        let schema = record::schema(&parsed).unwrap();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            documented += 1;
            let says = field["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(says, "{}: parameter.{name} says nothing to users", definition.name);
        }
    }
    assert!(documented > 80, "only {documented} parameters were seen");
}

#[test]
fn a_build_that_failed_ends_its_step() {
    let definition = find(Kind::WorkflowStep, "build-push-image").unwrap();
    let context = json!({"name": "app", "namespace": "prod", "stepName": "build", "stepSessionID": "s1"});
    let mut run = compiled(definition).run(&json!({"image": "shop:1", "context": "git://x"}), &context);
    let mut asked = Vec::new();
    loop {
        match run.advance().unwrap_or_else(|found| panic!("{found}")) {
            Stop::Ask(question) => {
                asked.push(question.path);
                let answer = Answer::Returns(json!({"value": {"status": {"phase": "Failed"}}}));
                run.answer(answer).unwrap_or_else(|found| panic!("{found}"));
            }
            Stop::Fail { message } => {
                return assert!(message.contains("the build of shop:1 failed"), "{message}");
            }
            _ => panic!("it must fail; asked: {asked:?}"),
        }
    }
}
