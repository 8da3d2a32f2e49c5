//! How far a child is: parts by the two conditions of their status, all others by the table of [`vela_kinds`].

use serde_json::Value;
use vela_kinds::readiness::{Readiness, Rule, UNREPORTED, condition, of as of_kind};

use crate::status::{FAILED, IN_PROGRESS, WAITS};

const GROUP: &str = "goharbor.io";

/// The kinds of other operators are here, too: those a HarborCluster asks for.
const PARTS: [Rule; 12] = [
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
    Rule::new("acid.zalan.do", "postgresql", postgresql),
    Rule::new("minio.min.io", "Tenant", tenant),
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
            let message = condition["message"].as_str().or(condition["reason"].as_str()).unwrap_or(name);
            // A part that only waits for its own children has not failed.
            let waits = name == IN_PROGRESS || condition["reason"] == WAITS;
            return if waits { Readiness::in_progress(message) } else { Readiness::failed(message) };
        }
    }
    Readiness::current("")
}

/// Its operator says one word about the whole database.
fn postgresql(object: &Value) -> Readiness {
    let word = object["status"]["PostgresClusterStatus"].as_str().or(object["status"].as_str());
    match word {
        Some("Running") => Readiness::current(""),
        // `CreateFailed`, `UpdateFailed`, `SyncFailed`, `Invalid`
        Some(word) if word.ends_with("Failed") || word == "Invalid" => {
            Readiness::failed(format!("its operator says {word}"))
        }
        Some(word) => Readiness::in_progress(format!("its operator says {word}")),
        None => Readiness::in_progress(UNREPORTED),
    }
}

/// The last word of a Tenant has another name in older releases.
fn tenant(object: &Value) -> Readiness {
    match object["status"]["currentState"].as_str() {
        Some("Initialized" | "Ready") => Readiness::current(""),
        Some(word) => Readiness::in_progress(format!("its operator says {word}")),
        None => Readiness::in_progress(UNREPORTED),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vela_kinds::readiness::State;

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

    #[test]
    fn databases_and_storages_are_ready_when_their_operators_say_so() {
        let is = |version: &str, kind: &str, status: Value| {
            of(&json!({"apiVersion": version, "kind": kind, "status": status}))
        };
        let database =
            |word: &str| is("acid.zalan.do/v1", "postgresql", json!({"PostgresClusterStatus": word}));
        assert!(database("Running").is_ready());
        assert_eq!(database("Creating").state, State::InProgress);
        assert_eq!(database("CreateFailed").state, State::Failed);
        assert_eq!(is("acid.zalan.do/v1", "postgresql", Value::Null).message, UNREPORTED);
        let storage = |word: &str| is("minio.min.io/v2", "Tenant", json!({"currentState": word}));
        assert!(storage("Initialized").is_ready());
        assert!(!storage("Provisioning MinIO Statefulset").is_ready());
    }
}
