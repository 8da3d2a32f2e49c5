//! The result of a step → its status, its values, and the effect on the run.

use jiff::Timestamp;

use super::Machine;
use super::task::StepOutcome;
use crate::workflow::back_off;
use crate::workflow::duration::duration;
use crate::workflow::phase::{Reason, StepPhase};
use crate::workflow::run_status::{after, seconds};
use crate::workflow::spec::StepSpec;

/// The outputs of a step by name: a value each, or why there is none.
type Outputs = Vec<(String, Result<serde_json::Value, String>)>;

/// The message of a step whose objects are not healthy yet, in the words of upstream.
pub(crate) const WAIT_HEALTHY: &str = "wait healthy";

/// The message of a run that is suspended because of a failure, in the words of upstream.
pub(super) const SUSPENDED_AFTER_FAILURE: &str =
    "The workflow suspends automatically because the failed times of steps have reached the limit";

impl Machine<'_> {
    /// Takes what became of the step that was given out last.
    pub fn report(&mut self, step: &str, outcome: StepOutcome, now: Timestamp) {
        let Some(spec) = self.spec.step(step) else { return };
        match outcome {
            StepOutcome::Done { outputs, message } => self.succeed(spec, outputs, message, now),
            StepOutcome::Unhealthy { outputs } if self.is_late(spec, now) => {
                self.time_out(spec, outputs, now);
            }
            StepOutcome::Unhealthy { .. } => {
                self.record(spec, StepPhase::Running, Some(Reason::Wait), WAIT_HEALTHY, now);
            }
            StepOutcome::Wait { .. } if self.is_late(spec, now) => self.time_out(spec, Vec::new(), now),
            StepOutcome::Wait { message } => {
                self.record(spec, StepPhase::Running, Some(Reason::Wait), &message, now);
            }
            StepOutcome::Suspend { field, duration, message } => {
                self.suspend(spec, &field, duration.as_deref(), &message, now);
            }
            StepOutcome::Fail { message } => {
                self.end(spec, StepPhase::Failed, Some(Reason::Action), &message, now);
            }
            StepOutcome::Break { message } => {
                self.end(spec, StepPhase::Succeeded, Some(Reason::Terminate), &message, now);
                self.status.terminated = true;
            }
            StepOutcome::Error { message } => self.fail(spec, &message, now),
            StepOutcome::Broken { message } => {
                self.end(spec, StepPhase::Failed, Some(Reason::Rendering), &message, now);
            }
        }
        self.settle_group_of(step, now);
        self.status.suspend = self.status.has_suspended_step();
    }

    /// An output without a value is null, and the message of the step gives the reason; an output that cannot be stored fails
    /// the step.
    fn succeed(&mut self, step: &StepSpec, outputs: Outputs, message: String, now: Timestamp) {
        match self.take(outputs, message) {
            Ok(message) => self.end(step, StepPhase::Succeeded, None, &message, now),
            Err(why) => self.end(step, StepPhase::Failed, Some(Reason::Output), &why, now),
        }
    }

    /// The step takes longer than it may. Its outputs are those of this moment: steps that run after failures read them.
    pub(super) fn time_out(&mut self, step: &StepSpec, outputs: Outputs, now: Timestamp) {
        let message = match self.take(outputs, Self::timeout_message(step)) {
            Ok(message) => message,
            Err(why) => format!("{}; {why}", Self::timeout_message(step)),
        };
        self.end(step, StepPhase::Failed, Some(Reason::Timeout), &message, now);
    }

    /// Stores the outputs of a step. The message afterwards also names those without a value.
    fn take(&mut self, outputs: Outputs, message: String) -> Result<String, String> {
        let mut messages: Vec<String> = vec![message];
        let mut not_stored = None;
        for (name, value) in outputs {
            match value.map(|value| self.values.set(&name, value)) {
                Ok(Ok(())) => {}
                Ok(Err(why)) => not_stored = not_stored.or(Some(format!("output {name:?}: {why}"))),
                Err(why) => messages.push(format!("failed to get output {name:?}: {why}")),
            }
        }
        messages.retain(|message| !message.is_empty());
        not_stored.map_or_else(|| Ok(messages.join("; ")), Err)
    }

    fn suspend(&mut self, step: &StepSpec, field: &str, length: Option<&str>, message: &str, now: Timestamp) {
        let length = length.filter(|text| !text.is_empty());
        let parsed = length.map(duration);
        if let (Some(text), Some(None)) = (length, parsed) {
            let message = format!(
                "{text:?} is no duration to be suspended for; write for example \"90s\" or \"1h30m\""
            );
            return self.end(step, StepPhase::Failed, Some(Reason::Rendering), &message, now);
        }
        self.record(step, StepPhase::Suspending, Some(Reason::Suspend), message, now);
        let id = self.entry(step, StepPhase::Suspending, now).id.clone();
        self.values.suspend(&id, field, now, parsed.flatten().map(|length| after(now, length)));
    }

    /// Tried again after a while, but not without end.
    fn fail(&mut self, step: &StepSpec, message: &str, now: Timestamp) {
        let id = self.entry(step, StepPhase::Running, now).id.clone();
        let (retry, at_most) = (step.retry, self.limits.longest_failure_wait);
        let wait = |failures| after(now, back_off::failure(failures, retry.backoff, at_most));
        let failures = self.values.fail(&id, wait);
        if failures <= retry.limit.unwrap_or(self.limits.retries) {
            return self.record(step, StepPhase::Failed, Some(Reason::Execute), message, now);
        }
        self.end(step, StepPhase::Failed, Some(Reason::FailedAfterRetries), message, now);
    }

    /// The run was resumed after failures had suspended it: what failed is tried again from the beginning.
    pub(super) fn forgive(&mut self, now: Timestamp) {
        if self.status.message != SUSPENDED_AFTER_FAILURE {
            return;
        }
        self.status.message.clear();
        let values = &mut self.values;
        self.status.for_each_mut(|step| {
            if step.phase == StepPhase::Failed && step.is_finished() {
                values.forgive(&step.id);
                step.first = seconds(now);
                step.set(StepPhase::Running, None, "", now);
            }
        });
    }
}
