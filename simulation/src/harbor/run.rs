//! Runs one schedule: chooses one step after the other, checks every promise after each, heals, and ends.

use std::time::{Duration, Instant};

use http::StatusCode;
use vela_embedded::virtual_time;

use super::checkpoints::Checkpoints;
use super::end::{self, Expected};
use super::schedule::Schedule;
use crate::draws::Draws;
use crate::network::Lost;
use crate::outcome::Outcome;
use crate::sabotage::Sabotage;
use crate::subject::Schedules;
use crate::violation::Violation;

/// Steps before peace is made, at most.
const STEPS_AT_MOST: usize = 500;
/// Rounds in which everything goes on, at most.
const STRETCH_AT_MOST: usize = 8;

/// Schedules of a Harbor, from these checkpoints.
pub(crate) struct Harbors<'a> {
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Schedules for Harbors<'_> {
    type Baselines = Expected;

    fn has(&self, _: u64) -> bool {
        true
    }

    fn run(&self, draws: Draws, keep_trace: bool, expected: &mut Expected) -> Outcome {
        let ran = virtual_time::run(async {
            let mut times = [Duration::ZERO; 3];
            let mut began = Instant::now();
            let mut measure = |at: usize| times[at] = std::mem::replace(&mut began, Instant::now()).elapsed();
            let mut schedule = Schedule::new(self.checkpoints, draws, self.sabotage, keep_trace);
            measure(0);
            let stepped = schedule.steps().await;
            measure(1);
            let violation = match stepped {
                Ok(()) => end::end(&mut schedule, &self.checkpoints.settled, expected).await.err(),
                Err(violation) => Some(violation),
            };
            measure(2);
            let requests = schedule.cluster.network.lock().requests;
            let Schedule { steps, fingerprint, trace, draws, .. } = schedule;
            Outcome { violation, steps, requests, decisions: draws.taken(), times, fingerprint, trace }
        });
        ran.unwrap_or_else(Outcome::broken)
    }

    fn words(&self) -> &'static str {
        " --form harbor"
    }
}

impl Schedule {
    async fn steps(&mut self) -> Result<(), Violation> {
        let reads_open = !self.draws.once_in(8);
        self.cluster.network.reads_open(reads_open);
        self.start()?;
        self.cluster.settle_step().await;
        while self.steps < STEPS_AT_MOST {
            self.steps += 1;
            self.cluster.settle_step().await;
            self.check()?;
            if self.draws.is_calm() || self.actions_left == 0 && self.draws.once_in(30) {
                break;
            }
            self.step().await?;
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<(), Violation> {
        let (asked, answered) = {
            let state = self.cluster.network.lock();
            let of = |asked: bool| {
                let chosen = state.pending.iter().filter(|(_, pending)| pending.is_asked() == asked);
                chosen.map(|(id, _)| *id).collect::<Vec<u64>>()
            };
            (of(true), of(false))
        };
        let ready = self.cluster.network.watches.ready();
        let some = |there: bool, weight: u32| if there { weight } else { 0 };
        let weights = [
            some(!asked.is_empty(), 40),
            some(!ready.is_empty(), 20),
            some(!answered.is_empty(), 8),
            8,
            some(self.actions_left > 0, 6),
            some(!asked.is_empty(), 10),
            3,
            3,
            4,
            16,
        ];
        match self.draws.weighted(&weights) {
            0 if !asked.is_empty() => {
                self.note(|| "the oldest request goes through".to_owned());
                self.cluster.network.pass(asked[0]);
            }
            1 => {
                let watch = ready[self.draws.below(ready.len())];
                let name = self.cluster.network.watches.name(watch);
                let lines = [1, self.cluster.network.watches.lines(watch)][self.draws.below(2)];
                self.note(|| format!("{lines} lines of watch {name}"));
                self.cluster.network.watches.deliver(watch, lines);
            }
            2 => {
                self.note(|| "an answer arrives".to_owned());
                self.cluster.network.answer(answered[self.draws.below(answered.len())]);
            }
            4 => {
                self.actions_left -= 1;
                let done = self.user.act(&mut self.draws, &self.cluster, &mut self.checker);
                self.note(|| done);
            }
            5 => {
                let id = asked[self.draws.below(asked.len())];
                self.request_unusual(id);
            }
            6 => self.lose_a_watch(),
            7 => return self.kill_or_start(),
            8 => {
                let times = [20, 100, 1000, 2500, 12_000];
                let time = Duration::from_millis(times[self.draws.below(times.len())]);
                self.note(|| format!("{time:?} pass"));
                self.cluster.pass(time).await;
            }
            9 => return self.stretch().await,
            _ => self.the_cluster_moves(),
        }
        Ok(())
    }

    fn the_cluster_moves(&mut self) {
        self.cluster.turn();
        let issued = self.draws.once_in(3) && self.cluster.issue();
        self.note(|| format!("the cluster moves; certificates are issued: {issued}"));
    }

    /// Everything goes on for a while: a graph has many steps, and what is rare must be able to happen late.
    async fn stretch(&mut self) -> Result<(), Violation> {
        let rounds = 1 + self.draws.below(STRETCH_AT_MOST);
        self.note(|| format!("{rounds} rounds in which everything goes on"));
        for round in 0..rounds {
            let asked: Vec<u64> = self.cluster.network.lock().pending.keys().copied().collect();
            asked.into_iter().for_each(|id| self.cluster.network.pass(id));
            self.cluster.network.watches.deliver_all();
            if round % 2 == 1 {
                self.the_cluster_moves();
            }
            self.cluster.settle_step().await;
            self.check()?;
        }
        Ok(())
    }

    fn request_unusual(&mut self, id: u64) {
        let what = self.draws.below(7);
        let words = [
            "goes through out of turn",
            "goes through, the answer waits",
            "goes through, the answer is lost",
            "is lost",
            "is refused with 409",
            "is refused with 429",
            "is refused with 500",
        ];
        let name = {
            let state = self.cluster.network.lock();
            state.pending.get(&id).map(|pending| format!("{} {}", pending.method, pending.path))
        };
        self.note(|| format!("{}: {}", words[what], name.unwrap_or_default()));
        let network = &self.cluster.network;
        match what {
            0 => network.pass(id),
            1 => network.perform(id),
            2 => {
                network.perform(id);
                network.drop_one(id);
            }
            3 => network.drop_one(id),
            4 => network.refuse(id, StatusCode::CONFLICT),
            5 => network.refuse(id, StatusCode::TOO_MANY_REQUESTS),
            _ => network.refuse(id, StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn lose_a_watch(&mut self) {
        let watches = self.cluster.network.watches.all();
        if watches.is_empty() {
            return;
        }
        let watch = watches[self.draws.below(watches.len())];
        let how = [Lost::Broken, Lost::Expired][self.draws.below(2)];
        let name = self.cluster.network.watches.name(watch);
        self.note(|| format!("watch {name} is lost: {how:?}"));
        self.cluster.network.watches.lose(watch, how);
    }

    fn kill_or_start(&mut self) -> Result<(), Violation> {
        if self.cluster.is_running() {
            self.note(|| "the operator is killed".to_owned());
            self.cluster.kill();
            if self.draws.below(3) > 0 {
                return Ok(());
            }
        }
        self.note(|| "the operator starts".to_owned());
        self.start()
    }
}
