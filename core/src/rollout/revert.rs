//! A rollout that goes back to its source, because a metric failed or because it is deleted half-way → between what the reconcile
//! works, and when the way back is given up.
//!
//! It is the rollout from the target to the source, by the same reconciles. In the end it has failed; one that is deleted goes then.

use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRolloutStatus, RolloutStatus};
use vela_engine::rollout::revert::{WAITS_AT_MOST_SECONDS, is_half_way, waits};
use vela_engine::rollout::{Event, Input, Note, State};
use vela_runtime::clock;

use super::reconcile_inputs::{Direction, StatusReport, apply_event, take};

/// A rollout that is being deleted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    /// Shall what it did be undone before it goes?
    pub(super) goes_back: bool,
}

impl Leaving {
    /// Between what a reconcile works that goes back before the rollout goes; nothing where it lets go of what stands there.
    pub(super) fn transition(
        self,
        status: &mut AppRolloutStatus,
        last: &Direction,
        report: &mut StatusReport,
    ) -> Option<Direction> {
        let state = State::of(&status.rollout);
        let can = self.goes_back && last.source.is_some() && state.rolling != RollingState::RolloutDeleting;
        if can && status.rollout.revert.is_none() && is_half_way(state) {
            let why = "the rollout is deleted half-way, and revertOnDelete is true".to_owned();
            take(&mut status.rollout, &Input::Revert { why, since: clock::now() }, report);
            report.notes.push(Note {
                warning: false,
                reason: "Rollout Reverting",
                message: "rollout target deleted, go back to the source; set revertOnDelete to false to leave everything as it \
                          stands"
                    .to_owned(),
            });
        }
        (can && status.rollout.revert.is_some()).then(|| direction(status, last))
    }
}

/// Between what a reconcile works: the other way round while the rollout goes back.
pub(super) fn direction(status: &AppRolloutStatus, forward: &Direction) -> Direction {
    let is_over = State::of(&status.rollout).is_terminal();
    match (&status.rollout.revert, &forward.source) {
        (Some(_), Some(source)) if !is_over => {
            Direction { target: source.clone(), source: Some(forward.target.clone()), is_back: true }
        }
        _ => forward.clone(),
    }
}

/// Has the way back waited too long for something that is not there?
pub(super) fn is_late(status: &RolloutStatus) -> bool {
    let since = status.revert.as_ref().map(|revert| revert.since.0);
    since.is_some_and(|since| clock::now().duration_since(since).as_secs() >= WAITS_AT_MOST_SECONDS)
}

/// The same, before the first batch: from then on each batch has a deadline of its own.
pub(super) fn is_stuck(status: &RolloutStatus) -> bool {
    waits(State::of(status)) && is_late(status)
}

/// The rollout ends as it stands, and says why it could not go back.
pub(super) fn give_up(status: &mut RolloutStatus, is_leaving: bool, why: &str, report: &mut StatusReport) {
    let message = format!("the rollout cannot go back to its source and ends as it stands: {why}");
    report.notes.push(Note { warning: true, reason: "Revert Given Up", message: message.clone() });
    match is_leaving {
        true => apply_event(status, Event::Deleted, report),
        false => take(status, &Input::Failing(message), report),
    }
}
