//! A seed → one schedule: steps chosen one after the other, every promise checked after each, then peace and the end.

use std::time::Duration;

use http::StatusCode;

use super::check::{Checker, Violation};
use super::draws::Draws;
use super::gate::{Lost, Pending, Performed, Watch, is_read_of_many};
use super::model::Form;
use super::rollout::{self, Ledger, People};
use super::sabotage::Sabotage;
use super::settle;
use super::user::User;
use super::world::{Beginnings, SimulatedCluster};

/// Steps before peace is made, at most.
const STEPS_AT_MOST: usize = 400;
/// Rounds of a rollout in which everything goes on, at most.
const STRETCH_AT_MOST: usize = 8;
/// How heavy that weighs against a single request.
const STRETCHES: u32 = 16;

/// What to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Rollouts, or else what the seed says.
    pub(crate) form: Option<Form>,
    pub(crate) sabotage: Option<Sabotage>,
    /// Keep what happened, for people.
    pub(crate) trace: bool,
}

/// How a schedule ended.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) violation: Option<Violation>,
    pub(crate) steps: usize,
    pub(crate) requests: u64,
    pub(crate) decisions: usize,
    /// Real time of making the world, of the steps and of the end.
    pub(crate) times: [Duration; 3],
    /// A hash of everything that happened: equal for equal seeds.
    pub(crate) fingerprint: u64,
    pub(crate) trace: Vec<String>,
}

/// One schedule under way.
pub(crate) struct Schedule {
    pub(crate) world: SimulatedCluster,
    pub(crate) checker: Checker,
    pub(crate) user: User,
    /// Who rolls out, where that is what it is about; and the scene in which they begin.
    people: Option<(People, usize)>,
    draws: Draws,
    /// Most schedules are: little happens, in every order. The others try what takes long.
    pub(crate) brief: bool,
    actions_left: usize,
    steps: usize,
    fingerprint: u64,
    keep_trace: bool,
    trace: Vec<String>,
}

/// Run one schedule to its end, on this thread.
pub(crate) fn run(
    beginnings: &Beginnings,
    draws: Draws,
    options: &Options,
    expected: &mut settle::Expected,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let Ok(runtime) = runtime else {
        let violation = Some(Violation::new("runtime", "the runtime cannot be built"));
        return Outcome { violation, ..Outcome::default() };
    };
    runtime.block_on(async {
        let mut times = [Duration::ZERO; 3];
        let mut began = std::time::Instant::now();
        let mut lap =
            |at: usize| times[at] = std::mem::replace(&mut began, std::time::Instant::now()).elapsed();
        let mut schedule = Schedule::new(beginnings, draws, options);
        lap(0);
        let stepped = schedule.steps().await;
        lap(1);
        let violation = match stepped {
            Ok(()) => schedule.end(beginnings, expected).await.err(),
            Err(violation) => Some(violation),
        };
        lap(2);
        let requests = schedule.world.gate.lock().requests;
        Outcome {
            violation,
            steps: schedule.steps,
            requests,
            decisions: schedule.draws.taken(),
            times,
            fingerprint: schedule.fingerprint,
            trace: schedule.trace,
        }
    })
}

/// Lists steer nothing by their moment, and a lease in a healed world is renewed again and again.
fn is_told(request: &Performed) -> bool {
    !is_read_of_many(&request.method, &request.path) && !request.path.contains("/leases")
}

impl Schedule {
    fn new(beginnings: &Beginnings, draws: Draws, options: &Options) -> Self {
        match options.form {
            Some(Form::Rollout) => Self::of_rollouts(beginnings, draws, options),
            _ => Self::of_applications(beginnings, draws, options),
        }
    }

    /// Most begin where pods run or a rollout is under way, and are about a few acts from there.
    fn of_rollouts(beginnings: &Beginnings, mut draws: Draws, options: &Options) -> Self {
        let at = match draws.weighted(&[8, 3, 1]) {
            0 => draws.below(beginnings.scenes.len()),
            other => {
                let fresh: Vec<usize> =
                    (0..beginnings.scenes.len()).filter(|at| !beginnings.scenes[*at].rolls).collect();
                let which = draws.below(fresh.len() / 2) * 2 + usize::from(other == 2);
                fresh[which]
            }
        };
        let scene = &beginnings.scenes[at];
        let people = People::new(&mut draws, scene.kind);
        let replicas =
            if draws.once_in(8) || options.sabotage == Some(Sabotage::EverybodyLeads) { 2 } else { 1 };
        let world = SimulatedCluster::new(&scene.beginning, Form::Rollout, replicas, options.sabotage);
        let ledger = Ledger::new(&world.server, scene.kind);
        let checker = Checker::of_rollouts(&world.server, replicas > 1, ledger);
        let brief = !draws.once_in(8);
        let actions_left = if brief { draws.below(4) } else { 2 + draws.below(6) };
        Self {
            world,
            checker,
            user: User::of_rollouts(),
            people: Some((people, at)),
            draws,
            brief,
            actions_left,
            steps: 0,
            fingerprint: 0,
            keep_trace: options.trace,
            trace: Vec::new(),
        }
    }

    fn of_applications(beginnings: &Beginnings, mut draws: Draws, options: &Options) -> Self {
        let user = User::new(&mut draws);
        let brief = !draws.once_in(8);
        let replicas =
            if draws.once_in(4) || options.sabotage == Some(Sabotage::EverybodyLeads) { 2 } else { 1 };
        let fresh = !brief && draws.once_in(4);
        let beginning = if fresh { &beginnings.fresh } else { &beginnings.known };
        let world = SimulatedCluster::new(beginning, user.form, replicas, options.sabotage);
        let checker = Checker::new(&world.server, replicas > 1);
        let actions_left = if brief { 1 + draws.below(3) } else { 2 + draws.below(5) };
        Self {
            world,
            checker,
            user,
            people: None,
            draws,
            brief,
            actions_left,
            steps: 0,
            fingerprint: 0,
            keep_trace: options.trace,
            trace: Vec::new(),
        }
    }

    async fn steps(&mut self) -> Result<(), Violation> {
        let reads_open = !self.draws.once_in(8);
        self.world.gate.reads_open(reads_open);
        self.world.start_all();
        self.world.settle_step().await;
        if self.people.is_none() {
            let first = self.user.create(&self.world);
            self.note(|| first);
        }
        while self.steps < STEPS_AT_MOST {
            self.steps += 1;
            self.world.settle_step().await;
            self.check()?;
            if self.draws.is_calm()
                || self.actions_left == 0 && self.draws.once_in(if self.brief { 6 } else { 20 })
            {
                break;
            }
            self.step().await?;
        }
        Ok(())
    }

    async fn end(
        &mut self,
        beginnings: &Beginnings,
        expected: &mut settle::Expected,
    ) -> Result<(), Violation> {
        let Some((people, at)) = self.people.clone() else {
            return settle::end(self, &beginnings.known, expected).await;
        };
        let beginning = &beginnings.scenes[at].beginning;
        rollout::end(self, &people, (at, beginning), &mut expected.rollouts).await
    }

    /// Everything goes on for a while: rollouts have many steps, and what is rare must be able to happen late.
    async fn stretch(&mut self) -> Result<(), Violation> {
        let rounds = 1 + self.draws.below(STRETCH_AT_MOST);
        self.note(|| format!("{rounds} rounds in which everything goes on"));
        for round in 0..rounds {
            let asked: Vec<u64> = self.world.gate.lock().pending.keys().copied().collect();
            asked.into_iter().for_each(|id| self.world.gate.pass(id));
            self.world.deliver_all();
            if round % 2 == 1 {
                self.world.turn();
            }
            self.world.settle_step().await;
            self.check()?;
        }
        Ok(())
    }

    fn act(&mut self) {
        self.actions_left -= 1;
        let done = match (&mut self.people, &mut self.checker.rollouts) {
            (Some((people, _)), Some(ledger)) => people.act(&mut self.draws, &self.world, ledger),
            _ => self.user.act(&mut self.draws, &self.world, &mut self.checker),
        };
        self.note(|| done);
    }

    /// Judge what happened since the last time.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        let performed = std::mem::take(&mut self.world.gate.lock().performed);
        for request in performed.iter().filter(|request| is_told(request)) {
            self.note(|| {
                format!(
                    "    process {} {} {} → {}",
                    request.process,
                    request.method,
                    request.path,
                    request.code.as_u16()
                )
            });
        }
        self.checker.check(&self.world.server, &performed)?;
        if self.world.gate.is_overrun() {
            let last = &self.checker.last_write;
            return Err(Violation::new("quiet", format!("requests without end in one moment; last: {last}")));
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<(), Violation> {
        let (asked, answered, ready) = {
            let state = self.world.gate.lock();
            let of = |asked: bool| {
                let chosen = state.pending.iter().filter(|(_, pending)| pending.is_asked() == asked);
                chosen.map(|(id, _)| *id).collect::<Vec<u64>>()
            };
            let ready = state.watches.iter().filter(|(_, watch)| !watch.lines.is_empty());
            (of(true), of(false), ready.map(|(id, _)| *id).collect::<Vec<u64>>())
        };
        let some = |there: bool, weight: u32| if there { weight } else { 0 };
        let weights = [
            some(!asked.is_empty(), 40),
            some(!ready.is_empty(), 30),
            some(!answered.is_empty(), 8),
            8,
            some(self.actions_left > 0, if self.brief { 14 } else { 7 }),
            some(!asked.is_empty(), 8),
            some(!ready.is_empty(), 8),
            2,
            2,
            3,
            some(self.people.is_some(), STRETCHES),
        ];
        match self.draws.weighted(&weights) {
            // The calm decision: whatever waits longest goes on.
            0 if !asked.is_empty() => self.request(asked[0]),
            0 | 3 => self.cluster().await,
            1 => {
                let watch = ready[self.draws.below(ready.len())];
                let name = self.watch_name(watch);
                self.note(|| format!("one line of watch {name}"));
                self.world.gate.deliver(watch, 1);
            }
            2 => {
                let id = answered[self.draws.below(answered.len())];
                let name = self.name(id);
                self.note(|| format!("answered: {name}"));
                self.world.gate.answer(id);
            }
            4 => self.act(),
            5 => {
                let id = asked[self.draws.below(asked.len())];
                self.request_unusual(id);
            }
            6 => {
                let watch = ready[self.draws.below(ready.len())];
                let name = self.watch_name(watch);
                self.note(|| format!("all lines of watch {name}"));
                let lines = self.world.gate.lock().watches.get(&watch).map_or(0, |watch| watch.lines.len());
                self.world.gate.deliver(watch, lines);
            }
            7 => self.lose_a_watch(),
            8 => self.kill_or_start(),
            10 => return self.stretch().await,
            _ => {
                let times = [20, 100, 1000, 2500, 12_000];
                let time = Duration::from_millis(times[self.draws.below(times.len())]);
                self.note(|| format!("{time:?} pass"));
                self.world.pass(time).await;
            }
        }
        Ok(())
    }

    fn request(&mut self, id: u64) {
        let name = self.name(id);
        self.note(|| format!("goes through: {name}"));
        self.world.gate.pass(id);
    }

    fn request_unusual(&mut self, id: u64) {
        let what = self.draws.below(9);
        let name = self.name(id);
        self.note(|| {
            let words = [
                "goes through out of turn",
                "goes through out of turn",
                "goes through, the answer waits",
                "goes through, the answer is lost",
                "is lost",
                "goes through, the answer waits",
                "is refused with 409",
                "is refused with 429",
                "is refused with 500",
            ];
            format!("{}: {name}", words.get(what).copied().unwrap_or_default())
        });
        let gate = &self.world.gate;
        match what {
            0 | 1 => gate.pass(id),
            2 | 5 => gate.perform(id),
            3 => {
                gate.perform(id);
                gate.drop_one(id);
            }
            4 => gate.drop_one(id),
            6 => gate.refuse(id, StatusCode::CONFLICT),
            7 => gate.refuse(id, StatusCode::TOO_MANY_REQUESTS),
            _ => gate.refuse(id, StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn name(&self, request: u64) -> String {
        let state = self.world.gate.lock();
        let pending = state.pending.get(&request);
        let name =
            |pending: &Pending| format!("process {} {} {}", pending.process, pending.method, pending.path);
        pending.map(name).unwrap_or_default()
    }

    fn watch_name(&self, watch: u64) -> String {
        let state = self.world.gate.lock();
        let name = |watch: &Watch| {
            format!("{} of process {}", watch.path.split('?').next().unwrap_or_default(), watch.process)
        };
        state.watches.get(&watch).map(name).unwrap_or_default()
    }

    async fn cluster(&mut self) {
        self.note(|| "the cluster moves".to_owned());
        self.world.turn();
    }

    fn lose_a_watch(&mut self) {
        let watches: Vec<u64> = self.world.gate.lock().watches.keys().copied().collect();
        if watches.is_empty() {
            return;
        }
        let watch = watches[self.draws.below(watches.len())];
        let how = [Lost::Broken, Lost::Expired][self.draws.below(2)];
        let name = self.watch_name(watch);
        self.note(|| format!("watch {name} is lost: {how:?}"));
        self.world.gate.lose(watch, how);
    }

    fn kill_or_start(&mut self) {
        let replica = self.draws.below(self.world.replicas());
        if self.world.process(replica).is_some() {
            self.note(|| format!("replica {replica} is killed"));
            self.world.kill(replica);
            if self.draws.below(3) > 0 {
                return;
            }
        }
        self.note(|| format!("replica {replica} starts"));
        self.world.start(replica);
    }

    /// True once in so many schedules.
    pub(crate) fn draws_once_in(&mut self, times: usize) -> bool {
        self.draws.once_in(times)
    }

    /// Remember that this happened; the words are made only where somebody reads them.
    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        let words = words();
        for byte in words.bytes() {
            self.fingerprint = (self.fingerprint ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.keep_trace {
            self.trace.push(words);
        }
    }
}
