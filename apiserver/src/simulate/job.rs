//! Job → pods until enough have succeeded or too many have failed, and its status.
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, number, text};
use super::{Action, Outcome, Propagation, View, replica_set, template};

const RESOURCE: &str = "jobs.batch";

pub(super) fn reconcile(view: &dyn View, job: &Value, now: Timestamp, out: &mut Outcome) {
    if object::is_true(job, "Complete") || object::is_true(job, "Failed") {
        expire(job, now, out);
        return;
    }
    let pods = replica_set::pods_of(view, job);
    let phase = |wanted: &str| {
        i64::try_from(pods.iter().filter(|p| text(p, "/status/phase") == wanted).count()).unwrap_or(i64::MAX)
    };
    let (succeeded, failed) = (phase("Succeeded"), phase("Failed"));
    let active: Vec<_> = pods.iter().filter(|p| object::is_active(p)).collect();
    let completions = job.pointer("/spec/completions").and_then(Value::as_i64);
    let parallelism = number(job, "/spec/parallelism");
    let suspended = job.pointer("/spec/suspend") == Some(&Value::Bool(true));
    let done = match completions {
        Some(wanted) => succeeded >= wanted,
        None => succeeded > 0 && active.is_empty(),
    };
    let limit = job.pointer("/spec/backoffLimit").and_then(Value::as_i64).unwrap_or(6);
    let deadline = job.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64);
    let started = object::time(job, "/status/startTime").unwrap_or(now);
    let late = deadline.is_some_and(|d| now.as_second() - started.as_second() >= d);
    let hopeless = failed > limit;
    let mut status = job.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut running = active.len();
    if suspended || hopeless || late || done {
        out.actions.extend(active.iter().map(|p| object::delete("pods", p)));
        running = 0;
    } else {
        if let Some(limit) = deadline {
            let left = limit - (now.as_second() - started.as_second());
            out.sooner(Duration::from_secs(u64::try_from(left).unwrap_or(1).max(1)));
        }
        let wanted = completions.map_or(parallelism, |c| (c - succeeded).min(parallelism));
        let wanted = usize::try_from(wanted).unwrap_or_default();
        let empty = Value::Object(Map::new());
        let pattern = job.pointer("/spec/template").unwrap_or(&empty);
        for _ in active.len()..wanted.min(template::MAX_PODS_A_STEP) {
            let pod = template::pod(job, "batch/v1", "Job", pattern);
            out.actions.push(Action::Create { resource: "pods".to_owned(), object: pod });
            running += 1;
        }
        status.entry("startTime").or_insert_with(|| object::stamp(now).into());
    }
    let ready = active.iter().filter(|p| object::is_ready(p)).count();
    let counts = [
        ("active", i64::try_from(running).unwrap_or_default()),
        ("succeeded", succeeded),
        ("failed", failed),
    ];
    for (name, count) in counts {
        if count > 0 {
            status.insert(name.to_owned(), count.into());
        } else {
            status.remove(name);
        }
    }
    status.insert("ready".to_owned(), if running == 0 { 0 } else { ready }.into());
    status.insert("terminating".to_owned(), 0.into());
    status.insert("uncountedTerminatedPods".to_owned(), json!({}));
    let mut say = |kind: &str, reason: &str, message: &str| {
        let condition = json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "lastProbeTime": object::stamp(now),
        });
        object::set_condition(&mut status, condition, now);
    };
    if hopeless || late {
        let (reason, message) = if late {
            ("DeadlineExceeded", "Job was active longer than specified deadline")
        } else {
            ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        };
        say("FailureTarget", reason, message);
        say("Failed", reason, message);
        out.actions.push(object::event(
            job,
            "Job",
            "BackoffLimitExceeded",
            message.to_owned(),
            "job-controller",
            now,
        ));
    } else if done {
        let message = "Reached expected number of succeeded pods";
        say("SuccessCriteriaMet", "CompletionsReached", message);
        say("Complete", "CompletionsReached", message);
        status.insert("completionTime".to_owned(), object::stamp(now).into());
        out.actions.push(object::event(
            job,
            "Job",
            "Completed",
            "Job completed".to_owned(),
            "job-controller",
            now,
        ));
    } else if suspended && !object::is_true(job, "Suspended") {
        say("Suspended", "JobSuspended", "Job suspended");
        status.remove("startTime");
    }
    object::put_status(RESOURCE, job, status, out);
}

/// A finished job goes after the time it asks for.
fn expire(job: &Value, now: Timestamp, out: &mut Outcome) {
    let Some(ttl) = job.pointer("/spec/ttlSecondsAfterFinished").and_then(Value::as_i64) else { return };
    let end = ["Complete", "Failed"]
        .iter()
        .filter_map(|kind| object::time(object::condition(job, kind)?, "/lastTransitionTime"))
        .next()
        .unwrap_or(now);
    let left = ttl - (now.as_second() - end.as_second());
    if left > 0 {
        out.sooner(Duration::from_secs(u64::try_from(left).unwrap_or(1)));
        return;
    }
    out.actions.push(Action::Delete {
        resource: RESOURCE.to_owned(),
        namespace: object::namespace(job).to_owned(),
        name: object::name(job).to_owned(),
        uid: object::uid(job).to_owned(),
        propagation: Some(Propagation::Foreground),
    });
}
