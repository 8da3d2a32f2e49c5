//! One reconcile of an object that asks for a rollout, whatever it rolls: a step is carried out, and what came of it is stored.

use std::time::Duration;

use kube::api::DynamicObject;
use serde::Serialize;
use vela_crds::{AppRolloutStatus, Conditioned, RolloutStatus, RolloutTraitStatus};
use vela_engine::rollout::{Event, Input, PlannedStep, State};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Failure, Key};

use super::lookup_error::Missing;
use super::reconcile_inputs::{LOOK_AGAIN, StatusReport, Step, apply_event, take};
use super::rollout_store::Stored;
use super::{release, revert, step};
use crate::author::Actor;

/// The inputs of every such reconcile.
pub(super) struct Attempt<'a> {
    pub(super) stored: &'a Stored,
    pub(super) key: &'a Key,
    pub(super) live: &'a DynamicObject,
    /// Back from the target that is written to the source that is written.
    pub(super) is_back: bool,
    /// The object itself goes.
    pub(super) is_leaving: bool,
}

/// A status with where a rollout stands.
pub(super) trait Rolling: Conditioned + Serialize {
    fn rollout(&mut self) -> &mut RolloutStatus;
}

impl Rolling for AppRolloutStatus {
    fn rollout(&mut self) -> &mut RolloutStatus {
        &mut self.rollout
    }
}

impl Rolling for RolloutTraitStatus {
    fn rollout(&mut self) -> &mut RolloutStatus {
        &mut self.rollout
    }
}

/// A step that was made, and is not stored yet.
pub(super) struct Made {
    /// Where the rollout stood.
    pub(super) before: State,
    /// Where it stands now.
    pub(super) after: State,
    /// Another step may follow at once.
    goes_on: bool,
    /// The rest of the time until the batch fails.
    left: Option<Duration>,
    /// The reason of the wait, for people.
    waits_for: String,
}

/// Why a reconcile ends before there is a step to store.
pub(super) enum Error {
    /// It waits for this, which is told; looked at again after [`LOOK_AGAIN`].
    Waiting(String),
    /// One of its ends is absent: a way back ends here, any other waits.
    Missing(String),
    /// A copy was behind, or another writer faster: the controller looks again in a moment, and reports nothing.
    Behind,
    /// There is nothing to do until something changes.
    Idle,
    /// An error without a report: the next try comes after a back-off.
    Failed(Failure),
}

impl Error {
    /// An error that is retried after a back-off.
    pub(super) fn retry(why: String) -> Self {
        Self::Failed(Failure::retry(why))
    }
}

impl From<Missing> for Error {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Revision(why) => Self::Missing(why),
            Missing::Component(why) | Missing::Failed(why) => Self::Waiting(why),
            Missing::Ends => Self::Idle,
        }
    }
}

impl Made {
    /// Only the status was written, and the next step follows.
    pub(super) fn transition(before: State, rollout: &RolloutStatus) -> Self {
        let after = State::of(rollout);
        Self { before, after, goes_on: true, left: None, waits_for: String::new() }
    }
}

impl Attempt<'_> {
    /// Measure, ask hooks and write, as it was decided.
    pub(super) async fn make(
        &self,
        acting: &Actor,
        look: &TrackedReads,
        rollout: &mut RolloutStatus,
        report: &mut StatusReport,
        planned: PlannedStep,
    ) -> Result<Made, Error> {
        if planned.is_still() && report.effects.is_empty() {
            return Err(Error::Idle);
        }
        let (context, namespace) = (&self.stored.context, &self.key.namespace);
        let planned = step::measured(context, acting, namespace, &report.secrets, planned).await;
        let left = planned.seconds_left.map(Duration::from_secs);
        let waits_for = planned.waits_for.clone().unwrap_or_default();
        let ended = step::run(context, look, acting, namespace, planned).await.ok_or(Error::Behind)?;
        let (before, batch) = (State::of(rollout), rollout.current_batch);
        let conditions = std::mem::take(&mut rollout.conditions);
        *rollout = RolloutStatus { conditions, ..ended.status };
        report.effects.extend(ended.effects);
        report.notes.extend(ended.notes);
        let after = State::of(rollout);
        let goes_on = (before, batch) != (after, rollout.current_batch);
        Ok(Made { before, after, goes_on, left, waits_for })
    }

    /// Let go of whatever is held, where nothing tells any more what that is but the holds themselves.
    pub(super) async fn release(
        &self,
        acting: &Actor,
        rollout: &mut RolloutStatus,
        report: &mut StatusReport,
    ) -> Result<Made, Error> {
        let before = State::of(rollout);
        release::sweep(&self.stored.context, acting, self.key, self.live).await.map_err(Error::retry)?;
        apply_event(rollout, Event::Finalized, report);
        Ok(Made::transition(before, rollout))
    }

    /// Store what came of it.
    pub(super) async fn end(
        &self,
        mut status: impl Rolling,
        report: StatusReport,
        made: Result<Made, Error>,
    ) -> Result<Step, Failure> {
        let made = match made {
            Ok(made) => made,
            Err(Error::Missing(why)) if self.is_back => return self.give_up(status, report, &why).await,
            Err(Error::Missing(why) | Error::Waiting(why)) => return self.wait(status, report, why).await,
            Err(Error::Behind) => return Ok(Step::LookAgain),
            Err(Error::Idle) => return Ok(Step::Rest(None)),
            Err(Error::Failed(failure)) => return Err(failure),
        };
        if !made.goes_on && self.is_back && revert::is_stuck(status.rollout()) {
            return self.give_up(status, report, &made.waits_for).await;
        }
        match self.stored.store(self.live, status, report).await? {
            Step::Next(written) if made.goes_on => Ok(Step::Next(written)),
            Step::Next(_) => Ok(Step::Rest(Some(made.left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN))))),
            ended => Ok(ended),
        }
    }

    /// Not yet, and why; the state stays. A way back does not wait for ever.
    async fn wait(
        &self,
        mut status: impl Rolling,
        mut report: StatusReport,
        why: String,
    ) -> Result<Step, Failure> {
        if self.is_back && revert::is_late(status.rollout()) {
            return self.give_up(status, report, &why).await;
        }
        take(status.rollout(), &Input::Retry(why), &mut report);
        match self.stored.store(self.live, status, report).await? {
            Step::Next(_) => Ok(Step::Rest(Some(LOOK_AGAIN))),
            ended => Ok(ended),
        }
    }

    /// The way back ends here; what follows lets go.
    async fn give_up(
        &self,
        mut status: impl Rolling,
        mut report: StatusReport,
        why: &str,
    ) -> Result<Step, Failure> {
        revert::give_up(status.rollout(), self.is_leaving, why, &mut report);
        self.stored.store(self.live, status, report).await
    }
}
