//! Runs of workflows as their tests write them: each pass reads back what the one before it wrote, as after a crash.

// A test says what is wrong by panicking; helpers of tests too.
#![allow(clippy::panic)]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use vela_engine::workflow::{
    Idle, Machine, Next, RunLimits, RunPhase, RunStatus, RunValues, StepOutcome, Task, WorkflowSpec,
};

/// More steps in one pass are a loop without end.
const STEPS_IN_A_PASS: usize = 100;

/// A run between its passes.
pub(crate) struct TestRun {
    pub(crate) spec: WorkflowSpec,
    pub(crate) status: RunStatus,
    pub(crate) values: RunValues,
    pub(crate) limits: RunLimits,
    pub(crate) now: Timestamp,
}

impl TestRun {
    /// Of a workflow as JSON.
    pub(crate) fn of(workflow: &Json) -> Self {
        let spec = WorkflowSpec::read(workflow, "spec.workflow").unwrap_or_else(|found| panic!("{found:?}"));
        let now = Timestamp::UNIX_EPOCH;
        let status = RunStatus::begin("app-v1", spec.modes(), now);
        Self { spec, status, values: RunValues::default(), limits: RunLimits::default(), now }
    }

    /// Steps one after the other.
    pub(crate) fn in_order(steps: &Json) -> Self {
        Self::of(&json!({"steps": steps}))
    }

    /// Steps as soon as they may.
    pub(crate) fn dag(steps: &Json) -> Self {
        Self::of(&json!({"mode": {"steps": "DAG"}, "steps": steps}))
    }

    /// One pass, in which each step comes to what `outcome` says. Gives the names of those that were run.
    pub(crate) fn pass(&mut self, outcome: impl Fn(&Task) -> StepOutcome) -> (Vec<String>, Idle) {
        let status = RunStatus::read(&self.status.to_json(), self.now).unwrap();
        assert_eq!(status, self.status, "what is written is read back");
        let values = RunValues::read(&self.values.to_data()).unwrap();
        let values = values.with_confidential(&self.values.confidential_data()).unwrap();
        assert_eq!(values, self.values, "what is stored is read back");
        let context = json!({"name": "app", "namespace": "prod"});
        let mut machine = Machine::new(&self.spec, status, values, context, self.limits.clone());
        let mut executed = Vec::new();
        for _ in 0..STEPS_IN_A_PASS {
            match machine.next(self.now) {
                Next::Execute(task) => {
                    machine.report(&task.name, outcome(&task), self.now);
                    executed.push(task.name);
                }
                Next::Idle(idle) => {
                    (self.status, self.values) = (machine.status().clone(), machine.values().clone());
                    return (executed, idle);
                }
            }
        }
        panic!("the pass does not end: {executed:?}")
    }

    /// A pass in which every step that is run is done.
    pub(crate) fn pass_done(&mut self) -> (Vec<String>, Idle) {
        self.pass(|_| StepOutcome::done())
    }

    /// So many seconds go by.
    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Every step as `name phase`, or `name phase/reason`.
    pub(crate) fn phases(&self) -> Vec<String> {
        let text = |step: &vela_engine::workflow::StepStatus| match step.reason {
            Some(reason) => format!("{} {}/{}", step.name, step.phase.as_str(), reason.as_str()),
            None => format!("{} {}", step.name, step.phase.as_str()),
        };
        self.status.all().map(text).collect()
    }

    /// What a step says.
    pub(crate) fn message(&self, step: &str) -> &str {
        &self.status.step(step).unwrap_or_else(|| panic!("{step} was not looked at")).message
    }
}

/// A step waits.
pub(crate) fn waits() -> StepOutcome {
    StepOutcome::Wait { message: "wait healthy".to_owned() }
}

/// A step goes wrong.
pub(crate) fn error() -> StepOutcome {
    StepOutcome::Error { message: "no route to host".to_owned() }
}

/// A step says that it has failed.
pub(crate) fn fails() -> StepOutcome {
    StepOutcome::Fail { message: "no".to_owned() }
}

/// The run is over like this.
pub(crate) fn ended(phase: RunPhase) -> Idle {
    Idle::Ended(phase)
}
