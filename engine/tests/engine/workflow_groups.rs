//! Groups of steps: their order, how far they are, and what they pass on to their steps.

use serde_json::{Value as Json, json};
use vela_engine::workflow::{Idle, RunPhase, StepOutcome};

use crate::workflow_runs::{TestRun, ended, error, fails, waits};

fn group(more: &Json, steps: &Json) -> Json {
    let mut group = json!({"name": "g", "type": "step-group", "subSteps": steps});
    for (field, value) in more.as_object().into_iter().flatten() {
        group[field] = value.clone();
    }
    group
}

fn two() -> Json {
    json!([{"name": "a", "type": "t"}, {"name": "b", "type": "t"}])
}

#[test]
fn steps_of_a_group_are_run_together_unless_it_says_otherwise() {
    let mut run = TestRun::in_order(&json!([group(&json!({}), &two()), {"name": "after", "type": "t"}]));
    assert_eq!(run.pass(|_| waits()).0, ["a", "b"]);
    assert_eq!(run.phases(), ["g running", "a running/Wait", "b running/Wait"]);
    let mut in_order = TestRun::in_order(&json!([group(&json!({"mode": "StepByStep"}), &two())]));
    assert_eq!(in_order.pass(|_| waits()).0, ["a"]);
    assert_eq!(in_order.phases(), ["g running", "a running/Wait"]);
    let (executed, idle) = run.pass_done();
    assert_eq!((executed.len(), idle), (3, ended(RunPhase::Succeeded)));
    assert_eq!(run.phases()[0], "g succeeded");
    let task = run.status.step("a").map(|step| step.id.len());
    assert_eq!(task, Some(10));
}

#[test]
fn a_group_knows_what_its_steps_came_to() {
    let steps = json!([group(&json!({}), &two()), {"name": "after", "type": "t"}]);
    let came_to = |outcome: fn() -> StepOutcome| {
        let mut run = TestRun::in_order(&steps);
        let (_, idle) = run.pass(|task| if task.name == "b" { outcome() } else { StepOutcome::done() });
        (run.phases()[0].clone(), idle)
    };
    assert_eq!(came_to(fails), ("g failed/Action".to_owned(), ended(RunPhase::Failed)));
    let (phase, idle) = came_to(error);
    assert_eq!(phase, "g failed/Execute");
    assert!(matches!(idle, Idle::Executing { .. }));
    let suspend = || StepOutcome::Suspend { field: "x".to_owned(), duration: None, message: String::new() };
    let (phase, idle) = came_to(suspend);
    assert_eq!((phase.as_str(), idle), ("g suspending/Suspend", Idle::Suspended { until: None }));
}

#[test]
fn a_group_that_is_passed_over_passes_over_its_steps() {
    let more = json!({"if": "false"});
    let mut run = TestRun::in_order(&json!([group(&more, &two()), {"name": "after", "type": "t"}]));
    assert_eq!(run.pass_done(), (vec!["after".to_owned()], ended(RunPhase::Succeeded)));
    assert_eq!(run.phases(), ["g skipped/Skip", "a skipped/Skip", "b skipped/Skip", "after succeeded"]);
}

#[test]
fn a_group_whose_time_is_up_ends_its_steps() {
    let mut run = TestRun::in_order(&json!([group(&json!({"timeout": "30s"}), &two())]));
    run.pass(|task| if task.name == "a" { StepOutcome::done() } else { waits() });
    run.wait(29);
    assert_eq!(run.pass(|_| waits()).0, ["b"]);
    run.wait(1);
    assert_eq!(run.pass(|_| waits()), (Vec::new(), ended(RunPhase::Failed)));
    assert_eq!(run.phases(), ["g failed/Timeout", "a succeeded", "b failed/Timeout"]);
}

#[test]
fn steps_depend_on_groups_and_on_steps_in_them() {
    let steps = json!([
        {"name": "after", "type": "t", "dependsOn": ["g"]},
        {"name": "beside", "type": "t", "dependsOn": ["a"]},
        group(&json!({}), &two()),
    ]);
    let mut run = TestRun::dag(&steps);
    let (executed, _) = run.pass(|task| if task.name == "b" { waits() } else { StepOutcome::done() });
    assert_eq!(executed, ["a", "beside", "b"]);
    assert_eq!(run.message("after"), "Pending on DependsOn: g");
    assert_eq!(run.pass_done().0, ["b", "after"]);
}

#[test]
fn a_group_begins_when_it_may() {
    let steps = json!([
        {"name": "first", "type": "t"},
        group(&json!({"dependsOn": ["first"]}), &two()),
    ]);
    let mut run = TestRun::dag(&steps);
    assert_eq!(run.pass(|_| waits()).0, ["first"]);
    assert_eq!(run.phases(), ["first running/Wait", "g pending"]);
    let (executed, _) = run.pass(|_| fails());
    assert_eq!(executed, ["first"]);
    assert_eq!(run.phases()[1..], ["g skipped/Skip", "a skipped/Skip", "b skipped/Skip"]);
}
