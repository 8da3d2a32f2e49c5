//! `status.workflow`: the journal of a run as it is read back and written, by us, by the command or by KubeVela.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value as Json, json};

use crate::secrets::Secrets;

use super::phase::{Reason, RunPhase, StepPhase};

/// How far a run is.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// The revision it runs for.
    pub revision: String,
    /// Orders of steps and of steps in groups.
    pub mode: String,
    /// How far it is.
    pub phase: RunPhase,
    /// The message of the whole run.
    pub message: String,
    /// It waits for a person.
    pub suspend: bool,
    /// A step failed for good, or a user ended it.
    pub terminated: bool,
    /// The run is over.
    pub finished: bool,
    /// The object with the values between steps, as written.
    pub context: Option<Json>,
    /// The steps that were looked at.
    pub steps: Vec<StepStatus>,
    /// Its beginning.
    pub start: Timestamp,
    /// Its end.
    pub end: Option<Timestamp>,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq)]
pub struct StepStatus {
    /// Tells it from every other, also from the same step of another run.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// How far it is.
    pub phase: StepPhase,
    /// Why.
    pub reason: Option<Reason>,
    /// Why, in words.
    pub message: String,
    /// When it was first looked at, or began where it had to wait.
    pub first: Timestamp,
    /// When something about it changed.
    pub last: Timestamp,
    /// Of a group: its steps.
    pub sub_steps: Vec<StepStatus>,
}

impl RunStatus {
    /// At the beginning.
    pub fn begin(revision: &str, mode: String, now: Timestamp) -> Self {
        Self {
            revision: revision.to_owned(),
            mode,
            phase: RunPhase::Executing,
            message: String::new(),
            suspend: false,
            terminated: false,
            finished: false,
            context: None,
            steps: Vec::new(),
            start: seconds(now),
            end: None,
        }
    }

    /// As it was written; nothing where there is no run. `now` stands for times that are missing.
    pub fn read(written: &Json, now: Timestamp) -> Option<Self> {
        let text = |field: &str| written[field].as_str().unwrap_or_default();
        let flag = |field: &str| written[field].as_bool().unwrap_or_default();
        let revision = text("appRevision");
        if revision.is_empty() {
            return None;
        }
        Some(Self {
            revision: revision.to_owned(),
            mode: text("mode").to_owned(),
            phase: RunPhase::of(text("status")).unwrap_or(RunPhase::Executing),
            message: text("message").to_owned(),
            suspend: flag("suspend"),
            terminated: flag("terminated"),
            finished: flag("finished"),
            context: written.get("contextBackend").filter(|context| context.is_object()).cloned(),
            steps: steps(written, "steps", now),
            start: time(written, "startTime").unwrap_or_else(|| seconds(now)),
            end: time(written, "endTime"),
        })
    }

    /// As it is written. Equal content gives an equal text.
    pub fn to_json(&self) -> Json {
        let mut written = json!({
            "appRevision": self.revision,
            "mode": self.mode,
            "status": self.phase.as_str(),
            "suspend": self.suspend,
            "terminated": self.terminated,
            "finished": self.finished,
            "startTime": self.start.to_string(),
        });
        if !self.message.is_empty() {
            written["message"] = json!(self.message);
        }
        if let Some(context) = &self.context {
            written["contextBackend"] = context.clone();
        }
        if !self.steps.is_empty() {
            written["steps"] = self.steps.iter().map(StepStatus::to_json).collect();
        }
        if let Some(end) = self.end {
            written["endTime"] = json!(end.to_string());
        }
        written
    }

    /// The step of this name, in whatever group.
    pub fn step(&self, name: &str) -> Option<&StepStatus> {
        self.all().find(|step| step.name == name)
    }

    /// Every step; groups before their steps.
    pub fn all(&self) -> impl Iterator<Item = &StepStatus> {
        self.steps.iter().flat_map(|step| std::iter::once(step).chain(&step.sub_steps))
    }

    /// Changes every step that stands in no group, and every step that stands in one.
    pub(super) fn for_each_mut(&mut self, mut change: impl FnMut(&mut StepStatus)) {
        for step in &mut self.steps {
            change(step);
            step.sub_steps.iter_mut().for_each(&mut change);
        }
    }

    /// Changes what people read in it.
    pub(crate) fn for_each_message(&mut self, change: impl Fn(&mut String)) {
        change(&mut self.message);
        self.for_each_mut(|step| change(&mut step.message));
    }

    /// The readable part, without confidential values.
    pub fn hide(&mut self, secrets: &Secrets) {
        self.for_each_message(|text| {
            if let Cow::Owned(hidden) = secrets.hide(text) {
                *text = hidden;
            }
        });
    }

    /// Is a step suspended by a call, so that its times and its resumption are looked after?
    pub(super) fn has_suspended_step(&self) -> bool {
        self.all().any(StepStatus::is_suspended)
    }
}

impl StepStatus {
    /// The step is looked at for the first time.
    pub(crate) fn begin(id: String, name: &str, type_: &str, phase: StepPhase, now: Timestamp) -> Self {
        Self {
            id,
            name: name.to_owned(),
            type_: type_.to_owned(),
            phase,
            reason: None,
            message: String::new(),
            first: seconds(now),
            last: seconds(now),
            sub_steps: Vec::new(),
        }
    }

    /// A call of it suspends, rather than a person the whole run.
    pub(super) fn is_suspended(&self) -> bool {
        self.phase == StepPhase::Suspending && self.reason == Some(Reason::Suspend)
    }

    /// The step is over: it succeeded, was passed over, or has failed for good.
    pub fn is_finished(&self) -> bool {
        match self.phase {
            StepPhase::Succeeded | StepPhase::Skipped => true,
            StepPhase::Failed => !matches!(self.reason, None | Some(Reason::Execute)),
            StepPhase::Pending | StepPhase::Running | StepPhase::Suspending => false,
        }
    }

    /// It has come so far. The time is that of the last change, so that what says nothing new is not written.
    pub(super) fn set(&mut self, phase: StepPhase, reason: Option<Reason>, message: &str, now: Timestamp) {
        if self.phase == StepPhase::Pending && phase != StepPhase::Pending {
            self.first = seconds(now);
        }
        if (self.phase, self.reason, self.message.as_str()) != (phase, reason, message) {
            self.last = seconds(now);
        }
        self.phase = phase;
        self.reason = reason;
        message.clone_into(&mut self.message);
    }

    fn read(written: &Json, now: Timestamp) -> Option<Self> {
        let text = |field: &str| written[field].as_str().unwrap_or_default();
        let first = time(written, "firstExecuteTime").unwrap_or_else(|| seconds(now));
        Some(Self {
            id: written["id"].as_str()?.to_owned(),
            name: written["name"].as_str()?.to_owned(),
            type_: text("type").to_owned(),
            phase: StepPhase::of(text("phase")).unwrap_or(StepPhase::Pending),
            reason: Reason::of(text("reason")),
            message: text("message").to_owned(),
            first,
            last: time(written, "lastExecuteTime").unwrap_or(first),
            sub_steps: steps(written, "subSteps", now),
        })
    }

    fn to_json(&self) -> Json {
        let mut written = Map::new();
        let mut put = |field: &str, value: Json| written.insert(field.to_owned(), value);
        put("id", json!(self.id));
        put("name", json!(self.name));
        put("type", json!(self.type_));
        put("phase", json!(self.phase.as_str()));
        if let Some(reason) = self.reason {
            put("reason", json!(reason.as_str()));
        }
        if !self.message.is_empty() {
            put("message", json!(self.message));
        }
        put("firstExecuteTime", json!(self.first.to_string()));
        put("lastExecuteTime", json!(self.last.to_string()));
        if !self.sub_steps.is_empty() {
            put("subSteps", self.sub_steps.iter().map(Self::to_json).collect());
        }
        Json::Object(written)
    }
}

fn steps(written: &Json, field: &str, now: Timestamp) -> Vec<StepStatus> {
    let steps = written[field].as_array().into_iter().flatten();
    steps.filter_map(|step| StepStatus::read(step, now)).collect()
}

fn time(written: &Json, field: &str) -> Option<Timestamp> {
    written[field].as_str()?.parse().ok()
}

/// Times of the API have whole seconds.
pub(crate) fn seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// A time that comes later.
pub(super) fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}
