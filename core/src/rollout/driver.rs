//! One reconcile of a rollout, whatever stands at its ends: they are located, the rollout is prepared, and then step by step decided, made
//! and finished.
//!
//! [`Ends`] has three implementations: revisions, stored configurations, and workloads that a RolloutTrait names.

use vela_crds::rollout_plan::RollingState;
use vela_engine::rollout::{Event, PlannedStep, State};
use vela_runtime::dynamic_watch::TrackedReads;

use super::attempt::{Attempt, Error, Made, Rolling};
use super::lookup_error::Missing;
use super::reconcile_inputs::{StatusReport, apply_event};
use crate::author::Actor;

/// The two ends of a rollout, and what is done with them.
pub(super) trait Ends: Sync {
    /// The status of the object that asks for the rollout.
    type Status: Rolling + Send + Sync;
    /// The ends, and the parts between them.
    type Located: Send + Sync;

    /// Finds the ends, and once the rollout began, its parts.
    fn locate(
        &self,
        status: &Self::Status,
        report: &mut StatusReport,
    ) -> impl Future<Output = Result<Self::Located, Missing>> + Send;

    /// May a rollout that lets its workloads go do so by their holds, where its ends are missing for this reason?
    fn may_release_without(&self, missing: &Missing) -> bool;

    /// Makes ready what the rollout needs, before anything rolls.
    fn prepare(&self, located: &Self::Located) -> impl Future<Output = Result<(), Error>> + Send;

    /// Notes the ends of a rollout that begins.
    fn begin(&self, status: &mut Self::Status, located: &Self::Located);

    /// Decides the next step.
    fn decide(
        &self,
        status: &Self::Status,
        located: &Self::Located,
    ) -> impl Future<Output = Result<PlannedStep, String>> + Send;

    /// Gives the target what belongs to it, after the last step.
    fn finish(
        &self,
        status: &mut Self::Status,
        located: &Self::Located,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Notes the ends of the next reconciles, after a step.
    fn remember(&self, status: &mut Self::Status, made: &Made);
}

/// Makes at most one step.
pub(super) async fn advance<E: Ends>(
    ends: &E,
    (acting, look): (&Actor, &TrackedReads),
    attempt: &Attempt<'_>,
    status: &mut E::Status,
    report: &mut StatusReport,
) -> Result<Made, Error> {
    let state = State::of(status.rollout());
    let located = match ends.locate(status, report).await {
        Ok(located) => located,
        Err(missing) if state.is_releasing() && ends.may_release_without(&missing) => {
            let made = attempt.release(acting, status.rollout(), report).await?;
            ends.remember(status, &made);
            return Ok(made);
        }
        Err(missing) => return Err(missing.into()),
    };
    if state.rolling == RollingState::LocatingTargetApp {
        ends.prepare(&located).await?;
        apply_event(status.rollout(), Event::AppLocated, report);
        ends.begin(status, &located);
        return Ok(Made::transition(state, status.rollout()));
    }
    let planned = ends.decide(status, &located).await.map_err(Error::retry)?;
    let before = status.rollout().clone();
    let made = attempt.make(acting, look, status.rollout(), report, planned).await?;
    if made.before.rolling == RollingState::Finalising
        && made.after.is_terminal()
        && let Err(error) = ends.finish(status, &located).await
    {
        // A reported end is final: the rollout reports it only after all is finished.
        *status.rollout() = before;
        return Err(error);
    }
    ends.remember(status, &made);
    Ok(made)
}
