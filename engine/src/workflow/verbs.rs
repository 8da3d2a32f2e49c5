//! The verbs of people for a run: suspend, resume, terminate, restart → the status that is written for it.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use super::phase::{Reason, RunPhase, StepPhase};
use super::run_status::{RunStatus, StepStatus};
use super::spec::{Mode, StepSpec, WorkflowSpec, is_within};
use super::values::RunValues;

/// Why something cannot be done with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Why an order cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsteerable {
    /// Why.
    pub message: String,
    /// What to do.
    pub hint: String,
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(message.into()))
}

impl RunStatus {
    /// Nothing goes on until a user resumes it: the whole run, or one step that is running.
    ///
    /// # Errors
    /// The run is over, or the step is not running.
    pub fn suspend(&mut self, step: Option<&str>, now: Timestamp) -> Result<(), Refusal> {
        if self.finished {
            return refuse("the workflow is over: there is nothing to suspend");
        }
        let is_meant = |status: &StepStatus| {
            status.phase == StepPhase::Running && step.is_none_or(|step| step == status.name)
        };
        if let Some(step) = step
            && !self.all().any(is_meant)
        {
            return refuse(format!("can not find step {step}: only a step that is running can be suspended"));
        }
        self.suspend = true;
        self.phase = RunPhase::Suspending;
        self.for_each_mut(|status| {
            if is_meant(status) {
                let (reason, message) = (status.reason, status.message.clone());
                status.set(StepPhase::Suspending, reason, &message, now);
            }
        });
        Ok(())
    }

    /// The suspended part goes on: the whole run, or one step.
    ///
    /// # Errors
    /// The run was ended, nothing is suspended, or the step is not.
    pub fn resume(&mut self, step: Option<&str>, now: Timestamp) -> Result<(), Refusal> {
        if self.terminated {
            return refuse("can not resume a terminated workflow: restart it");
        }
        let is_meant = |status: &StepStatus| {
            status.phase == StepPhase::Suspending && step.is_none_or(|step| step == status.name)
        };
        match step {
            Some(step) if !self.all().any(is_meant) => {
                return refuse(format!("can not find step {step}: it is not suspended"));
            }
            None if !self.suspend => return refuse("the workflow is not suspended"),
            _ => {}
        }
        self.suspend = false;
        self.phase = RunPhase::Executing;
        self.for_each_mut(|status| {
            if is_meant(status) {
                let message = status.message.clone();
                status.set(StepPhase::Running, None, &message, now);
            }
        });
        self.suspend = self.has_suspended_step();
        Ok(())
    }

    /// The run ends: what is under way has failed, and only steps that ask for it by their `if` still run.
    ///
    /// # Errors
    /// The run is over.
    pub fn terminate(&mut self, now: Timestamp) -> Result<(), Refusal> {
        if self.finished {
            return refuse("the workflow is over: there is nothing to terminate");
        }
        (self.terminated, self.suspend) = (true, false);
        self.for_each_mut(|status| match status.phase {
            StepPhase::Running | StepPhase::Suspending => {
                let message = status.message.clone();
                status.set(StepPhase::Failed, Some(Reason::Terminate), &message, now);
            }
            StepPhase::Failed if !has_own_reason(status) => {
                let message = status.message.clone();
                status.set(StepPhase::Failed, Some(Reason::Terminate), &message, now);
            }
            _ => {}
        });
        Ok(())
    }

    /// The run begins anew at a step that failed: it and all that builds on it are forgotten, with the values they gave.
    ///
    /// # Errors
    /// There is no such step, or it did not fail.
    pub fn restart_from(
        &mut self,
        step: &str,
        spec: &WorkflowSpec,
        values: &mut RunValues,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let (Some(from), Some(status)) = (spec.step(step), self.step(step)) else {
            return refuse(format!("can not find step {step}"));
        };
        if status.phase != StepPhase::Failed {
            return refuse(format!(
                "can not restart from a non-failed step: {step} is {}",
                status.phase.as_str()
            ));
        }
        let again = builds_on(spec, from);
        for status in self.all().filter(|status| again.contains(status.name.as_str())) {
            values.forget(&status.id);
        }
        for step in spec.all().map(|(_, step)| step).filter(|step| again.contains(step.name.as_str())) {
            step.outputs.iter().for_each(|output| values.remove(&output.name));
        }
        self.steps.retain(|status| !again.contains(status.name.as_str()));
        for group in &mut self.steps {
            let before = group.sub_steps.len();
            group.sub_steps.retain(|status| !again.contains(status.name.as_str()));
            if group.sub_steps.len() < before {
                group.set(StepPhase::Running, None, "", now);
            }
        }
        (self.terminated, self.suspend, self.finished, self.end) = (false, false, false, None);
        self.phase = RunPhase::Executing;
        self.message.clear();
        Ok(())
    }
}

/// Did the step fail by itself, for good?
fn has_own_reason(status: &StepStatus) -> bool {
    matches!(status.reason, Some(Reason::FailedAfterRetries | Reason::Timeout))
}

/// Names of the step and of all that is run again with it: step by step, everything after it; else what depends on it or takes
/// its values, and what that has for dependants. The group of a step is not run again, but what builds on the group is.
fn builds_on<'a>(spec: &'a WorkflowSpec, from: &'a StepSpec) -> BTreeSet<&'a str> {
    let mut again: BTreeSet<&str> = BTreeSet::new();
    let mut next = vec![from];
    while let Some(step) = next.pop() {
        if !again.insert(&step.name) {
            continue;
        }
        next.extend(&step.sub_steps);
        next.extend(followers(spec, step));
        let group = spec.all().find(|(_, other)| other.name == step.name).and_then(|(group, _)| group);
        if let Some(group) = group {
            next.extend(followers(spec, group));
        }
    }
    again
}

/// Steps that build on this one directly.
fn followers<'a>(spec: &'a WorkflowSpec, step: &'a StepSpec) -> Vec<&'a StepSpec> {
    let takes = |other: &StepSpec| {
        let from = |name: &str| other.inputs.iter().any(|input| is_within(&input.from, name));
        step.outputs.iter().any(|output| from(&output.name))
    };
    let depends = |other: &StepSpec| {
        let mut names = other.depends_on.iter();
        names.any(|name| spec.dependency(name).is_some_and(|meant| meant.name == step.name))
    };
    let mut all: Vec<&StepSpec> =
        spec.all().map(|(_, other)| other).filter(|other| takes(other) || depends(other)).collect();
    let lists = spec.steps.iter().map(|group| (spec.mode_of(group), &group.sub_steps));
    for (mode, steps) in lists.chain([(spec.mode, &spec.steps)]) {
        if mode == Mode::StepByStep {
            all.extend(steps.iter().skip_while(|other| other.name != step.name).skip(1));
        }
    }
    all
}
