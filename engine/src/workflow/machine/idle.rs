//! No step is to be run: why, until when, and how the run ended.

use jiff::{SignedDuration, Timestamp};

use super::Machine;
use super::settle::SUSPENDED_AFTER_FAILURE;
use super::task::Idle;
use crate::workflow::back_off;
use crate::workflow::phase::{Reason, RunPhase, StepPhase};
use crate::workflow::run_status::{StepStatus, seconds};

impl Machine<'_> {
    /// A person suspended the run.
    pub(super) fn hold(&mut self) -> Idle {
        self.status.phase = RunPhase::Suspending;
        Idle::Suspended { until: None }
    }

    /// No step can go on now.
    pub(super) fn idle(&mut self, now: Timestamp) -> Idle {
        if self.spec.all().all(|(_, step)| self.is_finished(step)) {
            return self.finish(now);
        }
        let has_failed = |step: &StepStatus| step.phase == StepPhase::Failed && step.is_finished();
        if self.limits.suspend_on_failure && self.status.all().any(has_failed) {
            self.status.suspend = true;
            SUSPENDED_AFTER_FAILURE.clone_into(&mut self.status.message);
            return self.hold();
        }
        self.status.suspend = self.status.has_suspended_step();
        let is_under_way = |step: &StepStatus| match step.phase {
            StepPhase::Running => step.sub_steps.is_empty(),
            StepPhase::Failed => !step.is_finished() && step.sub_steps.is_empty(),
            _ => false,
        };
        let is_under_way = self.status.all().any(is_under_way);
        let next = self.status.all().filter_map(|step| self.due(step, now)).min();
        if self.status.suspend {
            self.status.phase = RunPhase::Suspending;
            if !is_under_way {
                return Idle::Suspended { until: next };
            }
        } else {
            self.status.phase = RunPhase::Executing;
        }
        let longest = self.limits.longest_wait;
        let after = next.map_or(back_off::wait(SignedDuration::MAX, longest), |at| at.duration_since(now));
        Idle::Executing { after: after.max(SignedDuration::from_secs(1)) }
    }

    /// When something about the step is to be looked at again.
    fn due(&self, step: &StepStatus, now: Timestamp) -> Option<Timestamp> {
        if self.is_over(step) {
            return None;
        }
        let look = match step.phase {
            StepPhase::Running if step.sub_steps.is_empty() => {
                let wait = back_off::wait(now.duration_since(step.last), self.limits.longest_wait);
                Some(crate::workflow::run_status::after(now, wait))
            }
            StepPhase::Failed => self.values.next_try(&step.id),
            StepPhase::Suspending => self.values.resume_at(&step.id),
            _ => None,
        };
        let timeout = self.spec.step(&step.name).and_then(|spec| self.timeout_of(spec));
        [look, timeout].into_iter().flatten().min()
    }

    /// Every step is finished.
    fn finish(&mut self, now: Timestamp) -> Idle {
        let status = &mut self.status;
        let failed = |step: &StepStatus| step.phase == StepPhase::Failed;
        let any_ended = status.all().any(|step| step.reason == Some(Reason::Terminate));
        let other_failed = status.all().any(|step| failed(step) && step.reason != Some(Reason::Terminate));
        status.phase = match (other_failed, any_ended || status.terminated) {
            (true, _) => RunPhase::Failed,
            (false, true) => RunPhase::Terminated,
            (false, false) => RunPhase::Succeeded,
        };
        status.suspend = false;
        status.finished = true;
        status.end = Some(seconds(now));
        Idle::Ended(status.phase)
    }
}
