//! What takes time in a run: retries, timeouts, suspensions, and when it is looked at again.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vela_engine::workflow::{Idle, RunPhase, StepOutcome, WorkflowSpec};

use crate::workflow_runs::{TestRun, ended, error, waits};

fn suspends(duration: Option<&str>) -> StepOutcome {
    StepOutcome::Suspend {
        field: "suspend".to_owned(),
        duration: duration.map(str::to_owned),
        message: "Suspended by field suspend".to_owned(),
    }
}

fn after(seconds: i64) -> Idle {
    Idle::Executing { after: SignedDuration::from_secs(seconds) }
}

fn two() -> TestRun {
    TestRun::in_order(&json!([{"name": "a", "type": "t"}, {"name": "b", "type": "t"}]))
}

#[test]
fn an_error_is_tried_again_ten_times() {
    let mut run = two();
    let mut waited = 0;
    for _ in 0..10 {
        let (executed, idle) = run.pass(|_| error());
        assert_eq!(executed, ["a"]);
        assert_eq!(run.phases(), ["a failed/Execute"]);
        let Idle::Executing { after } = idle else { panic!("{idle:?}") };
        waited += after.as_secs();
        run.wait(after.as_secs());
    }
    // As upstream: six times a second, then 3, 6, 12 and 25.
    assert_eq!(waited, 52);
    assert_eq!(run.pass(|_| error()), (vec!["a".to_owned()], ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["a failed/FailedAfterRetries", "b skipped/Skip"]);
    assert_eq!(run.message("a"), "no route to host");
}

#[test]
fn a_reconcile_between_two_tries_is_no_try() {
    let mut run = two();
    for _ in 0..8 {
        let (_, idle) = run.pass(|_| error());
        let Idle::Executing { after } = idle else { panic!("{idle:?}") };
        run.wait(after.as_secs() - 1);
        if after.as_secs() > 1 {
            assert_eq!(run.pass(|_| error()).0, Vec::<String>::new());
        }
        run.wait(1);
    }
    assert_eq!(run.phases(), ["a failed/Execute"]);
}

#[test]
fn a_step_that_waits_is_looked_at_less_and_less_often() {
    let mut run = two();
    let mut looks = Vec::new();
    for _ in 0..9 {
        let Idle::Executing { after } = run.pass(|_| waits()).1 else { panic!("it must wait") };
        looks.push(after.as_secs());
        run.wait(after.as_secs());
    }
    assert_eq!(looks, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
    let other = || StepOutcome::Wait { message: "almost".to_owned() };
    assert_eq!(run.pass(|_| other()).1, after(1));
    assert_eq!(run.status.step("a").map(|step| step.last), Some(run.now));
}

#[test]
fn what_takes_too_long_fails_and_is_not_run_once_more() {
    let steps = json!([
        {"name": "a", "type": "t", "timeout": "5s"},
        {"name": "b", "type": "t", "if": "status.a.timeout"},
    ]);
    let mut run = TestRun::in_order(&steps);
    assert_eq!(run.pass(|_| waits()).1, after(1));
    run.wait(4);
    assert_eq!(run.pass(|_| waits()), (vec!["a".to_owned()], after(1)));
    run.wait(1);
    let (executed, idle) = run.pass_done();
    assert_eq!((executed, idle), (vec!["b".to_owned()], ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["a failed/Timeout", "b succeeded"]);
    assert_eq!(run.message("a"), "it took longer than its timeout of 5s");
}

#[test]
fn a_step_that_timed_out_gives_the_outputs_of_that_moment() {
    let steps = json!([
        {"name": "a", "type": "apply-component", "timeout": "5s", "properties": {"component": "a"},
         "outputs": [{"name": "why", "valueFrom": "output.status.reason"}]},
        {"name": "b", "type": "t", "if": "always", "inputs": [{"from": "why", "parameterKey": "text"}]},
    ]);
    let unhealthy = || StepOutcome::Unhealthy { outputs: vec![("why".to_owned(), Ok(json!("no image")))] };
    let mut run = TestRun::in_order(&steps);
    assert_eq!(run.pass(|_| unhealthy()).1, after(1));
    assert_eq!(run.message("a"), "wait healthy");
    run.wait(5);
    let (executed, idle) = run.pass(|task| match task.name.as_str() {
        "a" => unhealthy(),
        _ => {
            assert_eq!(task.properties["text"], "no image");
            StepOutcome::done()
        }
    });
    assert_eq!((executed, idle), (vec!["a".to_owned(), "b".to_owned()], ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["a failed/Timeout", "b succeeded"]);
    assert_eq!(run.message("a"), "it took longer than its timeout of 5s");
}

#[test]
fn time_that_a_step_waited_for_others_is_not_its_own() {
    let steps = json!([
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t", "dependsOn": ["a"], "timeout": "5s"},
    ]);
    let mut run = TestRun::dag(&steps);
    run.pass(|_| waits());
    assert_eq!(run.phases(), ["a running/Wait", "b pending"]);
    run.wait(60);
    let (executed, _) = run.pass(|task| if task.name == "a" { StepOutcome::done() } else { waits() });
    assert_eq!(executed, ["a", "b"]);
    assert_eq!(run.phases()[1], "b running/Wait");
    assert_eq!(run.status.step("b").map(|step| step.first), Some(run.now));
}

#[test]
fn a_suspension_ends_by_itself_after_its_time() {
    let mut run = two();
    let (_, idle) = run.pass(|_| suspends(Some("30s")));
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(30);
    assert_eq!(idle, Idle::Suspended { until: Some(until) });
    assert_eq!(run.phases(), ["a suspending/Suspend"]);
    assert!(run.status.suspend && run.status.phase == RunPhase::Suspending);
    let id = run.status.step("a").unwrap().id.clone();
    let data = run.values.to_data();
    assert_eq!(data[&format!("{id}.resumeTimeStamp")], "1970-01-01T00:00:30Z");
    assert_eq!(data[&format!("{id}.suspend.suspendTimeStamp")], "1970-01-01T00:00:00Z");
    run.wait(29);
    assert_eq!(run.pass_done(), (Vec::new(), Idle::Suspended { until: Some(until) }));
    run.wait(1);
    assert_eq!(run.pass_done(), (vec!["a".to_owned(), "b".to_owned()], ended(RunPhase::Succeeded)));
    assert!(!run.status.suspend);
}

#[test]
fn a_suspension_without_a_time_waits_for_a_person() {
    let mut run = two();
    assert_eq!(run.pass(|_| suspends(None)).1, Idle::Suspended { until: None });
    run.wait(1_000_000);
    assert_eq!(run.pass_done(), (Vec::new(), Idle::Suspended { until: None }));
    run.status.resume(None, run.now).unwrap();
    assert_eq!(run.phases(), ["a running"]);
    let mut second = run.pass(|task| if task.name == "a" { StepOutcome::done() } else { suspends(None) });
    assert_eq!(second, (vec!["a".to_owned(), "b".to_owned()], Idle::Suspended { until: None }));
    run.status.resume(Some("b"), run.now).unwrap();
    second = run.pass_done();
    assert_eq!(second, (vec!["b".to_owned()], ended(RunPhase::Succeeded)));
}

#[test]
fn steps_beside_a_suspended_one_go_on() {
    let steps = json!([{"name": "a", "type": "t"}, {"name": "b", "type": "t"}, {"name": "c", "type": "t"}]);
    let mut run = TestRun::dag(&steps);
    let (executed, idle) = run.pass(|task| match task.name.as_str() {
        "a" => suspends(None),
        "b" => waits(),
        _ => StepOutcome::done(),
    });
    assert_eq!(executed, ["a", "b", "c"]);
    assert_eq!(idle, after(1));
    assert_eq!(run.status.phase, RunPhase::Suspending);
    assert_eq!(run.pass_done(), (vec!["b".to_owned()], Idle::Suspended { until: None }));
}

#[test]
fn a_suspended_step_can_run_out_of_time() {
    let mut run = TestRun::in_order(&json!([{"name": "a", "type": "suspend", "timeout": "10s"}]));
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(10);
    assert_eq!(run.pass(|_| suspends(Some("1h"))).1, Idle::Suspended { until: Some(until) });
    run.wait(10);
    assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["a failed/Timeout"]);
}

#[test]
fn a_suspension_that_was_not_stored_is_said_once_more() {
    let mut run = two();
    run.pass(|_| suspends(Some("30s")));
    // The process ended after the status was written, and before the values were.
    run.values = vela_engine::workflow::RunValues::default();
    run.wait(5);
    let (executed, idle) = run.pass(|_| suspends(Some("30s")));
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(35);
    assert_eq!((executed, idle), (vec!["a".to_owned()], Idle::Suspended { until: Some(until) }));
}

#[test]
fn a_suspension_for_no_duration_is_a_mistake() {
    let mut run = two();
    assert_eq!(run.pass(|_| suspends(Some("soon"))).1, ended(RunPhase::Failed));
    assert_eq!(run.phases(), ["a failed/Rendering", "b skipped/Skip"]);
    assert!(run.message("a").starts_with("\"soon\" is no duration"), "{}", run.message("a"));
}

#[test]
fn a_run_suspended_by_a_failure_is_retried_once_resumed() {
    let mut run = two();
    run.limits.suspend_on_failure = true;
    run.limits.retries = 1;
    run.pass(|_| error());
    run.wait(1);
    assert_eq!(run.pass(|_| error()).1, Idle::Suspended { until: None });
    assert_eq!(run.phases(), ["a failed/FailedAfterRetries"]);
    assert!(run.status.suspend && !run.status.terminated);
    assert!(run.status.message.starts_with("The workflow suspends automatically"));
    assert_eq!(run.pass_done(), (Vec::new(), Idle::Suspended { until: None }));
    run.status.resume(None, run.now).unwrap();
    assert_eq!(run.pass_done(), (vec!["a".to_owned(), "b".to_owned()], ended(RunPhase::Succeeded)));
    assert_eq!(run.status.message, "");
}

#[test]
fn a_step_says_how_often_and_when_it_is_tried_again() {
    let steps = json!([{"name": "a", "type": "t", "retry": {"limit": 2, "backoff": "10s"}}]);
    let mut run = TestRun::in_order(&steps);
    let mut waits = Vec::new();
    for _ in 0..2 {
        let (_, idle) = run.pass(|_| error());
        let Idle::Executing { after } = idle else { panic!("{idle:?}") };
        waits.push(after.as_secs());
        run.wait(after.as_secs());
    }
    assert_eq!(waits, [10, 20]);
    assert_eq!(run.pass(|_| error()).1, ended(RunPhase::Failed));
    assert_eq!(run.phases(), ["a failed/FailedAfterRetries"]);
    let mut never = TestRun::in_order(&json!([{"name": "a", "type": "t", "retry": {"limit": 0}}]));
    assert_eq!(never.pass(|_| error()).1, ended(RunPhase::Failed));
}

#[test]
fn retries_that_mean_nothing_are_refused_with_their_place() {
    for (retry, path) in [
        (json!({"limit": -1}), "spec.workflow.steps[0].retry.limit"),
        (json!({"limit": 1001}), "spec.workflow.steps[0].retry.limit"),
        (json!({"backoff": "soon"}), "spec.workflow.steps[0].retry.backoff"),
        (json!({"times": 3}), "spec.workflow.steps[0].retry"),
    ] {
        let workflow = json!({"steps": [{"name": "a", "type": "t", "retry": retry}]});
        let found = WorkflowSpec::read(&workflow, "spec.workflow").unwrap_err();
        assert_eq!(found[0].path, path);
    }
}
