//! Values between steps: outputs, inputs, what is stored of them, and ids.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use vela_engine::workflow::{
    BYTES_AT_MOST, Machine, Next, RunLimits, RunPhase, RunValues, StepOutcome, Task,
};

use crate::workflow_runs::{TestRun, ended, fails};

fn gives(name: &str, value: Json) -> StepOutcome {
    StepOutcome::Done { outputs: vec![(name.to_owned(), Ok(value))], message: String::new() }
}

fn read(data: &[(&str, &str)]) -> Result<RunValues, String> {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    RunValues::read(&data.collect::<BTreeMap<_, _>>())
}

/// The parameters with which a step was run.
fn properties(run: &mut TestRun, step: &str, given: &Json) -> Option<Json> {
    let found = std::cell::RefCell::new(None);
    run.pass(|task: &Task| {
        if task.name == step {
            found.replace(Some(task.properties.clone()));
        }
        if task.name == "a" { gives("value", given.clone()) } else { StepOutcome::done() }
    });
    found.into_inner()
}

#[test]
fn a_value_goes_from_step_to_step() {
    let steps = json!([
        {"name": "b", "type": "t", "properties": {"list": [{"x": 1}]}, "inputs": [
            {"from": "value.ip", "parameterKey": "list[0].ip"},
            {"from": "context.namespace", "parameterKey": "namespace"},
        ]},
        {"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output"}]},
    ]);
    let mut run = TestRun::dag(&steps);
    let properties = properties(&mut run, "b", &json!({"ip": "10.0.0.1"}));
    assert_eq!(properties, Some(json!({"list": [{"x": 1, "ip": "10.0.0.1"}], "namespace": "prod"})));
    assert_eq!(run.values.to_data()["vars"], r#"{"value":{"ip":"10.0.0.1"}}"#);
}

#[test]
fn a_step_waits_for_a_value_and_says_so() {
    let steps = json!([{"name": "b", "type": "t", "inputs": [{"from": "absent", "parameterKey": "x"}]}]);
    let mut run = TestRun::in_order(&steps);
    assert_eq!(run.pass_done().0, Vec::<String>::new());
    assert_eq!((run.phases(), run.message("b")), (vec!["b pending".to_owned()], "Pending on Input: absent"));
}

#[test]
fn a_value_without_a_place_is_for_conditions() {
    let steps = json!([
        {"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output"}]},
        {"name": "b", "type": "t", "inputs": [{"from": "value"}], "if": "inputs[\"value\"] > 3"},
    ]);
    let of = |value: i64| properties(&mut TestRun::in_order(&steps), "b", &json!(value));
    assert_eq!((of(4), of(3)), (Some(json!({})), None));
}

#[test]
fn an_input_that_cannot_be_set_fails_its_step() {
    let steps = json!([{"name": "a", "type": "t", "properties": {"x": 1},
        "inputs": [{"from": "context.name", "parameterKey": "x.y"}]}]);
    let mut run = TestRun::in_order(&steps);
    assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["a failed/Input"]);
    assert!(run.message("a").contains("x: expected an object"), "{}", run.message("a"));
}

#[test]
fn an_output_that_is_missing_is_none_and_told() {
    let steps = json!([
        {"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output.x"}]},
        {"name": "b", "type": "t", "inputs": [{"from": "value", "parameterKey": "x"}]},
    ]);
    let mut run = TestRun::in_order(&steps);
    let missing = || StepOutcome::Done {
        outputs: vec![("value".to_owned(), Err("output.x: no such field".to_owned()))],
        message: "applied".to_owned(),
    };
    let (executed, _) = run.pass(|task| if task.name == "a" { missing() } else { StepOutcome::done() });
    assert_eq!(executed, ["a", "b"]);
    assert_eq!(run.message("a"), "applied; failed to get output \"value\": output.x: no such field");
    assert_eq!(run.values.get("value"), Some(&Json::Null));
}

#[test]
fn no_step_waits_for_the_values_of_a_failed_one() {
    let steps = json!([
        {"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output"}]},
        {"name": "b", "type": "t", "if": "always", "inputs": [{"from": "value", "parameterKey": "x"}]},
    ]);
    let mut run = TestRun::in_order(&steps);
    let (executed, _) = run.pass(|task| if task.name == "a" { fails() } else { StepOutcome::done() });
    assert_eq!(executed, ["a", "b"]);
}

#[test]
fn a_value_that_is_too_large_fails_its_step() {
    let steps = json!([{"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output"}]}]);
    let mut run = TestRun::in_order(&steps);
    let large = "x".repeat(BYTES_AT_MOST / 2);
    run.pass(|_| gives("value", json!(large)));
    assert_eq!(run.phases(), ["a succeeded"]);
    let mut run = TestRun::in_order(&steps);
    let too_large = "x".repeat(BYTES_AT_MOST);
    assert_eq!(run.pass(|_| gives("value", json!(too_large))).1, ended(RunPhase::Failed));
    assert_eq!(run.phases(), ["a failed/Output"]);
    assert!(run.message("a").contains("bytes; expected at most"), "{}", run.message("a"));
}

#[test]
fn what_others_stored_is_read() {
    let of_kubevela = "ip: \"10.0.0.1\"\nport: {\n\tname: \"http\" // where\n}\n";
    let values = read(&[("vars", of_kubevela), ("logConfig", "{}"), ("x.metrics.failed.time", "1")]).unwrap();
    assert_eq!(values.get("ip"), Some(&json!("10.0.0.1")));
    assert_eq!(values.get("port.name"), Some(&json!("http")));
    assert!(read(&[("vars", "a: b: {")]).is_err_and(|message| message.starts_with("vars: ")));
    assert!(read(&[("vars", "[1]")]).is_err_and(|message| message.contains("expected a struct")));
}

#[test]
fn calls_with_an_effect_outside_are_remembered() {
    let mut values = RunValues::default();
    values.record("id", "http", None).unwrap();
    let again = RunValues::read(&values.to_data()).unwrap();
    assert_eq!(again.calls("id").len(), 1);
    assert_eq!(again.calls("id")[0].answer, None);
    values.record("id", "http", Some(json!({"statusCode": 200}))).unwrap();
    let again = RunValues::read(&values.to_data()).unwrap();
    assert_eq!(again.calls("id")[0].answer, Some(json!({"statusCode": 200})));
    assert!(values.record("id", "more", Some(json!("x".repeat(BYTES_AT_MOST)))).is_err());
    let half = json!("x".repeat(BYTES_AT_MOST / 2));
    values.record("id", "half", Some(half.clone())).unwrap();
    let why = values.record("other", "half", Some(half.clone())).unwrap_err();
    assert!(why.contains("together"), "{why}");
    assert!(values.set("value", half).is_err(), "values and answers share one object");
    values.forget_call("id", "half");
    assert_eq!(values.calls("id").len(), 1);
    assert!(values.calls("other").is_empty());
}

#[test]
fn answers_of_a_step_that_is_done_are_forgotten() {
    let run = TestRun::in_order(&json!([{"name": "a", "type": "t"}, {"name": "b", "type": "t"}]));
    let (limits, context) = (RunLimits::default(), json!({}));
    let mut machine =
        Machine::new(&run.spec, run.status.clone(), RunValues::default(), context.clone(), limits.clone());
    let Next::Execute(task) = machine.next(run.now) else { panic!("a must be run") };
    machine.values_mut().record(&task.id, "post", Some(json!({}))).unwrap();
    let (status, values) = (machine.status().clone(), machine.values().clone());
    let again = Machine::new(&run.spec, status, values, context.clone(), limits.clone());
    assert_eq!(again.values().calls(&task.id).len(), 1, "it is not done");
    machine.report("a", StepOutcome::done(), run.now);
    assert_eq!(machine.values().calls(&task.id).len(), 1, "that it is done may not be stored yet");
    let (status, values) = (machine.status().clone(), machine.values().clone());
    let mut again = Machine::new(&run.spec, status, values, context, limits);
    let Next::Execute(next) = again.next(run.now) else { panic!("b must be run") };
    assert_eq!(next.name, "b");
    assert!(again.values().calls(&task.id).is_empty());
}

#[test]
fn a_check_remembers_since_when_it_says_the_same() {
    let of_kubevela = [("x.metrics.success.time", "60"), ("x.metrics.fail.time", "0")];
    let mut values = read(&of_kubevela).unwrap();
    assert_eq!(values.since("x", "success").map(|time| time.as_second()), Some(60));
    assert_eq!(values.since("x", "fail"), None);
    values.set_since("x", "success", None);
    values.set_since("x", "fail", Some(jiff::Timestamp::from_second(90).unwrap()));
    let data = values.to_data();
    assert_eq!(data.get("x.metrics.fail.time").map(String::as_str), Some("90"));
    assert!(!data.contains_key("x.metrics.success.time"));
    assert_eq!(RunValues::read(&data).unwrap(), values);
}

#[test]
fn ids_tell_runs_and_steps_apart() {
    let id = |seed: &str, name: &str| {
        let mut run = TestRun::in_order(&json!([{"name": name, "type": "t"}]));
        run.limits.seed = seed.to_owned();
        let mut machine =
            Machine::new(&run.spec, run.status.clone(), RunValues::default(), json!({}), run.limits.clone());
        let Next::Execute(task) = machine.next(run.now) else { panic!("{name} must be run") };
        task.id
    };
    assert_eq!(id("u", "a"), id("u", "a"));
    assert_ne!(id("u", "a"), id("u", "b"));
    assert_ne!(id("u", "a"), id("v", "a"));
    assert!(id("u", "a").chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()));
}
