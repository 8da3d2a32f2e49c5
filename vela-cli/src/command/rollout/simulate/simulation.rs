//! Runs a rollout in a simulated cluster, moment by moment, until it ends or waits for a person.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use vela_crds::rollout_plan::RollingState as Rolling;
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::rollout::{State, progress, rest};

use super::egress_stub::EgressStub;
use super::pod_counts::{Pod, PodCounts, pods};
use super::pod_outcomes::PodOutcomes;
use super::report::{Outcome, Report, RolloutReport};
use super::scenario::Rollout;
use super::setup::InitialState;
use super::timeline::{Kind, Moment, Occurrence, Timeline};
use crate::args::RolloutSimulate as Args;
use crate::error::{Error, Result};
use crate::simulated_cluster::SimulatedCluster;

/// A killed controller is back after this: what a Deployment needs to start another one.
const DEAD_FOR: Duration = Duration::from_secs(20);
/// The event that tells of sizes that were written.
const ROLLS: &str = "Batch Rollout";
/// Words that hold for so long tell of more than two looks at the same moment.
const LASTS: Duration = Duration::from_secs(1);
/// A controller has seen a pod that fails after this long.
const FAILS: Duration = Duration::from_millis(100);
/// After the end, pods may be on their way for this long beyond what the slowest takes.
const AFTER_THE_END: Duration = Duration::from_secs(5);

/// A run.
pub(super) struct Simulation {
    simulated: SimulatedCluster,
    stub: Arc<EgressStub>,
    pod_outcomes: PodOutcomes,
    timeline: Timeline,
    slowest: Duration,
    /// When to give up, in the time of the simulation.
    until: Duration,
    began: Duration,
    kill_at: Option<usize>,
    back_at: Option<Duration>,
    seen_events: BTreeSet<String>,
    ended: Vec<RolloutReport>,
}

/// One rollout under way.
struct RolloutRun<'a> {
    rollout: &'a Rollout,
    initial: InitialState,
    began: Duration,
    last: Option<(Rolling, Option<usize>)>,
    blockage: Blockage,
    least: usize,
    most: usize,
}

impl Simulation {
    pub(super) fn new(simulated: SimulatedCluster, args: &Args, stub: Arc<EgressStub>) -> Self {
        let began = simulated.now();
        Self {
            stub,
            pod_outcomes: PodOutcomes::new(args.latency, &args.fails, args.seed),
            timeline: Timeline::default(),
            slowest: args.latency.most,
            until: began + args.until,
            began,
            kill_at: args.kill_controller.map(|batch| batch.0),
            back_at: None,
            seen_events: BTreeSet::new(),
            ended: Vec::new(),
            simulated,
        }
    }

    /// Plays one rollout to its end.
    pub(super) async fn run_rollout(&mut self, rollout: &Rollout, initial: InitialState) -> Result<()> {
        let present = pods(self.simulated.store(), &initial.subject);
        self.pod_outcomes.leave(&present);
        self.pod_outcomes.begin();
        self.stub.begin(&rollout.plan);
        self.seen_events.extend(self.events(rollout).into_iter().map(|event| event.name));
        let counts = PodCounts::of(&present);
        let mut run = RolloutRun {
            rollout,
            initial,
            began: self.simulated.now(),
            last: None,
            blockage: Blockage::default(),
            least: counts.ready(),
            most: counts.all(),
        };
        let from = rollout.source_name().map_or_else(String::new, |source| format!("from {source} "));
        let words = format!("rollout {} is applied: {from}to {}", rollout.name, rollout.target_name());
        self.record(None, counts, Occurrence::new(Kind::State, false, words));
        self.simulated.cluster().apply(&rollout.object, true, false).await?;
        let (outcome, at) = self.run_to_end(&mut run).await?;
        self.ended.push(RolloutReport {
            rollout: rollout.name.clone(),
            outcome,
            after: at - run.began,
            least: run.least,
            most: run.most,
            promised: (run.initial.preview.least_available, run.initial.preview.most_pods),
            size: run.initial.size,
        });
        Ok(())
    }

    async fn run_to_end(&mut self, run: &mut RolloutRun<'_>) -> Result<(Outcome, Duration)> {
        let mut over: Option<(Outcome, Duration)> = None;
        loop {
            let due = self.simulated.turn();
            let live = self.live(run.rollout)?;
            let status = live.as_ref().and_then(|live| live.status.clone()).unwrap_or_default();
            let seen = pods(self.simulated.store(), &run.initial.subject);
            let counts = self.observe(run, &status, &seen).await?;
            let now = self.simulated.now();
            let rests =
                live.as_ref().and_then(|live| rest::rest(live).map(Outcome::from).or_else(|| held(live)));
            over = rests.map(|outcome| (outcome, over.map_or(now, |(_, since)| since)));
            if let Some((outcome, since)) = &over {
                let rests = counts.ready() + counts.failing == counts.all() && now > *since + AFTER_THE_END;
                if rests || now > *since + self.slowest + AFTER_THE_END {
                    return Ok((outcome.clone(), *since));
                }
            }
            if now >= self.until {
                let why = live.as_ref().map_or_else(String::new, rest::doing);
                let after = self.until - self.began;
                return Ok((Outcome::Unfinished { why, after }, now));
            }
            let limit = over.as_ref().map_or(self.until, |(_, since)| *since + AFTER_THE_END + self.slowest);
            let limit = [self.back_at, run.blockage.due].into_iter().flatten().fold(limit, Duration::min);
            self.simulated.pass(due, limit.max(now)).await?;
        }
    }

    /// The rollout; nothing as long as it does not ask for what is to be played.
    fn live(&self, rollout: &Rollout) -> Result<Option<AppRollout>> {
        let found =
            self.simulated.store().find("approllouts.core.oam.dev", &rollout.namespace, &rollout.name);
        let Some(found) = found else { return Ok(None) };
        let read: std::result::Result<AppRollout, _> = serde_json::from_value(found.value().clone());
        let read = read.map_err(|error| Error::internal(format!("AppRollout {}: {error}", rollout.name)))?;
        Ok(Some(read).filter(|read| read.spec.target_app_revision_name == rollout.target_name()))
    }

    fn record(&mut self, batch: Option<(usize, usize)>, counts: PodCounts, occurrence: Occurrence) {
        let at = self.simulated.now() - self.began;
        self.timeline.record(Moment { at, batch, counts }, occurrence);
    }

    /// Tells what is new, and settles what becomes of new pods.
    async fn observe(
        &mut self,
        run: &mut RolloutRun<'_>,
        status: &AppRolloutStatus,
        seen: &[Pod],
    ) -> Result<PodCounts> {
        let state = State::of(&status.rollout);
        let rolls = state.rolling == Rolling::RollingInBatches;
        let batch = usize::try_from(status.rollout.current_batch).unwrap_or(0) + 1;
        let count = run.rollout.plan.rollout_batches.as_ref().map_or(0, Vec::len);
        let place = rolls.then_some((batch, count));
        let counts = PodCounts::of(seen);
        run.least = run.least.min(counts.ready());
        run.most = run.most.max(counts.all());
        let namespace = run.initial.subject.namespace.clone();
        let decided = self
            .pod_outcomes
            .decide(self.simulated.cluster(), &namespace, seen, if rolls { batch } else { 1 })
            .await?;
        let mut news = self.stub.take();
        let mut batch_at = None;
        for event in self.events(run.rollout) {
            if self.seen_events.insert(event.name) {
                if event.reason == ROLLS {
                    batch_at = batch_at.or(Some(news.len()));
                }
                let words = format!("{}: {}", event.reason.trim(), event.note);
                news.push(Occurrence::new(Kind::Event, event.is_warning, words));
            }
        }
        let now = (state.rolling, rolls.then_some(batch));
        let is_turned = run.last.replace(now) != Some(now);
        if let Some(occurrence) = state_change(run.rollout, status, state).filter(|_| is_turned) {
            // A batch begins before its sizes are written, although both are seen at once.
            news.insert(batch_at.filter(|_| rolls).unwrap_or(news.len()), occurrence);
        }
        for occurrence in news {
            self.record(place, counts, occurrence);
        }
        if is_turned {
            self.maybe_kill(rolls.then_some(batch), counts, place);
        }
        for words in decided {
            self.record(place, counts, Occurrence::new(Kind::Asked, false, words));
        }
        self.report_waits(run, status, state, counts, place);
        self.maybe_start(counts, place);
        let at = self.simulated.now() - self.began;
        self.timeline.sample(Moment { at, batch: place, counts });
        Ok(counts)
    }

    /// What holds it up, where that is more than pods on their way.
    fn report_waits(
        &mut self,
        run: &mut RolloutRun<'_>,
        status: &AppRolloutStatus,
        state: State,
        counts: PodCounts,
        place: Option<(usize, usize)>,
    ) {
        let why = if state.is_terminal() { "" } else { rest::problem(status, state) };
        if run.blockage.is_news(why, counts, self.simulated.now()) {
            self.record(place, counts, Occurrence::new(Kind::Waits, counts.failing > 0, why));
        }
    }

    fn maybe_kill(&mut self, batch: Option<usize>, counts: PodCounts, place: Option<(usize, usize)>) {
        if batch.is_some() && batch == self.kill_at {
            self.kill_at = None;
            self.simulated.kill();
            self.back_at = Some(self.simulated.now() + DEAD_FOR);
            self.record(
                place,
                counts,
                Occurrence::new(Kind::Asked, true, "the controller is killed, as asked"),
            );
        }
    }

    fn maybe_start(&mut self, counts: PodCounts, place: Option<(usize, usize)>) {
        if self.back_at.is_some_and(|back| self.simulated.now() >= back) {
            self.back_at = None;
            self.simulated.start();
            self.record(place, counts, Occurrence::new(Kind::Asked, false, "another controller starts"));
        }
    }

    /// Events about the rollout, oldest first.
    fn events(&self, rollout: &Rollout) -> Vec<Event> {
        let entries = self.simulated.store().list("events", Some(&rollout.namespace)).0;
        let mut events: Vec<(u64, Event)> = Vec::new();
        for entry in entries {
            let event = entry.shared();
            let about = ["regarding", "involvedObject"].map(|field| &event[field]);
            let is_ours =
                |about: &&Value| about["kind"] == "AppRollout" && about["name"] == rollout.name.as_str();
            if !about.iter().any(is_ours) {
                continue;
            }
            let text = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            let note = if event["note"].is_string() { text("note") } else { text("message") };
            let name = event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let is_warning = event["type"] == "Warning";
            events.push((entry.revision(), Event { name, reason: text("reason"), note, is_warning }));
        }
        events.sort_by(|one, other| (one.0, &one.1.name).cmp(&(other.0, &other.1.name)));
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// What there is to tell.
    pub(super) fn end(self) -> Report {
        Report { timeline: self.timeline, ended: self.ended, settings: Value::Null }
    }
}

/// What holds a rollout up, as it was reported last.
#[derive(Default)]
struct Blockage {
    /// Since when it is held up by these words, numbers left out, with these pods.
    now: Option<(String, PodCounts, Duration)>,
    reported: String,
    /// When it will be worth telling, if nothing changes.
    due: Option<Duration>,
}

impl Blockage {
    /// Is it worth telling? Waiting for pods that are on their way, or for a moment, is what rollouts do.
    fn is_news(&mut self, why: &str, counts: PodCounts, at: Duration) -> bool {
        let words: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        let since = match self.now.take() {
            Some((before, then, since)) if before == words && then == counts => since,
            _ => at,
        };
        self.now = Some((words.clone(), counts, since));
        self.due = None;
        let (is_failing, is_starting) = (counts.failing > 0, counts.ready() + counts.failing < counts.all());
        if words.is_empty() || words == self.reported || is_starting && !is_failing {
            return false;
        }
        let due = since + if is_failing { FAILS } else { LASTS };
        if at < due {
            self.due = Some(due);
            return false;
        }
        self.reported = words;
        true
    }
}

/// A metric that failed holds a rollout until a user changes it.
fn held(live: &AppRollout) -> Option<Outcome> {
    let status = &live.status.as_ref()?.rollout;
    let analysis = status.canary_analysis.as_ref()?;
    let is_held = State::of(status).rolling == Rolling::RollingInBatches
        && analysis.batch == status.current_batch
        && analysis.failed_generation.is_some()
        && analysis.failed_generation == live.metadata.generation;
    let why = analysis.message.clone().unwrap_or_else(|| "a metric failed".to_owned());
    is_held.then_some(Outcome::Waits { why })
}

struct Event {
    name: String,
    reason: String,
    note: String,
    is_warning: bool,
}

/// What a new state means to people; nothing where the controller's own event says it.
fn state_change(rollout: &Rollout, status: &AppRolloutStatus, state: State) -> Option<Occurrence> {
    let good = |words: String| Some(Occurrence::new(Kind::State, false, words));
    let bad = |words: &str| Some(Occurrence::new(Kind::State, true, words));
    match state.rolling {
        Rolling::RollingInBatches => {
            let batches = progress(&rollout.plan, &status.rollout, rollout.source.is_some());
            let at = usize::try_from(status.rollout.current_batch).unwrap_or(0);
            let pods = batches.get(at).map_or(0, |batch| batch.pods);
            let unit = if pods == 1 { "pod" } else { "pods" };
            good(format!("batch {} of {} begins: {pods} {unit}", at + 1, batches.len()))
        }
        Rolling::RolloutFailing => bad("it cannot go on: the workloads are let go"),
        Rolling::RolloutAbandoning => bad("what was under way is given up, and it begins anew"),
        Rolling::RolloutDeleting => bad("it is deleted: the workloads are let go"),
        Rolling::RolloutFailed => bad("the rollout has failed"),
        Rolling::RolloutSucceed => good("the rollout has succeeded".to_owned()),
        _ => None,
    }
}
