//! What people do with runs: suspend, resume, terminate, restart.

use serde_json::json;
use vela_engine::workflow::{Idle, Order, RunPhase, StepOutcome, StoredValues, restart_from, steer};

use crate::workflow_runs::{TestRun, ended, fails, waits};

fn three() -> serde_json::Value {
    json!([
        {"name": "a", "type": "t", "outputs": [{"name": "value", "valueFrom": "output"}]},
        {"name": "b", "type": "t", "inputs": [{"from": "value", "parameterKey": "x"}]},
        {"name": "c", "type": "t"},
    ])
}

#[test]
fn a_run_is_suspended_and_resumed() {
    let mut run = TestRun::in_order(&three());
    run.pass(|_| waits());
    run.status.suspend(None, run.now).unwrap();
    assert_eq!(run.phases(), ["a suspending/Wait"]);
    assert_eq!(run.pass_done(), (Vec::new(), Idle::Suspended { until: None }));
    assert_eq!(run.status.phase, RunPhase::Suspending);
    run.status.resume(None, run.now).unwrap();
    assert_eq!(run.pass_done().1, ended(RunPhase::Succeeded));
    let refused = run.status.suspend(None, run.now).unwrap_err().to_string();
    assert!(refused.contains("the workflow is over"), "{refused}");
    assert!(run.status.resume(None, run.now).is_err());
}

#[test]
fn one_step_is_suspended() {
    let mut run = TestRun::dag(&three());
    run.pass(|_| waits());
    let refused = run.status.suspend(Some("b"), run.now).unwrap_err().to_string();
    assert!(refused.starts_with("can not find step b"), "{refused}");
    run.status.suspend(Some("a"), run.now).unwrap();
    assert_eq!(run.phases(), ["a suspending/Wait", "b pending", "c running/Wait"]);
    assert!(run.status.resume(Some("c"), run.now).is_err());
    run.status.resume(Some("a"), run.now).unwrap();
    assert_eq!(run.phases()[0], "a running");
}

#[test]
fn a_terminated_run_begins_nothing_more() {
    for mut run in [TestRun::in_order(&three()), TestRun::dag(&three())] {
        run.pass(|task| if task.name == "c" { StepOutcome::done() } else { waits() });
        run.status.terminate(run.now).unwrap();
        assert_eq!(run.phases()[0], "a failed/Terminate");
        assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Terminated)));
        assert!(run.status.resume(None, run.now).is_err());
        assert!(run.status.terminate(run.now).is_err());
    }
}

#[test]
fn steps_of_a_terminated_group_are_passed_over_unbegun() {
    let steps = json!([{"name": "g", "type": "step-group", "mode": "StepByStep", "subSteps": [
        {"name": "a", "type": "t"}, {"name": "b", "type": "t"}]}]);
    let mut run = TestRun::in_order(&steps);
    run.pass(|_| waits());
    run.status.terminate(run.now).unwrap();
    assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Terminated)));
    assert_eq!(run.phases(), ["g failed/Terminate", "a failed/Terminate", "b skipped/Skip"]);
}

/// Begins a run anew at a step.
fn restart(run: &mut TestRun, step: &str) -> Result<(), String> {
    let TestRun { spec, status, values, now, .. } = run;
    status.restart_from(step, spec, values, *now).map_err(|refused| refused.to_string())
}

#[test]
fn a_run_begins_anew_at_the_step_that_failed() {
    let mut run = TestRun::in_order(&three());
    run.pass(|task| if task.name == "b" { fails() } else { StepOutcome::done() });
    assert_eq!(run.phases(), ["a succeeded", "b failed/Action", "c skipped/Skip"]);
    let former = run.status.step("b").unwrap().id.clone();
    assert!(restart(&mut run, "a").is_err_and(|refused| refused.contains("non-failed step: a is succeeded")));
    assert!(restart(&mut run, "d").is_err());
    restart(&mut run, "b").unwrap();
    assert_eq!(run.phases(), ["a succeeded"]);
    assert!(!run.status.finished && !run.status.terminated && run.status.end.is_none());
    run.wait(1);
    let (executed, idle) = run.pass_done();
    assert_eq!(executed, ["b", "c"]);
    assert_eq!(idle, ended(RunPhase::Succeeded));
    assert_ne!(run.status.step("b").unwrap().id, former);
}

#[test]
fn in_a_dag_only_what_builds_on_the_step_is_run_again() {
    let mut run = TestRun::dag(&three());
    run.pass(|task| if task.name == "a" { fails() } else { StepOutcome::done() });
    assert_eq!(run.phases(), ["a failed/Action", "b succeeded", "c succeeded"]);
    assert_eq!(run.values.get("value"), Some(&serde_json::Value::Null));
    restart(&mut run, "a").unwrap();
    assert_eq!(run.values.get("value"), None);
    assert_eq!(run.phases(), ["c succeeded"]);
    assert_eq!(run.pass_done().0, ["a", "b"]);
}

#[test]
fn a_step_of_a_group_begins_anew_with_what_builds_on_the_group() {
    let steps = json!([
        {"name": "g", "type": "step-group", "subSteps": [
            {"name": "a", "type": "t"}, {"name": "b", "type": "t"}]},
        {"name": "after", "type": "t", "dependsOn": ["g"]},
        {"name": "beside", "type": "t"},
    ]);
    let mut run = TestRun::dag(&steps);
    run.pass(|task| if task.name == "b" { fails() } else { StepOutcome::done() });
    restart(&mut run, "b").unwrap();
    assert_eq!(run.phases(), ["g running", "a succeeded", "beside succeeded"]);
    assert_eq!(run.pass_done(), (vec!["b".to_owned(), "after".to_owned()], ended(RunPhase::Succeeded)));
}

#[test]
fn an_order_becomes_a_patch_of_the_version_that_was_read() {
    let mut run = TestRun::in_order(&json!([{"name": "a", "type": "t"}]));
    run.pass(|_| waits());
    run.status.context = Some(json!({"name": "values"}));
    let application = |run: serde_json::Value| {
        json!({
            "metadata": {"name": "shop", "resourceVersion": "7"}, "status": {"workflow": run},
        })
    };
    let of = |object: &serde_json::Value, order| steer(object, order, run.now);
    let running = application(run.status.to_json());
    let operations = of(&running, Order::Suspend(None)).unwrap();
    assert_eq!(
        operations[0],
        json!({"op": "add", "path": "/metadata/resourceVersion", "value": "7"}),
        "another version is a conflict"
    );
    assert_eq!(operations[1]["value"]["status"], "suspending");
    assert_eq!(operations.len(), 2, "a suspended application is what it was");
    let suspended = application(operations[1]["value"].clone());
    let resumed = of(&suspended, Order::Resume(None)).unwrap();
    assert_eq!(resumed[2]["value"], "runningWorkflow");
    let restarted = of(&running, Order::Restart).unwrap();
    assert_eq!(restarted[1], json!({"op": "remove", "path": "/status/workflow"}));
    let why = of(&running, Order::Resume(None)).unwrap_err();
    assert_eq!(why.message, "workflow of shop: the workflow is not suspended");
    for (object, order, words) in [
        (application(json!(null)), Order::Restart, "has not begun"),
        (application(json!({"appRevision": "shop-v1"})), Order::Terminate, "nothing to steer"),
    ] {
        let why = of(&object, order).unwrap_err();
        assert!(why.message.contains(words) && !why.hint.is_empty(), "{why:?}");
    }
}

#[test]
fn a_restart_from_a_step_is_written_over_what_was_read() {
    let mut run = TestRun::in_order(&three());
    run.pass(|task| if task.name == "b" { fails() } else { StepOutcome::done() });
    run.status.context = Some(json!({"name": "values"}));
    let application = json!({
        "metadata": {"name": "shop", "resourceVersion": "7"}, "status": {"workflow": run.status.to_json()},
    });
    assert_eq!(StoredValues::name_of(&run.status), Some("values"));
    let failed = &run.status.step("b").unwrap().id;
    let data = json!({"vars": r#"{"value": 1}"#, format!("{failed}.calls"): r#"[{"path": "post"}]"#, "logConfig": "{}"});
    let stored =
        StoredValues::read(Some(json!({"metadata": {"resourceVersion": "3"}, "data": data}))).unwrap();
    let written = restart_from(&application, "b", &run.spec, stored, run.now).unwrap();
    let values = written.values.unwrap();
    assert_eq!((&values[0]["value"], &values[1]["value"]["vars"]), (&json!("3"), &json!(r#"{"value":1}"#)));
    assert_eq!(values[1]["value"].as_object().unwrap().len(), 2, "what b recorded is gone: {values:?}");
    assert_eq!(written.status[0]["value"], "7", "another version is a conflict");
    assert_eq!(written.status[1]["value"]["steps"].as_array().unwrap().len(), 1, "a stays");
    assert_eq!(written.status[2]["value"], "runningWorkflow");
    let refused = |step| {
        restart_from(&application, step, &run.spec, StoredValues::default(), run.now).unwrap_err().message
    };
    assert!(refused("a").contains("workflow of shop: can not restart from a non-failed step"));
    assert!(refused("d").contains("can not find step d"));
    let without = restart_from(&application, "b", &run.spec, StoredValues::default(), run.now).unwrap();
    assert_eq!(without.values, None, "there is no ConfigMap to write");
}
