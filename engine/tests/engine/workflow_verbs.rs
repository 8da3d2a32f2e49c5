//! What people do with runs: suspend, resume, terminate, restart.

use serde_json::json;
use vela_engine::workflow::{Idle, RunPhase, StepOutcome};

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
