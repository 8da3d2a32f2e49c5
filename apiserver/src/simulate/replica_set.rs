//! ReplicaSet → pods, and its status.
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::object::{self, number};
use super::{Action, IndexKey, Outcome, View, template};

pub(super) fn pods_of(view: &dyn View, owner: &Value) -> Vec<Arc<Value>> {
    let mut pods = view.indexed("pods", &IndexKey::Owner(object::uid(owner).to_owned()));
    pods.retain(|p| object::is_controlled_by(p, object::uid(owner)));
    pods
}

pub(super) fn reconcile(view: &dyn View, set: &Value, now: Timestamp, out: &mut Outcome) {
    let pods = pods_of(view, set);
    let mut active: Vec<&Arc<Value>> = pods.iter().filter(|p| object::is_active(p)).collect();
    let wanted = usize::try_from(number(set, "/spec/replicas")).unwrap_or_default();
    if active.len() < wanted {
        let missing = (wanted - active.len()).min(template::MAX_PODS_A_STEP);
        let empty = Value::Object(Map::new());
        let pattern = set.pointer("/spec/template").unwrap_or(&empty);
        for _ in 0..missing {
            let pod = template::pod(set, "apps/v1", "ReplicaSet", pattern);
            out.actions.push(Action::Create { resource: "pods".to_owned(), object: pod });
        }
    } else if active.len() > wanted {
        // Pods that serve no traffic go first, then the youngest.
        active.sort_by_key(|p| {
            (object::is_ready(p), std::cmp::Reverse(created(p)), object::name(p).to_owned())
        });
        active.sort_by_key(|p| object::is_ready(p));
        let surplus = (active.len() - wanted).min(template::MAX_PODS_A_STEP);
        out.actions.extend(active.iter().take(surplus).map(|p| object::delete("pods", p)));
    }
    status(set, &pods, now, out);
}

fn created(pod: &Value) -> i64 {
    object::time(pod, "/metadata/creationTimestamp").map_or(0, Timestamp::as_second)
}

fn status(set: &Value, pods: &[Arc<Value>], now: Timestamp, out: &mut Outcome) {
    let active: Vec<&Arc<Value>> = pods.iter().filter(|p| object::is_active(p)).collect();
    let ready = active.iter().filter(|p| object::is_ready(p)).count();
    let mut available = 0;
    for pod in &active {
        match object::is_available(pod, number(set, "/spec/minReadySeconds"), now) {
            Ok(()) => available += 1,
            Err(Some(left)) => out.sooner(Duration::from_secs(u64::try_from(left).unwrap_or(1))),
            Err(None) => {}
        }
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), active.len().into());
    for (name, count) in
        [("fullyLabeledReplicas", active.len()), ("readyReplicas", ready), ("availableReplicas", available)]
    {
        if count > 0 {
            status.insert(name.to_owned(), count.into());
        }
    }
    let leaving = pods.iter().filter(|p| object::is_deleted(p)).count();
    status.insert("terminatingReplicas".to_owned(), leaving.into());
    status.insert("observedGeneration".to_owned(), number(set, "/metadata/generation").into());
    object::put_status("replicasets.apps", set, status, out);
}
