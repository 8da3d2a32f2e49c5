//! The condition that tells how the definitions of an application's revision differ from those that are there now.

use super::Condition;
use crate::diagnostic::Diagnostics;

/// How the definitions that an application goes by differ from those that are there now. Where they do not differ there
/// is nothing to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    status: bool,
    reason: &'static str,
    /// For people.
    pub(super) message: String,
}

impl Definitions {
    /// Those that are there now could not be taken up.
    pub fn broken(kept: &str, error: &Diagnostics) -> Self {
        let message =
            format!("the application keeps to its revision {kept}: by the definitions now, {error}");
        Self { status: false, reason: "Broken", message }
    }

    /// They changed, and the application did not ask for that.
    pub fn newer(kept: &str, changed: &str) -> Self {
        let message = format!(
            "{changed} changed after revision {kept}, which the application keeps to until its spec or its annotation \
             app.oam.dev/publishVersion changes, or it is annotated with app.oam.dev/autoUpdate: \"true\""
        );
        Self { status: true, reason: "NewerExist", message }
    }

    /// They changed, and as many applications as may are taking that up already.
    pub fn in_turn(kept: &str, changed: &str, at_once: usize) -> Self {
        let message = format!(
            "{changed} changed after revision {kept}; {at_once} applications take up changed definitions at a time, and \
             this one follows when one of them runs"
        );
        Self { status: true, reason: "WaitsForOthers", message }
    }

    pub(super) fn condition(&self) -> Condition {
        let Self { status, reason, message } = self.clone();
        Condition { type_: "Definitions", status, reason, message }
    }
}
