//! One reconcile, carried out: revisions located, the next step decided, hooks asked, writes made, the status stored.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_crds::AppRolloutStatus;
use vela_engine::rollout::{PlannedStep, Spelling, State};
use vela_runtime::Failure;
use vela_runtime::dynamic_watch::TrackedReads;

use super::attempt::{Attempt, Error, Made};
use super::configurations::Configurations;
use super::decide::{decide, remember};
use super::driver::{self, Ends};
use super::locate::{self, Located};
use super::lookup_error::Missing;
use super::reconcile_inputs::{Direction, StatusReport, Step, Work};
use super::reconciler::RolloutReconciler;
use super::stage::{self, Stage, Unready};
use super::{garbage_collection, unchanged_components};
use crate::application::owned_kinds::Application;
use crate::author::Actor;

/// Make at most one step.
pub(super) async fn reconcile(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut report: StatusReport,
) -> Result<Step, Failure> {
    let attempt = Attempt {
        stored: &reconciler.stored,
        key: work.key,
        live: work.live,
        is_back: work.direction.is_back,
        is_leaving: work.wanted.is_none(),
    };
    let made = advance(reconciler, work, &attempt, (&mut status, &mut report)).await;
    attempt.end(status, report, made).await
}

async fn advance(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    attempt: &Attempt<'_>,
    (status, report): (&mut AppRolloutStatus, &mut StatusReport),
) -> Result<Made, Error> {
    let acting = work.acting.as_ref().map_err(|unknown| Error::Waiting(unknown.to_string()))?;
    let look = &reconciler.interests.track(work.key);
    match &work.spelling {
        Ok(Spelling::Revisions) => {
            let ends = Revisions { reconciler, work, acting, look };
            driver::advance(&ends, (acting, look), attempt, status, report).await
        }
        Ok(Spelling::Configurations) => {
            let ends = Configurations { reconciler, work, acting, look };
            driver::advance(&ends, (acting, look), attempt, status, report).await
        }
        // A rollout that cannot be read does not begin, and one under way lets go.
        Err(_) if State::of(&status.rollout).is_releasing() => {
            let made = attempt.release(acting, &mut status.rollout, report).await?;
            work.remember_wanted(status, &made);
            Ok(made)
        }
        Err(why) => Err(Error::Waiting(why.to_string())),
    }
}

/// The ends of a rollout between revisions of an Application in the v1beta1 form.
struct Revisions<'a> {
    reconciler: &'a RolloutReconciler,
    work: &'a Work<'a>,
    acting: &'a Actor,
    look: &'a TrackedReads,
}

/// The revisions, and their application, which may be gone where the rollout lets go.
struct Found {
    located: Located,
    application: Option<Arc<DynamicObject>>,
}

impl Ends for Revisions<'_> {
    type Status = AppRolloutStatus;
    type Located = Found;

    async fn locate(&self, status: &AppRolloutStatus, report: &mut StatusReport) -> Result<Found, Missing> {
        let located = locate::locate(self.reconciler, self.look, self.work, status).await?;
        for side in [Some(&located.target), located.source.as_ref()].into_iter().flatten() {
            report.secrets.extend(&side.secrets);
        }
        let application = match locate::application(self.reconciler, &located.target.application) {
            Ok(application) => Some(application),
            Err(_) if State::of(&status.rollout).is_releasing() => None,
            Err(why) => return Err(Missing::Revision(why)),
        };
        Ok(Found { located, application })
    }

    /// A revision that cannot be read now may be read later; its objects say then what the rollout holds.
    fn may_release_without(&self, missing: &Missing) -> bool {
        matches!(missing, Missing::Revision(_) | Missing::Component(_))
    }

    async fn prepare(&self, found: &Found) -> Result<(), Error> {
        let Some(application) = &found.application else { return Err(Error::Idle) };
        locate::of_this_form(&found.located).map_err(Error::Waiting)?;
        let Direction { target, source, .. } = self.work.direction;
        let differ = Spelling::Revisions.differ(target, source.as_deref());
        differ.map_err(|same| Error::Waiting(same.to_string()))?;
        let owner = Application::of(application, self.acting.clone());
        let stage = self.stage(&found.located, &owner);
        stage::prepare(self.reconciler, self.look, &stage).await.map_err(|unready| match unready {
            Unready::Behind => Error::Behind,
            Unready::Wrong(why) => Error::Waiting(why),
        })
    }

    fn begin(&self, status: &mut AppRolloutStatus, found: &Found) {
        if self.work.direction.is_back {
            return;
        }
        remember(status, self.work.direction);
        let unchanged = found.located.unchanged.iter().map(|part| part.component.clone());
        status.unchanged_components = unchanged.collect();
    }

    async fn decide(&self, status: &AppRolloutStatus, found: &Found) -> Result<PlannedStep, String> {
        decide(self.work, status, self.look, &found.located.parts, Vec::new()).await
    }

    async fn finish(&self, status: &mut AppRolloutStatus, found: &Found) -> Result<(), Error> {
        let Some(application) = &found.application else { return Ok(()) };
        let retried = |unready| match unready {
            Unready::Behind => Error::Behind,
            Unready::Wrong(why) => Error::retry(why),
        };
        let owner = Application::of(application, self.acting.clone());
        let (located, stage) = (&found.located, self.stage(&found.located, &owner));
        stage::finish(self.reconciler, self.look, &stage).await.map_err(retried)?;
        let left = (&located.target, located.unchanged.as_slice());
        unchanged_components::relabel(self.reconciler, self.acting, self.look, left)
            .await
            .map_err(retried)?;
        garbage_collection::remove(self.reconciler, self.look, &stage).await;
        status.given_up_revisions.clear();
        Ok(())
    }

    fn remember(&self, status: &mut AppRolloutStatus, made: &Made) {
        self.work.remember_wanted(status, made);
    }
}

impl Revisions<'_> {
    fn stage<'s>(&'s self, located: &'s Located, application: &'s Application<'s>) -> Stage<'s> {
        Stage {
            rollout: self.work.live.metadata.uid.as_deref().unwrap_or_default(),
            application,
            acting: self.acting,
            graph: &located.target.graph,
            parts: &located.parts,
            unchanged: &located.unchanged,
        }
    }
}
