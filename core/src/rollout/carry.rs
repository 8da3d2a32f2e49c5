//! One lap, carried out: revisions located, the next step decided, hooks asked, writes made, the status stored.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::Secrets;
use vela_engine::rollout::lap::{Ended, World, lap};
use vela_engine::rollout::state::{self};
use vela_engine::rollout::{Event, Input, Lap, Owner, Part, State, Write};
use vela_runtime::apply::explain;
use vela_runtime::interest::Look;
use vela_runtime::{Failure, Key, clock};

use super::locate::{self, Located, Missing};
use super::stage::{self, Stage, Unready};
use super::{Between, Hands, LOOK_AGAIN, Step, Told, back, happens, hooks, metrics, release};
use crate::application::owned::Application;
use crate::author::Acting;
use crate::context::FIELD_MANAGER;

/// What one lap works on.
pub(super) struct Work<'a> {
    pub(super) key: &'a Key,
    pub(super) live: &'a DynamicObject,
    pub(super) rollout: &'a AppRollout,
    pub(super) between: &'a Between,
    /// What the next laps work between, once this one has let go; nothing where the rollout itself goes.
    pub(super) wanted: Option<&'a Between>,
}

/// Make at most one step.
pub(super) async fn carry(
    hands: &Hands,
    work: &Work<'_>,
    mut status: AppRolloutStatus,
    mut told: Told,
) -> Result<Step, Failure> {
    let look = hands.interests.look(work.key);
    let located = locate::locate(hands, &look, work, &status.given_up_revisions).await;
    let is_releasing = State::of(&status.rollout).is_releasing();
    let located = match located {
        Ok(located) => located,
        Err(Missing::Revision(_)) if is_releasing => {
            // What it holds is found by the hold itself.
            release::sweep(hands, work.key, work.live).await.map_err(Failure::retry)?;
            happens(&mut status, Event::Finalized, &mut told);
            return hands.store(work.live, &status, told).await;
        }
        Err(Missing::Revision(why)) if work.between.is_back => {
            return give_up(hands, work, status, told, &why).await;
        }
        Err(missing) => return wait(hands, work, status, told, missing.message()).await,
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
    let acting = match &application {
        Some(application) => match Acting::for_author(&hands.context, application) {
            Ok(acting) => acting,
            Err(nobody) => return wait(hands, work, status, told, nobody.to_string()).await,
        },
        // The hold is our own, and so is letting go.
        None => Acting::own(&hands.context),
    };
    let owner = application.as_ref().map(|application| Application::of(application, acting.clone()));
    let stage = owner.as_ref().map(|owner| Stage {
        rollout: work.live.metadata.uid.as_deref().unwrap_or_default(),
        application: owner,
        acting: &acting,
        graph: &located.target.graph,
        parts: &located.parts,
    });
    if let (RollingState::LocatingTargetApp, Some(stage)) = (State::of(&status.rollout).rolling, &stage) {
        match stage::prepare(hands, &look, stage).await {
            Ok(()) => {}
            Err(Unready::Behind) => return Ok(Step::LookAgain),
            Err(Unready::Wrong(why)) => return wait(hands, work, status, told, why).await,
        }
        happens(&mut status, Event::AppLocated, &mut told);
        if !work.between.is_back {
            remember(&mut status, work.between);
        }
        return hands.store(work.live, &status, told).await;
    }
    let decided = decide(work, &status, &look, &located).await.map_err(Failure::retry)?;
    if decided.is_still() && told.effects.is_empty() {
        return Ok(Step::Rest(None));
    }
    let decided = measured(hands, work, &acting, &told.secrets, decided).await;
    let seconds_left = decided.seconds_left;
    let ended_waiting = decided.waits_for.clone();
    let Some(ended) = run(hands, &look, &acting, &work.key.namespace, decided).await else {
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
    if !goes_on && work.between.is_back && back::is_stuck(&status) {
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
    back::give_up(&mut status, work.wanted.is_none(), why, &mut told);
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
    if work.between.is_back && back::is_late(&status) {
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
    let owner = owner(work.live);
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

/// The lap with the metrics that it wants to know.
async fn measured(hands: &Hands, work: &Work<'_>, acting: &Acting, secrets: &Secrets, lap: Lap) -> Lap {
    if lap.measurements.is_empty() {
        return lap;
    }
    let mut readings = metrics::measure(hands, acting, &work.key.namespace, &lap.measurements).await;
    for reading in &mut readings {
        // What a lap is told stands in the status, and not only in conditions.
        reading.query = reading.query.as_deref().map(|query| secrets.hide(query).into_owned());
        if let Err(why) = &mut reading.value {
            *why = secrets.hide(why).into_owned();
        }
    }
    lap.measured(&readings)
}

/// Who holds the workloads.
fn owner(live: &DynamicObject) -> Owner {
    let types = live.types.clone().unwrap_or_default();
    Owner {
        api_version: types.api_version,
        kind: types.kind,
        namespace: live.metadata.namespace.clone().unwrap_or_default(),
        name: live.metadata.name.clone().unwrap_or_default(),
        uid: live.metadata.uid.clone().unwrap_or_default(),
    }
}

/// Hooks before, writes, hooks after; nothing when another writer was faster, and all of it is decided anew.
async fn run(hands: &Hands, look: &Look, acting: &Acting, namespace: &str, lap: Lap) -> Option<Ended> {
    if let Err(why) = hooks::call(&hands.context.outbound, &lap.before).await {
        return Some(lap.hook_failed(&why));
    }
    for write in lap.writes.clone() {
        match write_one(hands, look, acting, namespace, &write).await {
            Ok(()) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => return None,
            Err(error) => {
                let (Write::Patch { object, .. } | Write::Delete { object, .. }) = &write;
                return Some(lap.write_failed(object, &acting.told_of(&error)));
            }
        }
    }
    if let Err(why) = hooks::call(&hands.context.outbound, &lap.after).await {
        return Some(lap.hook_failed(&why));
    }
    Some(lap.succeeded())
}

/// One write; an object that is not there any more needs none.
async fn write_one(
    hands: &Hands,
    look: &Look,
    acting: &Acting,
    namespace: &str,
    write: &Write,
) -> Result<(), kube::Error> {
    let (Write::Patch { object, .. } | Write::Delete { object, .. }) = write;
    let kind = hands.context.discovery.resolve(&object.api_version, &object.kind).await;
    let kind = kind.map_err(|error| kube::Error::Service(Box::new(error)))?;
    let api: Api<DynamicObject> = kind.api(acting.client(), namespace);
    let done = match write {
        Write::Patch { patch, .. } => {
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            api.patch(&object.name, &params, &Patch::Merge(patch)).await.map(|written| look.observe(&written))
        }
        Write::Delete { uid, .. } => {
            let preconditions = Some(Preconditions { uid: Some(uid.clone()), resource_version: None });
            let params = DeleteParams { preconditions, ..DeleteParams::default() };
            api.delete(&object.name, &params).await.map(|_| ())
        }
    };
    match done {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => {
            tracing::debug!(%object, error = explain(&error), "a write of a rollout failed");
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}
