//! The controller of AppRollouts: who wakes it, and each lap from the revisions to the status.
//!
//! The decisions are [`vela_engine::rollout`]'s; here are its hands. A lap makes at most one step of the state machine and
//! stores it, and the next lap follows at once as long as there is a step to make.

mod back;
mod carry;
mod hooks;
mod locate;
mod metrics;
mod release;
mod revision;
mod stage;

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, TypeMeta};
use serde_json::json;
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus, Application, Condition, Conditioned};
use vela_engine::Secrets;
use vela_engine::rollout::state::{self, BATCH_PROGRESSING};
use vela_engine::rollout::{Effect, Event, Input, Note, State};
use vela_runtime::cache::{Change, Informer, Watch};
use vela_runtime::interest::Interests;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, events};

use self::revision::Revisions;
use crate::application::record::Records;
use crate::context::{Context, FIELD_MANAGER};
use crate::standard::hands::typed;
use crate::status;

/// Finalizer of a rollout that may hold workloads.
const FINALIZER: &str = "finalizers.approllout.oam.dev";
/// Steps of one reconcile: a rollout that waits for nothing has fewer in a row.
const STEPS_AT_MOST: usize = 16;
/// Time until a rollout that waits looks again although nothing woke it.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Revisions remembered that the rollout was turned away from: somebody who turns it more often without ever letting it
/// come to an end has older pods replaced by hand.
const GIVEN_UP_AT_MOST: usize = 16;
/// After a write that lost against another writer the cache needs a moment to catch up.
const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// What all steps of this controller share.
pub(crate) struct Hands {
    context: Context,
    rollouts: Arc<Informer>,
    applications: Arc<Informer>,
    records: Records,
    revisions: Revisions,
    interests: Interests,
}

/// Between which revisions a lap works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Between {
    target: String,
    source: Option<String>,
    /// Back from the target that is written to the source that is written.
    is_back: bool,
}

/// What one step came to.
enum Step {
    /// There is another step to make, from here.
    Next(Box<DynamicObject>),
    /// Nothing until something changes, or until this time has passed.
    Rest(Option<Duration>),
    /// The cache was behind.
    LookAgain,
}

/// What is told when the status is stored.
#[derive(Default)]
struct Told {
    effects: Vec<Effect>,
    notes: Vec<Note>,
    /// What none of it may repeat.
    secrets: Secrets,
}

/// The controller of AppRollouts.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    let hands = Hands {
        context: context.clone(),
        rollouts: watch(ApiResource::erase::<AppRollout>(&())),
        applications: watch(ApiResource::erase::<Application>(&())),
        records: Records::new(context),
        revisions: Revisions::new(context),
        interests: Interests::new(context.client.clone(), &context.cache, &context.discovery, &[]),
    };
    let (rollouts, applications) = (hands.rollouts.clone(), hands.applications.clone());
    let (revisions, interests) = (hands.revisions.stored().clone(), hands.interests.clone());
    let mut controller = Controller::new("approllout", hands).for_kind(&rollouts).workers(workers);
    interests.wake(controller.queue());
    let among = rollouts.clone();
    controller = controller
        .watches(&revisions, move |change| waiting(change, &among, |name, revision| name == revision));
    controller = controller.watches(&applications, move |change| {
        waiting(change, &rollouts, |application, revision| {
            revision.rsplit_once("-v").is_some_and(|(name, _)| name == application)
        })
    });
    controller
}

/// The rollouts of the changed object's namespace that name it by one of their revisions.
fn waiting(change: &Change, among: &Informer, names: impl Fn(&str, &str) -> bool) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let named = |rollout: &DynamicObject| {
        let fields = ["targetAppRevisionName", "sourceAppRevisionName"];
        fields.iter().any(|field| rollout.data["spec"][*field].as_str().is_some_and(|each| names(name, each)))
    };
    among
        .list()
        .iter()
        .filter(|rollout| rollout.metadata.namespace == object.metadata.namespace && named(rollout))
        .map(|rollout| Key::of(rollout))
        .collect()
}

impl Reconciler for Hands {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        // A copy that is behind would make a step again that was made, so each lap begins with what is stored.
        let stored = self.api(&key).get_opt(&key.name).await?;
        let Some(mut live) = stored.map(Box::new) else {
            self.interests.forget(&key);
            return Ok(Action::Done);
        };
        live.types = Some(TypeMeta {
            api_version: self.rollouts.watch().resource.api_version.clone(),
            kind: self.rollouts.watch().resource.kind.clone(),
        });
        for _ in 0..STEPS_AT_MOST {
            match self.step(&key, &live).await? {
                Step::Next(written) => live = written,
                Step::Rest(again) => return Ok(again.map_or(Action::Done, Action::RequeueAfter)),
                Step::LookAgain => return Ok(Action::RequeueAfter(CONFLICT_WAIT)),
            }
        }
        Ok(Action::RequeueAfter(CONFLICT_WAIT))
    }
}

impl Hands {
    async fn step(&self, key: &Key, live: &DynamicObject) -> Result<Step, Failure> {
        let rollout: AppRollout = typed(live)?;
        let mut status = rollout.status.clone().unwrap_or_default();
        let is_leaving = live.metadata.deletion_timestamp.is_some();
        let finalizers = live.metadata.finalizers.as_deref().unwrap_or_default();
        let held = finalizers.iter().any(|each| each == FINALIZER);
        let began = !status.rollout.rolling_state.is_empty();
        if is_leaving && (!held || !began || State::of(&status.rollout).is_terminal()) {
            // A claim that no copy showed when the workloads were let go would be the end of them.
            if held && began {
                release::sweep(self, key, live).await.map_err(Failure::retry)?;
            }
            return if held { self.hold(key, live, false).await } else { Ok(Step::Rest(None)) };
        }
        if !held {
            return self.hold(key, live, true).await;
        }
        if !began {
            status.rollout = state::reset(&status.rollout);
            return self.store(live, &status, Told::default()).await;
        }
        let wanted = Between {
            target: rollout.spec.target_app_revision_name.clone(),
            source: rollout.spec.source_app_revision_name.clone().filter(|name| !name.is_empty()),
            is_back: false,
        };
        let mut told = Told::default();
        let leaving = is_leaving.then_some(back::Leaving { goes_back: rollout.spec.revert_on_delete });
        let between = turn(&mut status, &wanted, leaving, &mut told);
        if State::of(&status.rollout).is_terminal() && told.effects.is_empty() && between == wanted {
            return Ok(Step::Rest(None));
        }
        let next = (!is_leaving).then_some(&wanted);
        let work = carry::Work { key, live, rollout: &rollout, between: &between, wanted: next };
        carry::carry(self, &work, status, told).await
    }

    /// Put our finalizer on or take it off.
    async fn hold(&self, key: &Key, live: &DynamicObject, on: bool) -> Result<Step, Failure> {
        let mut held = live.metadata.finalizers.clone().unwrap_or_default();
        held.retain(|each| each != FINALIZER);
        if on {
            held.push(FINALIZER.to_owned());
        }
        let patch = json!({"metadata": {
            "finalizers": held,
            "resourceVersion": live.metadata.resource_version,
            "uid": live.metadata.uid,
        }});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match self.api(key).patch(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) if on => Ok(Step::Next(Box::new(written))),
            Ok(_) => Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Step::LookAgain),
            Err(error) => Err(error.into()),
        }
    }

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.rollouts.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }

    /// Store the status and tell what is new in it; answers whether there is another step.
    async fn store(
        &self,
        live: &DynamicObject,
        status: &AppRolloutStatus,
        told: Told,
    ) -> Result<Step, Failure> {
        let mut status = status.clone();
        for effect in &told.effects {
            set(&mut status, effect, &told.secrets);
        }
        let status = serde_json::to_value(&status).map_err(Failure::terminal)?;
        let old = live.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let Some(patch) = status::difference(&old, &status) else {
            return Ok(Step::Next(Box::new(live.clone())));
        };
        let key = Key::of(live);
        // Nobody else may have stored a step meanwhile.
        let patch = json!({
            "metadata": {"uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version},
            "status": patch,
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = match self.api(&key).patch_status(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) => written,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(Step::LookAgain),
            Err(error) => return Err(error.into()),
        };
        let regarding = events::reference(live);
        for note in &told.notes {
            let message = told.secrets.hide(&note.message);
            match note.warning {
                true => self.context.events.warning(&regarding, note.reason, &message).await,
                false => self.context.events.normal(&regarding, note.reason, &message).await,
            }
        }
        Ok(Step::Next(Box::new(written)))
    }
}

/// What a change of target or source, or the object's end, means for the state; and between which revisions this lap
/// works: those that it works with already are let go first.
fn turn(
    status: &mut AppRolloutStatus,
    wanted: &Between,
    leaving: Option<back::Leaving>,
    told: &mut Told,
) -> Between {
    let last = Between {
        target: status.last_target_app_revision.clone(),
        source: status.last_source_app_revision.clone().filter(|name| !name.is_empty()),
        is_back: false,
    };
    let state = State::of(&status.rollout);
    let began = !last.target.is_empty();
    if let Some(leaving) = leaving {
        if let Some(back) = leaving.turn(status, &last, told) {
            return back;
        }
        if state.rolling != RollingState::RolloutDeleting {
            happens(status, Event::Deleted, told);
            told.notes.push(Note {
                warning: false,
                reason: "Rollout ",
                message: "rollout target deleted, release the resources".to_owned(),
            });
        }
        return if began { last } else { wanted.clone() };
    }
    let is_changed =
        began && (last.target != wanted.target || last.source.is_some() && last.source != wanted.source);
    if !is_changed {
        return back::between(status, wanted);
    }
    if state.rolling != RollingState::RolloutSucceed {
        give_up(status, &last);
    }
    if state.is_terminal() {
        status.last_target_app_revision.clone_from(&wanted.target);
        status.last_source_app_revision.clone_from(&wanted.source);
        happens(status, Event::Modified, told);
        told.notes.push(restarted());
        return wanted.clone();
    }
    // A way back is given up, and so is what was let go for it.
    let last = back::between(status, &last);
    if state.rolling != RollingState::RolloutAbandoning || last.is_back {
        happens(status, Event::Modified, told);
        told.notes.push(restarted());
    }
    last
}

/// Both sides of a rollout that stopped half-way have pods.
fn give_up(status: &mut AppRolloutStatus, last: &Between) {
    for revision in [Some(&last.target), last.source.as_ref()].into_iter().flatten() {
        if !status.given_up_revisions.contains(revision) {
            status.given_up_revisions.push(revision.clone());
        }
    }
    let excess = status.given_up_revisions.len().saturating_sub(GIVEN_UP_AT_MOST);
    status.given_up_revisions.drain(..excess);
}

fn restarted() -> Note {
    Note {
        warning: false,
        reason: "Rollout Restarted",
        message: "target or source changed: what is under way is let go, and the rollout begins anew"
            .to_owned(),
    }
}

fn happens(status: &mut AppRolloutStatus, event: Event, told: &mut Told) {
    take(status, &Input::Event(event), told);
}

fn take(status: &mut AppRolloutStatus, input: &Input, told: &mut Told) {
    let (next, effects) = state::next(&status.rollout, input);
    status.rollout = next;
    told.effects.extend(effects);
}

/// Set one condition; the time changes with its words only.
fn set(status: &mut AppRolloutStatus, effect: &Effect, secrets: &Secrets) {
    let now = status::now();
    let condition = match effect {
        Effect::Condition { type_, holds: true, message } => {
            let message = message.as_deref().map(|message| secrets.hide(message).into_owned());
            Condition { message, ..Condition::is_true(type_, "", now) }
        }
        Effect::Condition { type_, holds: false, message } => {
            let message = secrets.hide(message.as_deref().unwrap_or_default()).into_owned();
            Condition::is_false(type_, "", message, now)
        }
        Effect::BatchBegan(message) => {
            // A batch that begins anew begins now, also under the words of a former one.
            status.conditions_mut().retain(|each| each.condition_type != BATCH_PROGRESSING);
            Condition { message: Some(message.clone()), ..Condition::is_true(BATCH_PROGRESSING, "", now) }
        }
    };
    status.set_condition(condition);
}
