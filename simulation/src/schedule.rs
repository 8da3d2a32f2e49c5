//! The state of a schedule under way: its cluster, checker and actors, what was decided and noted so far.

use vela_embedded::EmbeddedCluster;

use crate::checker::Checker;
use crate::checkpoints::Checkpoints;
use crate::cluster::SimulatedCluster;
use crate::draws::Draws;
use crate::model::Form;
use crate::network::{Performed, is_read_of_many};
use crate::outcome::Outcome;
use crate::rollout::{RolloutChecker, RolloutUser};
use crate::sabotage::Sabotage;
use crate::user::User;
use crate::violation::Violation;
use crate::workflow::WorkflowChecker;

/// The settings of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Rollouts, or else what the seed says.
    pub(crate) form: Option<Form>,
    pub(crate) sabotage: Option<Sabotage>,
    /// Keep what happened, for people.
    pub(crate) trace: bool,
}

/// One schedule under way: its cluster, who judges, who acts, and what was decided so far.
pub(crate) struct Schedule {
    pub(crate) cluster: SimulatedCluster,
    pub(crate) checker: Checker,
    pub(crate) user: User,
    /// Who rolls out, where that is what it is about; and the number of the checkpoint from which they begin.
    pub(crate) rollout_user: Option<(RolloutUser, usize)>,
    pub(crate) draws: Draws,
    /// Most schedules are: little happens, in every order. The others try what takes long.
    pub(crate) brief: bool,
    pub(crate) actions_left: usize,
    pub(crate) steps: usize,
    /// A hash of everything that happened.
    pub(crate) fingerprint: u64,
    keep_trace: bool,
    pub(crate) trace: Vec<String>,
}

/// Lists steer nothing by their moment, and a lease in a healed cluster is renewed again and again.
fn is_noted(request: &Performed) -> bool {
    !is_read_of_many(&request.method, &request.path) && !request.path.contains("/leases")
}

/// The beginning of a schedule.
struct Beginning {
    cluster: SimulatedCluster,
    checker: Checker,
    user: User,
    rollout_user: Option<(RolloutUser, usize)>,
    brief: bool,
    actions_left: usize,
}

impl Beginning {
    /// Most begin where pods run or a rollout is under way, and are about a few acts from there.
    fn of_rollouts(checkpoints: &Checkpoints, draws: &mut Draws, options: &Options) -> Self {
        let at = match draws.weighted(&[8, 3, 1]) {
            0 => draws.below(checkpoints.rollouts.len()),
            other => {
                let fresh: Vec<usize> =
                    (0..checkpoints.rollouts.len()).filter(|at| !checkpoints.rollouts[*at].rolls).collect();
                let which = draws.below(fresh.len() / 2) * 2 + usize::from(other == 2);
                fresh[which]
            }
        };
        let start = &checkpoints.rollouts[at];
        let rollout_user = RolloutUser::new(draws, start.kind);
        let replicas = replicas(draws, 8, options);
        let embedded = EmbeddedCluster::fork(&start.checkpoint);
        let cluster = SimulatedCluster::new(embedded, start.kind.form(), replicas, options.sabotage);
        let rollouts = RolloutChecker::new(cluster.server(), start.kind);
        let checker = Checker::of_rollouts(cluster.server(), replicas > 1, rollouts);
        let brief = !draws.once_in(8);
        let actions_left = if brief { draws.below(4) } else { 2 + draws.below(6) };
        let (user, rollout_user) = (User::of_rollouts(), Some((rollout_user, at)));
        Self { cluster, checker, user, rollout_user, brief, actions_left }
    }

    fn of_applications(checkpoints: &Checkpoints, draws: &mut Draws, options: &Options) -> Self {
        let user = User::new(draws);
        let runs = options.form == Some(Form::Workflow);
        let user = if runs { user.with_workflow() } else { user };
        let brief = !draws.once_in(8);
        let replicas = replicas(draws, 4, options);
        let fresh = !brief && draws.once_in(4);
        let checkpoint = if fresh { &checkpoints.fresh } else { &checkpoints.recorded };
        let embedded = EmbeddedCluster::fork(checkpoint);
        let cluster = SimulatedCluster::new(embedded, user.form, replicas, options.sabotage);
        let mut checker = Checker::new(cluster.server(), replicas > 1);
        checker.workflows = runs.then(|| WorkflowChecker::new(cluster.outside.clone()));
        let actions_left = if brief { 1 + draws.below(3) } else { 2 + draws.below(5) };
        Self { cluster, checker, user, rollout_user: None, brief, actions_left }
    }
}

/// Processes of the controllers: two once in so many schedules, and where the sabotage needs both.
fn replicas(draws: &mut Draws, once_in: usize, options: &Options) -> usize {
    if draws.once_in(once_in) || options.sabotage == Some(Sabotage::EverybodyLeads) { 2 } else { 1 }
}

impl Schedule {
    /// A schedule before its first step.
    pub(crate) fn new(checkpoints: &Checkpoints, mut draws: Draws, options: &Options) -> Self {
        let beginning = match options.form {
            Some(form) if form.rolls() => Beginning::of_rollouts(checkpoints, &mut draws, options),
            _ => Beginning::of_applications(checkpoints, &mut draws, options),
        };
        let Beginning { cluster, checker, user, rollout_user, brief, actions_left } = beginning;
        Self {
            cluster,
            checker,
            user,
            rollout_user,
            draws,
            brief,
            actions_left,
            steps: 0,
            fingerprint: 0,
            keep_trace: options.trace,
            trace: Vec::new(),
        }
    }

    /// Judge what happened since the last time.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        let performed = std::mem::take(&mut self.cluster.network.lock().performed);
        for request in performed.iter().filter(|request| is_noted(request)) {
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
        self.checker.check(self.cluster.server(), &performed)?;
        if self.cluster.network.is_overrun() {
            let last = &self.checker.last_write;
            return Err(Violation::new("quiet", format!("requests without end in one moment; last: {last}")));
        }
        Ok(())
    }

    /// Remembers that this happened: in the fingerprint, and in words where a person will read them.
    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        let words = words();
        self.fingerprint = Outcome::fingerprint(self.fingerprint, &words);
        if self.keep_trace {
            self.trace.push(words);
        }
    }
}
