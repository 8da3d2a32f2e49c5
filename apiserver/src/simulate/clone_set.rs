//! CloneSet of OpenKruise → pods without an order, of which a partition keeps some old, its revisions and status.
//!
//! Pods are replaced or changed in place (`type`), never more of them than `maxUnavailable` at a time; `maxSurge`, the
//! order of updates, volume claims and life-cycle hooks are not simulated.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, number, set, text};
use super::{Action, Outcome, View, in_place, pod, replica_set, revision, template};

pub(super) const GROUP: &str = "apps.kruise.io";
pub(super) const RESOURCE: &str = "clonesets.apps.kruise.io";

const REVISION: &str = "controller-revision-hash";
const INSTANCE: &str = "apps.kruise.io/cloneset-instance-id";
/// Pods that may be missing while they are updated, where nothing is said.
const MAX_UNAVAILABLE: &str = "20%";

/// How pods become new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// They are deleted, and others are made.
    Recreate,
    /// They stay where only what can change in them has changed, and are replaced otherwise.
    InPlaceIfPossible,
    /// They stay, or nothing happens.
    InPlaceOnly,
}

/// The update settings, in either version's places.
struct Strategy {
    replicas: i64,
    /// Pods that shall stay old.
    partition: i64,
    unavailable: i64,
    paused: bool,
    change: Change,
}

impl Strategy {
    fn of(owner: &Value) -> Self {
        let field = |name: &str| {
            let places = [
                format!("/spec/updateStrategy/{name}"),
                format!("/spec/updateStrategy/rollingUpdate/{name}"),
            ];
            places.iter().find_map(|place| owner.pointer(place))
        };
        let replicas = owner.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1).max(0);
        let default = Value::from(MAX_UNAVAILABLE);
        let unavailable = template::share(field("maxUnavailable").or(Some(&default)), replicas, true);
        let kind = field("podUpdatePolicy").or_else(|| field("type")).and_then(Value::as_str);
        Self {
            replicas,
            partition: partition_of(field("partition"), replicas),
            // Without a surge, 0 would mean that no pod ever changes.
            unavailable: unavailable.max(1),
            paused: field("paused") == Some(&Value::Bool(true)),
            change: match kind {
                Some("InPlaceIfPossible") => Change::InPlaceIfPossible,
                Some("InPlaceOnly") => Change::InPlaceOnly,
                _ => Change::Recreate,
            },
        }
    }
}

/// The partition in pods; of a percentage below 100, one pod may change however few there are.
fn partition_of(partition: Option<&Value>, replicas: i64) -> i64 {
    let old = template::share(partition, replicas, true).clamp(0, replicas);
    let all_but_one = partition.is_some_and(|p| p.is_string() && p != "100%") && replicas > 1;
    if all_but_one { old.min(replicas - 1) } else { old }
}

pub(super) fn reconcile(view: &dyn View, owner: &Value, now: Timestamp, out: &mut Outcome) {
    let pattern = owner.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let newest = revision::name(owner, &pattern);
    revision::record(view, owner, &pattern, &newest, out);
    let strategy = Strategy::of(owner);
    let pods = replica_set::pods_of(view, owner);
    let ended = |p: &&Arc<Value>| matches!(text(p, "/status/phase"), "Succeeded" | "Failed");
    out.actions.extend(pods.iter().filter(ended).map(|p| object::delete("pods", p)));
    let mut active: Vec<&Arc<Value>> = pods.iter().filter(|p| object::is_active(p)).collect();
    active.sort_by_key(|p| object::name(p).to_owned());
    let wanted = usize::try_from(strategy.replicas).unwrap_or_default();
    let settled = active.len() == wanted;
    if active.len() < wanted {
        grow(view, owner, &strategy, &active, &newest, out);
    } else if active.len() > wanted {
        shrink(owner, &strategy, &active, &newest, out);
    } else if !strategy.paused {
        update(view, owner, &strategy, &active, &newest, now, out);
    }
    status(owner, &strategy, &active, &newest, settled, now, out);
}

fn is_new(pod: &Value, newest: &str) -> bool {
    text(pod, "/metadata/labels/controller-revision-hash") == newest
}

fn count(pods: &[&Arc<Value>], which: impl Fn(&Value) -> bool) -> i64 {
    i64::try_from(pods.iter().filter(|p| which(p)).count()).unwrap_or(i64::MAX)
}

/// Makes the missing pods: old ones as far as the partition wants them and their template is known, then new ones.
fn grow(
    view: &dyn View,
    owner: &Value,
    strategy: &Strategy,
    active: &[&Arc<Value>],
    newest: &str,
    out: &mut Outcome,
) {
    let current = text(owner, "/status/currentRevision");
    let old = Some(current).filter(|c| !c.is_empty() && *c != newest);
    let old = old.and_then(|c| Some((c, revision::template(view, owner, c)?)));
    let new = owner.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let present = i64::try_from(active.len()).unwrap_or(i64::MAX);
    let missing =
        (strategy.replicas - present).min(i64::try_from(template::MAX_PODS_A_STEP).unwrap_or(i64::MAX));
    let old_missing = (strategy.partition - count(active, |p| !is_new(p, newest))).max(0);
    // An instance's number is taken until its pod has gone.
    let taken: BTreeSet<&str> =
        active.iter().map(|p| text(p, "/metadata/labels/apps.kruise.io~1cloneset-instance-id")).collect();
    let mut free = (0u64..).map(|n| object::short_hash(&json!([object::uid(owner), newest, present, n])));
    for nth in 0..missing {
        let (name, pattern) = match &old {
            Some((name, pattern)) if nth < old_missing => (*name, pattern),
            _ => (newest, &new),
        };
        let version = text(owner, "/apiVersion");
        let mut pod = template::pod(owner, version, "CloneSet", pattern);
        set(&mut pod, &["metadata", "labels", REVISION], name.into());
        if let Some(instance) = free.find(|id| !taken.contains(id.as_str())) {
            set(&mut pod, &["metadata", "labels", INSTANCE], instance.into());
        }
        out.actions.push(Action::Create { resource: "pods".to_owned(), object: pod });
    }
}

/// Deletes surplus pods: those named in `podsToDelete`, then old ones beyond the partition, then others; of each kind
/// those that serve no traffic first, then the youngest.
fn shrink(owner: &Value, strategy: &Strategy, active: &[&Arc<Value>], newest: &str, out: &mut Outcome) {
    let named = owner.pointer("/spec/scaleStrategy/podsToDelete").and_then(Value::as_array);
    let is_named = |pod: &Value| named.into_iter().flatten().any(|n| n.as_str() == Some(object::name(pod)));
    let mut order: Vec<&Arc<Value>> = active.to_vec();
    order.sort_by_cached_key(|p| {
        let created = object::time(p, "/metadata/creationTimestamp").map_or(0, Timestamp::as_second);
        (!is_named(p), object::is_ready(p), std::cmp::Reverse(created), object::name(p).to_owned())
    });
    let old_surplus = (count(active, |p| !is_new(p, newest)) - strategy.partition).max(0);
    let (old, new): (Vec<&Arc<Value>>, Vec<&Arc<Value>>) =
        order.iter().copied().partition(|p| !is_new(p, newest));
    let (old_first, old_last) = old.split_at(usize::try_from(old_surplus).unwrap_or_default().min(old.len()));
    let mut going: Vec<&Arc<Value>> = old_first.iter().chain(&new).chain(old_last).copied().collect();
    going.sort_by_key(|p| !is_named(p));
    let surplus = active.len().saturating_sub(usize::try_from(strategy.replicas).unwrap_or_default());
    let surplus = surplus.min(template::MAX_PODS_A_STEP);
    out.actions.extend(going.into_iter().take(surplus).map(|p| object::delete("pods", p)));
}

/// Makes old pods new, as many as the partition lets and no more than may be missing at a time.
fn update(
    view: &dyn View,
    owner: &Value,
    strategy: &Strategy,
    active: &[&Arc<Value>],
    newest: &str,
    now: Timestamp,
    out: &mut Outcome,
) {
    let min_ready = number(owner, "/spec/minReadySeconds");
    let is_available = |pod: &Value| object::is_available(pod, min_ready, now).is_ok();
    let mut old: Vec<&Arc<Value>> = active.iter().filter(|p| !is_new(p, newest)).copied().collect();
    let mut due = count(&old, |_| true) - strategy.partition;
    let mut room = strategy.unavailable - count(active, |p| !is_available(p));
    // Pods that serve no traffic cost nothing, so they go first.
    old.sort_by_key(|p| (object::is_ready(p), object::name(p).to_owned()));
    for pod in old {
        let costs = i64::from(is_available(pod));
        if due <= 0 || room < costs {
            return;
        }
        due -= 1;
        room -= costs;
        let in_place = || in_place::changed(view, owner, pod, newest, now);
        match strategy.change {
            Change::Recreate => out.actions.push(object::delete("pods", pod)),
            Change::InPlaceOnly | Change::InPlaceIfPossible => match in_place() {
                Some(changed) => {
                    pod::stop_serving(pod, now, out);
                    out.actions.push(changed);
                }
                None if strategy.change == Change::InPlaceOnly => {}
                None => out.actions.push(object::delete("pods", pod)),
            },
        }
    }
}

fn status(
    owner: &Value,
    strategy: &Strategy,
    active: &[&Arc<Value>],
    newest: &str,
    settled: bool,
    now: Timestamp,
    out: &mut Outcome,
) {
    let min_ready = number(owner, "/spec/minReadySeconds");
    let is_available = |pod: &Value| object::is_available(pod, min_ready, now).is_ok();
    for pod in active {
        if let Err(Some(left)) = object::is_available(pod, min_ready, now) {
            out.sooner(Duration::from_secs(u64::try_from(left).unwrap_or(1)));
        }
    }
    let all = count(active, |_| true);
    let updated = count(active, |p| is_new(p, newest));
    let mut current = text(owner, "/status/currentRevision").to_owned();
    if current.is_empty() || (settled && updated == all) {
        newest.clone_into(&mut current);
    }
    let mut status = Map::new();
    for (name, count) in [
        ("observedGeneration", number(owner, "/metadata/generation")),
        ("replicas", all),
        ("readyReplicas", count(active, object::is_ready)),
        ("availableReplicas", count(active, is_available)),
        ("updatedReplicas", updated),
        ("updatedReadyReplicas", count(active, |p| is_new(p, newest) && object::is_ready(p))),
        ("updatedAvailableReplicas", count(active, |p| is_new(p, newest) && is_available(p))),
        ("expectedUpdatedReplicas", strategy.replicas - strategy.partition),
        ("collisionCount", 0),
    ] {
        status.insert(name.to_owned(), count.into());
    }
    status.insert("currentRevision".to_owned(), current.into());
    status.insert("updateRevision".to_owned(), newest.into());
    let labels = owner.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let labels: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    status.insert("labelSelector".to_owned(), labels.join(",").into());
    object::put_status(RESOURCE, owner, status, out);
}
