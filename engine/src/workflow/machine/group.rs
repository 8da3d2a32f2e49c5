//! Groups of steps: when they begin, and how far they are by their steps.

use jiff::Timestamp;

use super::task::Task;
use super::{List, Machine};
use crate::workflow::phase::{Reason, StepPhase};
use crate::workflow::run_status::{StepStatus, seconds};
use crate::workflow::spec::StepSpec;

/// Reasons of failed steps, the one first that is told of their group.
const REASONS: [Reason; 4] = [Reason::FailedAfterRetries, Reason::Timeout, Reason::Action, Reason::Terminate];

impl<'a> Machine<'a> {
    /// The step of the group that is to be run now; else the group says how far it is.
    pub(super) fn look_at_group(
        &mut self,
        group: &'a StepSpec,
        list: List<'a>,
        now: Timestamp,
    ) -> Option<Task> {
        if self.is_finished(group) {
            // A person ended it, whose verb does not know the steps that did not begin.
            self.pass_on(group, now);
            return None;
        }
        if !self.is_begun(group) {
            if !self.may_begin(group, list, now) {
                self.pass_on(group, now);
                return None;
            }
            let status = self.entry(group, StepPhase::Running, now);
            status.first = seconds(now);
            status.set(StepPhase::Running, None, "", now);
        }
        if self.timeout_of(group).is_some_and(|at| at <= now) {
            let message = Self::timeout_message(group);
            self.end(group, StepPhase::Failed, Some(Reason::Timeout), &message, now);
            self.pass_on(group, now);
            return None;
        }
        let task = self.look_at_list(&group.sub_steps, self.spec.mode_of(group), now);
        self.settle_group(group, now);
        task
    }

    /// A group whose steps all wait is as pending as one that waits itself, but its time runs.
    fn is_begun(&self, group: &StepSpec) -> bool {
        let status = self.status.step(&group.name);
        status.is_some_and(|status| status.phase != StepPhase::Pending || !status.sub_steps.is_empty())
    }

    /// The reason for which a group is passed over or ended holds for its steps, too.
    fn pass_on(&mut self, group: &'a StepSpec, now: Timestamp) {
        let Some(status) = self.status.step(&group.name) else { return };
        let (phase, reason, message) = (status.phase, status.reason, status.message.clone());
        if !matches!(phase, StepPhase::Skipped | StepPhase::Failed) {
            return;
        }
        for step in &group.sub_steps {
            if self.is_finished(step) {
                continue;
            }
            let has_begun = self.status.step(&step.name).is_some_and(|sub| sub.phase != StepPhase::Pending);
            match reason == Some(Reason::Terminate) && !has_begun {
                true => self.end(step, StepPhase::Skipped, Some(Reason::Skip), "", now),
                false => self.end(step, phase, reason, &message, now),
            }
        }
    }

    /// How far the group is, now that one of its steps has come further.
    pub(super) fn settle_group(&mut self, group: &'a StepSpec, now: Timestamp) {
        let Some(status) = self.status.step(&group.name) else { return };
        if self.is_over(status) {
            return;
        }
        let (phase, reason) = phase(&status.sub_steps, group.sub_steps.len());
        let is_failed = phase == StepPhase::Failed && reason != Some(Reason::Execute);
        let message = match phase {
            StepPhase::Failed => first_message(&status.sub_steps),
            _ => String::new(),
        };
        match is_failed || matches!(phase, StepPhase::Succeeded | StepPhase::Skipped) {
            true => self.end(group, phase, reason, &message, now),
            false => self.record(group, phase, reason, &message, now),
        }
    }

    /// The same for the group in which a step stands.
    pub(super) fn settle_group_of(&mut self, step: &str, now: Timestamp) {
        let groups = &self.spec.steps;
        if let Some(group) = groups.iter().find(|group| group.sub_steps.iter().any(|sub| sub.name == step)) {
            self.settle_group(group, now);
        }
    }
}

/// How far a group of so many steps is, by those that were looked at: the first that holds.
fn phase(steps: &[StepStatus], count: usize) -> (StepPhase, Option<Reason>) {
    let any = |phase: StepPhase| steps.iter().any(|step| step.phase == phase);
    if let Some(step) = steps.iter().find(|step| step.phase == StepPhase::Suspending) {
        return (StepPhase::Suspending, step.reason);
    }
    let is_retried = |step: &StepStatus| step.phase == StepPhase::Failed && !step.is_finished();
    if steps.len() < count || any(StepPhase::Running) {
        return (StepPhase::Running, None);
    }
    if any(StepPhase::Pending) {
        return (StepPhase::Pending, None);
    }
    if steps.iter().any(is_retried) {
        return (StepPhase::Failed, Some(Reason::Execute));
    }
    if let Some(failed) = steps.iter().find(|step| step.phase == StepPhase::Failed) {
        let has = |reason: &Reason| {
            steps.iter().any(|step| step.phase == StepPhase::Failed && step.reason == Some(*reason))
        };
        return (StepPhase::Failed, REASONS.into_iter().find(has).or(failed.reason));
    }
    let all_skipped = !steps.is_empty() && steps.iter().all(|step| step.phase == StepPhase::Skipped);
    match all_skipped {
        true => (StepPhase::Skipped, Some(Reason::Skip)),
        false => (StepPhase::Succeeded, None),
    }
}

/// Which step failed, and why.
fn first_message(steps: &[StepStatus]) -> String {
    let failed = steps.iter().find(|step| step.phase == StepPhase::Failed);
    failed.map_or_else(String::new, |step| match step.message.is_empty() {
        true => format!("step {:?} failed", step.name),
        false => format!("step {:?}: {}", step.name, step.message),
    })
}
