//! The health of an object, by the table of readiness that the controllers use.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_engine::readiness::{self, Readiness, State};

/// How an object is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Health {
    /// As it should be.
    Healthy,
    /// On its way.
    Progressing,
    /// Something stands against it.
    Unhealthy,
    /// It should exist and does not.
    Missing,
    /// It could not be read, or no controller has reported.
    #[default]
    Unknown,
}

impl Health {
    /// All of them, the worst first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Unhealthy, Self::Missing, Self::Progressing, Self::Unknown, Self::Healthy];

    /// As it is written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Unhealthy => "unhealthy",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }

    /// The health that is written like this.
    pub(crate) fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|health| health.as_str() == text)
    }
}

/// How a live object is, and why.
pub(crate) fn judge(object: &Value) -> (Health, String) {
    let Readiness { state, message } = readiness::of(object);
    let health = match state {
        State::Current => Health::Healthy,
        State::InProgress | State::Terminating => Health::Progressing,
        State::Failed => Health::Unhealthy,
    };
    (health, message)
}
