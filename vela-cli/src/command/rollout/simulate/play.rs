//! A rollout applied to a simulated cluster → what happens, moment by moment, until it ends or waits for a person.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use vela_crds::rollout_plan::RollingState as Rolling;
use vela_crds::{AppRollout, AppRolloutStatus};
use vela_engine::rollout::{State, progress, rest};

use super::elsewhere::Outside;
use super::ending::{Ended, Outcome, Told};
use super::fates::Fates;
use super::picture::{Picture, Pod, pods};
use super::script::Rollout;
use super::stage::Beginning;
use super::timeline::{Kind, Moment, Said, Timeline};
use super::world::World;
use crate::args::RolloutSimulate as Args;
use crate::error::{Error, Result};

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
pub(super) struct Play {
    world: World,
    outside: Arc<Outside>,
    fates: Fates,
    timeline: Timeline,
    slowest: Duration,
    /// When to give up, in the time of the world.
    until: Duration,
    began: Duration,
    kill_at: Option<usize>,
    back_at: Option<Duration>,
    heard: BTreeSet<String>,
    ended: Vec<Ended>,
}

/// One rollout under way.
struct Scene<'a> {
    rollout: &'a Rollout,
    beginning: Beginning,
    began: Duration,
    last: Option<(Rolling, Option<usize>)>,
    waits: Waits,
    least: usize,
    most: usize,
}

impl Play {
    pub(super) fn new(world: World, args: &Args, outside: Arc<Outside>) -> Self {
        let began = world.now();
        Self {
            outside,
            fates: Fates::new(args.latency, &args.fails, args.seed),
            timeline: Timeline::default(),
            slowest: args.latency.most,
            until: began + args.until,
            began,
            kill_at: args.kill_controller.map(|batch| batch.0),
            back_at: None,
            heard: BTreeSet::new(),
            ended: Vec::new(),
            world,
        }
    }

    /// Plays one rollout to its end.
    pub(super) async fn rollout(&mut self, rollout: &Rollout, beginning: Beginning) -> Result<()> {
        let present = pods(self.world.store(), &beginning.subject);
        self.fates.leave(&present);
        self.fates.begin();
        self.outside.begin(&rollout.plan);
        self.heard.extend(self.events(rollout).into_iter().map(|event| event.name));
        let picture = Picture::of(&present);
        let mut scene = Scene {
            rollout,
            beginning,
            began: self.world.now(),
            last: None,
            waits: Waits::default(),
            least: picture.ready(),
            most: picture.all(),
        };
        let from = rollout.source_name().map_or_else(String::new, |source| format!("from {source} "));
        let words = format!("rollout {} is applied: {from}to {}", rollout.name, rollout.target_name());
        self.say(None, picture, Said::new(Kind::State, false, words));
        self.world.cluster().apply(&rollout.object, true, false).await?;
        let (outcome, at) = self.play(&mut scene).await?;
        self.ended.push(Ended {
            rollout: rollout.name.clone(),
            outcome,
            after: at - scene.began,
            least: scene.least,
            most: scene.most,
            promised: (scene.beginning.preview.least_available, scene.beginning.preview.most_pods),
            size: scene.beginning.size,
        });
        Ok(())
    }

    async fn play(&mut self, scene: &mut Scene<'_>) -> Result<(Outcome, Duration)> {
        let mut over: Option<(Outcome, Duration)> = None;
        loop {
            let due = self.world.turn();
            let live = self.live(scene.rollout)?;
            let status = live.as_ref().and_then(|live| live.status.clone()).unwrap_or_default();
            let seen = pods(self.world.store(), &scene.beginning.subject);
            let picture = self.look(scene, &status, &seen).await?;
            let now = self.world.now();
            let rests =
                live.as_ref().and_then(|live| rest::rest(live).map(Outcome::from).or_else(|| held(live)));
            over = rests.map(|outcome| (outcome, over.map_or(now, |(_, since)| since)));
            if let Some((outcome, since)) = &over {
                let rests =
                    picture.ready() + picture.failing == picture.all() && now > *since + AFTER_THE_END;
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
            let limit = [self.back_at, scene.waits.due].into_iter().flatten().fold(limit, Duration::min);
            self.world.pass(due, limit.max(now)).await?;
        }
    }

    /// The rollout; nothing as long as it does not ask for what is to be played.
    fn live(&self, rollout: &Rollout) -> Result<Option<AppRollout>> {
        let found = self.world.store().find("approllouts.core.oam.dev", &rollout.namespace, &rollout.name);
        let Some(found) = found else { return Ok(None) };
        let read: std::result::Result<AppRollout, _> = serde_json::from_value(found.value().clone());
        let read = read.map_err(|error| Error::internal(format!("AppRollout {}: {error}", rollout.name)))?;
        Ok(Some(read).filter(|read| read.spec.target_app_revision_name == rollout.target_name()))
    }

    fn say(&mut self, batch: Option<(usize, usize)>, picture: Picture, said: Said) {
        let at = self.world.now() - self.began;
        self.timeline.say(Moment { at, batch, picture }, said);
    }

    /// Tells what is new, and settles what becomes of new pods.
    async fn look(
        &mut self,
        scene: &mut Scene<'_>,
        status: &AppRolloutStatus,
        seen: &[Pod],
    ) -> Result<Picture> {
        let state = State::of(&status.rollout);
        let rolls = state.rolling == Rolling::RollingInBatches;
        let batch = usize::try_from(status.rollout.current_batch).unwrap_or(0) + 1;
        let count = scene.rollout.plan.rollout_batches.as_ref().map_or(0, Vec::len);
        let place = rolls.then_some((batch, count));
        let picture = Picture::of(seen);
        scene.least = scene.least.min(picture.ready());
        scene.most = scene.most.max(picture.all());
        let namespace = scene.beginning.subject.namespace.clone();
        let decided =
            self.fates.decide(self.world.cluster(), &namespace, seen, if rolls { batch } else { 1 }).await?;
        let mut news = self.outside.take();
        let mut batch_at = None;
        for event in self.events(scene.rollout) {
            if self.heard.insert(event.name) {
                if event.reason == ROLLS {
                    batch_at = batch_at.or(Some(news.len()));
                }
                let words = format!("{}: {}", event.reason.trim(), event.note);
                news.push(Said::new(Kind::Event, event.is_warning, words));
            }
        }
        let now = (state.rolling, rolls.then_some(batch));
        let is_turned = scene.last.replace(now) != Some(now);
        if let Some(said) = turned(scene.rollout, status, state).filter(|_| is_turned) {
            // A batch begins before its sizes are written, although both are seen at once.
            news.insert(batch_at.filter(|_| rolls).unwrap_or(news.len()), said);
        }
        for said in news {
            self.say(place, picture, said);
        }
        if is_turned {
            self.maybe_kill(rolls.then_some(batch), picture, place);
        }
        for words in decided {
            self.say(place, picture, Said::new(Kind::Asked, false, words));
        }
        self.tell_waits(scene, status, state, picture, place);
        self.maybe_start(picture, place);
        let at = self.world.now() - self.began;
        self.timeline.look(Moment { at, batch: place, picture });
        Ok(picture)
    }

    /// What holds it up, where that is more than pods on their way.
    fn tell_waits(
        &mut self,
        scene: &mut Scene<'_>,
        status: &AppRolloutStatus,
        state: State,
        picture: Picture,
        place: Option<(usize, usize)>,
    ) {
        let why = if state.is_terminal() { "" } else { rest::problem(status, state) };
        if scene.waits.is_news(why, picture, self.world.now()) {
            self.say(place, picture, Said::new(Kind::Waits, picture.failing > 0, why));
        }
    }

    fn maybe_kill(&mut self, batch: Option<usize>, picture: Picture, place: Option<(usize, usize)>) {
        if batch.is_some() && batch == self.kill_at {
            self.kill_at = None;
            self.world.kill();
            self.back_at = Some(self.world.now() + DEAD_FOR);
            self.say(place, picture, Said::new(Kind::Asked, true, "the controller is killed, as asked"));
        }
    }

    fn maybe_start(&mut self, picture: Picture, place: Option<(usize, usize)>) {
        if self.back_at.is_some_and(|back| self.world.now() >= back) {
            self.back_at = None;
            self.world.start();
            self.say(place, picture, Said::new(Kind::Asked, false, "another controller starts"));
        }
    }

    /// Events about the rollout, oldest first.
    fn events(&self, rollout: &Rollout) -> Vec<Event> {
        let entries = self.world.store().list("events", Some(&rollout.namespace)).0;
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
    pub(super) fn end(self) -> Told {
        Told { timeline: self.timeline, ended: self.ended, settings: Value::Null }
    }
}

/// What holds a rollout up, as it was told last.
#[derive(Default)]
struct Waits {
    /// Since when it is held up by these words, numbers left out, with these pods.
    now: Option<(String, Picture, Duration)>,
    told: String,
    /// When it will be worth telling, if nothing changes.
    due: Option<Duration>,
}

impl Waits {
    /// Is it worth telling? Waiting for pods that are on their way, or for a moment, is what rollouts do.
    fn is_news(&mut self, why: &str, picture: Picture, at: Duration) -> bool {
        let words: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
        let since = match self.now.take() {
            Some((before, then, since)) if before == words && then == picture => since,
            _ => at,
        };
        self.now = Some((words.clone(), picture, since));
        self.due = None;
        let (is_failing, is_starting) =
            (picture.failing > 0, picture.ready() + picture.failing < picture.all());
        if words.is_empty() || words == self.told || is_starting && !is_failing {
            return false;
        }
        let due = since + if is_failing { FAILS } else { LASTS };
        if at < due {
            self.due = Some(due);
            return false;
        }
        self.told = words;
        true
    }
}

/// A metric that failed holds a rollout until somebody changes it.
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
fn turned(rollout: &Rollout, status: &AppRolloutStatus, state: State) -> Option<Said> {
    let good = |words: String| Some(Said::new(Kind::State, false, words));
    let bad = |words: &str| Some(Said::new(Kind::State, true, words));
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
