//! The order of steps: one after the other or by what they depend on, with what is passed over after a failure.

use serde_json::json;
use vela_engine::workflow::{Idle, Machine, Next, RunPhase, RunValues, StepOutcome, WorkflowSpec};

use crate::workflow_runs::{TestRun, ended, fails, waits};

/// What is wrong with a workflow, a line each.
fn wrong(workflow: &serde_json::Value) -> Vec<String> {
    let Err(found) = WorkflowSpec::read(workflow, "spec.workflow") else { return Vec::new() };
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn steps_are_run_one_after_the_other() {
    let mut run = TestRun::in_order(&json!([{"name": "a", "type": "t"}, {"name": "b", "type": "t"}]));
    assert_eq!(run.spec.modes(), "StepByStep-DAG");
    let (executed, idle) = run.pass(|_| waits());
    assert_eq!(executed, ["a"]);
    assert!(matches!(idle, Idle::Executing { .. }));
    assert_eq!(run.phases(), ["a running/Wait"]);
    let (executed, idle) = run.pass_done();
    assert_eq!((executed, idle), (vec!["a".to_owned(), "b".to_owned()], ended(RunPhase::Succeeded)));
    assert!(run.status.finished && !run.status.terminated && run.status.end.is_some());
    assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Succeeded)));
}

#[test]
fn steps_of_a_dag_begin_when_their_dependencies_are_done() {
    let steps = json!([
        {"name": "c", "type": "t", "dependsOn": ["a", "b"]},
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t"},
    ]);
    let mut run = TestRun::dag(&steps);
    let outcome = |name: &str| if name == "b" { waits() } else { StepOutcome::done() };
    let (executed, _) = run.pass(|task| outcome(&task.name));
    assert_eq!(executed, ["a", "b"]);
    assert_eq!(run.phases(), ["c pending", "a succeeded", "b running/Wait"]);
    assert_eq!(run.message("c"), "Pending on DependsOn: b");
    let (executed, idle) = run.pass_done();
    assert_eq!(executed, ["b", "c"]);
    assert_eq!(idle, ended(RunPhase::Succeeded));
}

#[test]
fn steps_beside_each_other_are_given_out_together() {
    let steps = json!([
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t"},
        {"name": "c", "type": "t", "dependsOn": ["a"]},
    ]);
    let beside = |run: &TestRun| {
        let (status, values) = (run.status.clone(), RunValues::default());
        let mut machine = Machine::new(&run.spec, status, values, json!({}), run.limits.clone());
        let Next::Execute(first) = machine.next(run.now) else { return Vec::new() };
        let others =
            std::iter::from_fn(|| machine.beside(run.now)).take(steps.as_array().map_or(0, Vec::len));
        std::iter::once(first).chain(others).map(|task| task.name).collect()
    };
    assert_eq!(beside(&TestRun::dag(&steps)), ["a", "b"]);
    assert_eq!(beside(&TestRun::in_order(&steps)), ["a"]);
}

#[test]
fn a_name_of_what_a_step_applies_may_be_depended_on() {
    let steps = json!([
        {"name": "first", "type": "apply-component", "properties": {"component": "db"}},
        {"name": "second", "type": "t", "dependsOn": ["db"]},
    ]);
    let mut run = TestRun::dag(&steps);
    assert_eq!(run.pass_done().0, ["first", "second"]);
}

#[test]
fn after_a_failure_later_steps_are_passed_over() {
    let steps = json!([
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t"},
        {"name": "tell", "type": "t", "if": "status.a.failed"},
        {"name": "clean", "type": "t", "if": "always"},
        {"name": "last", "type": "t", "dependsOn": ["clean"]},
        {"name": "never", "type": "t", "dependsOn": ["b"]},
    ]);
    let mut run = TestRun::in_order(&steps);
    let (executed, idle) = run.pass(|task| if task.name == "a" { fails() } else { StepOutcome::done() });
    assert_eq!(executed, ["a", "tell", "clean", "last"]);
    assert_eq!(idle, ended(RunPhase::Failed));
    let expected = [
        "a failed/Action",
        "b skipped/Skip",
        "tell succeeded",
        "clean succeeded",
        "last succeeded",
        "never skipped/Skip",
    ];
    assert_eq!(run.phases(), expected);
    assert!(run.status.terminated);
}

#[test]
fn in_a_dag_only_what_depends_on_a_failure_is_passed_over() {
    let steps = json!([
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t", "dependsOn": ["a"], "if": "always"},
        {"name": "c", "type": "t", "dependsOn": ["b"]},
        {"name": "d", "type": "t"},
    ]);
    let mut run = TestRun::dag(&steps);
    let (executed, _) = run.pass(|task| if task.name == "a" { fails() } else { StepOutcome::done() });
    assert_eq!(executed, ["a", "b", "d"]);
    // What it builds on failed, although the step between them did not.
    assert_eq!(run.phases()[2], "c skipped/Skip");
}

#[test]
fn a_condition_sees_context_parameters_and_states() {
    let steps = json!([
        {"name": "first-step", "type": "t"},
        {"name": "a", "type": "t", "if": "context.name == \"app\" && status[\"first-step\"].succeeded"},
        {"name": "b", "type": "t", "if": "parameter.on", "properties": {"on": false}},
        {"name": "c", "type": "t", "if": "context.stepName == \"c\""},
        {"name": "d", "type": "t", "if": "context.name"},
        {"name": "e", "type": "t", "if": "status.absent.failed"},
    ]);
    let mut run = TestRun::in_order(&steps);
    assert_eq!(run.pass_done().0, ["first-step", "a", "c"]);
    assert_eq!(run.message("b"), "");
    assert!(run.message("d").starts_with("pre check error: "), "{}", run.message("d"));
    assert!(run.message("e").starts_with("pre check error: "), "{}", run.message("e"));
    assert_eq!(run.status.phase, RunPhase::Succeeded);
}

#[test]
fn a_step_that_ends_the_workflow_ends_later_steps() {
    let steps = json!([
        {"name": "a", "type": "t"},
        {"name": "b", "type": "t"},
        {"name": "clean", "type": "t", "if": "always"},
    ]);
    for mut run in [TestRun::in_order(&steps), TestRun::dag(&steps)] {
        let (executed, idle) = run.pass(|task| match task.name.as_str() {
            "a" => StepOutcome::Break { message: "enough".to_owned() },
            _ => StepOutcome::done(),
        });
        assert_eq!(executed, ["a", "clean"]);
        assert_eq!(idle, ended(RunPhase::Terminated));
        assert_eq!(run.phases()[..2], ["a succeeded/Terminate", "b skipped/Skip"]);
    }
}

#[test]
fn circles_are_refused_also_over_groups() {
    let group = |name: &str, depends_on: &str, sub: &str, of_sub: &str| {
        json!({"name": name, "type": "step-group", "dependsOn": [depends_on],
            "subSteps": [{"name": sub, "type": "t", "dependsOn": [of_sub]}]})
    };
    let direct = json!({"mode": {"steps": "DAG"}, "steps": [
        {"name": "a", "type": "t", "dependsOn": ["b"]}, {"name": "b", "type": "t", "dependsOn": ["a"]}]});
    let found = wrong(&direct);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("wait for each other in a circle") && found[0].contains("a → b"), "{found:?}");
    let own =
        json!({"mode": {"steps": "DAG"}, "steps": [group("g", "c", "s", "g"), {"name": "c", "type": "t"}]});
    assert!(wrong(&own)[0].contains("circle"));
    let across = json!({"mode": {"steps": "DAG"}, "steps": [
        group("g", "c", "s", "c"), {"name": "c", "type": "t", "dependsOn": ["s"]}]});
    assert!(wrong(&across)[0].contains("circle"));
    // One after the other, what is written first cannot wait for what comes later.
    let later = json!({"steps": [
        {"name": "a", "type": "t", "dependsOn": ["b"]}, {"name": "b", "type": "t"}]});
    assert!(wrong(&later)[0].contains("circle"));
    let fine =
        json!({"mode": {"steps": "DAG"}, "steps": [group("g", "c", "s", "c"), {"name": "c", "type": "t"}]});
    assert_eq!(wrong(&fine), Vec::<String>::new());
}

#[test]
fn mistakes_of_a_workflow_have_their_places() {
    let workflow = json!({"mode": {"steps": "Dag"}, "steps": [
        {"name": "a", "type": "t", "timeout": "1d"},
        {"type": "t"},
        {"name": "g", "type": "step-group", "subSteps": [{"name": "h", "type": "step-group"}]},
        {"name": "b", "type": "t", "subSteps": [{"name": "c", "type": "t"}], "inputs": [{"parameterKey": "x"}]},
        {"name": 3, "type": "t", "dependsOn": "a"},
    ]});
    let found = wrong(&workflow).join("\n");
    for part in [
        "spec.workflow.mode.steps: \"Dag\" is no order of steps",
        "spec.workflow.steps[0].timeout: \"1d\" is no duration",
        "spec.workflow.steps[1]: a workflow step needs a field \"name\"",
        "spec.workflow.steps[2].subSteps[0].type: a group cannot stand in a group",
        "spec.workflow.steps[3].subSteps: only a step of type \"step-group\"",
        "spec.workflow.steps[3].inputs[0]: an input needs a field \"from\"",
        "spec.workflow.steps[4].name: expected a string, found a number",
        "spec.workflow.steps[4].dependsOn: expected a list, found a string",
    ] {
        assert!(found.contains(part), "{part}\nis not in\n{found}");
    }
    let twice = json!({"steps": [{"name": "a", "type": "t"},
        {"name": "g", "type": "step-group", "subSteps": [{"name": "a", "type": "t", "dependsOn": ["gg"]}]}]});
    let found = wrong(&twice).join("\n");
    assert!(found.contains("step name \"a\" is used twice"), "{found}");
    assert!(found.contains("depends on \"gg\", which is no step; did you mean \"g\"?"), "{found}");
}

#[test]
fn more_steps_than_a_workflow_may_have_are_refused() {
    let steps: Vec<_> = (0..1001).map(|number| json!({"name": format!("s{number}"), "type": "t"})).collect();
    assert!(wrong(&json!({"steps": steps}))[0].contains("at most 1000"));
    let mut run = TestRun::in_order(&json!([{"name": "g", "type": "step-group"}]));
    assert_eq!(run.pass_done(), (Vec::new(), ended(RunPhase::Succeeded)));
}
