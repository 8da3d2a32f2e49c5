//! The state machine of a rollout: the status and the condition that follow from a status and an event; never panics.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use vela_crds::rollout_plan::{BatchRollingState, Revert, RollingState};
use vela_crds::{ComponentRollout, RolloutStatus};

use BatchRollingState as B;
use RollingState as R;

/// The condition that tells people that the plan is paused.
pub const BATCH_PAUSED: &str = "BatchPaused";
/// The condition that tells when the batch that runs began.
pub const BATCH_PROGRESSING: &str = "BatchProgressing";
/// The condition that tells of a rollout that goes back to its source: false on the way, true once it is there.
pub const ROLLOUT_REVERTED: &str = "RolloutReverted";
/// The value of `rolloutTargetSize` while it is unknown.
pub(super) const UNKNOWN_SIZE: i32 = -1;

/// Where a rollout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The rollout as a whole.
    pub rolling: RollingState,
    /// Its batch; means something only while it rolls in batches.
    pub batch: BatchRollingState,
}

/// The event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Target or source were changed.
    Modified,
    /// The object goes away.
    Deleted,
    /// The workloads' templates are there.
    AppLocated,
    /// The plan fits the workloads.
    SpecVerified,
    /// The workloads are claimed.
    Initialized,
    /// A batch may begin.
    BatchInitialized,
    /// A batch's sizes are written.
    BatchRolledOut,
    /// A batch's pods are ready.
    BatchAvailable,
    /// A batch is closed, and another follows.
    BatchFinished,
    /// The last batch is closed.
    AllBatchesFinished,
    /// The next batch may come.
    BatchApproved,
    /// A batch failed.
    BatchFailed,
    /// The workloads are let go.
    Finalized,
}

/// An event, or what cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Something happened.
    Event(Event),
    /// Not yet: the state stays, and its condition says why.
    Retry(String),
    /// It cannot go on: the workloads are let go.
    Failing(String),
    /// It failed before anything was claimed.
    Failed(String),
    /// It shall go back to its source: the workloads are let go, and the next reconciles go the other way.
    Revert {
        /// Why.
        why: String,
        /// The time of now.
        since: Timestamp,
    },
}

/// The report beside the status' own fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A condition is set.
    Condition {
        /// Its type.
        type_: &'static str,
        /// True, or False.
        holds: bool,
        /// Why it does not hold, or what it means that it does.
        message: Option<String>,
    },
    /// A batch begins: [`BATCH_PROGRESSING`] becomes true with the time of now, also where it says the same already.
    BatchBegan(String),
}

impl Effect {
    /// A condition that holds, without a word.
    pub fn positive(type_: &'static str) -> Self {
        Self::Condition { type_, holds: true, message: None }
    }

    /// A condition that does not hold, with the reason.
    pub fn negative(type_: &'static str, message: impl Into<String>) -> Self {
        Self::Condition { type_, holds: false, message: Some(message.into()) }
    }
}

impl Event {
    /// As messages spell it. Two events share one spelling in all releases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Modified => "RollingModifiedEvent",
            Self::Deleted => "RollingDeletedEvent",
            Self::AppLocated => "AppLocatedEvent",
            Self::SpecVerified => "RollingSpecVerifiedEvent",
            Self::Initialized => "RollingInitializedEvent",
            Self::BatchInitialized => "InitializedOneBatchEvent",
            Self::BatchRolledOut => "RolloutOneBatchEvent",
            Self::BatchAvailable => "OneBatchAvailable",
            Self::BatchFinished => "FinishedOneBatchEvent",
            Self::AllBatchesFinished | Self::Finalized => "AllBatchFinishedEvent",
            Self::BatchApproved => "BatchRolloutApprovedEvent",
            Self::BatchFailed => "BatchRolloutFailedEvent",
        }
    }
}

impl State {
    /// Before anything was looked at.
    pub const FIRST: Self = Self { rolling: R::LocatingTargetApp, batch: B::BatchInitializing };

    /// The state that a status spells. A blank one is the first; an unknown one lets go of the workloads.
    pub fn of(status: &RolloutStatus) -> Self {
        let batch = status.batch_rolling_state.as_deref().and_then(batch_state);
        let rolling = match status.rolling_state.as_str() {
            "" => return Self::FIRST,
            // As the seed spells it.
            "verifying" => Some(R::VerifyingSpec),
            name => rolling_state(name),
        };
        Self { rolling: rolling.unwrap_or(R::RolloutFailing), batch: batch.unwrap_or(B::BatchInitializing) }
    }

    /// Is it over, one way or the other?
    pub fn is_terminal(self) -> bool {
        matches!(self.rolling, R::RolloutSucceed | R::RolloutFailed)
    }

    /// Are the workloads being let go, in the end or before it?
    pub fn is_releasing(self) -> bool {
        matches!(self.rolling, R::Finalising | R::RolloutFailing | R::RolloutAbandoning | R::RolloutDeleting)
    }

    /// The type of the condition that tells of this state.
    pub fn condition(self) -> &'static str {
        match (self.rolling, self.batch) {
            (R::VerifyingSpec, _) => "RolloutSpecVerifying",
            (R::Initializing, _) => "RolloutInitializing",
            (R::RollingInBatches, B::BatchInitializing) => "BatchInitializing",
            (R::RollingInBatches, B::BatchInRolling) => "RolloutInProgress",
            (R::RollingInBatches, B::BatchVerifying) => "BatchVerifying",
            (R::RollingInBatches, B::BatchFinalizing) => "BatchFinalizing",
            (R::RollingInBatches, B::BatchReady) => "BatchReady",
            (R::RollingInBatches, B::BatchVerifyFailed) => "BatchRolloutFailed",
            (R::Finalising, _) => "RolloutFinalizing",
            (R::RolloutFailing, _) => "RolloutFailing",
            (R::RolloutAbandoning, _) => "RolloutAbandoning",
            (R::RolloutDeleting, _) => "RolloutDeleting",
            (R::RolloutSucceed, _) => "RolloutSucceed",
            (R::LocatingTargetApp | R::RolloutFailed, _) => "RolloutFailed",
        }
    }

    fn write(self, status: &mut RolloutStatus) {
        name(self.rolling).clone_into(&mut status.rolling_state);
        status.batch_rolling_state = Some(batch_name(self.batch).to_owned());
    }
}

/// The status after what happened, and what to tell.
pub fn next(status: &RolloutStatus, input: &Input) -> (RolloutStatus, Vec<Effect>) {
    let state = State::of(status);
    let mut next = status.clone();
    let go = |next: &mut RolloutStatus, rolling, batch| State { rolling, batch }.write(next);
    let negative = |message: &str| vec![Effect::negative(state.condition(), message)];
    match input {
        Input::Event(event) => happened(status, state, *event),
        Input::Retry(message) => {
            state.write(&mut next);
            (next, negative(message))
        }
        Input::Failing(message) => {
            go(&mut next, R::RolloutFailing, B::BatchInitializing);
            (next, lost(status, negative(message), message))
        }
        Input::Failed(message) => {
            go(&mut next, R::RolloutFailed, state.batch);
            (next, lost(status, negative(message), message))
        }
        Input::Revert { why, since } => {
            go(&mut next, R::RolloutAbandoning, B::BatchInitializing);
            next.revert = Some(Revert { since: Time(*since), reason: why.clone() });
            let mut effects = negative(why);
            let message = format!("the rollout goes back to its source: {why}");
            effects.push(Effect::negative(ROLLOUT_REVERTED, message));
            (next, effects)
        }
    }
}

/// A way back that ends before it is gone says so.
fn lost(status: &RolloutStatus, mut effects: Vec<Effect>, why: &str) -> Vec<Effect> {
    if status.revert.is_some() {
        let message = format!("the rollout stays where it stands, for the way back failed: {why}");
        effects.push(Effect::negative(ROLLOUT_REVERTED, message));
    }
    effects
}

/// A status from the beginning: what was claimed and reached is forgotten, original size and conditions stay.
pub fn reset(status: &RolloutStatus) -> RolloutStatus {
    let mut next = RolloutStatus {
        target_generation: None,
        last_applied_pod_template_identifier: None,
        rollout_target_size: Some(UNKNOWN_SIZE),
        current_batch: 0,
        upgraded_replicas: 0,
        upgraded_ready_replicas: 0,
        canary_analysis: None,
        components: status.components.iter().map(anew).collect(),
        ..status.clone()
    };
    State::FIRST.write(&mut next);
    next
}

fn anew(component: &ComponentRollout) -> ComponentRollout {
    ComponentRollout {
        rollout_original_size: component.rollout_original_size,
        ..ComponentRollout::named(&component.name)
    }
}

fn happened(status: &RolloutStatus, state: State, event: Event) -> (RolloutStatus, Vec<Effect>) {
    let mut next = status.clone();
    match event {
        Event::Modified if state.is_terminal() => {
            return (RolloutStatus { revert: None, ..reset(status) }, Vec::new());
        }
        Event::Modified if state.rolling != R::RolloutDeleting => {
            State { rolling: R::RolloutAbandoning, batch: B::BatchInitializing }.write(&mut next);
            let why = "Rollout Spec is modified";
            let effects = lost(status, vec![Effect::negative(state.condition(), why)], why);
            return (RolloutStatus { revert: None, ..next }, effects);
        }
        Event::Deleted if !state.is_terminal() => {
            State { rolling: R::RolloutDeleting, batch: B::BatchInitializing }.write(&mut next);
            let why = "Rollout is being deleted";
            let effects = lost(status, vec![Effect::negative(state.condition(), why)], why);
            return (RolloutStatus { revert: None, ..next }, effects);
        }
        Event::AppLocated => {
            if state.rolling == R::LocatingTargetApp {
                State { rolling: R::VerifyingSpec, batch: state.batch }.write(&mut next);
            }
            return (next, Vec::new());
        }
        _ => {}
    }
    if event == Event::BatchFailed && state.rolling == R::RollingInBatches {
        State { rolling: R::RolloutFailed, batch: B::BatchVerifyFailed }.write(&mut next);
        return (next, vec![Effect::negative(state.condition(), "failed")]);
    }
    let Some((after, tells)) = table(state, event) else {
        let which = match state.rolling {
            R::RollingInBatches => ("batch rolling", batch_name(state.batch)),
            _ => ("rollout", name(state.rolling)),
        };
        return self::next(status, &Input::Failed(illegal(which, event)));
    };
    if state.rolling == R::RolloutAbandoning {
        next = reset(status);
    } else {
        after.write(&mut next);
    }
    if event == Event::BatchInitialized {
        next.canary_analysis = None;
    }
    if event == Event::BatchApproved {
        next.current_batch = status.current_batch.saturating_add(1);
    }
    let mut effects = if tells { vec![Effect::positive(state.condition())] } else { Vec::new() };
    if let (Some(revert), R::Finalising) = (&status.revert, state.rolling) {
        // The requested state has not come about.
        State { rolling: R::RolloutFailed, ..after }.write(&mut next);
        let message = Some(format!("the rollout went back to its source: {}", revert.reason));
        effects.push(Effect::Condition { type_: ROLLOUT_REVERTED, holds: true, message });
    }
    (next, effects)
}

/// The state that follows, and whether the condition of the one that is left becomes true.
fn table(state: State, event: Event) -> Option<(State, bool)> {
    let rolling = |batch| State { rolling: R::RollingInBatches, batch };
    let to = |rolling| State { rolling, batch: state.batch };
    Some(match (state.rolling, state.batch, event) {
        (R::VerifyingSpec, _, Event::SpecVerified) => (to(R::Initializing), true),
        (R::Initializing, _, Event::Initialized) => (rolling(B::BatchInitializing), true),
        (R::RollingInBatches, B::BatchInitializing, Event::BatchInitialized) => {
            (rolling(B::BatchInRolling), false)
        }
        (R::RollingInBatches, B::BatchInRolling, Event::BatchRolledOut) => (rolling(B::BatchVerifying), true),
        (R::RollingInBatches, B::BatchVerifying, Event::BatchAvailable) => {
            (rolling(B::BatchFinalizing), true)
        }
        (R::RollingInBatches, B::BatchFinalizing, Event::BatchFinished) => (rolling(B::BatchReady), true),
        (R::RollingInBatches, B::BatchFinalizing, Event::AllBatchesFinished) => {
            (State { rolling: R::Finalising, batch: B::BatchReady }, true)
        }
        (R::RollingInBatches, B::BatchReady, Event::BatchApproved) => (rolling(B::BatchInitializing), true),
        (R::Finalising, _, Event::Finalized) => (to(R::RolloutSucceed), true),
        (R::RolloutFailing | R::RolloutDeleting, _, Event::Finalized) => (to(R::RolloutFailed), true),
        (R::RolloutAbandoning, _, Event::Finalized) => (State::FIRST, true),
        _ => return None,
    })
}

fn illegal((what, state): (&str, &str), event: Event) -> String {
    format!("the {what} state transition from `{state}` state  with `{}` is invalid", event.name())
}

const ROLLING: [(RollingState, &str); 10] = [
    (R::LocatingTargetApp, "locatingTargetApp"),
    (R::VerifyingSpec, "verifyingSpec"),
    (R::Initializing, "initializing"),
    (R::RollingInBatches, "rollingInBatches"),
    (R::Finalising, "finalising"),
    (R::RolloutFailing, "rolloutFailing"),
    (R::RolloutAbandoning, "rolloutAbandoning"),
    (R::RolloutDeleting, "RolloutDeletingState"),
    (R::RolloutSucceed, "rolloutSucceed"),
    (R::RolloutFailed, "rolloutFailed"),
];

const BATCH: [(BatchRollingState, &str); 6] = [
    (B::BatchInitializing, "batchInitializing"),
    (B::BatchInRolling, "batchInRolling"),
    (B::BatchVerifying, "batchVerifying"),
    (B::BatchFinalizing, "batchFinalizing"),
    (B::BatchReady, "batchReady"),
    (B::BatchVerifyFailed, "batchVerifyFailed"),
];

/// As `rollingState` spells it.
pub fn name(state: RollingState) -> &'static str {
    ROLLING.iter().find(|(each, _)| *each == state).map_or("", |(_, name)| name)
}

/// As `batchRollingState` spells it.
pub fn batch_name(state: BatchRollingState) -> &'static str {
    BATCH.iter().find(|(each, _)| *each == state).map_or("", |(_, name)| name)
}

fn rolling_state(name: &str) -> Option<RollingState> {
    ROLLING.iter().find(|(_, each)| *each == name).map(|(state, _)| *state)
}

fn batch_state(name: &str) -> Option<BatchRollingState> {
    BATCH.iter().find(|(_, each)| *each == name).map(|(state, _)| *state)
}

#[cfg(test)]
mod tests;
