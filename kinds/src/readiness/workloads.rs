//! A live workload → how far its pods are: what comes first in the life of a change is asked first.

use serde_json::Value;

use super::conditions::{condition, holds, message_of, with_reason};
use super::verdict::{Readiness, UNREPORTED};

/// The value that stands for "no deadline": the controller writes no condition `Progressing` then.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// Every pod is new, available and ready, no old one is left, and the controller says so.
pub(super) fn deployment(object: &Value) -> Readiness {
    let progressing = condition(object, "Progressing");
    if let Some(late) = progressing.filter(|found| found["reason"] == "ProgressDeadlineExceeded") {
        return Readiness::failed(with_reason("progress deadline exceeded", late));
    }
    if let Some(unreported) = unreported(object) {
        return unreported;
    }
    let (wanted, updated) = (size(object), count(object, "updatedReplicas"));
    too_few("Replicas", count(object, "replicas"), wanted)
        .or_else(|| too_few("Updated", updated, wanted))
        .or_else(|| too_many(object, wanted))
        .or_else(|| too_few("Available", count(object, "availableReplicas"), updated))
        .or_else(|| too_few("Ready", count(object, "readyReplicas"), wanted))
        .or_else(|| unconfirmed(object, progressing))
        .unwrap_or_else(|| ready(count(object, "readyReplicas"), wanted))
}

/// The counts of a Deployment are right, and its controller has not said yet that the change is through.
fn unconfirmed(object: &Value, progressing: Option<&Value>) -> Option<Readiness> {
    let has_deadline =
        object["spec"]["progressDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds != NO_DEADLINE);
    let is_through = progressing
        .is_some_and(|found| found["status"] == "True" && found["reason"] == "NewReplicaSetAvailable");
    if has_deadline && !is_through {
        let message = match object["spec"]["paused"] == true {
            true => "it is paused".to_owned(),
            false => progressing
                .and_then(message_of)
                .unwrap_or_else(|| "its ReplicaSet is not available yet".to_owned()),
        };
        return Some(Readiness::in_progress(message));
    }
    (!holds(object, "Available")).then(|| {
        let said = condition(object, "Available").and_then(message_of);
        Readiness::in_progress(said.unwrap_or_else(|| "it is not available yet".to_owned()))
    })
}

/// Every pod is there and ready, and as many as its strategy changes by itself are new.
pub(super) fn stateful_set(object: &Value) -> Readiness {
    if let Some(unreported) = unreported(object) {
        return unreported;
    }
    let (wanted, have) = (size(object), count(object, "readyReplicas"));
    too_few("Replicas", count(object, "replicas"), wanted)
        .or_else(|| too_few("Ready", have, wanted))
        .or_else(|| too_many(object, wanted))
        .or_else(|| outdated(object, wanted))
        .unwrap_or_else(|| ready(have, wanted))
}

/// Pods of a StatefulSet that are still to be changed.
fn outdated(object: &Value, wanted: i64) -> Option<Readiness> {
    let strategy = &object["spec"]["updateStrategy"];
    // A user who chose this changes pods by deleting them, at any time.
    if strategy["type"] == "OnDelete" {
        return None;
    }
    if let Some(partition) = strategy["rollingUpdate"]["partition"].as_i64() {
        return too_few("Updated", count(object, "updatedReplicas"), wanted - partition);
    }
    too_few("Current", count(object, "currentReplicas"), wanted).or_else(|| {
        let (current, newest) = (&object["status"]["currentRevision"], &object["status"]["updateRevision"]);
        (current != newest).then(|| Readiness::in_progress("its pods change to the newest revision"))
    })
}

/// Every pod is there, available and ready; also of a ReplicationController.
pub(super) fn replica_set(object: &Value) -> Readiness {
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|found| found["status"] == "True") {
        return Readiness::in_progress(with_reason("pods cannot be made or deleted", failure));
    }
    if let Some(unreported) = unreported(object) {
        return unreported;
    }
    let (wanted, have) = (size(object), count(object, "readyReplicas"));
    too_few("Labelled", count(object, "fullyLabeledReplicas"), wanted)
        .or_else(|| too_few("Available", count(object, "availableReplicas"), wanted))
        .or_else(|| too_few("Ready", have, wanted))
        .or_else(|| too_many(object, wanted))
        .unwrap_or_else(|| ready(have, wanted))
}

/// Every node that wants a pod has one that is new, available and ready.
pub(super) fn daemon_set(object: &Value) -> Readiness {
    if let Some(unreported) = unreported(object) {
        return unreported;
    }
    let Some(wanted) = object["status"]["desiredNumberScheduled"].as_i64() else {
        return Readiness::in_progress(UNREPORTED);
    };
    let have = count(object, "numberReady");
    too_few("Current", count(object, "currentNumberScheduled"), wanted)
        .or_else(|| too_few("Updated", count(object, "updatedNumberScheduled"), wanted))
        .or_else(|| too_few("Available", count(object, "numberAvailable"), wanted))
        .or_else(|| too_few("Ready", have, wanted))
        .unwrap_or_else(|| ready(have, wanted))
}

/// It has completed. Others wait for the work of a Job, not for its beginning.
pub(super) fn job(object: &Value) -> Readiness {
    let number = |field: &str| object["spec"][field].as_i64();
    let wanted = number("completions").or_else(|| number("parallelism")).unwrap_or(1);
    let message = format!("Succeeded:{}/{wanted}", count(object, "succeeded"));
    let is_true = |type_: &str| condition(object, type_).filter(|found| found["status"] == "True");
    if is_true("Complete").is_some() {
        return Readiness::current(message);
    }
    if let Some(failed) = is_true("Failed") {
        return Readiness::failed(with_reason("the job failed", failed));
    }
    if is_true("Suspended").is_some() {
        return Readiness::in_progress("it is suspended");
    }
    Readiness::in_progress(message)
}

/// It runs and is ready, or has done its work.
pub(super) fn pod(object: &Value) -> Readiness {
    let phase = object["status"]["phase"].as_str().unwrap_or("Pending");
    let said = |type_: &str| condition(object, type_).map_or(phase.to_owned(), |it| with_reason(phase, it));
    match phase {
        "Succeeded" => Readiness::current(phase),
        "Failed" => {
            let why = ["message", "reason"].into_iter().filter_map(|field| object["status"][field].as_str());
            let why = why.filter(|why| !why.is_empty()).map(|why| format!(": {why}")).next();
            Readiness::failed(format!("{phase}{}", why.unwrap_or_default()))
        }
        "Running" if holds(object, "Ready") => Readiness::current(phase),
        "Running" => match crash_looping(object) {
            looping if looping.is_empty() => Readiness::in_progress(said("Ready")),
            looping => Readiness::failed(format!("containers in CrashLoopBackOff: {}", looping.join(", "))),
        },
        // Why it finds no node, for instance.
        _ => Readiness::in_progress(said("PodScheduled")),
    }
}

fn crash_looping(object: &Value) -> Vec<&str> {
    let containers = object["status"]["containerStatuses"].as_array().into_iter().flatten();
    let looping = containers.filter(|one| one["state"]["waiting"]["reason"] == "CrashLoopBackOff");
    looping.filter_map(|one| one["name"].as_str()).collect()
}

/// A number of the status; absent means none.
fn count(object: &Value, field: &str) -> i64 {
    object["status"][field].as_i64().unwrap_or(0)
}

/// Pods that are wanted.
fn size(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

/// No count means anything before the controller has written which spec it counted for.
fn unreported(object: &Value) -> Option<Readiness> {
    let is_reported = object["status"]["observedGeneration"].is_i64();
    (!is_reported).then(|| Readiness::in_progress(UNREPORTED))
}

fn too_few(name: &str, have: i64, wanted: i64) -> Option<Readiness> {
    (have < wanted).then(|| Readiness::in_progress(format!("{name}:{have}/{wanted}")))
}

fn too_many(object: &Value, wanted: i64) -> Option<Readiness> {
    let surplus = count(object, "replicas") - wanted;
    (surplus > 0).then(|| Readiness::in_progress(format!("Pending termination:{surplus}")))
}

fn ready(have: i64, wanted: i64) -> Readiness {
    Readiness::current(format!("Ready:{have}/{wanted}"))
}
