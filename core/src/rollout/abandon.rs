//! A rollout that its user abandons: it lets go of its workloads where it stands and is over, until its target or source change.
//!
//! It is asked for by an annotation, which is taken off once it is obeyed: what comes after it is not abandoned, too.

use kube::api::DynamicObject;
use vela_crds::RolloutStatus;
use vela_crds::annotations::ABANDON_ROLLOUT;
use vela_crds::rollout_plan::RollingState;
use vela_engine::rollout::{Input, Note, State};

use super::reconcile_inputs::{StatusReport, take};

/// The final message of the rollout.
const WHY: &str = "a user abandoned it, and the workloads stay as they stand; to go on or back, name another target and source \
     (`vela rollout undo` goes back)";

/// The next action for a user who abandons a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Abandon {
    /// It ends.
    End,
    /// It lets go already, and another one would follow: that one ends.
    EndNext,
    /// The rollout holds no workload any more, or soon none: the annotation goes.
    Obeyed,
}

/// Does a user abandon it, and what is to be done?
pub(super) fn asked(live: &DynamicObject, status: &RolloutStatus) -> Option<Abandon> {
    is_asked(live).then(|| match State::of(status).rolling {
        RollingState::RolloutAbandoning => Abandon::EndNext,
        RollingState::RolloutFailing
        | RollingState::RolloutDeleting
        | RollingState::Finalising
        | RollingState::RolloutSucceed
        | RollingState::RolloutFailed => Abandon::Obeyed,
        RollingState::LocatingTargetApp
        | RollingState::VerifyingSpec
        | RollingState::Initializing
        | RollingState::RollingInBatches => Abandon::End,
    })
}

/// Does a user abandon it?
pub(super) fn is_asked(live: &DynamicObject) -> bool {
    let marks = live.metadata.annotations.as_ref();
    marks.and_then(|marks| marks.get(ABANDON_ROLLOUT)).is_some_and(|asked| asked == "true")
}

/// The rollout ends as it stands. Where nothing was claimed yet, there is nothing to let go.
pub(super) fn end(status: &mut RolloutStatus, report: &mut StatusReport) {
    let has_claimed =
        !matches!(State::of(status).rolling, RollingState::LocatingTargetApp | RollingState::VerifyingSpec);
    let why = WHY.to_owned();
    take(status, &if has_claimed { Input::Failing(why) } else { Input::Failed(why) }, report);
    report.notes.push(Note { warning: false, reason: "Rollout Abandoned", message: WHY.to_owned() });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(state: &str) -> RolloutStatus {
        RolloutStatus { rolling_state: state.to_owned(), ..RolloutStatus::default() }
    }

    #[test]
    fn what_rolls_ends_and_what_ends_already_is_left_alone() {
        let live = |asked: &str| {
            let live = json!({"metadata": {"name": "release", "annotations": {ABANDON_ROLLOUT: asked}}});
            serde_json::from_value::<DynamicObject>(live).unwrap()
        };
        let found = |state: &str| asked(&live("true"), &status(state));
        for state in ["locatingTargetApp", "verifyingSpec", "initializing", "rollingInBatches"] {
            assert_eq!(found(state), Some(Abandon::End), "{state}");
        }
        for state in ["rolloutFailing", "finalising", "rolloutSucceed", "rolloutFailed"] {
            assert_eq!(found(state), Some(Abandon::Obeyed), "{state}");
        }
        assert_eq!(found("rolloutAbandoning"), Some(Abandon::EndNext));
        assert_eq!(asked(&live("false"), &status("rollingInBatches")), None);
    }

    #[test]
    fn what_was_claimed_is_let_go() {
        let ended = |state: &str| {
            let (mut status, mut report) = (status(state), StatusReport::default());
            end(&mut status, &mut report);
            assert_eq!((report.effects.len(), report.notes.len()), (1, 1));
            status.rolling_state
        };
        assert_eq!(ended("rollingInBatches"), "rolloutFailing");
        assert_eq!(ended("verifyingSpec"), "rolloutFailed");
    }
}
