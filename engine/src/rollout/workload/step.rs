//! The inputs of one step of a workload, the actions that the step may ask for, and the operations of every way to roll
//! out.

use serde_json::Value as Json;
use vela_crds::{RolloutPlan, RolloutStatus};

use crate::observed::ObjectKey;

/// The inputs of a rollout in one reconcile.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The plan as it is now.
    pub plan: &'a RolloutPlan,
    /// The status as it was stored.
    pub status: &'a RolloutStatus,
    /// Where pods come from; nothing when it is not there. In place, and in a scale, it means nothing.
    pub source: Option<&'a Json>,
    /// Deployments that this rollout left with pods when it was turned to another target: their pods are replaced like
    /// those of the source, and before them.
    pub leftovers: &'a [Json],
    /// Did it stop half-way on the way to another target? Then the sizes it began with are meant, not those it left.
    pub is_turned: bool,
    /// Where pods go to, or the workload that is changed in place; nothing when it is not there.
    pub target: Option<&'a Json>,
    /// The pods of the target.
    pub pods: &'a [Json],
    /// The owner of the rollout.
    pub owner: &'a Owner,
}

/// The owner of the rollout, as owner references name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `core.oam.dev/v1beta1`.
    pub api_version: String,
    /// `AppRollout`, or `Application` for an inline plan.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The uids of those that lend it the workloads they control: they belong to the same application.
    pub lenders: Vec<String>,
}

/// How a step ended, provided that what it writes is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The state machine goes on.
    Done,
    /// Not yet, and why.
    Wait(String),
    /// It cannot be done, and why.
    Fail(String),
}

/// A write that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A merge patch; it names the version that was read, so that nothing is decided on what is no longer so.
    Patch {
        /// The patched object.
        object: ObjectKey,
        /// With what.
        patch: Json,
    },
    /// An old pod goes, so that its controller makes a new one.
    Delete {
        /// The pod.
        object: ObjectKey,
        /// The one that was seen.
        uid: String,
    },
}

/// An event for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Does it need a look by a user?
    pub warning: bool,
    /// In a word or two.
    pub reason: &'static str,
    /// In a sentence.
    pub message: String,
}

/// The memory for the status; without one the status stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Pods before.
    pub original_size: Option<i64>,
    /// Pods in the end.
    pub target_size: Option<i64>,
    /// Which pod template is rolled out.
    pub target_generation: Option<String>,
    /// Which one was.
    pub last_applied: Option<String>,
    /// Pods that were replaced.
    pub upgraded: Option<i64>,
    /// Those of them that are ready.
    pub upgraded_ready: Option<i64>,
}

/// One step of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadStep {
    /// How it ended.
    pub outcome: Outcome,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// The message for people.
    pub notes: Vec<Note>,
    /// The memory for the status.
    pub record: Record,
}

/// The operations of every way to roll out. Each step may be asked for again, and then asks for nothing that is done.
pub trait Workload {
    /// Does the plan fit? The rollout has claimed no workload yet.
    fn verify(&self, view: &View<'_>) -> WorkloadStep;
    /// Claims the workloads and brings them into the position from which batches start.
    fn initialize(&self, view: &View<'_>) -> WorkloadStep;
    /// Brings the sizes to where the current batch ends.
    fn roll_batch(&self, view: &View<'_>) -> WorkloadStep;
    /// Is the current batch there?
    fn check_batch(&self, view: &View<'_>) -> WorkloadStep;
    /// Does the bookkeeping still agree with the workloads?
    fn finalize_batch(&self, view: &View<'_>) -> WorkloadStep;
    /// Lets go. An absent workload needs no release.
    fn finalize(&self, view: &View<'_>, succeeded: bool) -> WorkloadStep;
}

impl WorkloadStep {
    fn new(outcome: Outcome) -> Self {
        Self { outcome, writes: Vec::new(), notes: Vec::new(), record: Record::default() }
    }

    pub(super) fn done() -> Self {
        Self::new(Outcome::Done)
    }

    pub(in crate::rollout) fn wait(why: impl Into<String>) -> Self {
        Self::new(Outcome::Wait(why.into()))
    }

    pub(super) fn fail(why: impl Into<String>) -> Self {
        Self::new(Outcome::Fail(why.into()))
    }

    /// A plan that does not fit is told as an event too.
    pub(super) fn misfit(why: impl Into<String>) -> Self {
        let why = why.into();
        Self::fail(why.clone()).warn("VerifyFailed", why)
    }

    pub(super) fn note(mut self, reason: &'static str, message: impl Into<String>) -> Self {
        self.notes.push(Note { warning: false, reason, message: message.into() });
        self
    }

    pub(super) fn warn(mut self, reason: &'static str, message: impl Into<String>) -> Self {
        self.notes.push(Note { warning: true, reason, message: message.into() });
        self
    }

    pub(super) fn write(mut self, writes: impl IntoIterator<Item = Write>) -> Self {
        self.writes.extend(writes);
        self
    }

    pub(super) fn record(mut self, record: Record) -> Self {
        self.record = record;
        self
    }
}

impl Record {
    /// The status with what is remembered.
    pub fn apply(self, status: &mut RolloutStatus) {
        let Self { original_size, target_size, target_generation, last_applied, upgraded, upgraded_ready } =
            self;
        let pods = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
        if let Some(size) = original_size {
            status.rollout_original_size = Some(pods(size));
        }
        if let Some(size) = target_size {
            status.rollout_target_size = Some(pods(size));
        }
        if target_generation.is_some() {
            status.target_generation = target_generation;
        }
        if last_applied.is_some() {
            status.last_applied_pod_template_identifier = last_applied;
        }
        status.upgraded_replicas = upgraded.map_or(status.upgraded_replicas, pods);
        status.upgraded_ready_replicas = upgraded_ready.map_or(status.upgraded_ready_replicas, pods);
    }
}

/// The batch that runs, as people count: the first one is batch 1. The fields of plan and status count from 0.
pub fn batch_number(status: &RolloutStatus) -> i64 {
    i64::from(status.current_batch) + 1
}

impl View<'_> {
    pub(super) fn batch(&self) -> i64 {
        i64::from(self.status.current_batch)
    }

    /// The batch as people count.
    pub(super) fn batch_number(&self) -> i64 {
        batch_number(self.status)
    }

    /// The wanted size as verified; a status that lost it cannot go on.
    pub(super) fn target_size(&self) -> Result<i64, WorkloadStep> {
        let known = self.status.rollout_target_size.filter(|size| *size >= 0).map(i64::from);
        known.ok_or_else(|| {
            WorkloadStep::fail(
                "status.rolloutTargetSize is not known any more; begin anew with another target",
            )
        })
    }

    /// The plan must not have been held back behind the batch that runs.
    pub(super) fn check_partition(&self) -> Result<(), WorkloadStep> {
        match self.plan.batch_partition {
            Some(partition) if partition < self.status.current_batch => Err(WorkloadStep::fail(format!(
                "the current batch value in the status is greater than the batch partition: batch {} runs, and \
                 batchPartition is {partition}, which leads to the end of batch {}; pause a rollout with paused: true",
                self.batch_number(),
                i64::from(partition) + 1
            ))),
            _ => Ok(()),
        }
    }
}
