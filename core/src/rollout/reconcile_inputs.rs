//! The inputs of a reconcile, the result of a step, and its report.

use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::{AppRollout, RolloutStatus};
use vela_engine::Secrets;
use vela_engine::rollout::spelling::{Misspelled, Spelling};
use vela_engine::rollout::template::Template;
use vela_engine::rollout::{Effect, Event, Input, Note, state};
use vela_runtime::Key;

use crate::author::{Actor, UnknownAuthor};

/// Time until a rollout that waits looks again although nothing woke it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The inputs of one reconcile.
pub(super) struct Work<'a> {
    pub(super) key: &'a Key,
    pub(super) live: &'a DynamicObject,
    pub(super) rollout: &'a AppRollout,
    pub(super) direction: &'a Direction,
    /// The ends of the next reconciles, once this one has let go; nothing where the rollout itself goes.
    pub(super) wanted: Option<&'a Direction>,
    /// The revisions that its names refer to, or the error in them.
    pub(super) spelling: Result<Spelling, Misspelled>,
    /// The author on whose behalf the rollout acts: the writer of the rollout, or of the application that it is part
    /// of.
    pub(super) acting: &'a Result<Actor, UnknownAuthor>,
}

/// Between which revisions a reconcile works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Direction {
    pub(super) target: String,
    pub(super) source: Option<String>,
    /// Back from the target that is written to the source that is written.
    pub(super) is_back: bool,
}

/// The result of one step.
pub(super) enum Step {
    /// There is another step to make, from here.
    Next(Box<DynamicObject>),
    /// The rollout waits until something changes, or until this time has passed.
    Rest(Option<Duration>),
    /// The cache was behind.
    LookAgain,
}

/// The report for the time after the status is stored.
#[derive(Default)]
pub(super) struct StatusReport {
    pub(super) effects: Vec<Effect>,
    pub(super) notes: Vec<Note>,
    /// The confidential values, which no report may repeat.
    pub(super) secrets: Secrets,
}

/// One component on one side of a rollout.
pub(super) struct Side {
    pub(super) template: Template,
    /// The workload; nothing when it is not there.
    pub(super) live: Option<Value>,
}

/// One component that is rolled out.
pub(super) struct Part {
    pub(super) component: String,
    pub(super) target: Side,
    pub(super) source: Option<Side>,
    /// Deployments of revisions that the rollout was turned away from half-way.
    pub(super) leftovers: Vec<Value>,
}

pub(super) fn apply_event(status: &mut RolloutStatus, event: Event, report: &mut StatusReport) {
    take(status, &Input::Event(event), report);
}

pub(super) fn take(status: &mut RolloutStatus, input: &Input, report: &mut StatusReport) {
    let (next, effects) = state::next(status, input);
    *status = next;
    report.effects.extend(effects);
}
