//! The controller of AppRollouts: who wakes it, and each lap from the revisions to the status. [`named`] is that of
//! RolloutTraits, which have no revisions.
//!
//! The decisions are [`vela_engine::rollout`]'s; here are its hands. A lap makes at most one step of the state machine and
//! stores it, and the next lap follows at once as long as there is a step to make.

mod back;
mod carry;
mod hooks;
mod laps;
mod locate;
mod metrics;
pub(crate) mod named;
mod release;
mod revision;
mod stage;
mod step;
mod stored;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject};
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus, Application, RolloutStatus};
use vela_engine::Secrets;
use vela_engine::rollout::{Effect, Event, Input, Note, State, state};
use vela_runtime::cache::{Change, Informer, Watch};
use vela_runtime::interest::Interests;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use self::laps::{Begin, Roller};
use self::revision::Revisions;
use self::stored::Stored;
use crate::application::record::Records;
use crate::author::Acting;
use crate::context::Context;
use crate::standard::reconciler_base::typed;

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
    stored: Stored,
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
        stored: Stored {
            context: context.clone(),
            informer: watch(ApiResource::erase::<AppRollout>(&())),
            finalizer: FINALIZER,
        },
        applications: watch(ApiResource::erase::<Application>(&())),
        records: Records::new(context),
        revisions: Revisions::new(context),
        interests: Interests::new(context.client.clone(), &context.cache, &context.discovery, &[]),
    };
    let (rollouts, applications) = (hands.stored.informer.clone(), hands.applications.clone());
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
        laps::laps(self, &self.stored, &self.interests, &key).await
    }
}

impl Roller for Hands {
    async fn step(&self, key: &Key, live: &DynamicObject) -> Result<Step, Failure> {
        let rollout: AppRollout = typed(live)?;
        let mut status = rollout.status.clone().unwrap_or_default();
        let is_leaving = live.metadata.deletion_timestamp.is_some();
        // One that an Application asked for has its name.
        let acting = Acting::for_object(&self.context, live, || self.applications.get(key)).await?;
        match laps::begin(&self.stored, key, live, &status.rollout, &acting).await? {
            Begin::Over(step) => return Ok(step),
            Begin::First(first) => {
                status.rollout = first;
                return self.store(live, &status, Told::default()).await;
            }
            Begin::Lap => {}
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
        let work =
            carry::Work { key, live, rollout: &rollout, between: &between, wanted: next, acting: &acting };
        carry::carry(self, &work, status, told).await
    }
}

impl Hands {
    async fn store(
        &self,
        live: &DynamicObject,
        status: &AppRolloutStatus,
        told: Told,
    ) -> Result<Step, Failure> {
        self.stored.store(live, status.clone(), told).await
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
            happens(&mut status.rollout, Event::Deleted, told);
            told.notes.push(deleted());
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
        happens(&mut status.rollout, Event::Modified, told);
        told.notes.push(restarted());
        return wanted.clone();
    }
    // A way back is given up, and so is what was let go for it.
    let last = back::between(status, &last);
    if state.rolling != RollingState::RolloutAbandoning || last.is_back {
        happens(&mut status.rollout, Event::Modified, told);
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

fn happens(status: &mut RolloutStatus, event: Event, told: &mut Told) {
    take(status, &Input::Event(event), told);
}

fn take(status: &mut RolloutStatus, input: &Input, told: &mut Told) {
    let (next, effects) = state::next(status, input);
    *status = next;
    told.effects.extend(effects);
}
