//! The controller of RolloutTraits: foreign workloads, named one by one → rolled out by the reconciles of AppRollouts.
//!
//! This controller makes nothing and deletes nothing. `docs/adr/0006-what-a-rollout-trait-may-take.md` says which
//! workloads a trait may take, and what it leaves behind.

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{RolloutPlan, RolloutTrait, RolloutTraitStatus, TypedReference, annotations};
use vela_engine::rollout::next_step::{Situation, next_step};
use vela_engine::rollout::{Event, Part, PlannedStep, State, rollout_trait};
use vela_runtime::cache::Watch;
use vela_runtime::dynamic_watch::{self, DynamicWatches, TrackedReads};
use vela_runtime::owner::controller_of;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, clock};

use super::abandon::{self, Abandon};
use super::attempt::{Attempt, Error, Made};
use super::driver::{self, Ends};
use super::lookup_error::Missing;
use super::reconcile_inputs::{StatusReport, Step, apply_event};
use super::rollout_store::Stored;
use super::step_loop::{Start, StepReconciler};
use super::{deleted, pods, restarted, step, step_loop};
use crate::application::fetch::json;
use crate::author::{Actor, UnknownAuthor};
use crate::context::Context;
use crate::standard::reconciler_base::typed;

/// Finalizer of a trait that may hold workloads.
const FINALIZER: &str = "finalizers.rollouttrait.oam.dev";

/// The parts that all steps of this controller share.
pub(crate) struct RolloutTraitReconciler {
    context: Context,
    stored: Stored,
    interests: DynamicWatches,
}

/// Between which workloads a reconcile works.
#[derive(Clone, Debug, PartialEq)]
struct Direction {
    target: TypedReference,
    sources: Vec<TypedReference>,
    /// Back from the target that is written to the source that is written.
    is_back: bool,
}

/// The plan, and the workloads as they are; nothing where one is not there.
struct Found {
    plan: RolloutPlan,
    target: Option<Value>,
    source: Option<Value>,
    /// Further sources.
    others: Vec<Value>,
}

/// The inputs of one reconcile.
struct Work<'a> {
    key: &'a Key,
    live: &'a DynamicObject,
    direction: &'a Direction,
    /// The plan, or what is wrong with it.
    plan: Result<RolloutPlan, String>,
    is_leaving: bool,
    /// On whose behalf.
    acting: &'a Result<Actor, UnknownAuthor>,
}

/// The controller of RolloutTraits; what they name wakes them.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let traits = context.cache.informer(Watch::full(ApiResource::erase::<RolloutTrait>(&())));
    let reconciler = RolloutTraitReconciler {
        context: context.clone(),
        stored: Stored { context: context.clone(), informer: traits.clone(), finalizer: FINALIZER },
        interests: DynamicWatches::new(context.client.clone(), &context.cache, &context.discovery, &[]),
    };
    let interests = reconciler.interests.clone();
    let controller = Controller::new("rollouttrait", reconciler).for_kind(&traits).workers(workers);
    interests.wake(controller.queue());
    controller
}

impl Reconciler for RolloutTraitReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        step_loop::run(self, &self.stored, &self.interests, &key).await
    }
}

impl StepReconciler for RolloutTraitReconciler {
    async fn step(&self, key: &Key, live: &DynamicObject) -> Result<Step, Failure> {
        let rollout: RolloutTrait = typed(live)?;
        let mut status = rollout.status.clone().unwrap_or_default();
        let is_leaving = live.metadata.deletion_timestamp.is_some();
        let acting = Actor::for_object(&self.context, live, || None).await?;
        match step_loop::begin(&self.stored, key, live, &status.rollout, &acting).await? {
            Start::Over(step) => return Ok(step),
            Start::First(first) => {
                status.rollout = first;
                return self.stored.store(live, status, StatusReport::default()).await;
            }
            Start::Ready => {}
        }
        let wanted =
            Direction { target: rollout.spec.target_ref, sources: rollout.spec.source_ref, is_back: false };
        let size = rollout.spec.rollout_plan.target_size;
        let mut report = StatusReport::default();
        let direction = transition(&mut status, &wanted, size, is_leaving, &mut report);
        match abandon::asked(live, &status.rollout).filter(|_| !is_leaving) {
            Some(Abandon::End) => {
                abandon::end(&mut status.rollout, &mut report);
                if State::of(&status.rollout).is_terminal() {
                    remember(&mut status, &wanted, size);
                }
                return self.stored.store(live, status, report).await;
            }
            Some(Abandon::Obeyed) => return self.stored.unmark(live, annotations::ABANDON_ROLLOUT).await,
            Some(Abandon::EndNext) | None => {}
        }
        if State::of(&status.rollout).is_terminal() && report.effects.is_empty() && status == stored_in(live)
        {
            return Ok(Step::Rest(None));
        }
        let plan = rollout_trait::plan(
            &live.data["spec"]["rolloutPlan"],
            &wanted.target,
            !wanted.sources.is_empty(),
        );
        let work = Work { key, live, direction: &direction, plan, is_leaving, acting: &acting };
        self.reconcile_step(&work, status, report).await
    }
}

impl RolloutTraitReconciler {
    /// Make at most one step.
    async fn reconcile_step(
        &self,
        work: &Work<'_>,
        mut status: RolloutTraitStatus,
        mut report: StatusReport,
    ) -> Result<Step, Failure> {
        let attempt = Attempt {
            stored: &self.stored,
            key: work.key,
            live: work.live,
            is_back: work.direction.is_back,
            is_leaving: work.is_leaving,
        };
        let made = self.advance(work, &attempt, &mut status, &mut report).await;
        attempt.end(status, report, made).await
    }

    async fn advance(
        &self,
        work: &Work<'_>,
        attempt: &Attempt<'_>,
        status: &mut RolloutTraitStatus,
        report: &mut StatusReport,
    ) -> Result<Made, Error> {
        let acting = work.acting.as_ref().map_err(|unknown| Error::Waiting(unknown.to_string()))?;
        let look = &self.interests.track(work.key);
        let ends = Workloads { work, look };
        driver::advance(&ends, (acting, look), attempt, status, report).await
    }
}

/// The ends of a rollout between workloads that are named one by one.
struct Workloads<'a> {
    work: &'a Work<'a>,
    look: &'a TrackedReads,
}

impl Ends for Workloads<'_> {
    type Status = RolloutTraitStatus;
    type Located = Found;

    async fn locate(
        &self,
        status: &RolloutTraitStatus,
        _report: &mut StatusReport,
    ) -> Result<Found, Missing> {
        let plan = match &self.work.plan {
            Ok(plan) => plan.clone(),
            // The plan does not matter to what is let go.
            Err(_) if State::of(&status.rollout).is_releasing() => RolloutPlan::default(),
            Err(why) => return Err(Missing::Failed(why.clone())),
        };
        Ok(locate(self.look, &self.work.key.namespace, self.work.direction, plan).await?)
    }

    fn may_release_without(&self, _missing: &Missing) -> bool {
        true
    }

    /// The workloads are there, or are not this controller's to make.
    async fn prepare(&self, _found: &Found) -> Result<(), Error> {
        Ok(())
    }

    fn begin(&self, status: &mut RolloutTraitStatus, found: &Found) {
        if !self.work.direction.is_back {
            remember(status, self.work.direction, found.plan.target_size);
        }
    }

    async fn decide(&self, status: &RolloutTraitStatus, found: &Found) -> Result<PlannedStep, String> {
        decide(self.work, status, self.look, found).await
    }

    async fn finish(&self, _status: &mut RolloutTraitStatus, _found: &Found) -> Result<(), Error> {
        Ok(())
    }

    /// The ends are noted where they change.
    fn remember(&self, _status: &mut RolloutTraitStatus, _made: &Made) {}
}

fn stored_in(live: &DynamicObject) -> RolloutTraitStatus {
    live.data.get("status").and_then(|status| serde_json::from_value(status.clone()).ok()).unwrap_or_default()
}

fn remember(status: &mut RolloutTraitStatus, direction: &Direction, size: Option<i32>) {
    status.last_target_ref = Some(direction.target.clone());
    status.last_source_ref.clone_from(&direction.sources);
    status.last_target_size = size;
}

/// The effect of a change of the named workloads, or of the object's end, on the state; and the workloads of this reconcile:
/// the rollout first lets go of its present ones. A rollout that ended begins anew with another size, too.
fn transition(
    status: &mut RolloutTraitStatus,
    wanted: &Direction,
    size: Option<i32>,
    is_leaving: bool,
    report: &mut StatusReport,
) -> Direction {
    let state = State::of(&status.rollout);
    let last = status.last_target_ref.clone().map(|target| Direction {
        target,
        sources: status.last_source_ref.clone(),
        is_back: false,
    });
    if is_leaving {
        if state.rolling != RollingState::RolloutDeleting {
            apply_event(&mut status.rollout, Event::Deleted, report);
            report.notes.push(deleted());
        }
        return last.unwrap_or_else(|| wanted.clone());
    }
    let Some(last) = last else { return wanted.clone() };
    if state.is_terminal() {
        if last != *wanted || status.last_target_size != size {
            apply_event(&mut status.rollout, Event::Modified, report);
            remember(status, wanted, size);
            report.notes.push(restarted());
        }
        return wanted.clone();
    }
    let is_back = status.rollout.revert.is_some();
    if last == *wanted {
        return if is_back { reversed(&last) } else { last };
    }
    if state.rolling == RollingState::LocatingTargetApp {
        // The rollout holds no workload yet, so it has none to let go.
        status.rollout.revert = None;
        remember(status, wanted, size);
        return wanted.clone();
    }
    if state.rolling != RollingState::RolloutAbandoning || is_back {
        apply_event(&mut status.rollout, Event::Modified, report);
        report.notes.push(restarted());
    }
    if is_back { reversed(&last) } else { last }
}

/// The way back: to the first source, for where the pods of several came from is not known any more.
fn reversed(direction: &Direction) -> Direction {
    let Some(source) = direction.sources.first() else { return direction.clone() };
    let others = direction.sources.iter().skip(1).cloned();
    Direction {
        target: source.clone(),
        sources: std::iter::once(direction.target.clone()).chain(others).collect(),
        is_back: true,
    }
}

async fn locate(
    look: &TrackedReads,
    namespace: &str,
    direction: &Direction,
    plan: RolloutPlan,
) -> Result<Found, String> {
    rollout_trait::check(&direction.target, &direction.sources)?;
    let target = read(look, namespace, &direction.target).await?;
    let mut sources = Vec::new();
    for source in direction.sources.iter().filter(|source| !rollout_trait::same(source, &direction.target)) {
        sources.push(read(look, namespace, source).await?);
    }
    let mut sources = sources.into_iter();
    let source = sources.next().flatten();
    Ok(Found { plan, target, source, others: sources.flatten().collect() })
}

async fn read(
    look: &TrackedReads,
    namespace: &str,
    reference: &TypedReference,
) -> Result<Option<Value>, String> {
    let TypedReference { api_version, kind, name, uid } = reference;
    let found = look.get(api_version, kind, &Key::new(namespace, name)).await;
    let found = match found {
        Ok(found) => found,
        // Its CRD wakes the traits that missed it.
        Err(error @ dynamic_watch::Error::Missing { .. }) => return Err(error.to_string()),
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

/// The decision of the engine on the present state.
async fn decide(
    work: &Work<'_>,
    status: &RolloutTraitStatus,
    look: &TrackedReads,
    found: &Found,
) -> Result<PlannedStep, String> {
    let rolls = State::of(&status.rollout).rolling == RollingState::RollingInBatches;
    let (makers, pods) = match &found.target {
        Some(target) if rolls => pods::of(look, target).await?,
        _ => Default::default(),
    };
    let mut owner = step::owner(work.live);
    owner.lenders = controller_of(work.live).map(|controller| controller.uid.clone()).into_iter().collect();
    let Direction { target, sources, is_back } = work.direction;
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
    Ok(next_step(&Situation {
        plan: &found.plan,
        status: &status.rollout,
        owner: &owner,
        parts: &[part],
        is_turned: *is_back,
        generation: work.live.metadata.generation.unwrap_or_default(),
        now: clock::now(),
    }))
}
