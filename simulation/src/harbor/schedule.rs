//! The state of a schedule under way: its cluster, checker and actors, what was decided and noted so far.

use super::checker::Checker;
use super::checkpoints::Checkpoints;
use super::cluster::Cluster;
use super::model::ASKING;
use super::user::User;
use crate::draws::Draws;
use crate::network::is_read_of_many;
use crate::outcome::Outcome;
use crate::sabotage::Sabotage;
use crate::violation::Violation;

/// One schedule under way.
pub(super) struct Schedule {
    pub(super) cluster: Cluster,
    pub(super) checker: Checker,
    pub(super) user: User,
    pub(super) draws: Draws,
    pub(super) actions_left: usize,
    pub(super) steps: usize,
    /// A hash of everything that happened.
    pub(super) fingerprint: u64,
    keep_trace: bool,
    /// What happened, in words.
    pub(super) trace: Vec<String>,
}

impl Schedule {
    /// Most begin with a Harbor that has settled: its secrets cost more than all else.
    pub(super) fn new(
        checkpoints: &Checkpoints,
        mut draws: Draws,
        sabotage: Option<Sabotage>,
        keep_trace: bool,
    ) -> Self {
        let is_fresh = draws.once_in(4);
        let checkpoint = if is_fresh { &checkpoints.fresh } else { &checkpoints.settled };
        let cluster = Cluster::new(checkpoint, sabotage);
        let checker = Checker::new(cluster.server());
        let actions_left = 1 + draws.below(4);
        let user = User::new(!is_fresh);
        if draws.once_in(2) {
            User::ask(&cluster, ASKING[0], true);
        }
        let trace = Vec::new();
        Self { cluster, checker, user, draws, actions_left, steps: 0, fingerprint: 0, keep_trace, trace }
    }

    /// The operator runs from now on, where it did not.
    pub(super) fn start(&mut self) -> Result<(), Violation> {
        self.cluster.start().map_err(|error| Violation::new("runtime", error))
    }

    /// Judges what happened since the last time.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        let performed = std::mem::take(&mut self.cluster.network.lock().performed);
        for request in performed.iter().filter(|request| !is_read_of_many(&request.method, &request.path)) {
            self.note(|| {
                let (process, code) = (request.process, request.code.as_u16());
                format!("    process {process} {} {} → {code}", request.method, request.path)
            });
        }
        let cluster = &self.cluster;
        self.checker.check((cluster.server(), &cluster.registry), &performed)?;
        match self.cluster.network.is_overrun() {
            true => {
                let last = &self.checker.last_write;
                Err(Violation::new("quiet", format!("requests without end in one moment; last: {last}")))
            }
            false => Ok(()),
        }
    }

    /// Remembers that this happened: in the fingerprint, and in words where a person will read them.
    pub(super) fn note(&mut self, words: impl FnOnce() -> String) {
        let words = words();
        self.fingerprint = Outcome::fingerprint(self.fingerprint, &words);
        if self.keep_trace {
            self.trace.push(words);
        }
    }
}
