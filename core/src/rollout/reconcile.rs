//! One reconcile, carried out: revisions located, the next step decided, hooks asked, writes made, the status stored.

use vela_crds::AppRolloutStatus;
use vela_crds::rollout_plan::RollingState;
use vela_engine::rollout::next_step::{Situation, next_step};
use vela_engine::rollout::state::{self};
use vela_engine::rollout::{Event, Input, Part, PlannedStep, State};
use vela_runtime::interest::Look;
use vela_runtime::{Failure, clock};

use super::locate::{self, Located};
use super::missing::Missing;
use super::reconciler::RolloutReconciler;
use super::stage::{self, Stage, Unready};
use super::work::{Direction, LOOK_AGAIN, StatusReport, Step, Work, apply_event};
use super::{back, release, step};
use crate::application::owned::Application;

/// Make at most one step.
pub(super) async fn reconcile(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut report: StatusReport,
) -> Result<Step, Failure> {
    let acting = match work.acting {
        Ok(acting) => acting,
        Err(nobody) => return wait(reconciler, work, status, report, nobody.to_string()).await,
    };
    let look = reconciler.interests.look(work.key);
    let located = locate::locate(reconciler, &look, work, &status.given_up_revisions).await;
    let is_releasing = State::of(&status.rollout).is_releasing();
    let located = match located {
        Ok(located) => located,
        Err(Missing::Revision(_)) if is_releasing => {
            // What it holds is found by the hold itself.
            release::sweep(&reconciler.context, acting, work.key, work.live).await.map_err(Failure::retry)?;
            apply_event(&mut status.rollout, Event::Finalized, &mut report);
            if let Some(wanted) = work.wanted {
                remember(&mut status, wanted);
            }
            return reconciler.store(work.live, &status, report).await;
        }
        Err(Missing::Revision(why)) if work.direction.is_back => {
            return give_up(reconciler, work, status, report, &why).await;
        }
        Err(Missing::Ends) => return Ok(Step::Rest(None)),
        Err(Missing::Revision(why) | Missing::Failed(why)) => {
            return wait(reconciler, work, status, report, why).await;
        }
    };
    for side in [Some(&located.target), located.source.as_ref()].into_iter().flatten() {
        report.secrets.extend(&side.secrets);
    }
    let application = match locate::application(reconciler, &located.target.application) {
        Ok(application) => Some(application),
        Err(_) if is_releasing => None,
        Err(why) if work.direction.is_back => return give_up(reconciler, work, status, report, &why).await,
        Err(why) => return wait(reconciler, work, status, report, why).await,
    };
    let owner = application.as_ref().map(|application| Application::of(application, acting.clone()));
    let stage = owner.as_ref().map(|owner| Stage {
        rollout: work.live.metadata.uid.as_deref().unwrap_or_default(),
        application: owner,
        acting,
        graph: &located.target.graph,
        parts: &located.parts,
    });
    if let (RollingState::LocatingTargetApp, Some(stage)) = (State::of(&status.rollout).rolling, &stage) {
        if let Err(why) = locate::differ(work.direction) {
            return wait(reconciler, work, status, report, why).await;
        }
        match stage::prepare(reconciler, &look, stage).await {
            Ok(()) => {}
            Err(Unready::Behind) => return Ok(Step::LookAgain),
            Err(Unready::Wrong(why)) => return wait(reconciler, work, status, report, why).await,
        }
        apply_event(&mut status.rollout, Event::AppLocated, &mut report);
        if !work.direction.is_back {
            remember(&mut status, work.direction);
        }
        return reconciler.store(work.live, &status, report).await;
    }
    let decided = decide(work, &status, &look, &located).await.map_err(Failure::retry)?;
    if decided.is_still() && report.effects.is_empty() {
        return Ok(Step::Rest(None));
    }
    let decided =
        step::measured(&reconciler.context, acting, &work.key.namespace, &report.secrets, decided).await;
    let seconds_left = decided.seconds_left;
    let ended_waiting = decided.waits_for.clone();
    let Some(ended) = step::run(&reconciler.context, &look, acting, &work.key.namespace, decided).await
    else {
        return Ok(Step::LookAgain);
    };
    let before = (State::of(&status.rollout), status.rollout.current_batch);
    let conditions = std::mem::take(&mut status.rollout.conditions);
    status.rollout = ended.status;
    status.rollout.conditions = conditions;
    report.effects.extend(ended.effects);
    report.notes.extend(ended.notes);
    let after = State::of(&status.rollout);
    if before.0.rolling == RollingState::Finalising
        && after.is_terminal()
        && let Some(stage) = &stage
    {
        match stage::finish(reconciler, &look, stage).await {
            Ok(()) => {}
            Err(Unready::Behind) => return Ok(Step::LookAgain),
            Err(Unready::Wrong(why)) => return Err(Failure::retry(why)),
        }
        status.given_up_revisions.clear();
    }
    if after.rolling != RollingState::RolloutAbandoning
        && let Some(wanted) = work.wanted
    {
        remember(&mut status, wanted);
    }
    let goes_on = before != (after, status.rollout.current_batch);
    if !goes_on && work.direction.is_back && back::is_stuck(&status.rollout) {
        let why = ended_waiting.unwrap_or_default();
        return give_up(reconciler, work, status, report, &why).await;
    }
    match reconciler.store(work.live, &status, report).await? {
        Step::Next(written) if goes_on => return Ok(Step::Next(written)),
        Step::Next(_) => {}
        ended => return Ok(ended),
    }
    let left = seconds_left.map(std::time::Duration::from_secs);
    Ok(Step::Rest(Some(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)))))
}

fn remember(status: &mut AppRolloutStatus, direction: &Direction) {
    status.last_target_app_revision.clone_from(&direction.target);
    status.last_source_app_revision.clone_from(&direction.source);
}

/// The way back ends here; what follows lets go.
async fn give_up(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut report: StatusReport,
    why: &str,
) -> Result<Step, Failure> {
    back::give_up(&mut status.rollout, work.wanted.is_none(), why, &mut report);
    reconciler.store(work.live, &status, report).await
}

/// Not yet, and why; the state stays. A way back does not wait for ever.
async fn wait(
    reconciler: &RolloutReconciler,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut report: StatusReport,
    why: String,
) -> Result<Step, Failure> {
    if work.direction.is_back && back::is_late(&status.rollout) {
        return give_up(reconciler, work, status, report, &why).await;
    }
    let (next, effects) = state::next(&status.rollout, &Input::Retry(why));
    status.rollout = next;
    report.effects.extend(effects);
    match reconciler.store(work.live, &status, report).await? {
        Step::Next(_) => Ok(Step::Rest(Some(LOOK_AGAIN))),
        ended => Ok(ended),
    }
}

/// What the engine makes of what is there.
async fn decide(
    work: &Work<'_>,
    status: &AppRolloutStatus,
    look: &Look,
    located: &Located,
) -> Result<PlannedStep, String> {
    let rolls = State::of(&status.rollout).rolling == RollingState::RollingInBatches;
    let mut watched = Vec::with_capacity(located.parts.len());
    for part in &located.parts {
        // Pods are watched only while somebody wants to know why they do not come.
        watched.push(match &part.target.live {
            Some(live) if rolls => locate::pods(look, live).await?,
            _ => Default::default(),
        });
    }
    let owner = step::owner(work.live);
    let keys: Vec<_> = located.parts.iter().map(|part| part.target.template.key()).collect();
    let parts = located.parts.iter().zip(&keys).zip(&watched).map(|((part, key), (makers, pods))| Part {
        component: &part.component,
        api_version: &key.api_version,
        kind: &key.kind,
        has_source: part.source.is_some(),
        source: part.source.as_ref().and_then(|source| source.live.as_ref()),
        leftovers: &part.leftovers,
        target: part.target.live.as_ref(),
        pods,
        makers,
    });
    Ok(next_step(&Situation {
        plan: &work.rollout.spec.rollout_plan,
        status: &status.rollout,
        owner: &owner,
        parts: &parts.collect::<Vec<_>>(),
        is_turned: !status.given_up_revisions.is_empty() || work.direction.is_back,
        generation: work.live.metadata.generation.unwrap_or_default(),
        now: clock::now(),
    }))
}
