//! Plans at most one step of the state machine, and what the step takes, from the workloads, the plan and the status.
//!
//! A [`PlannedStep`] is carried out in this order: measurements (and [`PlannedStep::measured`]), hooks before, writes, hooks after. The caller that
//! carries it out then asks the step for the status of how it ended: [`PlannedStep::succeeded`], [`PlannedStep::hook_failed`] or
//! [`PlannedStep::write_failed`]. A step that is cut off anywhere is made again from the stored status, and asks for nothing that is done already;
//! only hooks may be called twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;
use vela_crds::rollout_plan::{BatchRollingState as B, RollingState as R};
use vela_crds::{Conditioned, RolloutPlan, RolloutStatus, condition};

use super::hooks::{self, HookCall, Moment};
use super::metrics::{self, Gate, Measurement, Measuring, Reading, Verdict};
pub use super::parts::Situation;
use super::parts::{JointStep, Part, Parts};
use super::revert;
use super::size::Sizes;
use super::state::{self, BATCH_PAUSED, BATCH_PROGRESSING, Effect, Event, Input, State};
use super::workload::{Note, Outcome, Write, batch_number};
use crate::observed::ObjectKey;

/// The advice about a metric that holds a rollout.
const GATE_ADVICE: &str = "to measure again, resume it (`vela rollout resume`, or set paused to true and then to false); or change \
     the metric; or go back with source and target exchanged (`vela rollout undo`)";

/// The message about a metric that failed.
const METRIC_FAILED: &str = "Canary Metric Failed";

/// The actions of one step, and the next state.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// Metrics to measure, before all else.
    pub measurements: Vec<Measurement>,
    /// Hooks that must say yes before anything is written.
    pub before: Vec<HookCall>,
    /// Writes, in order.
    pub writes: Vec<Write>,
    /// Hooks that must say yes once everything is written.
    pub after: Vec<HookCall>,
    /// The reason of the rollout's wait, for people; also where no condition tells it.
    pub waits_for: Option<String>,
    /// After so many seconds the batch fails; a caller with a clock looks again then.
    pub seconds_left: Option<u64>,
    stored: RolloutStatus,
    recorded: RolloutStatus,
    effects: Vec<Effect>,
    notes: Vec<Note>,
    input: Option<Input>,
    moment: Option<Moment>,
    measuring: Option<Gated>,
}

/// A batch whose pods are there, and whose metrics are not known yet.
#[derive(Clone, Debug)]
struct Gated {
    measuring: Measuring,
    /// The report once they let it through.
    notes: Vec<Note>,
    /// Is there a source to go back to?
    has_source: bool,
    now: Timestamp,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The status to store, but for its conditions.
    pub status: RolloutStatus,
    /// The conditions to set in it.
    pub effects: Vec<Effect>,
    /// Events for people.
    pub notes: Vec<Note>,
}

/// Decides the next step. The caller exchanges source and target while [`RolloutStatus::revert`] says so.
pub fn next_step(situation: &Situation<'_>) -> PlannedStep {
    match &situation.status.revert {
        Some(revert) => {
            let plan = revert::way_back(situation.plan);
            let mut step = forward(&Situation { plan: &plan, ..*situation });
            if State::of(situation.status).rolling == R::Finalising {
                let message = format!("the workloads are those of the source again: {}", revert.reason);
                step.notes.push(Note { warning: false, reason: "Rollout Reverted", message });
            }
            step
        }
        None => forward(situation),
    }
}

fn forward(situation: &Situation<'_>) -> PlannedStep {
    let status = situation.status;
    let state = State::of(status);
    let still = PlannedStep::still(status);
    if status.rolling_state.is_empty() {
        return PlannedStep { recorded: state::reset(status), ..still };
    }
    if state.is_terminal() || state.rolling == R::LocatingTargetApp {
        return still;
    }
    let parts = match Parts::of(situation) {
        Ok(parts) => parts,
        // A rollout claims no workload of an unsupported kind.
        Err(_) if state.is_releasing() => {
            return PlannedStep { input: Some(Input::Event(Event::Finalized)), ..still };
        }
        Err(why) => {
            let note = Note { warning: true, reason: "Unsupported workload", message: why.clone() };
            return PlannedStep { notes: vec![note], input: Some(Input::Failed(why)), ..still };
        }
    };
    match state.rolling {
        R::VerifyingSpec => still.with_joint(parts.verify(), Event::SpecVerified, Input::Failed),
        R::Initializing => {
            let joint = parts.step(status, |part, view| part.initialize(view));
            still.with_joint(joint, Event::Initialized, Input::Failing).hooks_before(
                Moment::Initialize,
                situation,
                state,
            )
        }
        R::RollingInBatches => in_batches(situation, &parts, state, still),
        R::Finalising | R::RolloutFailing | R::RolloutAbandoning | R::RolloutDeleting => {
            let succeeded = state.rolling == R::Finalising;
            let joint = parts.step(status, |part, view| part.finalize(view, succeeded));
            still.with_joint(joint, Event::Finalized, Input::Retry).hooks_after(
                Moment::Finalize,
                situation,
                state,
            )
        }
        R::LocatingTargetApp | R::RolloutSucceed | R::RolloutFailed => still,
    }
}

/// When the batch that runs began, or went on after a pause.
pub fn batch_began(status: &RolloutStatus) -> Option<Timestamp> {
    let began = status.condition(BATCH_PROGRESSING)?.last_transition_time.0;
    let resumed = status.condition(BATCH_PAUSED).filter(|paused| paused.status == condition::status::FALSE);
    Some(resumed.map_or(began, |resumed| began.max(resumed.last_transition_time.0)))
}

fn in_batches(situation: &Situation<'_>, parts: &Parts<'_>, state: State, still: PlannedStep) -> PlannedStep {
    let Situation { plan, status, .. } = *situation;
    let is_reported = status.condition_status(BATCH_PAUSED) == condition::status::TRUE;
    if plan.paused {
        return paused(still, status, is_reported);
    }
    if state.batch == B::BatchVerifying
        && let Some(why) = metrics::held(status, situation.generation)
    {
        return PlannedStep { waits_for: Some(why.to_owned()), ..still };
    }
    let step = match state.batch {
        B::BatchInitializing => {
            let message = format!("batch {} of {} began", batch_number(status), count(plan));
            let began = Effect::BatchBegan(message);
            let step = PlannedStep {
                effects: vec![began],
                input: Some(Input::Event(Event::BatchInitialized)),
                ..still
            };
            step.hooks_before(Moment::PreBatch, situation, state)
        }
        B::BatchInRolling => {
            let joint = parts.claimed(status, |part, view| part.roll_batch(view));
            still.with_joint(joint, Event::BatchRolledOut, Input::Failing).deadline(situation, parts)
        }
        B::BatchVerifying => {
            verify_batch(situation, parts, still).deadline(situation, parts).gated(situation)
        }
        B::BatchFinalizing => {
            let joint = parts.claimed(status, |part, view| part.finalize_batch(view));
            finalize_batch(situation, joint, still)
        }
        B::BatchReady => match plan.batch_partition {
            Some(partition) if partition <= status.current_batch => {
                let why = format!(
                    "batch {} is done, and batchPartition {partition} (batches counted from 0) lets no later one begin: raise it, or leave \
                     it out, to go on",
                    batch_number(status)
                );
                PlannedStep { waits_for: Some(why), ..still }
            }
            _ => PlannedStep { input: Some(Input::Event(Event::BatchApproved)), ..still },
        },
        B::BatchVerifyFailed => PlannedStep {
            input: Some(Input::Failing("the batch failed; it is released".to_owned())),
            ..still
        },
    };
    if !is_reported {
        return step;
    }
    let mut step = step;
    step.effects.push(Effect::negative(BATCH_PAUSED, "the rollout goes on"));
    step
}

fn paused(still: PlannedStep, status: &RolloutStatus, is_reported: bool) -> PlannedStep {
    let waits_for = Some("the plan is paused: set paused to false to go on".to_owned());
    if is_reported {
        return PlannedStep { waits_for, ..still };
    }
    let message = format!("the rollout is paused in batch {}", batch_number(status));
    PlannedStep {
        waits_for,
        notes: vec![Note { warning: false, reason: "Rollout paused", message }],
        effects: vec![Effect::positive(BATCH_PAUSED)],
        ..still
    }
}

/// A batch is available only when the plan as it is *now* is carried out: it may have been edited since.
fn verify_batch(situation: &Situation<'_>, parts: &Parts<'_>, still: PlannedStep) -> PlannedStep {
    let mut rolled = parts.claimed(situation.status, |part, view| part.roll_batch(view));
    if rolled.outcome == Outcome::Done && rolled.writes.is_empty() {
        let checked = parts.claimed(&rolled.recorded, |part, view| part.check_batch(view));
        return still.with_joint(checked, Event::BatchAvailable, Input::Failing);
    }
    if rolled.outcome == Outcome::Done {
        rolled.outcome = Outcome::Wait("the batch is written anew, because plan or sizes changed".to_owned());
    }
    still.with_joint(rolled, Event::BatchAvailable, Input::Failing)
}

fn finalize_batch(situation: &Situation<'_>, mut joint: JointStep, still: PlannedStep) -> PlannedStep {
    let Situation { plan, status, .. } = *situation;
    let batch = batch_number(status);
    let is_last = Sizes::rollout(plan, 0).is_last(i64::from(status.current_batch));
    let (upgraded, ready) = (status.upgraded_replicas, status.upgraded_ready_replicas);
    if joint.outcome == Outcome::Done {
        let (reason, message) = if is_last {
            ("All batches rolled out", format!("upgrade pod = {upgraded}, total ready pod = {ready}"))
        } else {
            ("Batch Finalized", format!("batch {batch} is finished: {upgraded} pods, {ready} of them ready"))
        };
        joint.notes.push(Note { warning: false, reason, message });
    }
    let event = if is_last { Event::AllBatchesFinished } else { Event::BatchFinished };
    let state = State::of(status);
    still.with_joint(joint, event, Input::Failing).hooks_after(Moment::PostBatch, situation, state)
}

fn seen<'a>(situation: &Situation<'a>) -> metrics::Seen<'a> {
    let Situation { plan, status, .. } = *situation;
    metrics::Seen { plan, status, generation: situation.generation, now: situation.now }
}

fn named(object: Option<&Json>) -> Option<String> {
    object?["metadata"]["name"].as_str().map(str::to_owned)
}

/// The values of placeholders in the query of a metric.
fn words(situation: &Situation<'_>) -> BTreeMap<&'static str, String> {
    let Situation { owner, status, parts, .. } = *situation;
    // As a regular expression of Prometheus wants several.
    let names =
        |of: fn(&Part<'_>) -> Option<String>| parts.iter().filter_map(of).collect::<Vec<_>>().join("|");
    BTreeMap::from([
        ("batch", status.current_batch.to_string()),
        ("name", owner.name.clone()),
        ("namespace", owner.namespace.clone()),
        ("source", names(|part| named(part.source))),
        ("target", names(|part| named(part.target))),
    ])
}

fn count(plan: &RolloutPlan) -> usize {
    plan.rollout_batches.as_ref().map_or(0, Vec::len)
}

impl PlannedStep {
    /// A step that does nothing.
    fn still(status: &RolloutStatus) -> Self {
        Self {
            measurements: Vec::new(),
            before: Vec::new(),
            writes: Vec::new(),
            after: Vec::new(),
            waits_for: None,
            seconds_left: None,
            stored: status.clone(),
            recorded: status.clone(),
            effects: Vec::new(),
            notes: Vec::new(),
            input: None,
            moment: None,
            measuring: None,
        }
    }

    fn with_joint(mut self, joint: JointStep, done: Event, fail: impl FnOnce(String) -> Input) -> Self {
        let JointStep { outcome, writes, notes, recorded } = joint;
        self.recorded = recorded;
        self.writes = writes;
        self.notes = notes;
        self.input = Some(match outcome {
            Outcome::Done => Input::Event(done),
            Outcome::Wait(why) => {
                self.waits_for = Some(why.clone());
                Input::Retry(why)
            }
            Outcome::Fail(why) => fail(why),
        });
        self
    }

    fn hooks_before(mut self, moment: Moment, situation: &Situation<'_>, state: State) -> Self {
        // A step that cannot be made has no beginning.
        if matches!(self.input, Some(Input::Event(_))) {
            self.before = due(moment, situation, state);
            self.moment = Some(moment);
        }
        self
    }

    fn hooks_after(mut self, moment: Moment, situation: &Situation<'_>, state: State) -> Self {
        if matches!(self.input, Some(Input::Event(_))) {
            self.after = due(moment, situation, state);
            self.moment = Some(moment);
        }
        self
    }

    /// A batch that waits too long fails, with the reasons it waited for.
    fn deadline(mut self, situation: &Situation<'_>, parts: &Parts<'_>) -> Self {
        let Some(Input::Retry(why)) = &self.input else { return self };
        let Some(began) = batch_began(situation.status) else { return self };
        // Pods that go while metrics are measured have their time from then on.
        let began = metrics::last_measured(situation.status).map_or(began, |last| began.max(last));
        let limit = parts.deadline_seconds();
        let waited = u64::try_from(situation.now.duration_since(began).as_secs()).unwrap_or(0);
        if waited < limit {
            self.seconds_left = Some(limit - waited);
            return self;
        }
        self.input = Some(Input::Failing(format!(
            "batch {} was not there after {limit} seconds, and the rollout ends as it stands: {why}; to go on or back, name \
             another target and source",
            batch_number(situation.status)
        )));
        // A write at this point would continue a rollout that has ended.
        self.writes.clear();
        self
    }

    /// A batch whose pods are there ends only when its metrics let it through.
    fn gated(mut self, situation: &Situation<'_>) -> Self {
        if self.input != Some(Input::Event(Event::BatchAvailable)) {
            return self;
        }
        let Gate::Measuring(measuring) = metrics::gate(&seen(situation), &words(situation)) else {
            return self;
        };
        let why = measuring.progress();
        self.waits_for = Some(why.clone());
        self.input = Some(Input::Retry(why));
        self.seconds_left = Some(measuring.seconds_left);
        self.recorded.canary_analysis = Some(measuring.analysis.clone());
        self.measurements.clone_from(&measuring.due);
        let notes = std::mem::take(&mut self.notes);
        let has_source = situation.parts.iter().all(|part| part.has_source);
        self.measuring = Some(Gated { measuring, notes, has_source, now: situation.now });
        self
    }

    /// The step with what was measured, in the order of [`PlannedStep::measurements`].
    pub fn measured(mut self, readings: &[Reading]) -> Self {
        let Some(Gated { mut measuring, notes, has_source, now }) = self.measuring.take() else {
            return self;
        };
        let verdict = measuring.judge(readings);
        self.recorded.canary_analysis = Some(measuring.analysis);
        self.measurements.clear();
        match verdict {
            Verdict::Open => {
                self.notes = notes;
                let message = format!("the metrics let batch {} through", batch_number(&self.recorded));
                self.notes.push(Note { warning: false, reason: "Canary Metrics Passed", message });
                (self.waits_for, self.seconds_left) = (None, None);
                self.input = Some(Input::Event(Event::BatchAvailable));
            }
            Verdict::Measuring(why) => {
                self.waits_for = Some(why.clone());
                self.input = Some(Input::Retry(why));
            }
            Verdict::Failed { message, revert: true } => self.turn_back(message, has_source, now),
            Verdict::Failed { message, revert: false } => self.hold(&message),
        }
        self
    }

    /// The batch waits for people.
    fn hold(&mut self, why: &str) {
        let message = format!("{why}; {GATE_ADVICE}");
        if let Some(analysis) = &mut self.recorded.canary_analysis {
            analysis.message = Some(message.clone());
        }
        self.notes.push(Note { warning: true, reason: METRIC_FAILED, message: message.clone() });
        self.waits_for = Some(message.clone());
        self.seconds_left = None;
        let held = Effect::Condition { type_: BATCH_PAUSED, holds: true, message: Some(message.clone()) };
        self.effects.push(held);
        self.input = Some(Input::Retry(message));
    }

    /// The rollout goes back; one that came from nowhere ends.
    fn turn_back(&mut self, why: String, has_source: bool, since: Timestamp) {
        (self.waits_for, self.seconds_left) = (None, None);
        let (message, input) = match has_source {
            true => (format!("{why}; the rollout goes back to its source"), Input::Revert { why, since }),
            false => {
                let message =
                    format!("{why}; there is no source to go back to, so the rollout ends as it stands");
                (message.clone(), Input::Failing(message))
            }
        };
        self.notes.push(Note { warning: true, reason: METRIC_FAILED, message });
        self.input = Some(input);
    }

    /// Does the step ask for nothing at all?
    pub fn is_still(&self) -> bool {
        self.measurements.is_empty()
            && self.writes.is_empty()
            && self.before.is_empty()
            && self.after.is_empty()
            && self.input.is_none()
            && self.effects.is_empty()
            && self.stored == self.recorded
    }

    /// Hooks said yes, and everything is written.
    pub fn succeeded(self) -> Ended {
        let Self { recorded, mut effects, notes, input, .. } = self;
        let Some(input) = input else { return Ended { status: recorded, effects, notes } };
        let (status, more) = state::next(&recorded, &input);
        effects.extend(more);
        Ended { status, effects, notes }
    }

    /// A hook said no, or no server answered. All of them are called again, in the next step.
    pub fn hook_failed(self, why: &str) -> Ended {
        let failure = self.moment.map_or("failed to invoke a webhook", Moment::failure);
        let message = format!("{failure}: {why}");
        // Hooks after the writes find them done, and the next step will not do them again.
        let reached = if self.after.is_empty() { &self.stored } else { &self.recorded };
        let (status, effects) = state::next(reached, &Input::Retry(message));
        Ended { status, effects, notes: Vec::new() }
    }

    /// A write was refused. The next step looks again and decides anew.
    pub fn write_failed(self, object: &ObjectKey, why: &str) -> Ended {
        let message = format!("failed to update {object}: {why}");
        let (status, effects) = state::next(&self.stored, &Input::Retry(message.clone()));
        let note = Note { warning: true, reason: "Failed to update the workload", message };
        Ended { status, effects, notes: vec![note] }
    }
}

fn due(moment: Moment, situation: &Situation<'_>, state: State) -> Vec<HookCall> {
    let Situation { plan, status, owner, .. } = *situation;
    hooks::calls(plan, moment, state, status.current_batch, (&owner.namespace, &owner.name))
}
