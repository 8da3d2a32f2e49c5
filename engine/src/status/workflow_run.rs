//! The status of an application whose workflow is run step by step: how far the run is decides phase and conditions.

use std::collections::BTreeSet;

use vela_crds::condition::reasons;

use super::conditions::{Condition, ConditionType};
use super::{Phase, Run, Status};
use crate::workflow::{Reason, RunPhase, RunStatus, StepPhase, StepStatus};

impl Status {
    /// The same where the workflow is this far. Components that no step applied are none of the application: their steps were
    /// passed over, or were not reached.
    #[must_use]
    pub fn of_run(mut self, run: RunStatus, begun: &BTreeSet<usize>) -> Self {
        let mut index = 0;
        self.services.retain(|_| {
            index += 1;
            begun.contains(&(index - 1))
        });
        let unhealthy: Vec<String> = self
            .services
            .iter()
            .filter(|service| !service.health.healthy)
            .map(|service| format!("{}: {}", service.name, service.health.reason()))
            .filter(|_| !self.made.manages_health())
            .collect();
        let problems: Vec<String> = self.made.problems().collect();
        let not_well: Vec<String> = problems.iter().cloned().chain(unhealthy).collect();
        self.phase = match run.phase {
            RunPhase::Executing => Phase::RunningWorkflow,
            RunPhase::Suspending => Phase::WorkflowSuspending,
            RunPhase::Terminated => Phase::WorkflowTerminated,
            RunPhase::Failed => Phase::WorkflowFailed,
            RunPhase::Succeeded if not_well.is_empty() => Phase::Running,
            RunPhase::Succeeded => Phase::Unhealthy,
        };
        let said = match problems.is_empty() {
            true => said(&run),
            // The steps wait for the objects of policies.
            false => problems.join("; "),
        };
        let reason = match run.phase {
            RunPhase::Failed => "ReconcileError",
            RunPhase::Terminated => "Terminated",
            RunPhase::Suspending => "Suspended",
            RunPhase::Executing if !problems.is_empty() => self.made.reason(),
            RunPhase::Executing | RunPhase::Succeeded => reasons::CREATING,
        };
        self.conditions.truncate(ConditionType::ORDER.len() - 2);
        let (workflow, ready) = (ConditionType::Workflow, ConditionType::Ready);
        match run.phase {
            RunPhase::Succeeded => {
                self.conditions.push(Condition::good(workflow));
                self.conditions.push(match not_well.is_empty() {
                    true => Condition::good(ready),
                    false => Condition::bad(ready, "Unavailable", not_well.join("; ")),
                });
            }
            _ => {
                self.conditions.push(Condition::bad(workflow, reason, said.clone()));
                self.conditions.push(Condition::bad(ready, "Unavailable", said));
            }
        }
        self.run = Some(Run::Stored(run));
        self
    }
}

/// The obstacles or the end of a run: every step that is unfinished or ended the run, in words. Failures come first.
fn said(run: &RunStatus) -> String {
    let is_told = |step: &&StepStatus| {
        let is_over = matches!(step.phase, StepPhase::Succeeded | StepPhase::Skipped);
        step.sub_steps.is_empty() && (!is_over || step.reason == Some(Reason::Terminate))
    };
    let mut steps: Vec<&StepStatus> = run.all().filter(is_told).collect();
    steps.sort_by_key(|step| step.phase != StepPhase::Failed);
    let text = |step: &StepStatus| match step.message.is_empty() {
        true if step.reason == Some(Reason::Terminate) => format!("step {:?} ended the workflow", step.name),
        true => format!("step {:?}: {}", step.name, step.phase.as_str()),
        false => format!("step {:?}: {}", step.name, step.message),
    };
    let texts: Vec<String> = steps.into_iter().map(text).collect();
    match (texts.is_empty(), run.suspend) {
        (false, _) => texts.join("; "),
        (true, true) => "the workflow is suspended: resume it".to_owned(),
        (true, false) => run.message.clone(),
    }
}
