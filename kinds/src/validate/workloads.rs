//! The rules of kinds that make pods.
use serde_json::{Value, json};

use super::fields::{at, immutable, list, not_negative, text};
use super::pods;
use crate::cause::{Cause, CauseReason};

const NO_MATCH: &str = "`selector` does not match template `labels`";

/// The rules for the template of a long-running workload and its selector.
fn template(new: &Value, out: &mut Vec<Cause>) {
    let selector = at(new, "/spec/selector").filter(|s| !s.is_null());
    if selector.is_none() {
        out.push(Cause::required("spec.selector", ""));
    } else if selector.is_some_and(is_empty_selector) {
        let empty = json!({});
        out.push(Cause::invalid(
            "spec.selector",
            selector.unwrap_or(&empty),
            "empty selector is invalid for deployment",
        ));
    }
    let labels = at(new, "/spec/template/metadata/labels");
    if !selector.is_some_and(|s| selects(s, labels)) {
        let shown = labels.cloned().unwrap_or(Value::Null);
        out.push(Cause::invalid("spec.template.metadata.labels", &shown, NO_MATCH));
    }
    pods::spec(at(new, "/spec/template/spec"), "spec.template.spec", out);
    let policy = text(new, "/spec/template/spec/restartPolicy");
    if !matches!(policy, "Always" | "") {
        out.retain(|c| c.field != "spec.template.spec.restartPolicy");
        out.push(Cause::not_supported("spec.template.spec.restartPolicy", &policy.into(), &["Always"]));
    }
}

fn is_empty_selector(selector: &Value) -> bool {
    let exact = selector.get("matchLabels").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    exact && list(selector, "/matchExpressions").is_empty()
}

fn selects(selector: &Value, labels: Option<&Value>) -> bool {
    let value_of = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
    let exact = selector.get("matchLabels").and_then(Value::as_object);
    exact.into_iter().flatten().all(|(k, v)| value_of(k) == v.as_str())
        && list(selector, "/matchExpressions").iter().all(|rule| {
            let found = value_of(text(rule, "/key"));
            let among = found.is_some() && list(rule, "/values").iter().any(|v| v.as_str() == found);
            match text(rule, "/operator") {
                "In" => among,
                "NotIn" => !among,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}

pub(super) fn deployment(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    if let Some(old) = old {
        immutable("spec.selector", old, new, out);
    }
    not_negative(new, "spec.replicas", out);
    template(new, out);
    not_negative(new, "spec.minReadySeconds", out);
    not_negative(new, "spec.revisionHistoryLimit", out);
    not_negative(new, "spec.progressDeadlineSeconds", out);
    let rolling = at(new, "/spec/strategy/rollingUpdate");
    match text(new, "/spec/strategy/type") {
        "Recreate" if rolling.is_some() => out.push(Cause::forbidden(
            "spec.strategy.rollingUpdate",
            "may not be specified when strategy `type` is 'Recreate'",
        )),
        "Recreate" => {}
        "RollingUpdate" => {
            let zero = |name: &str| {
                let value = rolling.and_then(|r| r.get(name));
                value.is_some_and(|v| *v == json!(0) || *v == json!("0%"))
            };
            if zero("maxSurge") && zero("maxUnavailable") {
                out.push(Cause::invalid(
                    "spec.strategy.rollingUpdate.maxUnavailable",
                    &0.into(),
                    "may not be 0 when `maxSurge` is 0",
                ));
            }
        }
        other => {
            out.push(Cause::not_supported(
                "spec.strategy.type",
                &other.into(),
                &["Recreate", "RollingUpdate"],
            ));
        }
    }
}

pub(super) fn replica_set(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    if let Some(old) = old {
        immutable("spec.selector", old, new, out);
    }
    not_negative(new, "spec.replicas", out);
    not_negative(new, "spec.minReadySeconds", out);
    template(new, out);
}

pub(super) fn stateful_set(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    let policy = text(new, "/spec/podManagementPolicy");
    match policy {
        "OrderedReady" | "Parallel" => {}
        other => out.push(Cause::invalid(
            "spec.podManagementPolicy",
            &other.into(),
            "must be 'OrderedReady' or 'Parallel'",
        )),
    }
    let strategy = text(new, "/spec/updateStrategy/type");
    if !matches!(strategy, "RollingUpdate" | "OnDelete") {
        let message = format!(
            "Invalid value: {}: must be 'RollingUpdate' or 'OnDelete'",
            strategy_value(new, strategy)
        );
        out.push(Cause { reason: CauseReason::Invalid, field: "spec.updateStrategy".to_owned(), message });
    }
    not_negative(new, "spec.replicas", out);
    template(new, out);
    // A claim that the set makes for each pod is a volume of the pod.
    let claims: Vec<String> = list(new, "/spec/volumeClaimTemplates")
        .iter()
        .map(|claim| format!("Not found: {:?}", text(claim, "/metadata/name")))
        .collect();
    out.retain(|cause| cause.reason != CauseReason::NotFound || !claims.contains(&cause.message));
    if let Some(old) = old {
        const MAY_CHANGE: [&str; 8] = [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
            "status",
        ];
        let fixed = |o: &Value| {
            let mut spec = o.get("spec").cloned().unwrap_or(Value::Null);
            if let Some(map) = spec.as_object_mut() {
                map.retain(|name, _| !MAY_CHANGE.contains(&name.as_str()));
            }
            spec
        };
        if fixed(new) != fixed(old) {
            out.push(Cause::forbidden(
                "spec",
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ));
        }
    }
}

/// A strategy as the messages of these two kinds show it: the program's struct, its fields in its order.
fn strategy_value(new: &Value, strategy: &str) -> String {
    let rolling = at(new, "/spec/updateStrategy/rollingUpdate").unwrap_or(&Value::Null);
    format!("{{\"Type\":{strategy:?},\"RollingUpdate\":{rolling}}}")
}

pub(super) fn daemon_set(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    if let Some(old) = old {
        immutable("spec.selector", old, new, out);
    }
    template(new, out);
    not_negative(new, "spec.minReadySeconds", out);
    let strategy = text(new, "/spec/updateStrategy/type");
    if !matches!(strategy, "RollingUpdate" | "OnDelete") {
        let value = strategy_value(new, strategy);
        let message =
            format!("Unsupported value: {value}: supported values: \"RollingUpdate\", \"OnDelete\"");
        out.push(Cause {
            reason: CauseReason::NotSupported,
            field: "spec.updateStrategy".to_owned(),
            message,
        });
    }
}

pub(super) fn job(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    job_spec(at(new, "/spec"), "spec", old.is_none(), out);
    if let Some(old) = old {
        for field in ["spec.completions", "spec.selector", "spec.template", "spec.completionMode"] {
            let suspended = text(old, "/spec/suspend") == "true";
            if !(suspended && field == "spec.template") {
                immutable(field, old, new, out);
            }
        }
    }
}

fn job_spec(spec: Option<&Value>, path: &str, _new: bool, out: &mut Vec<Cause>) {
    let nothing = Value::Null;
    let spec = spec.unwrap_or(&nothing);
    for name in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        if let Some(value) = spec.get(name).filter(|v| v.as_i64().is_some_and(|n| n < 0)) {
            out.push(Cause::invalid(format!("{path}.{name}"), value, "must be greater than or equal to 0"));
        }
    }
    let pod = format!("{path}.template.spec");
    pods::spec(at(spec, "/template/spec"), &pod, out);
    match text(spec, "/template/spec/restartPolicy") {
        "OnFailure" | "Never" => {}
        "Always" | "" => {
            out.push(Cause::required(
                format!("{pod}.restartPolicy"),
                "valid values: \"OnFailure\", \"Never\"",
            ));
        }
        other => out.push(Cause::not_supported(
            format!("{pod}.restartPolicy"),
            &other.into(),
            &["OnFailure", "Never"],
        )),
    }
}

pub(super) fn cron_job(new: &Value, out: &mut Vec<Cause>) {
    let schedule = text(new, "/spec/schedule");
    if schedule.is_empty() {
        out.push(Cause::required("spec.schedule", ""));
    } else if !schedule.starts_with('@') {
        let fields: Vec<&str> = schedule.split_whitespace().collect();
        if fields.len() != 5 {
            let detail = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
            out.push(Cause::invalid("spec.schedule", &schedule.into(), detail));
        }
    }
    let policy = text(new, "/spec/concurrencyPolicy");
    let known = ["Allow", "Forbid", "Replace"];
    if !known.contains(&policy) {
        out.push(Cause::not_supported("spec.concurrencyPolicy", &policy.into(), &known));
    }
    job_spec(at(new, "/spec/jobTemplate/spec"), "spec.jobTemplate.spec", true, out);
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        not_negative(new, &format!("spec.{name}"), out);
    }
}
