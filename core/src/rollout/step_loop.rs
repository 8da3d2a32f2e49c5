//! Runs the reconciles of an object that asks for rollouts, from its finalizer to its release.

use kube::api::DynamicObject;
use vela_crds::RolloutStatus;
use vela_engine::rollout::{State, state};
use vela_runtime::dynamic_watch::DynamicWatches;
use vela_runtime::{Action, CONFLICT_WAIT, Failure, Key};

use super::reconcile_inputs::Step;
use super::release;
use super::rollout_store::Stored;
use crate::author::{Actor, UnknownAuthor};

/// The limit of steps in one reconcile: a rollout that never waits has fewer in a row.
const STEPS_AT_MOST: usize = 16;

/// A controller of objects that ask for rollouts.
pub(super) trait StepReconciler: Sync {
    /// Makes at most one step.
    fn step(&self, key: &Key, live: &DynamicObject) -> impl Future<Output = Result<Step, Failure>> + Send;
}

/// Makes the steps of one object as long as there is one to make.
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

/// The result of the preparation of a reconcile.
pub(super) enum Start {
    /// The preparation was the whole reconcile.
    Over(Step),
    /// The reconciler stores this first status.
    First(RolloutStatus),
    /// The reconcile goes on.
    Ready,
}

/// Adds the finalizer before the rollout claims anything, and removes it once no claim is left.
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
        // A stale cache may have hidden a claim when the workloads were released: the sweep removes it.
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
