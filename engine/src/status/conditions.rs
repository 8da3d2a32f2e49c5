//! The conditions of an application, one for each phase.

use serde_json::{Value as Json, json};
use vela_crds::condition::types;

use crate::parse::Era;

/// Reason of the condition `Workflow` when an object was refused and no other try of it ends better: clients that wait for
/// the application need not wait any longer.
pub const REFUSED: &str = "Refused";

/// The phases users see as conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// The application could be read and its definitions found.
    Parsed,
    /// It has a revision.
    Revision,
    /// Its policies and workflow could be planned.
    Policy,
    /// Its objects could be rendered.
    Render,
    /// Its objects are applied, those waited for healthy.
    Workflow,
    /// Everything.
    Ready,
}

impl ConditionType {
    pub(super) const ORDER: [Self; 6] =
        [Self::Parsed, Self::Revision, Self::Policy, Self::Render, Self::Workflow, Self::Ready];

    /// As written in `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Parsed => "Parsed",
            Self::Revision => "Revision",
            Self::Policy => "Policy",
            Self::Render => "Render",
            Self::Workflow => "Workflow",
            Self::Ready => "Ready",
        }
    }

    /// As the condition that tells it is called in this form.
    pub(super) fn name(self, era: Era) -> &'static str {
        match (era, self) {
            (Era::V1beta1, condition) => condition.as_str(),
            (Era::V1alpha2, Self::Parsed | Self::Revision | Self::Policy) => types::PARSED,
            (Era::V1alpha2, Self::Render) => types::BUILT,
            (Era::V1alpha2, Self::Workflow) => types::APPLIED,
            (Era::V1alpha2, Self::Ready) => types::HEALTH_CHECK,
        }
    }
}

/// One condition, without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub type_: &'static str,
    /// True or false.
    pub status: bool,
    /// One word.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Condition {
    pub(super) fn good(type_: ConditionType) -> Self {
        let reason = if type_ == ConditionType::Ready { "ReconcileSuccess" } else { "Available" };
        Self { type_: type_.as_str(), status: true, reason, message: String::new() }
    }

    pub(super) fn bad(type_: ConditionType, reason: &'static str, message: impl Into<String>) -> Self {
        Self { type_: type_.as_str(), status: false, reason, message: message.into() }
    }

    /// As written: the time of the last change is kept while nothing changes.
    pub(super) fn to_json(&self, previous: Option<&Json>, now: &str) -> Json {
        let status = if self.status { "True" } else { "False" };
        let mut condition = json!({"type": self.type_, "status": status, "reason": self.reason});
        if !self.message.is_empty() {
            condition["message"] = json!(self.message);
        }
        let old = previous.filter(|old| {
            ["status", "reason", "message"].iter().all(|field| old.get(field) == condition.get(field))
        });
        let time = old.and_then(|old| old.get("lastTransitionTime")).cloned().unwrap_or_else(|| json!(now));
        condition["lastTransitionTime"] = time;
        condition
    }
}
