//! Reads stored rollouts and workloads.

use serde_json::Value;

/// The annotation by which people abandon a rollout.
pub(super) const ABANDON: &str = "app.oam.dev/abandon-rollout";

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Wanted pods of a workload.
pub(super) fn size(workload: &Value) -> i64 {
    workload["spec"]["replicas"].as_i64().unwrap_or(1)
}

pub(super) fn partition(workload: &Value) -> i64 {
    number(workload, "/spec/updateStrategy/rollingUpdate/partition")
}

/// Uids of the rollouts that a workload names as owners.
pub(super) fn claims(workload: &Value) -> impl Iterator<Item = &str> {
    let owners = workload["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .filter(|owner| owner["kind"] == "AppRollout")
        .map(|owner| text(owner, "/uid"))
}

pub(super) fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Does its author ask it to let go where it stands?
pub(super) fn is_abandoned(rollout: &Value) -> bool {
    rollout["metadata"]["annotations"][ABANDON] == "true"
}

pub(super) fn is_over(rollout: &Value) -> bool {
    matches!(text(rollout, "/status/rollingState"), "rolloutSucceed" | "rolloutFailed")
}

/// Between which revisions a rollout says that it goes, and between which it went last.
pub(super) fn between(rollout: &Value) -> [(&str, &str); 2] {
    let named = |field: &str| {
        let name = text(rollout, &format!("/spec/{field}ApplicationName"));
        if name.is_empty() { text(rollout, &format!("/spec/{field}AppRevisionName")) } else { name }
    };
    let says = (named("target"), named("source"));
    let last =
        (text(rollout, "/status/lastTargetAppRevision"), text(rollout, "/status/LastSourceAppRevision"));
    [says, last]
}

/// Is it on its way back to its source? Nothing that people say turns it then.
pub(super) fn goes_back(rollout: &Value) -> bool {
    !rollout["status"]["revert"].is_null() && !is_over(rollout)
}

/// Target and source of the batches that it rolls.
pub(super) fn way(rollout: &Value) -> (&str, &str) {
    let [says, last] = between(rollout);
    if goes_back(rollout) { (last.1, last.0) } else { says }
}

/// Does the rollout say something else than what it works on?
pub(super) fn is_changed(rollout: &Value) -> bool {
    let [says, last] = between(rollout);
    !goes_back(rollout) && !last.0.is_empty() && (last.0 != says.0 || !last.1.is_empty() && last.1 != says.1)
}

/// What tells the templates of pods apart.
pub(super) fn template_of(object: &Value) -> String {
    let spec = if object["kind"] == "Pod" { "/spec" } else { "/spec/template/spec" };
    text(object, &format!("{spec}/containers/0/image")).to_owned()
}
