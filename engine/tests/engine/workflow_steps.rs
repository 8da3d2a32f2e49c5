//! Steps with templates in a run: what they call, what is recorded of it, and what they give.

// A test says what is wrong by panicking; helpers of tests too.
#![allow(clippy::panic)]

use serde_json::{Value as Json, json};
use vela_engine::definition::DEFAULT_ERA;
use vela_engine::steps::Step;
use vela_engine::workflow::{Execution, Idle, Machine, Next, Progress, RunLimits, RunPhase, StepStatus};

use crate::workflow_runs::{TestRun, ended};

const SUSPEND: &str = r#"
import "vela/builtin"
suspend: builtin.#Suspend & {$params: parameter}
parameter: {duration?: string, message?: string}
"#;

const REQUEST: &str = r#"
import ("vela/http", "vela/builtin")
post: http.#HTTPDo & {$params: {method: "POST", url: parameter.url}}
wait: builtin.#ConditionalWait & {$params: {continue: parameter.ready, message: "not ready"}}
code: post.$returns.statusCode
parameter: {url: string, ready: bool}
"#;

const READ: &str = r#"
import ("vela/kube", "vela/builtin")
output: kube.#Read & {$params: value: {apiVersion: "v1", kind: "Service", metadata: {name: context.stepName, namespace: context.namespace}}}
say: builtin.#Message & {$params: message: "it is \(output.$returns.value.status.ip)"}
"#;

/// One pass in which steps are evaluated; `answer` gives the answers to calls, or nothing where the process ends before.
/// Gives the calls that were made.
fn pass(run: &mut TestRun, text: &str, answer: impl Fn(&str) -> Option<Json>) -> (Vec<String>, Idle) {
    let compiled = Step::compile("step", text, DEFAULT_ERA).unwrap_or_else(|found| panic!("{found}"));
    let context = json!({"name": "app", "namespace": "prod"});
    let mut machine =
        Machine::new(&run.spec, run.status.clone(), run.values.clone(), context, RunLimits::default());
    let mut made = Vec::new();
    loop {
        let task = match machine.next(run.now) {
            Next::Execute(task) => task,
            Next::Idle(idle) => {
                (run.status, run.values) = (machine.status().clone(), machine.values().clone());
                return (made, idle);
            }
        };
        let mut execution = Execution::begin(&compiled, &task, &machine);
        let outcome = loop {
            let progress = execution.advance();
            if execution.is_confidential() {
                machine.conceal(&task.name);
            }
            let call = match progress {
                Progress::Ended(outcome) => break outcome,
                Progress::Call(call) => call,
            };
            made.push(format!("{}.{} {}", call.provider, call.function, call.params));
            let is_outside = call.provider == "http";
            if is_outside {
                machine.values_mut().record(&task.id, &call.path, None).unwrap();
            }
            let Some(answer) = answer(&call.path) else {
                (run.status, run.values) = (machine.status().clone(), machine.values().clone());
                return (made, Idle::Suspended { until: None });
            };
            if is_outside {
                machine.values_mut().record(&task.id, &call.path, Some(answer.clone())).unwrap();
            }
            execution.answer(answer).unwrap();
        };
        machine.report(&task.name, outcome, run.now);
    }
}

fn message(status: Option<&StepStatus>) -> String {
    status.map(|status| status.message.clone()).unwrap_or_default()
}

#[test]
fn a_suspension_is_passed_once_it_is_resumed() {
    let step = json!([{"name": "hold", "type": "suspend", "properties": {"duration": "1m"}}]);
    let mut run = TestRun::in_order(&step);
    let unanswered = |_: &str| None;
    assert!(matches!(pass(&mut run, SUSPEND, unanswered).1, Idle::Suspended { until: Some(_) }));
    assert_eq!(message(run.status.step("hold")), "Suspended by field suspend");
    run.wait(60);
    assert_eq!(pass(&mut run, SUSPEND, unanswered).1, ended(RunPhase::Succeeded));
}

#[test]
fn each_suspension_of_a_step_has_its_own_resumption() {
    let twice = "import \"vela/builtin\"\na: builtin.#Suspend & {$params: {message: \"first\"}}\nb: builtin.#Suspend & {$params: {message: \"second\"}}";
    let mut run = TestRun::in_order(&json!([{"name": "hold", "type": "twice"}]));
    let unanswered = |_: &str| None;
    pass(&mut run, twice, unanswered);
    assert_eq!(message(run.status.step("hold")), "first");
    run.status.resume(None, run.now).unwrap();
    assert_eq!(pass(&mut run, twice, unanswered).1, Idle::Suspended { until: None });
    assert_eq!(message(run.status.step("hold")), "second");
    run.status.resume(None, run.now).unwrap();
    assert_eq!(pass(&mut run, twice, unanswered).1, ended(RunPhase::Succeeded));
}

#[test]
fn a_call_with_an_effect_outside_is_made_once() {
    let steps = |ready: bool| {
        json!([{"name": "tell", "type": "request", "properties": {"url": "http://a", "ready": ready},
            "outputs": [{"name": "code", "valueFrom": "code"}]}])
    };
    let mut run = TestRun::in_order(&steps(false));
    let (made, _) = pass(&mut run, REQUEST, |_| Some(json!({"statusCode": 200})));
    assert_eq!(made.len(), 1);
    assert_eq!(run.phases(), ["tell running/Wait"]);
    // Evaluated again, as often as it waits, and by other processes.
    let (made, _) = pass(&mut run, REQUEST, |_| panic!("it was made"));
    assert_eq!(made, Vec::<String>::new());
    run.spec = TestRun::in_order(&steps(true)).spec;
    let (made, idle) = pass(&mut run, REQUEST, |_| panic!("it was made"));
    assert_eq!((made.len(), idle), (0, ended(RunPhase::Succeeded)));
    assert_eq!(run.values.get("code"), Some(&json!(200)));
}

#[test]
fn a_call_of_unknown_outcome_is_not_made_again() {
    let steps =
        json!([{"name": "tell", "type": "request", "properties": {"url": "http://a", "ready": true}}]);
    let mut run = TestRun::in_order(&steps);
    pass(&mut run, REQUEST, |_| None);
    let (made, idle) = pass(&mut run, REQUEST, |_| panic!("it may have been made"));
    assert_eq!((made.len(), idle), (0, ended(RunPhase::Failed)));
    let said = message(run.status.step("tell"));
    assert!(said.contains("post was begun before the process ended"), "{said}");
}

#[test]
fn requests_have_the_method_of_their_name() {
    for (name, method) in
        [("HTTPDo", "GET"), ("HTTPGet", "GET"), ("HTTPPost", "POST"), ("HTTPDelete", "DELETE")]
    {
        let text = format!("import \"vela/http\"\nask: http.#{name} & {{$params: url: \"http://a\"}}");
        let mut run = TestRun::in_order(&json!([{"name": "ask", "type": "ask"}]));
        let (made, idle) = pass(&mut run, &text, |_| Some(json!({"statusCode": 200, "body": ""})));
        assert!(made[0].contains(&format!("\"method\":\"{method}\"")), "{name}: {made:?}");
        assert_eq!(idle, ended(RunPhase::Succeeded), "{name}: {:?}", run.phases());
    }
}

#[test]
fn a_call_without_an_answer_is_done() {
    let text =
        "import \"vela/config\"\nmake: config.#DeleteConfig & {$params: {name: \"a\", namespace: \"b\"}}";
    let mut run = TestRun::in_order(&json!([{"name": "drop", "type": "drop"}]));
    let (made, idle) = pass(&mut run, text, |_| Some(Json::Null));
    assert_eq!((made.len(), idle), (1, ended(RunPhase::Succeeded)));
}

#[test]
fn what_a_step_read_of_a_secret_stands_in_no_message() {
    let text = r#"
import ("vela/kube", "vela/builtin")
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "Secret", metadata: name: "key"}}
fail: builtin.#Fail & {$params: message: "refused: \(read.$returns.value.data.key) and \(parameter.password)"}
parameter: password: string
"#;
    let step = json!([{"name": "tell", "type": "request", "properties": {"password": "open-sesame"}}]);
    let mut run = TestRun::in_order(&step);
    let secret = json!({"kind": "Secret", "data": {"key": "aGlkZGVuLXZhbHVl"}});
    pass(&mut run, text, |_| Some(json!({"value": secret})));
    assert_eq!(run.phases(), ["tell failed/Action"]);
    let said = message(run.status.step("tell"));
    assert!(said.starts_with("refused: "), "{said}");
    assert!(!said.contains("aGlkZGVuLXZhbHVl") && !said.contains("sesame"), "{said}");
}

#[test]
fn a_step_reads_with_its_context_and_gives_values() {
    let steps = json!([{"name": "web", "type": "read", "outputs": [
        {"name": "ip", "valueFrom": "output.value.status.ip"}, {"name": "port", "valueFrom": "output.value.port"}]}]);
    let mut run = TestRun::in_order(&steps);
    let (made, idle) = pass(&mut run, READ, |_| Some(json!({"value": {"status": {"ip": "10.0.0.1"}}})));
    let asked = &made[0];
    assert!(asked.contains("\"name\":\"web\"") && asked.contains("\"namespace\":\"prod\""), "{asked}");
    assert_eq!(idle, ended(RunPhase::Succeeded));
    assert_eq!(run.values.get("ip"), Some(&json!("10.0.0.1")));
    assert_eq!(run.values.get("port"), Some(&Json::Null));
    let said = message(run.status.step("web"));
    assert!(said.starts_with("it is 10.0.0.1; failed to get output \"port\""), "{said}");
}

#[test]
fn a_step_whose_answers_do_not_fit_is_tried_again() {
    let steps = json!([{"name": "web", "type": "read"}]);
    let mut run = TestRun::in_order(&steps);
    pass(&mut run, READ, |_| Some(json!({"value": {"status": {"ip": {"no": "text"}}}})));
    assert_eq!(run.phases(), ["web failed/Execute"]);
    assert!(!message(run.status.step("web")).is_empty());
}

const COPY: &str = r#"
import "vela/kube"
output: kube.#Read & {$params: value: {apiVersion: "v1", kind: parameter.kind, metadata: name: "keys"}}
given: parameter.kind
parameter: kind: string
"#;

#[test]
fn values_from_a_secret_and_derived_ones_are_stored_apart() {
    let reads = |kind: &str| {
        json!([
            {"name": "read", "type": "copy", "properties": {"kind": kind},
                "outputs": [{"name": "word", "valueFrom": "output.value.data.word"}]},
            {"name": "pass", "type": "copy", "properties": {"kind": "ConfigMap"},
                "inputs": [{"from": "word", "parameterKey": "kind"}],
                "outputs": [{"name": "second", "valueFrom": "given"}]},
            {"name": "plain", "type": "copy", "properties": {"kind": "ConfigMap"},
                "outputs": [{"name": "third", "valueFrom": "given"}]},
        ])
    };
    let of = |kind: &str| {
        let mut run = TestRun::in_order(&reads(kind));
        pass(&mut run, COPY, |_| Some(json!({"value": {"kind": kind, "data": {"word": "swordfish"}}})));
        (run.values.to_data(), run.values.confidential_data())
    };
    let (shown, confidential) = of("ConfigMap");
    assert!(shown["vars"].contains("swordfish") && confidential.is_empty(), "{shown:?}");
    let (shown, confidential) = of("Secret");
    assert!(!shown.values().any(|text| text.contains("swordfish")), "{shown:?}");
    assert!(shown["confidential"].contains("Secret"), "{shown:?}");
    let stored = &confidential["vars"];
    assert!(
        stored.contains("\"word\":\"swordfish\"") && stored.contains("\"second\":\"swordfish\""),
        "{stored}"
    );
    let again = vela_engine::workflow::RunValues::read(&shown).unwrap();
    let again = again.with_confidential(&confidential).unwrap();
    assert_eq!(again.get("second"), Some(&json!("swordfish")));
    assert_eq!((again.to_data(), again.confidential_data()), (shown.clone(), confidential));
    // Who does not read the Secret leaves it where it is.
    let half = vela_engine::workflow::RunValues::read(&shown).unwrap();
    assert_eq!((half.to_data(), half.confidential_data().is_empty()), (shown, true));
}

/// What a step saw, after each time that it goes on.
fn seen(kind: &str) -> Vec<Json> {
    let compiled = Step::compile("step", COPY, DEFAULT_ERA).unwrap_or_else(|found| panic!("{found}"));
    let run = TestRun::in_order(&json!([{"name": "read", "type": "copy", "properties": {"kind": kind}}]));
    let mut machine =
        Machine::new(&run.spec, run.status.clone(), run.values.clone(), json!({}), RunLimits::default());
    let Next::Execute(task) = machine.next(run.now) else { panic!("it is to be run") };
    let mut execution = Execution::begin(&compiled, &task, &machine);
    assert_eq!(execution.id(), task.id);
    let mut all = Vec::new();
    execution.record_calls();
    loop {
        let progress = execution.advance();
        all.extend(execution.seen(&progress));
        match progress {
            Progress::Ended(_) => return all,
            Progress::Call(_) => {
                let answer = json!({"value": {"kind": kind, "data": {"word": "swordfish"}}});
                execution.answer(answer).unwrap_or_else(|outcome| panic!("{outcome:?}"));
            }
        }
    }
}

#[test]
fn what_a_step_saw_is_remembered_but_nothing_of_a_secret() {
    let all = seen("ConfigMap");
    assert_eq!(all[0]["outcome"], "asks kube read");
    let last = &all[1];
    assert_eq!((&last["outcome"], &last["parameter"]), (&json!("done"), &json!({"kind": "ConfigMap"})));
    assert_eq!(last["calls"][0]["params"]["value"]["metadata"]["name"], "keys");
    assert_eq!(last["calls"][0]["answer"]["value"]["data"]["word"], "swordfish");
    assert_eq!(last["value"]["given"], "ConfigMap");
    let last = seen("Secret").pop().unwrap();
    assert!(!last.to_string().contains("swordfish") && last["value"].is_null(), "{last}");
    assert_eq!(last["calls"][0]["call"], "kube read");
}
