//! DaemonSet → one pod on each fitting node, and its status.
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::object::{self, number, set, text};
use super::{Action, Outcome, View, pod, replica_set, template};

const GENERATION: &str = "pod-template-generation";
const HASH: &str = "controller-revision-hash";

pub(super) fn reconcile(view: &dyn View, owner: &Value, now: Timestamp, out: &mut Outcome) {
    let nodes = view.list("nodes", None);
    if nodes.is_empty() {
        // The event of the new node brings the pods.
        out.actions
            .push(Action::Create { resource: "nodes".to_owned(), object: pod::node("sandbox-0", now) });
        return;
    }
    let pattern = owner.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let revision = object::short_hash(&pattern);
    let wanted = pattern.pointer("/spec/nodeSelector").and_then(Value::as_object);
    let pods = replica_set::pods_of(view, owner);
    let mut counts = [0i64; 5];
    let [desired, scheduled, ready, updated, available] = &mut counts;
    let mut outdated = Vec::new();
    for node in &nodes {
        let labels = node.pointer("/metadata/labels");
        let fits = wanted.into_iter().flatten().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v));
        let mut here =
            pods.iter().filter(|p| text(p, "/spec/nodeName") == object::name(node) && object::is_active(p));
        if !fits {
            out.actions.extend(here.map(|p| object::delete("pods", p)));
            continue;
        }
        *desired += 1;
        match here.next() {
            None => {
                let mut pod = template::pod(owner, "apps/v1", "DaemonSet", &pattern);
                set(&mut pod, &["metadata", "labels", HASH], revision.clone().into());
                let generation = number(owner, "/metadata/generation").to_string();
                set(&mut pod, &["metadata", "labels", GENERATION], generation.into());
                set(&mut pod, &["spec", "nodeName"], object::name(node).into());
                out.actions.push(Action::Create { resource: "pods".to_owned(), object: pod });
            }
            Some(pod) => {
                *scheduled += 1;
                *ready += i64::from(object::is_ready(pod));
                let min_ready = number(owner, "/spec/minReadySeconds");
                *available += i64::from(object::is_available(pod, min_ready, now).is_ok());
                if text(pod, "/metadata/labels/controller-revision-hash") == revision {
                    *updated += 1;
                } else {
                    outdated.push(pod.clone());
                }
            }
        }
    }
    if text(owner, "/spec/updateStrategy/type") != "OnDelete" {
        let limit = owner.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable");
        let may_miss = template::share(limit, *desired, true).max(1);
        let missing = *desired - *available;
        outdated.sort_by_key(|p| object::is_ready(p));
        let mut room = may_miss - missing;
        for pod in outdated {
            if !object::is_ready(&pod) || room > 0 {
                room -= i64::from(object::is_ready(&pod));
                out.actions.push(object::delete("pods", &pod));
            }
        }
    }
    let mut status = Map::new();
    let [desired, scheduled, ready, updated, available] = counts;
    for (name, count) in [
        ("currentNumberScheduled", scheduled),
        ("desiredNumberScheduled", desired),
        ("numberMisscheduled", 0),
        ("numberReady", ready),
    ] {
        status.insert(name.to_owned(), count.into());
    }
    for (name, count) in [
        ("updatedNumberScheduled", updated),
        ("numberAvailable", available),
        ("numberUnavailable", desired - available),
    ] {
        if count > 0 {
            status.insert(name.to_owned(), count.into());
        }
    }
    status.insert("observedGeneration".to_owned(), number(owner, "/metadata/generation").into());
    object::put_status("daemonsets.apps", owner, status, out);
}
