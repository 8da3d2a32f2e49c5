//! Small clusters run until they are quiet: what is there then, and how many steps it took.
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::gc;

mod advanced_stateful_sets;
mod clone_sets;

/// A store that does what the real one does for the controllers: names, uids, generations, finalizers.
#[derive(Default)]
struct FakeStore {
    objects: BTreeMap<(String, String, String), Arc<Value>>,
    count: u64,
    writes: usize,
}

const GC: &[gc::Resource<'static>] = &[
    gc::Resource { resource: "deployments.apps", group: "apps", kind: "Deployment", namespaced: true },
    gc::Resource { resource: "replicasets.apps", group: "apps", kind: "ReplicaSet", namespaced: true },
    gc::Resource { resource: "pods", group: "", kind: "Pod", namespaced: true },
];

impl View for FakeStore {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.objects.get(&(resource.to_owned(), namespace.to_owned(), name.to_owned())).cloned()
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let hits = self.objects.iter().filter(|(k, _)| k.0 == resource && namespace.is_none_or(|n| n == k.1));
        hits.map(|(_, v)| v.clone()).collect()
    }
}

impl FakeStore {
    fn put(&mut self, resource: &str, object: Value) {
        let key =
            (resource.to_owned(), object::namespace(&object).to_owned(), object::name(&object).to_owned());
        self.objects.insert(key, Arc::new(object));
        self.writes += 1;
    }

    fn create(&mut self, resource: &str, mut object: Value, now: Timestamp) {
        self.count += 1;
        if object::name(&object).is_empty() {
            let name = format!("{}{}", object::text(&object, "/metadata/generateName"), self.count);
            object::set(&mut object, &["metadata", "name"], name.into());
        }
        object::set(&mut object, &["metadata", "uid"], format!("uid-{}", self.count).into());
        object::set(&mut object, &["metadata", "generation"], 1.into());
        object::set(&mut object, &["metadata", "creationTimestamp"], object::stamp(now).into());
        let kind = object::text(&object, "/kind").to_owned();
        let version = object::text(&object, "/apiVersion").to_owned();
        crate::builtin::apply_defaults(&version, &kind, &mut object);
        self.put(resource, object);
    }

    fn act(&mut self, action: Action, now: Timestamp) {
        match action {
            Action::Create { resource, object } => self.create(&resource, object, now),
            Action::Update { resource, mut object } => {
                // As on the server: the status has its own door.
                let stored = self.get(&resource, object::namespace(&object), object::name(&object));
                if let Some(status) = stored.and_then(|stored| stored.get("status").cloned()) {
                    object::set(&mut object, &["status"], status);
                }
                let going = object::is_deleted(&object);
                let free = object.pointer("/metadata/finalizers").is_none_or(|f| *f == json!([]));
                if going && free {
                    self.objects.remove(&(
                        resource,
                        object::namespace(&object).into(),
                        object::name(&object).into(),
                    ));
                } else {
                    self.put(&resource, object);
                }
            }
            Action::UpdateStatus { resource, object } => {
                let key = (
                    resource.clone(),
                    object::namespace(&object).to_owned(),
                    object::name(&object).to_owned(),
                );
                // Status writes keep everything else as it is now.
                if let Some(stored) = self.objects.get(&key) {
                    let mut next = stored.as_ref().clone();
                    object::set(&mut next, &["status"], object["status"].clone());
                    self.put(&resource, next);
                }
            }
            Action::Delete { resource, namespace, name, .. } => {
                self.objects.remove(&(resource, namespace, name));
                self.writes += 1;
            }
            Action::Event { .. } => {}
        }
    }

    /// Reconciles everything until no controller wants to write; gives back when a controller wants to be woken.
    fn settle(&mut self, now: Timestamp) -> Option<std::time::Duration> {
        for _ in 0..200 {
            let before = self.writes;
            let mut again: Option<std::time::Duration> = None;
            let keys: Vec<_> = self.objects.keys().cloned().collect();
            for (resource, namespace, name) in keys {
                let outcome = reconcile(self, &resource, &namespace, &name, now);
                again = match (again, outcome.again_after) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                for action in outcome.actions {
                    self.act(action, now);
                }
            }
            for action in gc::step(self, GC, None) {
                self.act(action, now);
            }
            if self.writes == before {
                return again;
            }
        }
        panic!("the cluster does not come to rest");
    }

    fn one(&self, resource: &str, name: &str) -> Value {
        self.get(resource, "n", name).unwrap_or_else(|| panic!("no {resource} {name}")).as_ref().clone()
    }
}

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn deployment(replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        },
    })
}

#[test]
fn a_deployment_becomes_available_and_then_nothing_moves() {
    let mut store = FakeStore::default();
    store.create("deployments.apps", deployment(3, "nginx:1"), start());
    store.settle(start());
    let d = store.one("deployments.apps", "d");
    for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert_eq!(d["status"][field], 3, "{field}: {}", d["status"]);
    }
    assert_eq!(object::condition(&d, "Progressing").unwrap()["reason"], "NewReplicaSetAvailable");
    assert_eq!(object::condition(&d, "Available").unwrap()["status"], "True");
    assert_eq!(d["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let before = store.writes;
    store.settle(start());
    assert_eq!(store.writes, before, "a settled cluster writes nothing");
}

#[test]
fn a_rolling_update_replaces_the_pods_and_keeps_the_old_set() {
    let mut store = FakeStore::default();
    store.create("deployments.apps", deployment(4, "nginx:1"), start());
    store.settle(start());
    let mut d = store.one("deployments.apps", "d");
    d["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2".into();
    d["metadata"]["generation"] = 2.into();
    store.put("deployments.apps", d);
    store.settle(start());
    let d = store.one("deployments.apps", "d");
    assert_eq!(d["status"]["availableReplicas"], 4);
    assert_eq!(d["status"]["observedGeneration"], 2);
    assert_eq!(d["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    assert_eq!(store.list("replicasets.apps", Some("n")).len(), 2);
    for pod in store.list("pods", Some("n")) {
        assert_eq!(pod["spec"]["containers"][0]["image"], "nginx:2");
    }
}

#[test]
fn a_failing_image_keeps_the_rollout_waiting_until_its_deadline() {
    let mut store = FakeStore::default();
    store.create("deployments.apps", deployment(2, "nginx:1"), start());
    store.settle(start());
    let mut d = store.one("deployments.apps", "d");
    d["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:simulate-fail-image-pull".into();
    d["metadata"]["generation"] = 2.into();
    store.put("deployments.apps", d);
    let wait = store.settle(start());
    let d = store.one("deployments.apps", "d");
    assert_eq!(d["status"]["availableReplicas"], 2, "the old pods stay: {}", d["status"]);
    assert_eq!(wait, Some(std::time::Duration::from_secs(600)));
    let later = start() + SignedDuration::from_secs(601);
    store.settle(later);
    let d = store.one("deployments.apps", "d");
    assert_eq!(object::condition(&d, "Progressing").unwrap()["reason"], "ProgressDeadlineExceeded");
    let waiting = store.list("pods", None).iter().any(|p| {
        p.pointer("/status/containerStatuses/0/state/waiting/reason") == Some(&"ImagePullBackOff".into())
    });
    assert!(waiting);
}

#[test]
fn a_paused_deployment_reports_it_and_misses_no_pods() {
    let mut store = FakeStore::default();
    let mut paused = deployment(2, "nginx:1");
    paused["spec"]["paused"] = true.into();
    store.create("deployments.apps", paused, start());
    store.settle(start());
    let mut d = store.one("deployments.apps", "d");
    let progressing = object::condition(&d, "Progressing").unwrap();
    assert_eq!(
        (&progressing["reason"], &progressing["status"]),
        (&json!("DeploymentPaused"), &json!("Unknown"))
    );
    assert_eq!(d["status"]["unavailableReplicas"], Value::Null, "{}", d["status"]);
    assert!(store.list("replicasets.apps", None).is_empty());
    d["spec"]["paused"] = false.into();
    d["metadata"]["generation"] = 2.into();
    store.put("deployments.apps", d);
    store.settle(start());
    let d = store.one("deployments.apps", "d");
    assert_eq!(object::condition(&d, "Progressing").unwrap()["reason"], "NewReplicaSetAvailable");
    assert_eq!(d["status"]["availableReplicas"], 2);
}

#[test]
fn what_a_deleted_deployment_owned_goes() {
    let mut store = FakeStore::default();
    store.create("deployments.apps", deployment(2, "nginx:1"), start());
    store.settle(start());
    store.objects.remove(&("deployments.apps".into(), "n".into(), "d".into()));
    store.settle(start());
    assert!(store.list("replicasets.apps", None).is_empty());
    assert!(store.list("pods", None).is_empty());
}

#[test]
fn foreground_deletion_waits_for_dependents_and_orphans_stay() {
    let mut store = FakeStore::default();
    store.create("deployments.apps", deployment(1, "nginx:1"), start());
    store.settle(start());
    let mut d = store.one("deployments.apps", "d");
    d["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    d["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    store.put("deployments.apps", d.clone());
    let actions = gc::step(&store, GC, None);
    assert!(
        matches!(&actions[..], [Action::Delete { resource, .. }] if resource == "replicasets.apps"),
        "{actions:?}"
    );
    d["metadata"]["finalizers"] = json!(["orphan"]);
    store.put("deployments.apps", d);
    for _ in 0..3 {
        for action in gc::step(&store, GC, None) {
            store.act(action, start());
        }
    }
    assert!(store.get("deployments.apps", "n", "d").is_none());
    let sets = store.list("replicasets.apps", None);
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0]["metadata"]["ownerReferences"], json!([]));
}

#[test]
fn a_stateful_set_starts_in_order_with_its_claims() {
    let mut store = FakeStore::default();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "n"},
        "spec": {
            "replicas": 2, "serviceName": "s", "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}],
        },
    });
    store.create("statefulsets.apps", set, start());
    let first = reconcile(&store, "statefulsets.apps", "n", "s", start());
    let pods =
        first.actions.iter().filter(|a| matches!(a, Action::Create { resource, .. } if resource == "pods"));
    assert_eq!(pods.count(), 1, "one pod at a time");
    store.settle(start());
    let s = store.one("statefulsets.apps", "s");
    assert_eq!(s["status"]["readyReplicas"], 2);
    assert_eq!(s["status"]["currentRevision"], s["status"]["updateRevision"]);
    assert_eq!(store.one("persistentvolumeclaims", "data-s-1")["status"]["phase"], "Bound");
}

#[test]
fn a_stateful_set_replaces_one_pod_at_a_time() {
    let mut store = FakeStore::default();
    let slow = json!({"simulate.vela.dev/start-seconds": "5"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "n"},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "podManagementPolicy": "Parallel",
            "template": {"metadata": {"labels": {"app": "a"}, "annotations": slow},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        },
    });
    store.create("statefulsets.apps", set, start());
    store.settle(start());
    store.settle(start() + SignedDuration::from_secs(5));
    let mut set = store.one("statefulsets.apps", "s");
    object::set(
        &mut set,
        &["spec", "template", "spec", "containers"],
        json!([{"name": "c", "image": "i:2"}]),
    );
    store.put("statefulsets.apps", set);
    for second in 5..20 {
        store.settle(start() + SignedDuration::from_secs(second));
        let ready = store.one("statefulsets.apps", "s")["status"]["readyReplicas"].clone();
        assert_eq!(ready, 2, "at second {second}");
    }
    store.settle(start() + SignedDuration::from_secs(20));
    assert_eq!(store.one("statefulsets.apps", "s")["status"]["updatedReplicas"], 3);
}

#[test]
fn a_job_completes_after_its_time_and_a_failing_one_gives_up() {
    let mut store = FakeStore::default();
    let job = |name: &str, image: &str| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "n"},
            "spec": {"backoffLimit": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image}]}}},
        })
    };
    store.create("jobs.batch", job("good", "i:1"), start());
    store.create("jobs.batch", job("bad", "i:simulate-fail-exit"), start());
    assert_eq!(store.settle(start()), Some(std::time::Duration::from_secs(1)));
    for second in 1..5 {
        store.settle(start() + SignedDuration::from_secs(second));
    }
    assert!(object::is_true(&store.one("jobs.batch", "good"), "Complete"));
    let bad = store.one("jobs.batch", "bad");
    assert!(object::is_true(&bad, "Failed"), "{}", bad["status"]);
    assert_eq!(bad["status"]["failed"], 2);
}

#[test]
fn a_daemon_set_covers_the_nodes_and_a_service_finds_its_pods() {
    let mut store = FakeStore::default();
    store.create("nodes", pod::node("a", start()), start());
    store.create("nodes", pod::node("b", start()), start());
    let set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "ds", "namespace": "n"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [
                {"name": "c", "image": "i:1", "ports": [{"name": "http", "containerPort": 8080}]}]}},
        },
    });
    store.create("daemonsets.apps", set, start());
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "namespace": "n"},
        "spec": {"selector": {"app": "a"}, "ports": [{"port": 80, "targetPort": "http"}]},
    });
    store.create("services", service, start());
    store.settle(start());
    assert_eq!(store.one("daemonsets.apps", "ds")["status"]["numberReady"], 2);
    let endpoints = store.one("endpoints", "svc");
    assert_eq!(endpoints["subsets"][0]["addresses"].as_array().unwrap().len(), 2);
    assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], 8080);
    assert_eq!(store.list("endpointslices.discovery.k8s.io", Some("n")).len(), 1);
}
