//! The controllers of AppRollouts and ApplicationDeployments: who wakes them, and each reconcile from what it goes between to the
//! status. [`rollout_trait`] is that of RolloutTraits, which have no revisions.
//!
//! Three readers find the ends of a rollout: `locate` reads revisions of Applications in the v1beta1 form, `configurations` the
//! stored configurations of those in the v1alpha2 form, [`rollout_trait`] the named workloads. All other code is shared: `driver`.
//!
//! The decisions are [`vela_engine::rollout`]'s; here they are carried out. A reconcile makes at most one step of the state machine and
//! stores it, and the next reconcile follows at once as long as there is a step to make.

mod abandon;
mod attempt;
mod configurations;
mod decide;
mod driver;
mod garbage_collection;
mod hooks;
mod locate;
pub(crate) mod lookup_error;
mod metrics;
mod pods;
mod reconcile;
mod reconcile_inputs;
mod reconciler;
mod release;
mod revert;
pub(crate) mod revision;
mod rollout_store;
pub(crate) mod rollout_trait;
mod stage;
mod step;
mod step_loop;
mod unchanged_components;

use kube::api::{ApiResource, DynamicObject};
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus, Application, ApplicationDeployment, annotations};
use vela_engine::rollout::{Event, Note, Spelling, State};
use vela_runtime::cache::{Change, Index, Watch};
use vela_runtime::dynamic_watch::DynamicWatches;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use self::abandon::Abandon;
use self::reconcile_inputs::{Direction, StatusReport, Step, Work, apply_event};
use self::reconciler::{ReadRollout, RolloutReconciler};
use self::revision::Revisions;
use self::rollout_store::Stored;
use self::step_loop::{Start, StepReconciler};
use crate::application::tracker_store::Records;
use crate::author::Actor;
use crate::context::Context;
use crate::standard::reconciler_base::typed;

/// Finalizer of a rollout that may hold workloads.
const FINALIZER: &str = "finalizers.approllout.oam.dev";
/// The number of remembered revisions that the rollout was turned away from: a user who turns it more often without
/// ever letting it come to an end has older pods replaced by hand.
const GIVEN_UP_AT_MOST: usize = 16;

/// The controller of AppRollouts.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let resource = ApiResource::erase::<AppRollout>(&());
    let reconciler = new_reconciler(context, resource, |live, _| typed(live).map(Some));
    let (rollouts, applications) = (reconciler.stored.informer.clone(), reconciler.applications.clone());
    let (revisions, interests) = (reconciler.revisions.stored().clone(), reconciler.interests.clone());
    let mut controller = Controller::new("approllout", reconciler).for_kind(&rollouts).workers(workers);
    interests.wake(controller.queue());
    let naming = rollouts.index_of_spec(names);
    let among = naming.clone();
    controller = controller.watches(&revisions, move |change| waiting(change, &among, REVISION));
    controller = controller.watches(&applications, move |change| waiting(change, &naming, APPLICATION));
    controller
}

/// The controller of ApplicationDeployments: what they name wakes them.
pub(crate) fn deployments(context: &Context, workers: usize) -> Controller {
    let resource = ApiResource::erase::<ApplicationDeployment>(&());
    let reconciler = new_reconciler(context, resource, |live, is_held| {
        let deployment: ApplicationDeployment = typed(live)?;
        // In release 0.3 they had no content.
        Ok((is_held || !deployment.is_empty()).then(|| deployment.into_rollout()))
    });
    let (stored, interests) = (reconciler.stored.informer.clone(), reconciler.interests.clone());
    let controller = Controller::new("applicationdeployment", reconciler).for_kind(&stored).workers(workers);
    interests.wake(controller.queue());
    controller
}

fn new_reconciler(context: &Context, resource: ApiResource, read: ReadRollout) -> RolloutReconciler {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    RolloutReconciler {
        context: context.clone(),
        read,
        stored: Stored { context: context.clone(), informer: watch(resource), finalizer: FINALIZER },
        applications: watch(ApiResource::erase::<Application>(&())),
        records: Records::new(context),
        revisions: Revisions::new(context),
        interests: DynamicWatches::new(context.client.clone(), &context.cache, &context.discovery, &[]),
    }
}

/// The references of a rollout by each of its revisions: the words that the terms of the index begin with.
const REVISION: &str = "revision";
const APPLICATION: &str = "application";

fn term(what: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{what} {} {name}", namespace.unwrap_or_default())
}

/// The terms of the revisions that a rollout names, and of their application.
fn names(rollout: &DynamicObject) -> Vec<String> {
    let namespace = rollout.metadata.namespace.as_deref();
    let fields = ["targetAppRevisionName", "sourceAppRevisionName"];
    let revisions = fields.iter().filter_map(|field| rollout.data["spec"][*field].as_str());
    revisions
        .flat_map(|revision| {
            let application = revision.rsplit_once("-v").map(|(name, _)| term(APPLICATION, namespace, name));
            [Some(term(REVISION, namespace, revision)), application]
        })
        .flatten()
        .collect()
}

/// The rollouts of the changed object's namespace that name it by one of their revisions.
fn waiting(change: &Change, among: &Index, what: &str) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let found = among.find(&term(what, object.metadata.namespace.as_deref(), name));
    found.iter().map(|rollout| Key::of(rollout)).collect()
}

impl Reconciler for RolloutReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        step_loop::run(self, &self.stored, &self.interests, &key).await
    }
}

impl StepReconciler for RolloutReconciler {
    async fn step(&self, key: &Key, live: &DynamicObject) -> Result<Step, Failure> {
        let Some(rollout) = (self.read)(live, self.stored.is_held(live))? else {
            return Ok(Step::Rest(None));
        };
        let mut status = rollout.status.clone().unwrap_or_default();
        let is_leaving = live.metadata.deletion_timestamp.is_some();
        // One that an Application asked for has its name.
        let acting = Actor::for_object(&self.context, live, || self.applications.get(key)).await?;
        match step_loop::begin(&self.stored, key, live, &status.rollout, &acting).await? {
            Start::Over(step) => return Ok(step),
            Start::First(first) => {
                status.rollout = first;
                return self.store(live, &status, StatusReport::default()).await;
            }
            Start::Ready => {}
        }
        let wanted = Direction {
            target: rollout.spec.target().to_owned(),
            source: rollout.spec.source().map(str::to_owned),
            is_back: false,
        };
        let spelling = Spelling::of(&live.data["spec"]);
        let mut report = StatusReport::default();
        let goes_back = rollout.spec.revert_on_delete && !abandon::is_asked(live);
        let leaving = is_leaving.then_some(revert::Leaving { goes_back });
        let direction = transition(&mut status, &wanted, leaving, &mut report);
        match abandon::asked(live, &status.rollout).filter(|_| !is_leaving) {
            Some(Abandon::End) => {
                abandon::end(&mut status.rollout, &mut report);
                if State::of(&status.rollout).is_terminal() {
                    decide::remember(&mut status, &wanted);
                }
                return self.store(live, &status, report).await;
            }
            Some(Abandon::Obeyed) => return self.stored.unmark(live, annotations::ABANDON_ROLLOUT).await,
            Some(Abandon::EndNext) | None => {}
        }
        if State::of(&status.rollout).is_terminal() && report.effects.is_empty() && direction == wanted {
            return Ok(Step::Rest(None));
        }
        let next = (!is_leaving).then_some(&wanted);
        let rollout = &rollout;
        let work =
            Work { key, live, rollout, direction: &direction, wanted: next, spelling, acting: &acting };
        reconcile::reconcile(self, &work, status, report).await
    }
}

impl RolloutReconciler {
    async fn store(
        &self,
        live: &DynamicObject,
        status: &AppRolloutStatus,
        report: StatusReport,
    ) -> Result<Step, Failure> {
        self.stored.store(live, status.clone(), report).await
    }
}

/// The effect of a change of target or source, or of the object's end, on the state; and the revisions of this reconcile:
/// the rollout first lets go of its present ones.
fn transition(
    status: &mut AppRolloutStatus,
    wanted: &Direction,
    leaving: Option<revert::Leaving>,
    report: &mut StatusReport,
) -> Direction {
    let last = Direction {
        target: status.last_target_app_revision.clone(),
        source: status.last_source_app_revision.clone().filter(|name| !name.is_empty()),
        is_back: false,
    };
    let state = State::of(&status.rollout);
    let began = !last.target.is_empty();
    if let Some(leaving) = leaving {
        if let Some(back) = leaving.transition(status, &last, report) {
            return back;
        }
        if state.rolling != RollingState::RolloutDeleting {
            apply_event(&mut status.rollout, Event::Deleted, report);
            report.notes.push(deleted());
        }
        return if began { last } else { wanted.clone() };
    }
    let is_changed =
        began && (last.target != wanted.target || last.source.is_some() && last.source != wanted.source);
    if !is_changed {
        return revert::direction(status, wanted);
    }
    if state.rolling != RollingState::RolloutSucceed {
        give_up(status, &last);
    }
    if state.is_terminal() {
        status.last_target_app_revision.clone_from(&wanted.target);
        status.last_source_app_revision.clone_from(&wanted.source);
        apply_event(&mut status.rollout, Event::Modified, report);
        report.notes.push(restarted());
        return wanted.clone();
    }
    // A way back is given up, and so is what was let go for it.
    let last = revert::direction(status, &last);
    if state.rolling != RollingState::RolloutAbandoning || last.is_back {
        apply_event(&mut status.rollout, Event::Modified, report);
        report.notes.push(restarted());
    }
    last
}

/// Both sides of a rollout that stopped half-way have pods.
fn give_up(status: &mut AppRolloutStatus, last: &Direction) {
    for revision in [Some(&last.target), last.source.as_ref()].into_iter().flatten() {
        if !status.given_up_revisions.contains(revision) {
            status.given_up_revisions.push(revision.clone());
        }
    }
    let excess = status.given_up_revisions.len().saturating_sub(GIVEN_UP_AT_MOST);
    status.given_up_revisions.drain(..excess);
}

fn deleted() -> Note {
    Note {
        warning: false,
        reason: "Rollout ",
        message: "rollout target deleted, release the resources".to_owned(),
    }
}

fn restarted() -> Note {
    Note {
        warning: false,
        reason: "Rollout Restarted",
        message: "target or source changed: what is under way is let go, and the rollout begins anew"
            .to_owned(),
    }
}
