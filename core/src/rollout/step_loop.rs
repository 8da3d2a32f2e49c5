//! An object that asks for rollouts → reconcile after reconcile, from the moment it is held to the moment it may go.

use kube::api::DynamicObject;
use vela_crds::RolloutStatus;
use vela_engine::rollout::{State, state};
use vela_runtime::dynamic_watch::DynamicWatches;
use vela_runtime::{Action, CONFLICT_WAIT, Failure, Key};

use super::release;
use super::stored::Stored;
use super::work::Step;
use crate::author::{Actor, UnknownAuthor};

/// Steps of one reconcile: a rollout that waits for nothing has fewer in a row.
const STEPS_AT_MOST: usize = 16;

/// A controller of such objects.
pub(super) trait StepReconciler: Sync {
    /// Make at most one step.
    fn step(&self, key: &Key, live: &DynamicObject) -> impl Future<Output = Result<Step, Failure>> + Send;
}

/// Steps of one object as long as there is one to make.
pub(super) async fn run(
    reconciler: &impl StepReconciler,
    stored: &Stored,
    interests: &DynamicWatches,
    key: &Key,
) -> Result<Action, Failure> {
    let Some(mut live) = stored.read(key).await? else {
        interests.forget(key);
        return Ok(Action::Done);
    };
    for _ in 0..STEPS_AT_MOST {
        match reconciler.step(key, &live).await? {
            Step::Next(written) => live = written,
            Step::Rest(again) => return Ok(again.map_or(Action::Done, Action::RequeueAfter)),
            Step::LookAgain => return Ok(Action::RequeueAfter(CONFLICT_WAIT)),
        }
    }
    Ok(Action::RequeueAfter(CONFLICT_WAIT))
}

/// What comes before any reconcile.
pub(super) enum Start {
    /// All that there was to do.
    Over(Step),
    /// The first status, to be stored.
    First(RolloutStatus),
    /// Nothing: a reconcile may be made.
    Ready,
}

/// Hold the object before anything is claimed for it, and let it go when nothing is claimed any more.
pub(super) async fn begin(
    stored: &Stored,
    key: &Key,
    live: &DynamicObject,
    status: &RolloutStatus,
    acting: &Result<Actor, UnknownAuthor>,
) -> Result<Start, Failure> {
    let held = stored.is_held(live);
    let began = !status.rolling_state.is_empty();
    if live.metadata.deletion_timestamp.is_some() && (!held || !began || State::of(status).is_terminal()) {
        // A claim that no copy showed when the workloads were let go would be the end of them.
        if held && began {
            let acting = acting.as_ref().map_err(|unknown| Failure::retry(unknown.to_string()))?;
            release::sweep(&stored.context, acting, key, live).await.map_err(Failure::retry)?;
        }
        return Ok(Start::Over(if held { stored.hold(live, false).await? } else { Step::Rest(None) }));
    }
    Ok(match (held, began) {
        (false, _) => Start::Over(stored.hold(live, true).await?),
        (true, false) => Start::First(state::reset(status)),
        (true, true) => Start::Ready,
    })
}
