//! The health of an object with a few words about it.

use anstyle::Style;
use serde_json::Value;
use vela_engine::readiness::{self, Readiness, State};

use crate::screen::{BAD, BUSY, DIM, GOOD};

/// How an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// As it should be.
    Healthy,
    /// On its way.
    Progressing,
    /// Something stands against it.
    Unhealthy,
    /// It should exist and does not.
    Missing,
    /// No rule tells.
    Unknown,
}

impl Health {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Unhealthy => "unhealthy",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Self::Healthy => GOOD,
            Self::Progressing => BUSY,
            Self::Unhealthy | Self::Missing => BAD,
            Self::Unknown => DIM,
        }
    }

    /// The health of a whole of two parts: that of the worse one; an unknown part says nothing.
    pub(crate) fn and(self, other: Self) -> Self {
        let badness = |health| match health {
            Self::Unknown => 0,
            Self::Healthy => 1,
            Self::Progressing => 2,
            Self::Missing => 3,
            Self::Unhealthy => 4,
        };
        if badness(other) > badness(self) { other } else { self }
    }
}

/// How an object is, by the same table that tells the health of its application.
pub(crate) fn judge(object: &Value) -> (Health, String) {
    let Readiness { state, message } = readiness::of(object);
    let health = match state {
        State::Current => Health::Healthy,
        State::InProgress | State::Terminating => Health::Progressing,
        State::Failed => Health::Unhealthy,
    };
    (health, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_worse_part_wins_and_unknown_says_nothing() {
        assert_eq!(Health::Healthy.and(Health::Progressing), Health::Progressing);
        assert_eq!(Health::Unhealthy.and(Health::Healthy), Health::Unhealthy);
        assert_eq!(Health::Unknown.and(Health::Healthy), Health::Healthy);
    }

    #[test]
    fn a_verdict_is_a_health() {
        let judge = |phase: &str| {
            let status = json!({"status": phase});
            judge(&json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "status": status}))
        };
        assert_eq!(judge("running"), (Health::Healthy, "running".to_owned()));
        assert_eq!(judge("unhealthy"), (Health::Unhealthy, "unhealthy".to_owned()));
        assert_eq!(judge("rendering"), (Health::Progressing, "rendering".to_owned()));
        let going = json!({"kind": "Pod", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(super::judge(&going), (Health::Progressing, "is being deleted".to_owned()));
    }
}
