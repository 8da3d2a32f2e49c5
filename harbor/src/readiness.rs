//! How far a child is: parts by the two conditions of their status, all others by the table of [`vela_kinds`].

use serde_json::Value;
use vela_kinds::readiness::{Readiness, Rule, UNREPORTED, condition, of as of_kind};

use crate::status::{FAILED, IN_PROGRESS};

const GROUP: &str = "goharbor.io";

const PARTS: [Rule; 10] = [
    Rule::new(GROUP, "ChartMuseum", part),
    Rule::new(GROUP, "Core", part),
    Rule::new(GROUP, "Exporter", part),
    Rule::new(GROUP, "Harbor", part),
    Rule::new(GROUP, "JobService", part),
    Rule::new(GROUP, "NotaryServer", part),
    Rule::new(GROUP, "NotarySigner", part),
    Rule::new(GROUP, "Portal", part),
    Rule::new(GROUP, "Registry", part),
    Rule::new(GROUP, "Trivy", part),
];

/// Judges a child.
#[must_use]
pub(crate) fn of(object: &Value) -> Readiness {
    of_kind(object, &PARTS)
}

/// Both conditions have to be there and false.
fn part(object: &Value) -> Readiness {
    for name in [FAILED, IN_PROGRESS] {
        let Some(condition) = condition(object, name) else { return Readiness::in_progress(UNREPORTED) };
        if condition["status"] != "False" {
            let message = condition["message"].as_str().or(condition["reason"].as_str());
            return Readiness::in_progress(message.unwrap_or(name));
        }
    }
    Readiness::current("")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_ready_when_both_conditions_say_so() {
        let core = |conditions: Value| json!({"apiVersion": "goharbor.io/v1beta1", "kind": "Core", "status": {"conditions": conditions}});
        let is = |kind: &str, status: &str| json!({"type": kind, "status": status});
        assert!(of(&core(json!([is(FAILED, "False"), is(IN_PROGRESS, "False")]))).is_ready());
        assert!(!of(&core(json!([is(FAILED, "False"), is(IN_PROGRESS, "True")]))).is_ready());
        assert!(!of(&core(json!([is(FAILED, "True"), is(IN_PROGRESS, "False")]))).is_ready());
        assert!(!of(&core(json!([is(FAILED, "False")]))).is_ready());
        assert!(!of(&core(json!([]))).is_ready());
    }
}
