//! One lap, carried out: revisions located, the next step decided, hooks asked, writes made, the status stored.

use kube::api::DynamicObject;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::rollout::lap::{World, lap};
use vela_engine::rollout::state::{self};
use vela_engine::rollout::{Event, Input, Lap, Part, State};
use vela_runtime::interest::Look;
use vela_runtime::{Failure, Key, clock};

use super::locate::{self, Located, Missing};
use super::stage::{self, Stage, Unready};
use super::{Between, Hands, LOOK_AGAIN, Step, Told, back, happens, release, step};
use crate::application::owned::Application;
use crate::author::{Acting, Nobody};

/// What one lap works on.
pub(super) struct Work<'a> {
    pub(super) key: &'a Key,
    pub(super) live: &'a DynamicObject,
    pub(super) rollout: &'a AppRollout,
    pub(super) between: &'a Between,
    /// What the next laps work between, once this one has let go; nothing where the rollout itself goes.
    pub(super) wanted: Option<&'a Between>,
    /// On whose behalf: of whoever wrote the rollout, or the application that it is part of.
    pub(super) acting: &'a Result<Acting, Nobody>,
}

/// Make at most one step.
pub(super) async fn carry(
    hands: &Hands,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut told: Told,
) -> Result<Step, Failure> {
    let acting = match work.acting {
        Ok(acting) => acting,
        Err(nobody) => return wait(hands, work, status, told, nobody.to_string()).await,
    };
    let look = hands.interests.look(work.key);
    let located = locate::locate(hands, &look, work, &status.given_up_revisions).await;
    let is_releasing = State::of(&status.rollout).is_releasing();
    let located = match located {
        Ok(located) => located,
        Err(Missing::Revision(_)) if is_releasing => {
            // What it holds is found by the hold itself.
            release::sweep(&hands.context, acting, work.key, work.live).await.map_err(Failure::retry)?;
            happens(&mut status.rollout, Event::Finalized, &mut told);
            if let Some(wanted) = work.wanted {
                remember(&mut status, wanted);
            }
            return hands.store(work.live, &status, told).await;
        }
        Err(Missing::Revision(why)) if work.between.is_back => {
            return give_up(hands, work, status, told, &why).await;
        }
        Err(Missing::Ends) => return Ok(Step::Rest(None)),
        Err(Missing::Revision(why) | Missing::Trouble(why)) => {
            return wait(hands, work, status, told, why).await;
        }
    };
    for side in [Some(&located.target), located.source.as_ref()].into_iter().flatten() {
        told.secrets.extend(&side.secrets);
    }
    let application = match locate::application(hands, &located.target.application) {
        Ok(application) => Some(application),
        Err(_) if is_releasing => None,
        Err(why) if work.between.is_back => return give_up(hands, work, status, told, &why).await,
        Err(why) => return wait(hands, work, status, told, why).await,
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
        if let Err(why) = locate::differ(work.between) {
            return wait(hands, work, status, told, why).await;
        }
        match stage::prepare(hands, &look, stage).await {
            Ok(()) => {}
            Err(Unready::Behind) => return Ok(Step::LookAgain),
            Err(Unready::Wrong(why)) => return wait(hands, work, status, told, why).await,
        }
        happens(&mut status.rollout, Event::AppLocated, &mut told);
        if !work.between.is_back {
            remember(&mut status, work.between);
        }
        return hands.store(work.live, &status, told).await;
    }
    let decided = decide(work, &status, &look, &located).await.map_err(Failure::retry)?;
    if decided.is_still() && told.effects.is_empty() {
        return Ok(Step::Rest(None));
    }
    let decided = step::measured(&hands.context, acting, &work.key.namespace, &told.secrets, decided).await;
    let seconds_left = decided.seconds_left;
    let ended_waiting = decided.waits_for.clone();
    let Some(ended) = step::run(&hands.context, &look, acting, &work.key.namespace, decided).await else {
        return Ok(Step::LookAgain);
    };
    let before = (State::of(&status.rollout), status.rollout.current_batch);
    let conditions = std::mem::take(&mut status.rollout.conditions);
    status.rollout = ended.status;
    status.rollout.conditions = conditions;
    told.effects.extend(ended.effects);
    told.notes.extend(ended.notes);
    let after = State::of(&status.rollout);
    if before.0.rolling == RollingState::Finalising
        && after.is_terminal()
        && let Some(stage) = &stage
    {
        match stage::finish(hands, &look, stage).await {
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
    if !goes_on && work.between.is_back && back::is_stuck(&status.rollout) {
        let why = ended_waiting.unwrap_or_default();
        return give_up(hands, work, status, told, &why).await;
    }
    match hands.store(work.live, &status, told).await? {
        Step::Next(written) if goes_on => return Ok(Step::Next(written)),
        Step::Next(_) => {}
        ended => return Ok(ended),
    }
    let left = seconds_left.map(std::time::Duration::from_secs);
    Ok(Step::Rest(Some(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)))))
}

fn remember(status: &mut AppRolloutStatus, between: &Between) {
    status.last_target_app_revision.clone_from(&between.target);
    status.last_source_app_revision.clone_from(&between.source);
}

/// The way back ends here; what follows lets go.
async fn give_up(
    hands: &Hands,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut told: Told,
    why: &str,
) -> Result<Step, Failure> {
    back::give_up(&mut status.rollout, work.wanted.is_none(), why, &mut told);
    hands.store(work.live, &status, told).await
}

/// Not yet, and why; the state stays. A way back does not wait for ever.
async fn wait(
    hands: &Hands,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut told: Told,
    why: String,
) -> Result<Step, Failure> {
    if work.between.is_back && back::is_late(&status.rollout) {
        return give_up(hands, work, status, told, &why).await;
    }
    let (next, effects) = state::next(&status.rollout, &Input::Retry(why));
    status.rollout = next;
    told.effects.extend(effects);
    match hands.store(work.live, &status, told).await? {
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
) -> Result<Lap, String> {
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
    Ok(lap(&World {
        plan: &work.rollout.spec.rollout_plan,
        status: &status.rollout,
        owner: &owner,
        parts: &parts.collect::<Vec<_>>(),
        is_turned: !status.given_up_revisions.is_empty() || work.between.is_back,
        generation: work.live.metadata.generation.unwrap_or_default(),
        now: clock::now(),
    }))
}
