//! What a reconcile works on and between, what a step came to, and what is told of it.

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

/// What one reconcile works on.
pub(super) struct Work<'a> {
    pub(super) key: &'a Key,
    pub(super) live: &'a DynamicObject,
    pub(super) rollout: &'a AppRollout,
    pub(super) direction: &'a Direction,
    /// What the next reconciles work between, once this one has let go; nothing where the rollout itself goes.
    pub(super) wanted: Option<&'a Direction>,
    /// What the names in it are of, or what is wrong with them.
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

/// What one step came to.
pub(super) enum Step {
    /// There is another step to make, from here.
    Next(Box<DynamicObject>),
    /// Nothing until something changes, or until this time has passed.
    Rest(Option<Duration>),
    /// The cache was behind.
    LookAgain,
}

/// What is told when the status is stored.
#[derive(Default)]
pub(super) struct StatusReport {
    pub(super) effects: Vec<Effect>,
    pub(super) notes: Vec<Note>,
    /// What none of it may repeat.
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
