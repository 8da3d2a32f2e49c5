//! Cells of pods, of jobs and of what scales them.

use jiff::Timestamp;
use serde_json::Value;

use super::read::{is_true, list, number, or, text};
use crate::age::age;

pub(super) fn pod_ready(pod: &Value) -> String {
    let ready = list(pod, "/status/containerStatuses").iter().filter(|s| is_true(s, "/ready")).count();
    format!("{ready}/{}", list(pod, "/spec/containers").len())
}

/// The phase, or what is more to the point: why a container waits or has ended, or that the pod is going.
pub(super) fn pod_status(pod: &Value) -> String {
    if pod.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null()) {
        return "Terminating".to_owned();
    }
    let mut shown = or(text(pod, "/status/reason"), text(pod, "/status/phase"));
    for status in list(pod, "/status/containerStatuses") {
        let waiting = text(status, "/state/waiting/reason");
        let ended = text(status, "/state/terminated/reason");
        if !waiting.is_empty() || !ended.is_empty() {
            shown = or(waiting, ended);
        }
    }
    shown.to_owned()
}

pub(super) fn pod_restarts(pod: &Value) -> String {
    let statuses = list(pod, "/status/containerStatuses").iter();
    statuses.map(|status| number(status, "/restartCount")).sum::<i64>().to_string()
}

pub(super) fn job_status(job: &Value) -> &'static str {
    let is = |kind: &str| {
        let mut conditions = list(job, "/status/conditions").iter();
        conditions.any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
    };
    ["Complete", "Failed", "Suspended", "FailureTarget"].into_iter().find(|k| is(k)).unwrap_or("Running")
}

pub(super) fn job_completions(job: &Value) -> String {
    let succeeded = number(job, "/status/succeeded");
    match job.pointer("/spec/completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None => match number(job, "/spec/parallelism") {
            0 | 1 => format!("{succeeded}/1"),
            several => format!("{succeeded}/1 of {several}"),
        },
    }
}

pub(super) fn job_duration(job: &Value, now: Timestamp) -> String {
    let time = |pointer: &str| text(job, pointer).parse::<Timestamp>().ok();
    match (time("/status/startTime"), time("/status/completionTime")) {
        (Some(start), Some(end)) => age(end.duration_since(start)),
        (Some(start), None) => age(now.duration_since(start)),
        _ => String::new(),
    }
}

pub(super) fn autoscaler_targets(autoscaler: &Value) -> String {
    let targets: Vec<String> = list(autoscaler, "/spec/metrics")
        .iter()
        .map(|m| match m.pointer("/resource/target/averageUtilization") {
            Some(percent) => format!("{}: <unknown>/{percent}%", text(m, "/resource/name")),
            None => "<unknown>".to_owned(),
        })
        .collect();
    or(&targets.join(", "), "<none>").to_owned()
}
