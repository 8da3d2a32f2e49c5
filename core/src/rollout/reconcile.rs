//! One reconcile, carried out: revisions located, the next step decided, hooks asked, writes made, the status stored.

use vela_crds::AppRolloutStatus;
use vela_crds::rollout_plan::RollingState;
use vela_engine::rollout::{Event, Spelling, State};
use vela_runtime::Failure;
use vela_runtime::dynamic_watch::TrackedReads;

use super::attempt::{Attempt, Error, Made};
use super::configurations;
use super::decide::{decide, remember};
use super::locate::{self, Located};
use super::lookup_error::Missing;
use super::reconcile_inputs::{StatusReport, Step, Work, apply_event};
use super::reconciler::RolloutReconciler;
use super::stage::{self, Stage, Unready};
use super::{garbage_collection, unchanged_components};
use crate::application::owned_kinds::Application;

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
    let made = match &work.spelling {
        Ok(Spelling::Revisions) => advance(reconciler, work, &attempt, &mut status, &mut report).await,
        Ok(Spelling::Configurations) => {
            configurations::advance(reconciler, work, &attempt, &mut status, &mut report).await
        }
        Err(why) => misspelled(work, &attempt, &mut status, &mut report, why.to_string()).await,
    };
    attempt.end(status, report, made).await
}

/// A rollout that cannot be read does not begin, and one under way lets go.
async fn misspelled(
    work: &Work<'_>,
    attempt: &Attempt<'_>,
    status: &mut AppRolloutStatus,
    report: &mut StatusReport,
    why: String,
) -> Result<Made, Error> {
    if !State::of(&status.rollout).is_releasing() {
        return Err(Error::Waiting(why));
    }
    configurations::release(work, attempt, status, report).await
}

async fn advance(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    attempt: &Attempt<'_>,
    status: &mut AppRolloutStatus,
    report: &mut StatusReport,
) -> Result<Made, Error> {
    let acting = work.acting.as_ref().map_err(|unknown| Error::Waiting(unknown.to_string()))?;
    let look = reconciler.interests.track(work.key);
    let is_releasing = State::of(&status.rollout).is_releasing();
    let located = match locate::locate(reconciler, &look, work, status).await {
        Ok(located) => located,
        // A rollout that releases its workloads reports that itself.
        Err(Missing::Revision(_) | Missing::Component(_)) if is_releasing => {
            return configurations::release(work, attempt, status, report).await;
        }
        Err(Missing::Revision(why)) => return Err(Error::Missing(why)),
        Err(Missing::Component(why) | Missing::Failed(why)) => return Err(Error::Waiting(why)),
        Err(Missing::Ends) => return Err(Error::Idle),
    };
    for side in [Some(&located.target), located.source.as_ref()].into_iter().flatten() {
        report.secrets.extend(&side.secrets);
    }
    let application = match locate::application(reconciler, &located.target.application) {
        Ok(application) => Some(application),
        Err(_) if is_releasing => None,
        Err(why) => return Err(Error::Missing(why)),
    };
    let owner = application.as_ref().map(|application| Application::of(application, acting.clone()));
    let stage = owner.as_ref().map(|owner| Stage {
        rollout: work.live.metadata.uid.as_deref().unwrap_or_default(),
        application: owner,
        acting,
        graph: &located.target.graph,
        parts: &located.parts,
        unchanged: &located.unchanged,
    });
    let state = State::of(&status.rollout);
    if let (RollingState::LocatingTargetApp, Some(stage)) = (state.rolling, &stage) {
        locate::of_this_form(&located).map_err(Error::Waiting)?;
        prepare(reconciler, work, &look, stage).await?;
        apply_event(&mut status.rollout, Event::AppLocated, report);
        if !work.direction.is_back {
            remember(status, work.direction);
            let unchanged = located.unchanged.iter().map(|part| part.component.clone());
            status.unchanged_components = unchanged.collect();
        }
        return Ok(Made::transition(state, &status.rollout));
    }
    let planned = decide(work, status, &look, &located.parts, Vec::new()).await.map_err(Error::retry)?;
    let made = attempt.make(acting, &look, &mut status.rollout, report, planned).await?;
    if made.before.rolling == RollingState::Finalising
        && made.after.is_terminal()
        && let Some(stage) = &stage
    {
        finish(reconciler, &look, stage, &located).await?;
        status.given_up_revisions.clear();
    }
    if made.after.rolling != RollingState::RolloutAbandoning {
        work.wanted.into_iter().for_each(|wanted| remember(status, wanted));
    }
    Ok(made)
}

/// Before the rollout.
async fn prepare(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    look: &TrackedReads,
    stage: &Stage<'_>,
) -> Result<(), Error> {
    let differ = Spelling::Revisions.differ(&work.direction.target, work.direction.source.as_deref());
    differ.map_err(|same| Error::Waiting(same.to_string()))?;
    stage::prepare(reconciler, look, stage).await.map_err(|unready| match unready {
        Unready::Behind => Error::Behind,
        Unready::Wrong(why) => Error::Waiting(why),
    })
}

/// After the rollout: its last step is made again where this fails.
async fn finish(
    reconciler: &RolloutReconciler,
    look: &TrackedReads,
    stage: &Stage<'_>,
    located: &Located,
) -> Result<(), Error> {
    let retried = |unready| match unready {
        Unready::Behind => Error::Behind,
        Unready::Wrong(why) => Error::retry(why),
    };
    stage::finish(reconciler, look, stage).await.map_err(retried)?;
    let left = (&located.target, located.unchanged.as_slice());
    unchanged_components::relabel(reconciler, stage.acting, look, left).await.map_err(retried)?;
    garbage_collection::remove(reconciler, look, stage).await;
    Ok(())
}
