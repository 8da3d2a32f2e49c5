//! Decides whether a rollout moves or rests, and what to tell people of it.

use vela_crds::rollout_plan::{BatchRollingState, RollingState};
use vela_crds::{AppRollout, AppRolloutStatus, Conditioned as _, condition};

use super::metrics;
use super::state::{self, BATCH_PAUSED, ROLLOUT_REVERTED, State};

/// The conditions of a turn that a user asked for.
const MODIFIED: &str = "Rollout Spec is modified";
const DELETED: &str = "Rollout is being deleted";

/// The states that last until a user acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is over, and the target is there.
    Succeeded,
    /// It waits for a person: for what, and how to go on.
    Waits(String),
    /// It is over, and why.
    Failed(String),
}

/// How it rests; nothing while it moves, or has not seen yet where to go.
pub fn rest(rollout: &AppRollout) -> Option<Rest> {
    let status = rollout.status.as_ref()?;
    let spec = &rollout.spec;
    let last = status.last_source_app_revision.as_deref().filter(|name| !name.is_empty());
    let is_seen = status.last_target_app_revision == spec.target() && last == spec.source();
    if !is_seen {
        return None;
    }
    let name = rollout.metadata.name.as_deref().unwrap_or_default();
    let now = State::of(&status.rollout);
    match now.rolling {
        RollingState::RolloutSucceed => return Some(Rest::Succeeded),
        RollingState::RolloutFailed => {
            let why = problem(status, now);
            return Some(Rest::Failed(if why.is_empty() {
                "it was let go".to_owned()
            } else {
                why.to_owned()
            }));
        }
        RollingState::RollingInBatches => {}
        _ => return None,
    }
    if spec.rollout_plan.paused && status.condition_status(BATCH_PAUSED) == condition::status::TRUE {
        return Some(Rest::Waits(format!("it is paused: `vela rollout resume {name}` lets it go on")));
    }
    if let Some(why) = held(rollout) {
        return Some(Rest::Waits(why.to_owned()));
    }
    let done = status.rollout.current_batch;
    match spec.rollout_plan.batch_partition {
        Some(partition) if partition <= done && now.batch == BatchRollingState::BatchReady => {
            Some(Rest::Waits(format!(
                "batch {} is done: `vela rollout promote {name}` lets it go on",
                done.saturating_add(1)
            )))
        }
        _ => None,
    }
}

/// Why a metric holds it, if one does.
pub fn held(rollout: &AppRollout) -> Option<&str> {
    let status = &rollout.status.as_ref()?.rollout;
    let is_measured = State::of(status)
        == State { rolling: RollingState::RollingInBatches, batch: BatchRollingState::BatchVerifying };
    metrics::held(status, rollout.metadata.generation?).filter(|_| is_measured)
}

/// The present action of the rollout, in a line.
pub fn doing(rollout: &AppRollout) -> String {
    let Some(status) = &rollout.status else { return "no controller has looked at it yet".to_owned() };
    let now = State::of(&status.rollout);
    let batches = rollout.spec.rollout_plan.rollout_batches.as_ref().map_or(0, Vec::len);
    let place = match now.rolling {
        RollingState::RollingInBatches => {
            format!("batch {} of {batches}", status.rollout.current_batch.saturating_add(1))
        }
        other => state::name(other).to_owned(),
    };
    match problem(status, now) {
        "" => place,
        why => format!("{place}: {why}"),
    }
}

/// The objection of the present state against going on.
pub fn problem(status: &AppRolloutStatus, now: State) -> &str {
    let is_false = |type_: &str| {
        let found = status.condition(type_).filter(|found| found.status == condition::status::FALSE);
        found.and_then(|found| found.message.as_deref())
    };
    // A way back that came to its end has failed on purpose, and its condition says why.
    let back = status.condition(ROLLOUT_REVERTED).filter(|back| back.status == condition::status::TRUE);
    if let (Some(back), Some(_)) = (back, &status.rollout.revert) {
        return back.message.as_deref().unwrap_or_default();
    }
    let paused = [state::BATCH_PAUSED];
    // A rollout that ended says why in the condition of the state it was in; the newest word counts.
    let newest = || {
        let all = status.conditions().iter().filter(|each| !paused.contains(&each.condition_type.as_str()));
        let failed = all.filter(|each| each.status == condition::status::FALSE && each.message.is_some());
        // Of words of one second, those that tell a reason count more than those that tell of a turn.
        let is_reason = |message: &str| ![MODIFIED, DELETED].contains(&message);
        let order = |each: &&condition::Condition| {
            (each.last_transition_time.0, each.message.as_deref().is_some_and(is_reason))
        };
        failed.max_by_key(order).and_then(|each| each.message.as_deref())
    };
    match now.rolling {
        RollingState::RolloutSucceed => "",
        _ => is_false(now.condition()).or_else(newest).unwrap_or_default(),
    }
}
