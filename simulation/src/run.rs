//! Runs one schedule: chooses one step after the other, checks every promise after each, heals, and ends.

use std::time::Duration;

use http::StatusCode;
use vela_embedded::virtual_time;

use crate::checkpoints::Checkpoints;
use crate::draws::Draws;
use crate::model::Form;
use crate::network::{Lost, Pending};
use crate::outcome::Outcome;
use crate::rollout;
use crate::sabotage::Sabotage;
use crate::schedule::{Options, Schedule};
use crate::settle;
use crate::subject::Schedules;
use crate::user::User;
use crate::violation::Violation;

/// Steps before peace is made, at most.
const STEPS_AT_MOST: usize = 400;
/// Rounds of a rollout in which everything goes on, at most.
const STRETCH_AT_MOST: usize = 8;
/// How heavy that weighs against a single request.
const STRETCHES: u32 = 16;

/// What runs without faults come to, made once by each thread.
#[derive(Default)]
pub(crate) struct Baselines {
    applications: settle::Expected,
    rollouts: rollout::EndStates,
}

/// Schedules of applications, from these checkpoints.
pub(crate) struct Applications<'a> {
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) form: Option<Form>,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Schedules for Applications<'_> {
    type Baselines = Baselines;

    fn has(&self, seed: u64) -> bool {
        let drawn = self.form.filter(|form| form.is_drawn());
        drawn.is_none_or(|form| User::new(&mut Draws::new(seed)).form == form)
    }

    fn run(&self, draws: Draws, keep_trace: bool, baselines: &mut Baselines) -> Outcome {
        let options = Options { form: self.form, sabotage: self.sabotage, trace: keep_trace };
        run(self.checkpoints, draws, &options, baselines)
    }

    fn words(&self) -> &'static str {
        match self.form {
            Some(Form::Rollout) => " --form rollout",
            Some(Form::RolloutSeed) => " --form rollout-seed",
            Some(Form::Workflow) => " --form workflow",
            _ => "",
        }
    }
}

/// Run one schedule to its end, on this thread.
pub(crate) fn run(
    checkpoints: &Checkpoints,
    draws: Draws,
    options: &Options,
    baselines: &mut Baselines,
) -> Outcome {
    let ran = virtual_time::run(async {
        let mut times = [Duration::ZERO; 3];
        let mut began = std::time::Instant::now();
        let mut measure =
            |at: usize| times[at] = std::mem::replace(&mut began, std::time::Instant::now()).elapsed();
        let mut schedule = Schedule::new(checkpoints, draws, options);
        measure(0);
        let stepped = schedule.steps().await;
        measure(1);
        let violation = match stepped {
            Ok(()) => schedule.end(checkpoints, baselines).await.err(),
            Err(violation) => Some(violation),
        };
        measure(2);
        let requests = schedule.cluster.network.lock().requests;
        Outcome {
            violation,
            steps: schedule.steps,
            requests,
            decisions: schedule.draws.taken(),
            times,
            fingerprint: schedule.fingerprint,
            trace: schedule.trace,
        }
    });
    ran.unwrap_or_else(Outcome::broken)
}

impl Schedule {
    async fn steps(&mut self) -> Result<(), Violation> {
        let reads_open = !self.draws.once_in(8);
        self.cluster.network.reads_open(reads_open);
        self.cluster.start_all();
        self.cluster.settle_step().await;
        if self.rollout_user.is_none() {
            let first = self.user.create(&self.cluster);
            self.note(|| first);
        }
        while self.steps < STEPS_AT_MOST {
            self.steps += 1;
            self.cluster.settle_step().await;
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

    async fn end(&mut self, checkpoints: &Checkpoints, baselines: &mut Baselines) -> Result<(), Violation> {
        let Some((user, at)) = self.rollout_user.clone() else {
            return settle::end(self, &checkpoints.recorded, &mut baselines.applications).await;
        };
        let checkpoint = &checkpoints.rollouts[at].checkpoint;
        rollout::end(self, &user, (at, checkpoint), &mut baselines.rollouts).await
    }

    /// Everything goes on for a while: rollouts have many steps, and what is rare must be able to happen late.
    async fn stretch(&mut self) -> Result<(), Violation> {
        let rounds = 1 + self.draws.below(STRETCH_AT_MOST);
        self.note(|| format!("{rounds} rounds in which everything goes on"));
        for round in 0..rounds {
            let asked: Vec<u64> = self.cluster.network.lock().pending.keys().copied().collect();
            asked.into_iter().for_each(|id| self.cluster.network.pass(id));
            self.cluster.network.watches.deliver_all();
            if round % 2 == 1 {
                self.cluster.turn();
            }
            self.cluster.settle_step().await;
            self.check()?;
        }
        Ok(())
    }

    fn act(&mut self) {
        self.actions_left -= 1;
        let done = match (&mut self.rollout_user, &mut self.checker.rollouts) {
            (Some((user, _)), Some(checker)) => user.act(&mut self.draws, &self.cluster, checker),
            _ => self.user.act(&mut self.draws, &self.cluster, &mut self.checker),
        };
        self.note(|| done);
    }

    async fn step(&mut self) -> Result<(), Violation> {
        let (asked, answered, ready) = {
            let state = self.cluster.network.lock();
            let of = |asked: bool| {
                let chosen = state.pending.iter().filter(|(_, pending)| pending.is_asked() == asked);
                chosen.map(|(id, _)| *id).collect::<Vec<u64>>()
            };
            (of(true), of(false), self.cluster.network.watches.ready())
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
            some(self.rollout_user.is_some(), STRETCHES),
        ];
        match self.draws.weighted(&weights) {
            // The calm decision: whatever waits longest goes on.
            0 if !asked.is_empty() => self.request(asked[0]),
            0 | 3 => self.cluster().await,
            1 => {
                let watch = ready[self.draws.below(ready.len())];
                let name = self.cluster.network.watches.name(watch);
                self.note(|| format!("one line of watch {name}"));
                self.cluster.network.watches.deliver(watch, 1);
            }
            2 => {
                let id = answered[self.draws.below(answered.len())];
                let name = self.name(id);
                self.note(|| format!("answered: {name}"));
                self.cluster.network.answer(id);
            }
            4 => self.act(),
            5 => {
                let id = asked[self.draws.below(asked.len())];
                self.request_unusual(id);
            }
            6 => {
                let watch = ready[self.draws.below(ready.len())];
                let name = self.cluster.network.watches.name(watch);
                self.note(|| format!("all lines of watch {name}"));
                let lines = self.cluster.network.watches.lines(watch);
                self.cluster.network.watches.deliver(watch, lines);
            }
            7 => self.lose_a_watch(),
            8 => self.kill_or_start(),
            10 => return self.stretch().await,
            _ => {
                let times = [20, 100, 1000, 2500, 12_000];
                let time = Duration::from_millis(times[self.draws.below(times.len())]);
                self.note(|| format!("{time:?} pass"));
                self.cluster.pass(time).await;
            }
        }
        Ok(())
    }

    fn request(&mut self, id: u64) {
        let name = self.name(id);
        self.note(|| format!("goes through: {name}"));
        self.cluster.network.pass(id);
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
        let network = &self.cluster.network;
        match what {
            0 | 1 => network.pass(id),
            2 | 5 => network.perform(id),
            3 => {
                network.perform(id);
                network.drop_one(id);
            }
            4 => network.drop_one(id),
            6 => network.refuse(id, StatusCode::CONFLICT),
            7 => network.refuse(id, StatusCode::TOO_MANY_REQUESTS),
            _ => network.refuse(id, StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn name(&self, request: u64) -> String {
        let state = self.cluster.network.lock();
        let pending = state.pending.get(&request);
        let name =
            |pending: &Pending| format!("process {} {} {}", pending.process, pending.method, pending.path);
        pending.map(name).unwrap_or_default()
    }

    async fn cluster(&mut self) {
        self.note(|| "the cluster moves".to_owned());
        self.cluster.turn();
    }

    fn lose_a_watch(&mut self) {
        let watches: Vec<u64> = self.cluster.network.watches.all();
        if watches.is_empty() {
            return;
        }
        let watch = watches[self.draws.below(watches.len())];
        let how = [Lost::Broken, Lost::Expired][self.draws.below(2)];
        let name = self.cluster.network.watches.name(watch);
        self.note(|| format!("watch {name} is lost: {how:?}"));
        self.cluster.network.watches.lose(watch, how);
    }

    fn kill_or_start(&mut self) {
        let replica = self.draws.below(self.cluster.replicas());
        if self.cluster.process(replica).is_some() {
            self.note(|| format!("replica {replica} is killed"));
            self.cluster.kill(replica);
            if self.draws.below(3) > 0 {
                return;
            }
        }
        self.note(|| format!("replica {replica} starts"));
        self.cluster.start(replica);
    }
}
