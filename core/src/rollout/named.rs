//! The controller of RolloutTraits: workloads that somebody else made, named one by one → rolled out by the laps of AppRollouts.
//!
//! Nothing is made and nothing is deleted here. What a trait may take, and what it leaves behind, is `docs/adr/0006`.

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{RolloutPlan, RolloutTrait, RolloutTraitStatus, TypedReference};
use vela_engine::rollout::lap::{World, lap};
use vela_engine::rollout::{Event, Input, Lap, Part, State, named};
use vela_runtime::cache::Watch;
use vela_runtime::interest::{self, Interests, Look};
use vela_runtime::owner::controller_of;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, clock};

use super::laps::{Begin, Roller};
use super::stored::Stored;
use super::{LOOK_AGAIN, Step, Told, back, deleted, happens, laps, locate, release, restarted, step, take};
use crate::application::fetch::json;
use crate::author::{Acting, Nobody};
use crate::context::Context;
use crate::standard::reconciler_base::typed;

/// Finalizer of a trait that may hold workloads.
const FINALIZER: &str = "finalizers.rollouttrait.oam.dev";

/// What all steps of this controller share.
pub(crate) struct Hands {
    context: Context,
    stored: Stored,
    interests: Interests,
}

/// Between which workloads a lap works.
#[derive(Clone, Debug, PartialEq)]
struct Between {
    target: TypedReference,
    sources: Vec<TypedReference>,
    /// Back from the target that is written to the source that is written.
    is_back: bool,
}

/// The workloads as they are; nothing where one is not there.
struct Found {
    target: Option<Value>,
    source: Option<Value>,
    /// Further sources.
    others: Vec<Value>,
}

/// What one lap works on.
struct Work<'a> {
    key: &'a Key,
    live: &'a DynamicObject,
    between: &'a Between,
    /// The plan, or what is wrong with it.
    plan: Result<RolloutPlan, String>,
    is_leaving: bool,
    /// On whose behalf.
    acting: &'a Result<Acting, Nobody>,
}

/// The controller of RolloutTraits; what they name wakes them.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let traits = context.cache.informer(Watch::full(ApiResource::erase::<RolloutTrait>(&())));
    let hands = Hands {
        context: context.clone(),
        stored: Stored { context: context.clone(), informer: traits.clone(), finalizer: FINALIZER },
        interests: Interests::new(context.client.clone(), &context.cache, &context.discovery, &[]),
    };
    let interests = hands.interests.clone();
    let controller = Controller::new("rollouttrait", hands).for_kind(&traits).workers(workers);
    interests.wake(controller.queue());
    controller
}

impl Reconciler for Hands {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        laps::laps(self, &self.stored, &self.interests, &key).await
    }
}

impl Roller for Hands {
    async fn step(&self, key: &Key, live: &DynamicObject) -> Result<Step, Failure> {
        let rollout: RolloutTrait = typed(live)?;
        let mut status = rollout.status.clone().unwrap_or_default();
        let is_leaving = live.metadata.deletion_timestamp.is_some();
        let acting = Acting::for_object(&self.context, live, || None).await?;
        match laps::begin(&self.stored, key, live, &status.rollout, &acting).await? {
            Begin::Over(step) => return Ok(step),
            Begin::First(first) => {
                status.rollout = first;
                return self.stored.store(live, status, Told::default()).await;
            }
            Begin::Lap => {}
        }
        let wanted =
            Between { target: rollout.spec.target_ref, sources: rollout.spec.source_ref, is_back: false };
        let size = rollout.spec.rollout_plan.target_size;
        let mut told = Told::default();
        let between = turn(&mut status, &wanted, size, is_leaving, &mut told);
        if State::of(&status.rollout).is_terminal() && told.effects.is_empty() && status == stored_in(live) {
            return Ok(Step::Rest(None));
        }
        let plan = named::plan(&live.data["spec"]["rolloutPlan"], &wanted.target, !wanted.sources.is_empty());
        let work = Work { key, live, between: &between, plan, is_leaving, acting: &acting };
        self.carry(&work, status, told).await
    }
}

impl Hands {
    /// Make at most one step.
    async fn carry(
        &self,
        work: &Work<'_>,
        mut status: RolloutTraitStatus,
        mut told: Told,
    ) -> Result<Step, Failure> {
        let acting = match work.acting {
            Ok(acting) => acting,
            Err(nobody) => return self.wait(work, status, told, nobody.to_string()).await,
        };
        let look = self.interests.look(work.key);
        let is_releasing = State::of(&status.rollout).is_releasing();
        let plan = match &work.plan {
            Ok(plan) => plan.clone(),
            // The plan does not matter to what is let go.
            Err(_) if is_releasing => RolloutPlan::default(),
            Err(why) => return self.wait(work, status, told, why.clone()).await,
        };
        let found = match locate(&look, &work.key.namespace, work.between).await {
            Ok(found) => found,
            Err(_) if is_releasing => {
                // What it holds is found by the hold itself.
                release::sweep(&self.context, acting, work.key, work.live).await.map_err(Failure::retry)?;
                happens(&mut status.rollout, Event::Finalized, &mut told);
                return self.stored.store(work.live, status, told).await;
            }
            Err(why) => return self.wait(work, status, told, why).await,
        };
        if State::of(&status.rollout).rolling == RollingState::LocatingTargetApp {
            happens(&mut status.rollout, Event::AppLocated, &mut told);
            if !work.between.is_back {
                remember(&mut status, work.between, plan.target_size);
            }
            return self.stored.store(work.live, status, told).await;
        }
        let decided = decide(work, &plan, &status, &look, &found).await.map_err(Failure::retry)?;
        if decided.is_still() && told.effects.is_empty() {
            return Ok(Step::Rest(None));
        }
        let (context, namespace) = (&self.context, &work.key.namespace);
        let decided = step::measured(context, acting, namespace, &told.secrets, decided).await;
        let (seconds_left, waits_for) = (decided.seconds_left, decided.waits_for.clone());
        let Some(ended) = step::run(context, &look, acting, namespace, decided).await else {
            return Ok(Step::LookAgain);
        };
        let before = (State::of(&status.rollout), status.rollout.current_batch);
        let conditions = std::mem::take(&mut status.rollout.conditions);
        status.rollout = ended.status;
        status.rollout.conditions = conditions;
        told.effects.extend(ended.effects);
        told.notes.extend(ended.notes);
        let goes_on = before != (State::of(&status.rollout), status.rollout.current_batch);
        if !goes_on && work.between.is_back && back::is_stuck(&status.rollout) {
            back::give_up(&mut status.rollout, work.is_leaving, &waits_for.unwrap_or_default(), &mut told);
            return self.stored.store(work.live, status, told).await;
        }
        match self.stored.store(work.live, status, told).await? {
            Step::Next(written) if goes_on => return Ok(Step::Next(written)),
            Step::Next(_) => {}
            ended => return Ok(ended),
        }
        let left = seconds_left.map(std::time::Duration::from_secs);
        Ok(Step::Rest(Some(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN)))))
    }

    /// Not yet, and why; the state stays. A way back does not wait for ever.
    async fn wait(
        &self,
        work: &Work<'_>,
        mut status: RolloutTraitStatus,
        mut told: Told,
        why: String,
    ) -> Result<Step, Failure> {
        match work.between.is_back && back::is_late(&status.rollout) {
            true => back::give_up(&mut status.rollout, work.is_leaving, &why, &mut told),
            false => take(&mut status.rollout, &Input::Retry(why), &mut told),
        }
        match self.stored.store(work.live, status, told).await? {
            Step::Next(_) => Ok(Step::Rest(Some(LOOK_AGAIN))),
            ended => Ok(ended),
        }
    }
}

fn stored_in(live: &DynamicObject) -> RolloutTraitStatus {
    live.data.get("status").and_then(|status| serde_json::from_value(status.clone()).ok()).unwrap_or_default()
}

fn remember(status: &mut RolloutTraitStatus, between: &Between, size: Option<i32>) {
    status.last_target_ref = Some(between.target.clone());
    status.last_source_ref.clone_from(&between.sources);
    status.last_target_size = size;
}

/// What a change of the named workloads, or the object's end, means for the state; and between which workloads this lap
/// works: those that it works with already are let go first. A rollout that ended begins anew with another size, too.
fn turn(
    status: &mut RolloutTraitStatus,
    wanted: &Between,
    size: Option<i32>,
    is_leaving: bool,
    told: &mut Told,
) -> Between {
    let state = State::of(&status.rollout);
    let last = status.last_target_ref.clone().map(|target| Between {
        target,
        sources: status.last_source_ref.clone(),
        is_back: false,
    });
    if is_leaving {
        if state.rolling != RollingState::RolloutDeleting {
            happens(&mut status.rollout, Event::Deleted, told);
            told.notes.push(deleted());
        }
        return last.unwrap_or_else(|| wanted.clone());
    }
    let Some(last) = last else { return wanted.clone() };
    if state.is_terminal() {
        if last != *wanted || status.last_target_size != size {
            happens(&mut status.rollout, Event::Modified, told);
            remember(status, wanted, size);
            told.notes.push(restarted());
        }
        return wanted.clone();
    }
    let is_back = status.rollout.revert.is_some();
    if last == *wanted {
        return if is_back { turned(&last) } else { last };
    }
    if state.rolling == RollingState::LocatingTargetApp {
        // Nothing is held yet, so there is nothing to let go.
        status.rollout.revert = None;
        remember(status, wanted, size);
        return wanted.clone();
    }
    if state.rolling != RollingState::RolloutAbandoning || is_back {
        happens(&mut status.rollout, Event::Modified, told);
        told.notes.push(restarted());
    }
    if is_back { turned(&last) } else { last }
}

/// The way back: to the first source, for where the pods of several came from is not known any more.
fn turned(between: &Between) -> Between {
    let Some(source) = between.sources.first() else { return between.clone() };
    let others = between.sources.iter().skip(1).cloned();
    Between {
        target: source.clone(),
        sources: std::iter::once(between.target.clone()).chain(others).collect(),
        is_back: true,
    }
}

async fn locate(look: &Look, namespace: &str, between: &Between) -> Result<Found, String> {
    named::check(&between.target, &between.sources)?;
    let target = read(look, namespace, &between.target).await?;
    let mut sources = Vec::new();
    for source in between.sources.iter().filter(|source| !named::same(source, &between.target)) {
        sources.push(read(look, namespace, source).await?);
    }
    let mut sources = sources.into_iter();
    let source = sources.next().flatten();
    Ok(Found { target, source, others: sources.flatten().collect() })
}

async fn read(look: &Look, namespace: &str, reference: &TypedReference) -> Result<Option<Value>, String> {
    let TypedReference { api_version, kind, name, uid } = reference;
    let found = look.get(api_version, kind, &Key::new(namespace, name)).await;
    let found = match found {
        Ok(found) => found,
        // Its CRD wakes whoever missed it.
        Err(error @ interest::Error::Missing { .. }) => return Err(error.to_string()),
        Err(error) => return Err(format!("{kind} {name}: {error}")),
    };
    let is_other = |found: &DynamicObject| uid.is_some() && found.metadata.uid != *uid;
    if let Some(other) = found.as_ref().filter(|found| is_other(found)) {
        return Err(format!(
            "{kind} {name} is not the one that is named: its uid is {}, and the reference says {}",
            other.metadata.uid.as_deref().unwrap_or_default(),
            uid.as_deref().unwrap_or_default()
        ));
    }
    Ok(found.map(|found| json(&found)))
}

/// What the engine makes of what is there.
async fn decide(
    work: &Work<'_>,
    plan: &RolloutPlan,
    status: &RolloutTraitStatus,
    look: &Look,
    found: &Found,
) -> Result<Lap, String> {
    let rolls = State::of(&status.rollout).rolling == RollingState::RollingInBatches;
    let (makers, pods) = match &found.target {
        Some(target) if rolls => locate::pods(look, target).await?,
        _ => Default::default(),
    };
    let mut owner = step::owner(work.live);
    owner.lender = controller_of(work.live).map(|controller| controller.uid.clone());
    let Between { target, sources, is_back } = work.between;
    let part = Part {
        component: &target.name,
        api_version: &target.api_version,
        kind: &target.kind,
        has_source: !sources.is_empty(),
        source: found.source.as_ref(),
        leftovers: &found.others,
        target: found.target.as_ref(),
        pods: &pods,
        makers: &makers,
    };
    Ok(lap(&World {
        plan,
        status: &status.rollout,
        owner: &owner,
        parts: &[part],
        is_turned: *is_back,
        generation: work.live.metadata.generation.unwrap_or_default(),
        now: clock::now(),
    }))
}
