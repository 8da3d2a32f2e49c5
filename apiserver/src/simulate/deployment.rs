//! Deployment → ReplicaSets, rolled over within its limits, and its status.
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, number, set, text};
use super::{Action, IndexKey, Outcome, View, template};

const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";
const RESOURCE: &str = "replicasets.apps";

/// The replica sets of a deployment: the one of the present template, and the earlier ones.
struct Sets {
    new: Option<Arc<Value>>,
    old: Vec<Arc<Value>>,
}

impl Sets {
    fn all(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.new.iter().chain(&self.old)
    }

    fn sum(&self, pointer: &str) -> i64 {
        self.all().map(|s| number(s, pointer)).sum()
    }
}

struct Limits {
    replicas: i64,
    surge: i64,
    unavailable: i64,
}

pub(super) fn reconcile(view: &dyn View, deployment: &Value, now: Timestamp, out: &mut Outcome) {
    let sets = sets_of(view, deployment);
    let limits = limits(deployment);
    let revision = 1 + sets.old.iter().map(|s| revision_of(s)).max().unwrap_or(0);
    let paused = deployment.pointer("/spec/paused") == Some(&Value::Bool(true));
    let mut current = deployment.clone();
    match &sets.new {
        None if !paused => {
            let replicas =
                if recreates(deployment) && sets.old.iter().any(|s| number(s, "/status/replicas") > 0) {
                    0
                } else {
                    room_for_new(&sets, &limits, 0, recreates(deployment))
                };
            create(deployment, revision, replicas, &limits, now, out);
        }
        None => {}
        Some(new) => {
            let revision = revision.max(revision_of(new));
            if !paused {
                roll(deployment, &sets, new, &limits, revision, now, out);
                clean_up(deployment, &sets, out);
            } else if sets.old.iter().all(|s| number(s, "/spec/replicas") == 0) {
                scale(deployment, new, limits.replicas, revision, &limits, now, out);
            }
        }
    }
    let shown = sets.new.as_ref().map_or(revision, |new| revision.max(revision_of(new)));
    if (sets.new.is_some() || !paused)
        && text(deployment, "/metadata/annotations/deployment.kubernetes.io~1revision") != shown.to_string()
    {
        set(&mut current, &["metadata", "annotations", REVISION], shown.to_string().into());
        out.actions.push(Action::Update { resource: "deployments.apps".to_owned(), object: current.clone() });
    }
    status(deployment, &sets, &limits, now, out);
}

fn recreates(deployment: &Value) -> bool {
    text(deployment, "/spec/strategy/type") == "Recreate"
}

fn revision_of(replica_set: &Value) -> i64 {
    text(replica_set, "/metadata/annotations/deployment.kubernetes.io~1revision").parse().unwrap_or_default()
}

fn limits(deployment: &Value) -> Limits {
    let replicas = number(deployment, "/spec/replicas");
    if recreates(deployment) {
        return Limits { replicas, surge: 0, unavailable: replicas };
    }
    let surge = template::share(deployment.pointer("/spec/strategy/rollingUpdate/maxSurge"), replicas, true);
    let mut unavailable =
        template::share(deployment.pointer("/spec/strategy/rollingUpdate/maxUnavailable"), replicas, false);
    if surge == 0 && unavailable == 0 {
        unavailable = 1;
    }
    Limits { replicas, surge, unavailable: unavailable.min(replicas) }
}

fn sets_of(view: &dyn View, deployment: &Value) -> Sets {
    let mut all = view.indexed(RESOURCE, &IndexKey::Owner(object::uid(deployment).to_owned()));
    all.retain(|s| object::is_controlled_by(s, object::uid(deployment)) && !object::is_deleted(s));
    all.sort_by_key(|s| (revision_of(s), object::name(s).to_owned()));
    let wanted = plain_template(deployment);
    let at = all.iter().position(|s| plain_template(s) == wanted);
    let new = at.map(|i| all.remove(i));
    Sets { new, old: all }
}

/// The template without the label that names it.
fn plain_template(object: &Value) -> Value {
    let mut out = object.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    if let Some(labels) = out.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH);
    }
    out
}

/// How many pods the new set may have now.
fn room_for_new(sets: &Sets, limits: &Limits, present: i64, recreate: bool) -> i64 {
    if recreate {
        return limits.replicas;
    }
    let most = limits.replicas + limits.surge;
    let room = (most - sets.sum("/spec/replicas")).max(0);
    (present + room).min(limits.replicas)
}

fn create(
    deployment: &Value,
    revision: i64,
    replicas: i64,
    limits: &Limits,
    now: Timestamp,
    out: &mut Outcome,
) {
    let mut pattern = plain_template(deployment);
    let hash = object::short_hash(&pattern);
    set(&mut pattern, &["metadata", "labels", HASH], hash.clone().into());
    let mut selector = deployment.pointer("/spec/selector").cloned().unwrap_or_else(|| json!({}));
    set(&mut selector, &["matchLabels", HASH], hash.clone().into());
    let name = format!("{}-{hash}", object::name(deployment));
    let mut annotations = Map::new();
    let kept = deployment.pointer("/metadata/annotations").and_then(Value::as_object);
    for (key, value) in kept.into_iter().flatten() {
        if !key.starts_with("kubectl.kubernetes.io/") && !key.starts_with("deployment.kubernetes.io/") {
            annotations.insert(key.clone(), value.clone());
        }
    }
    annotations.insert(REVISION.to_owned(), revision.to_string().into());
    annotations.insert(DESIRED.to_owned(), limits.replicas.to_string().into());
    annotations.insert(MAX.to_owned(), (limits.replicas + limits.surge).to_string().into());
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": name, "namespace": object::namespace(deployment),
            "labels": pattern.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({})),
            "annotations": annotations,
            "ownerReferences": object::owner_reference("apps/v1", "Deployment", deployment),
        },
        "spec": {
            "replicas": replicas, "selector": selector, "template": pattern,
            "minReadySeconds": number(deployment, "/spec/minReadySeconds"),
        },
    });
    out.actions.push(Action::Create { resource: RESOURCE.to_owned(), object: set });
    scaled(deployment, &name, 0, replicas, now, out);
}

fn scaled(deployment: &Value, name: &str, from: i64, to: i64, now: Timestamp, out: &mut Outcome) {
    if from != to {
        let way = if to > from { "up" } else { "down" };
        let message = format!("Scaled {way} replica set {name} from {from} to {to}");
        let event = object::event(
            deployment,
            "Deployment",
            "ScalingReplicaSet",
            message,
            "deployment-controller",
            now,
        );
        out.actions.push(event);
    }
}

fn scale(
    deployment: &Value,
    replica_set: &Value,
    replicas: i64,
    revision: i64,
    limits: &Limits,
    now: Timestamp,
    out: &mut Outcome,
) {
    let mut next = replica_set.clone();
    set(&mut next, &["spec", "replicas"], replicas.into());
    for (name, value) in
        [(REVISION, revision), (DESIRED, limits.replicas), (MAX, limits.replicas + limits.surge)]
    {
        set(&mut next, &["metadata", "annotations", name], value.to_string().into());
    }
    if next != *replica_set {
        out.actions.push(Action::Update { resource: RESOURCE.to_owned(), object: next });
        scaled(
            deployment,
            object::name(replica_set),
            number(replica_set, "/spec/replicas"),
            replicas,
            now,
            out,
        );
    }
}

fn roll(
    deployment: &Value,
    sets: &Sets,
    new: &Value,
    limits: &Limits,
    revision: i64,
    now: Timestamp,
    out: &mut Outcome,
) {
    let present = number(new, "/spec/replicas");
    let old_pods: i64 = sets.old.iter().map(|s| number(s, "/spec/replicas")).sum();
    if recreates(deployment) {
        for old in sets.old.iter().filter(|s| number(s, "/spec/replicas") > 0) {
            scale(deployment, old, 0, revision_of(old), limits, now, out);
        }
        let gone =
            sets.old.iter().all(|s| number(s, "/status/replicas") == 0 && number(s, "/spec/replicas") == 0);
        scale(deployment, new, if gone { limits.replicas } else { present }, revision, limits, now, out);
        return;
    }
    let wanted = if old_pods == 0 || present > limits.replicas {
        limits.replicas
    } else {
        room_for_new(sets, limits, present, false)
    };
    scale(deployment, new, wanted, revision, limits, now, out);
    if old_pods == 0 || wanted > present {
        return;
    }
    // Old pods may go as long as enough stay available; those that are not available go first.
    let least = limits.replicas - limits.unavailable;
    let new_unavailable = present - number(new, "/status/availableReplicas");
    let mut may_go = sets.sum("/spec/replicas") - least - new_unavailable;
    let mut left: Vec<(&Arc<Value>, i64)> =
        sets.old.iter().map(|s| (s, number(s, "/spec/replicas"))).collect();
    for (old, replicas) in &mut left {
        let sick = (*replicas - number(old, "/status/availableReplicas")).clamp(0, may_go.max(0));
        *replicas -= sick;
        may_go -= sick;
    }
    let available = sets.sum("/status/availableReplicas");
    let mut may_go = (available - least).min(may_go).max(0);
    for (_, replicas) in &mut left {
        let go = (*replicas).min(may_go);
        *replicas -= go;
        may_go -= go;
    }
    for (old, replicas) in left {
        if replicas != number(old, "/spec/replicas") {
            scale(deployment, old, replicas, revision_of(old), limits, now, out);
        }
    }
}

/// Forgets the oldest empty sets beyond the history limit.
fn clean_up(deployment: &Value, sets: &Sets, out: &mut Outcome) {
    let limit = deployment.pointer("/spec/revisionHistoryLimit").and_then(Value::as_u64).unwrap_or(10);
    let empty: Vec<&Arc<Value>> = sets
        .old
        .iter()
        .filter(|s| number(s, "/spec/replicas") == 0 && number(s, "/status/replicas") == 0)
        .collect();
    let surplus = empty.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    out.actions.extend(empty.iter().take(surplus).map(|s| object::delete(RESOURCE, s)));
}

fn status(deployment: &Value, sets: &Sets, limits: &Limits, now: Timestamp, out: &mut Outcome) {
    let updated = sets.new.as_ref().map_or(0, |s| number(s, "/status/replicas"));
    let replicas = sets.sum("/status/replicas");
    let available = sets.sum("/status/availableReplicas");
    let mut status = Map::new();
    status.insert("observedGeneration".to_owned(), number(deployment, "/metadata/generation").into());
    let counts = [
        ("replicas", replicas),
        ("updatedReplicas", updated),
        ("readyReplicas", sets.sum("/status/readyReplicas")),
        ("availableReplicas", available),
        // Of those that its sets shall have: a deployment that has none yet misses nothing.
        ("unavailableReplicas", (sets.sum("/spec/replicas") - available).max(0)),
    ];
    for (name, count) in counts {
        if count > 0 {
            status.insert(name.to_owned(), count.into());
        }
    }
    status.insert("terminatingReplicas".to_owned(), sets.sum("/status/terminatingReplicas").into());
    if let Some(old) = deployment.pointer("/status/conditions") {
        status.insert("conditions".to_owned(), old.clone());
    }
    let complete = updated == limits.replicas
        && replicas == limits.replicas
        && available == limits.replicas
        && sets.new.is_some();
    if !pause(deployment, now, &mut status) {
        progress(deployment, sets, complete, &status.clone(), now, &mut status, out);
    }
    let enough = available >= limits.replicas - limits.unavailable;
    let (state, reason, message) = if enough {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    put_condition(deployment, &mut status, "Available", state, reason, message.to_owned(), now, false);
    object::put_status("deployments.apps", deployment, status, out);
}

#[allow(clippy::too_many_arguments)] // The five words of a condition and where it goes.
fn put_condition(
    deployment: &Value,
    status: &mut Map<String, Value>,
    kind: &str,
    state: &str,
    reason: &str,
    message: String,
    now: Timestamp,
    moved: bool,
) {
    let old = object::condition(deployment, kind);
    let same = old.is_some_and(|o| text(o, "/status") == state && text(o, "/reason") == reason && !moved);
    if same {
        return;
    }
    let condition = json!({
        "type": kind, "status": state, "reason": reason, "message": message, "lastUpdateTime": object::stamp(now),
    });
    object::set_condition(status, condition, now);
}

/// Reports that a deployment is paused, or goes on; its progress is judged neither then nor in between.
fn pause(deployment: &Value, now: Timestamp, status: &mut Map<String, Value>) -> bool {
    let reported = object::condition(deployment, "Progressing").map_or("", |old| text(old, "/reason"));
    let is_paused = deployment.pointer("/spec/paused") == Some(&Value::Bool(true));
    let (reason, message) = match (is_paused, reported) {
        // A rollout that was late before the pause stays late.
        (true, "ProgressDeadlineExceeded") => return true,
        (true, _) => ("DeploymentPaused", "Deployment is paused"),
        (false, "DeploymentPaused") => ("DeploymentResumed", "Deployment is resumed"),
        (false, _) => return false,
    };
    put_condition(deployment, status, "Progressing", "Unknown", reason, message.to_owned(), now, false);
    true
}

fn progress(
    deployment: &Value,
    sets: &Sets,
    complete: bool,
    counted: &Map<String, Value>,
    now: Timestamp,
    status: &mut Map<String, Value>,
    out: &mut Outcome,
) {
    let Some(new) = &sets.new else { return };
    let name = object::name(new);
    if complete {
        let message = format!("ReplicaSet {name:?} has successfully progressed.");
        put_condition(
            deployment,
            status,
            "Progressing",
            "True",
            "NewReplicaSetAvailable",
            message,
            now,
            false,
        );
        return;
    }
    let Some(old) = object::condition(deployment, "Progressing") else {
        let message = format!("Created new replica set {name:?}");
        put_condition(deployment, status, "Progressing", "True", "NewReplicaSetCreated", message, now, false);
        return;
    };
    let observed = deployment.pointer("/status/observedGeneration") == counted.get("observedGeneration");
    let moved = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]
        .iter()
        .any(|n| deployment.pointer(&format!("/status/{n}")) != counted.get(*n));
    let message = format!("ReplicaSet {name:?} is progressing.");
    if moved || !observed {
        put_condition(deployment, status, "Progressing", "True", "ReplicaSetUpdated", message, now, true);
        return;
    }
    if text(old, "/reason") == "NewReplicaSetAvailable" || text(old, "/reason") == "ProgressDeadlineExceeded"
    {
        // A finished rollout whose pods fail later has not stopped progressing.
        return;
    }
    let Some(limit) = deployment.pointer("/spec/progressDeadlineSeconds").and_then(Value::as_i64) else {
        return;
    };
    let since = object::time(old, "/lastUpdateTime").unwrap_or(now);
    let left = limit - (now.as_second() - since.as_second());
    if left <= 0 {
        let message = format!("ReplicaSet {name:?} has timed out progressing.");
        put_condition(
            deployment,
            status,
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            message,
            now,
            false,
        );
    } else {
        out.sooner(Duration::from_secs(u64::try_from(left).unwrap_or(1)));
    }
}
