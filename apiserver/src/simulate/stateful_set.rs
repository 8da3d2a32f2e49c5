//! StatefulSet → pods in order, their volume claims, its revisions and status; that of OpenKruise too.
//!
//! The further features of OpenKruise's that are simulated: `paused`, `maxUnavailable` and changes in place.
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, number, set, text};
use super::{Action, Outcome, View, in_place, pod, replica_set, revision, template};

const REVISION: &str = "controller-revision-hash";
/// The set of Kubernetes.
const RESOURCE: &str = "statefulsets.apps";
/// The set of OpenKruise.
pub(super) const ADVANCED: &str = "statefulsets.apps.kruise.io";

pub(super) fn reconcile(view: &dyn View, owner: &Value, now: Timestamp, out: &mut Outcome) {
    let pattern = owner.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let revision = revision::name(owner, &pattern);
    revision::record(view, owner, &pattern, &revision, out);
    let wanted = number(owner, "/spec/replicas").max(0);
    let start = number(owner, "/spec/ordinals/start");
    let pods = replica_set::pods_of(view, owner);
    let find = |ordinal: i64| {
        let name = format!("{}-{ordinal}", object::name(owner));
        pods.iter().find(|p| object::name(p) == name)
    };
    let parallel = text(owner, "/spec/podManagementPolicy") == "Parallel";
    let ordinals: Vec<i64> = (start
        ..start.saturating_add(wanted.min(i64::try_from(template::MAX_PODS_A_STEP).unwrap_or(200))))
        .collect();
    let mut all_ready = true;
    for ordinal in &ordinals {
        match find(*ordinal) {
            None => {
                if parallel || all_ready {
                    create(view, owner, &pattern, *ordinal, &revision, out);
                }
                all_ready = false;
            }
            Some(pod) if matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") => {
                out.actions.push(object::delete("pods", pod));
                all_ready = false;
            }
            Some(pod) => all_ready &= object::is_ready(pod),
        }
    }
    // Surplus pods go from the highest ordinal down, one at a time unless they may all go at once.
    let mut surplus: Vec<(i64, &Arc<Value>)> = pods
        .iter()
        .filter_map(|p| Some((ordinal_of(owner, p)?, p)))
        .filter(|(o, _)| !ordinals.contains(o))
        .collect();
    surplus.sort_by_key(|(o, _)| std::cmp::Reverse(*o));
    let leaving = surplus.iter().any(|(_, p)| object::is_deleted(p));
    for (i, (_, pod)) in surplus.iter().enumerate() {
        if !object::is_deleted(pod) && (parallel || (i == 0 && !leaving && all_ready)) {
            out.actions.push(object::delete("pods", pod));
        }
    }
    if surplus.is_empty() && text(owner, "/spec/updateStrategy/type") != "OnDelete" {
        let present: Vec<Option<&Arc<Value>>> = ordinals.iter().map(|o| find(*o)).collect();
        match is_advanced(owner) {
            true => update_advanced(view, owner, &present, start, &revision, now, out),
            false => update(owner, &present, start, &revision, out),
        }
    }
    status(owner, &pods, &revision, now, out);
}

fn is_advanced(owner: &Value) -> bool {
    text(owner, "/apiVersion").starts_with("apps.kruise.io/")
}

/// The outdated pods that may change, highest ordinal first.
fn outdated<'a>(
    present: &'a [Option<&'a Arc<Value>>],
    start: i64,
    partition: i64,
    revision: &'a str,
) -> impl Iterator<Item = &'a Arc<Value>> {
    let numbered = (start..).zip(present).collect::<Vec<_>>().into_iter().rev();
    numbered
        .filter(move |(o, _)| *o >= partition)
        .filter_map(|(_, p)| *p)
        .filter(move |p| label(p) != revision)
}

/// One at a time, and a sick one of the old kind does not block its own replacement.
fn update(owner: &Value, present: &[Option<&Arc<Value>>], start: i64, revision: &str, out: &mut Outcome) {
    let partition = number(owner, "/spec/updateStrategy/rollingUpdate/partition");
    let Some(pod) = outdated(present, start, partition, revision).next() else { return };
    // One that is being made again is not ready either.
    let others_ready =
        present.iter().all(|p| p.is_some_and(|p| object::is_ready(p) || object::uid(p) == object::uid(pod)));
    if others_ready && !object::is_deleted(pod) {
        out.actions.push(object::delete("pods", pod));
    }
}

/// As many at a time as may be missing, in place where that is wanted and possible.
fn update_advanced(
    view: &dyn View,
    owner: &Value,
    present: &[Option<&Arc<Value>>],
    start: i64,
    revision: &str,
    now: Timestamp,
    out: &mut Outcome,
) {
    let rolling = |field: &str| owner.pointer(&format!("/spec/updateStrategy/rollingUpdate/{field}"));
    if rolling("paused") == Some(&Value::Bool(true)) {
        return;
    }
    let size = i64::try_from(present.len()).unwrap_or(i64::MAX);
    let partition = template::share(rolling("partition"), size, true);
    // Pods that come one after the other also change one after the other.
    let limit = match text(owner, "/spec/podManagementPolicy") {
        "Parallel" => template::share(rolling("maxUnavailable"), size, true).max(1),
        _ => 1,
    };
    let unready = present.iter().filter(|p| p.is_none_or(|p| !object::is_ready(p))).count();
    let mut room = limit - i64::try_from(unready).unwrap_or(i64::MAX);
    let policy = rolling("podUpdatePolicy").and_then(Value::as_str).unwrap_or("ReCreate");
    for pod in outdated(present, start, partition, revision) {
        let costs = i64::from(object::is_ready(pod));
        if room < costs {
            return;
        }
        room -= costs;
        let changed = match policy {
            "InPlaceIfPossible" | "InPlaceOnly" => in_place::changed(view, owner, pod, revision, now),
            _ => None,
        };
        match changed {
            Some(changed) => {
                pod::stop_serving(pod, now, out);
                out.actions.push(changed);
            }
            None if policy == "InPlaceOnly" || object::is_deleted(pod) => {}
            None => out.actions.push(object::delete("pods", pod)),
        }
    }
}

fn label(pod: &Value) -> &str {
    text(pod, "/metadata/labels/controller-revision-hash")
}

fn ordinal_of(owner: &Value, pod: &Value) -> Option<i64> {
    object::name(pod).strip_prefix(object::name(owner))?.strip_prefix('-')?.parse().ok()
}

fn create(view: &dyn View, owner: &Value, pattern: &Value, ordinal: i64, revision: &str, out: &mut Outcome) {
    let name = format!("{}-{ordinal}", object::name(owner));
    let mut pod = template::pod(owner, text(owner, "/apiVersion"), "StatefulSet", pattern);
    set(&mut pod, &["metadata", "name"], name.clone().into());
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("generateName");
    }
    for (key, value) in [
        ("statefulset.kubernetes.io/pod-name", name.clone()),
        ("apps.kubernetes.io/pod-index", ordinal.to_string()),
        (REVISION, revision.to_owned()),
    ] {
        set(&mut pod, &["metadata", "labels", key], value.into());
    }
    set(&mut pod, &["spec", "hostname"], name.clone().into());
    set(&mut pod, &["spec", "subdomain"], text(owner, "/spec/serviceName").into());
    let claims = owner.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    let mut volumes = pod.pointer("/spec/volumes").and_then(Value::as_array).cloned().unwrap_or_default();
    for claim in claims.into_iter().flatten() {
        let claim_name = format!("{}-{name}", object::name(claim));
        volumes.retain(|v| v.get("name") != claim.pointer("/metadata/name"));
        volumes.push(json!({
            "name": object::name(claim), "persistentVolumeClaim": {"claimName": claim_name},
        }));
        if view.get("persistentvolumeclaims", object::namespace(owner), &claim_name).is_none() {
            let labels = owner.pointer("/spec/selector/matchLabels").cloned().unwrap_or_else(|| json!({}));
            let object = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim_name, "namespace": object::namespace(owner), "labels": labels},
                "spec": claim.get("spec").cloned().unwrap_or_else(|| json!({})),
            });
            out.actions.push(Action::Create { resource: "persistentvolumeclaims".to_owned(), object });
        }
    }
    if !volumes.is_empty() {
        set(&mut pod, &["spec", "volumes"], volumes.into());
    }
    out.actions.push(Action::Create { resource: "pods".to_owned(), object: pod });
}

fn status(owner: &Value, pods: &[Arc<Value>], revision: &str, now: Timestamp, out: &mut Outcome) {
    let active: Vec<&Arc<Value>> = pods.iter().filter(|p| object::is_active(p)).collect();
    let min_ready = number(owner, "/spec/minReadySeconds");
    let count = |f: &dyn Fn(&Value) -> bool| active.iter().filter(|p| f(p)).count();
    let updated = count(&|p| label(p) == revision);
    let ready = count(&object::is_ready);
    let wanted = number(owner, "/spec/replicas");
    let mut current = text(owner, "/status/currentRevision").to_owned();
    if current.is_empty() || (updated == active.len() && i64::try_from(ready) == Ok(wanted)) {
        revision.clone_into(&mut current);
    }
    let mut status = Map::new();
    status.insert("observedGeneration".to_owned(), number(owner, "/metadata/generation").into());
    status.insert("replicas".to_owned(), active.len().into());
    status.insert(
        "availableReplicas".to_owned(),
        count(&|p| object::is_available(p, min_ready, now).is_ok()).into(),
    );
    for (name, count) in [
        ("readyReplicas", ready),
        ("updatedReplicas", updated),
        ("currentReplicas", count(&|p| label(p) == current)),
    ] {
        if count > 0 {
            status.insert(name.to_owned(), count.into());
        }
    }
    status.insert("currentRevision".to_owned(), current.into());
    status.insert("updateRevision".to_owned(), revision.into());
    status.insert("collisionCount".to_owned(), 0.into());
    if !is_advanced(owner) {
        return object::put_status(RESOURCE, owner, status, out);
    }
    let available = |p: &Value| object::is_available(p, min_ready, now).is_ok();
    for (name, count) in [
        ("readyReplicas", ready),
        ("updatedReplicas", updated),
        ("currentReplicas", count(&|p| label(p) == text(owner, "/status/currentRevision"))),
        ("updatedReadyReplicas", count(&|p| label(p) == revision && object::is_ready(p))),
        ("updatedAvailableReplicas", count(&|p| label(p) == revision && available(p))),
    ] {
        status.insert(name.to_owned(), count.into());
    }
    object::put_status(ADVANCED, owner, status, out);
}
