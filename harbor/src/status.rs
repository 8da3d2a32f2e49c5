//! The result for an object → its status, and whether and when another try is worth while.

use serde_json::{Value, json};
use vela_runtime::apply;
use vela_runtime::dynamic_watch;
use vela_runtime::graph::{Cause, Report};

use crate::owner::Owner;
use crate::parts::{self, Id, Settings};
use crate::validation::{Invalid, sentence};

/// The condition of an object whose children are not all ready.
pub(crate) const IN_PROGRESS: &str = "InProgress";
/// The condition of an object that something keeps from getting ready.
pub(crate) const FAILED: &str = "Failed";
/// The reason of an object that waits for a child.
pub(crate) const WAITS: &str = "dependencyStatus";

/// Why one child is not what it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    /// It is there, and does not do its work yet.
    #[error("{kind} {name}: {message}")]
    NotReady {
        /// Kind and group.
        kind: String,
        /// Namespace and name.
        name: String,
        /// How far it is.
        message: String,
        /// Whether it says itself that waiting does not help.
        broken: bool,
    },
    /// The cluster does not have its kind.
    #[error("the cluster does not have the kind {kind}: {remedy}")]
    NotServed {
        /// Kind and group.
        kind: String,
        /// What to do.
        remedy: &'static str,
    },
    /// It belongs to others and does not exist.
    #[error(transparent)]
    Build(#[from] parts::Error),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] dynamic_watch::Error),
    /// It could not be written.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// It is no object.
    #[error("{name}: {message}")]
    Malformed {
        /// Kind and name.
        name: String,
        /// Why.
        message: String,
    },
}

/// The content of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// One word why something failed; nothing where nothing did.
    pub(crate) reason: Option<&'static str>,
    /// A sentence.
    pub(crate) message: String,
    /// May it get better by itself?
    pub(crate) recoverable: bool,
}

impl Verdict {
    /// Everything is ready.
    #[must_use]
    pub(crate) fn ready() -> Self {
        Self { reason: None, message: String::new(), recoverable: true }
    }

    /// The object itself is wrong.
    #[must_use]
    pub(crate) fn invalid(owner: &Owner, wrong: &[Invalid]) -> Self {
        let message = format!("{}: {}", owner.described(), sentence(wrong));
        Self { reason: Some("invalidSpec"), message, recoverable: false }
    }

    /// The children could not be built.
    #[must_use]
    pub(crate) fn of_build(error: &parts::Error) -> Self {
        let missing = matches!(error, parts::Error::Missing { .. } | parts::Error::NoKey { .. });
        let reason = if missing { "dependencySpec" } else { "invalidSpec" };
        Self { reason: Some(reason), message: error.to_string(), recoverable: missing }
    }

    /// Some of the children are not what they should be: the first cause is told, what is broken before what only
    /// takes its time.
    #[must_use]
    pub(crate) fn of_report<T>(report: &Report<Id, T, ChildError>) -> Self {
        Self::of_causes(report.causes()).unwrap_or_else(Self::ready)
    }

    /// The same of some causes.
    pub(crate) fn of_causes<'a>(
        causes: impl Iterator<Item = (&'a Id, &'a Cause<ChildError>)>,
    ) -> Option<Self> {
        let causes: Vec<_> = causes.collect();
        let waits = |cause: &Cause<ChildError>| matches!(cause, Cause::NotReady(ChildError::NotReady { .. }));
        let first = causes.iter().find(|(_, cause)| !waits(cause)).or_else(|| causes.first());
        first.map(|(id, cause)| Self::of_cause(id, cause))
    }

    fn of_cause(id: &Id, cause: &Cause<ChildError>) -> Self {
        match cause {
            Cause::NotReady(ChildError::NotReady { kind, name, .. }) => {
                Self { reason: Some(WAITS), message: format!("{kind} {name}"), recoverable: true }
            }
            Cause::NotReady(error) => {
                Self { reason: Some("dependencySpec"), message: error.to_string(), recoverable: true }
            }
            Cause::Unrecoverable(error) => {
                Self { reason: Some("dependencySpec"), message: error.to_string(), recoverable: false }
            }
            Cause::Later { error, .. } => {
                Self { reason: Some("operatorError"), message: error.to_string(), recoverable: true }
            }
            Cause::Panicked(_) => Self {
                reason: Some("operatorError"),
                message: format!("{id}: a mistake of the operator, which its log tells more of"),
                recoverable: true,
            },
        }
    }
}

/// The status of an object; `services` are the conditions beside the two of every kind.
#[must_use]
pub(crate) fn status(owner: &Owner, verdict: &Verdict, services: &[Value], settings: &Settings) -> Value {
    let mut conditions = match (verdict.reason, verdict.recoverable) {
        (None, _) => {
            json!([{ "type": IN_PROGRESS, "status": "False" }, { "type": FAILED, "status": "False" }])
        }
        (Some(reason), recoverable) => {
            let progress = match recoverable {
                true => json!({
                    "type": IN_PROGRESS,
                    "status": "True",
                    "reason": "recoverrableError",
                    "message": "An error occurred and may be recovered",
                }),
                false => json!({ "type": IN_PROGRESS, "status": "False" }),
            };
            let failed =
                json!({ "type": FAILED, "status": "True", "reason": reason, "message": verdict.message });
            json!([progress, failed])
        }
    };
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.extend(services.iter().cloned());
    }
    json!({
        "observedGeneration": owner.generation(),
        "conditions": conditions,
        "operator": { "controllerName": owner.controller(), "controllerVersion": settings.version },
    })
}
