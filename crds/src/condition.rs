//! Conditions and the rule for setting them: an equal condition keeps its time.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One condition of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What the condition tells of; one condition a type.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the condition last changed.
    pub last_transition_time: Time,
    /// The cause in one word; may be empty.
    pub reason: String,
    /// The cause in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Values of `status`.
pub mod status {
    /// It holds.
    pub const TRUE: &str = "True";
    /// It does not hold.
    pub const FALSE: &str = "False";
    /// The status is unknown.
    pub const UNKNOWN: &str = "Unknown";
}

/// Well-known types of condition.
pub mod types {
    /// The last reconcile succeeded.
    pub const SYNCED: &str = "Synced";
    /// The object is available.
    pub const READY: &str = "Ready";
    /// The manifest was understood.
    pub const PARSED: &str = "Parsed";
    /// A revision was cut.
    pub const REVISION: &str = "Revision";
    /// Policies were applied to the application.
    pub const POLICY: &str = "Policy";
    /// Templates gave objects.
    pub const RENDER: &str = "Render";
    /// Objects were applied in order.
    pub const WORKFLOW: &str = "Workflow";
    /// Templates gave objects (v1alpha2 form).
    pub const BUILT: &str = "Built";
    /// Objects were applied (v1alpha2 form).
    pub const APPLIED: &str = "Applied";
    /// What was applied is healthy (v1alpha2 form).
    pub const HEALTH_CHECK: &str = "HealthCheck";
    /// A rollout came to its end (v1alpha2 form).
    pub const ROLLOUT: &str = "Rollout";
}

/// Well-known reasons.
pub mod reasons {
    /// The last reconcile succeeded.
    pub const RECONCILE_SUCCESS: &str = "ReconcileSuccess";
    /// The last reconcile failed; the message says why.
    pub const RECONCILE_ERROR: &str = "ReconcileError";
    /// The object is available.
    pub const AVAILABLE: &str = "Available";
    /// The object is not available.
    pub const UNAVAILABLE: &str = "Unavailable";
    /// The object is being made.
    pub const CREATING: &str = "Creating";
    /// The object goes away.
    pub const DELETING: &str = "Deleting";
}

impl Condition {
    /// A condition that holds.
    pub fn is_true(condition_type: &str, reason: &str, now: Time) -> Self {
        Self::build(condition_type, status::TRUE, reason, None, now)
    }

    /// A condition that does not hold, with the cause in a sentence.
    pub fn is_false(condition_type: &str, reason: &str, message: String, now: Time) -> Self {
        Self::build(condition_type, status::FALSE, reason, Some(message), now)
    }

    /// `Synced`, true.
    pub fn reconcile_success(now: Time) -> Self {
        Self::is_true(types::SYNCED, reasons::RECONCILE_SUCCESS, now)
    }

    /// `Synced`, false, with the error's text.
    pub fn reconcile_error(error: String, now: Time) -> Self {
        Self::is_false(types::SYNCED, reasons::RECONCILE_ERROR, error, now)
    }

    /// The condition says the same; times are not looked at.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.condition_type == other.condition_type
            && self.status == other.status
            && self.reason == other.reason
            && self.message == other.message
    }

    fn build(condition_type: &str, status: &str, reason: &str, message: Option<String>, now: Time) -> Self {
        Self {
            condition_type: condition_type.to_owned(),
            status: status.to_owned(),
            last_transition_time: now,
            reason: reason.to_owned(),
            message,
        }
    }
}

/// A status that carries conditions.
pub trait Conditioned {
    /// The conditions, in the order they were first set.
    fn conditions(&self) -> &[Condition];

    /// The conditions, to change.
    fn conditions_mut(&mut self) -> &mut Vec<Condition>;

    /// The condition of a type.
    fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.conditions().iter().find(|c| c.condition_type == condition_type)
    }

    /// `status` of the condition of a type; `Unknown` when it was never set.
    fn condition_status(&self, condition_type: &str) -> &str {
        self.condition(condition_type).map_or(status::UNKNOWN, |c| c.status.as_str())
    }

    /// Sets one condition and says whether that changed anything.
    ///
    /// An equal condition of the same type stays with its old time; a different one is
    /// replaced where it stands; a new type is appended.
    fn set_condition(&mut self, condition: Condition) -> bool {
        let conditions = self.conditions_mut();
        match conditions.iter_mut().find(|c| c.condition_type == condition.condition_type) {
            Some(old) if old.says_the_same(&condition) => false,
            Some(old) => {
                *old = condition;
                true
            }
            None => {
                conditions.push(condition);
                true
            }
        }
    }
}
