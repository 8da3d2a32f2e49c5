//! CloneSets: partition, pause, in place or anew, and never fewer pods than may be missing.
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{FakeStore, start};
use crate::simulate::View as _;
use crate::simulate::clone_set::RESOURCE;
use crate::simulate::object;

fn clone_set(replicas: i64, strategy: Value) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "c", "namespace": "n"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "updateStrategy": strategy,
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        },
    })
}

impl FakeStore {
    /// Writes fields of the set, as a user does.
    fn edit(&mut self, fields: &[(&str, Value)]) {
        let mut set = self.one(RESOURCE, "c");
        for (path, value) in fields {
            let path: Vec<&str> = path.split('.').collect();
            object::set(&mut set, &path, value.clone());
        }
        let generation = object::number(&set, "/metadata/generation") + 1;
        object::set(&mut set, &["metadata", "generation"], generation.into());
        self.put(RESOURCE, set);
    }

    fn edit_image(&mut self, image: &str) {
        let containers = json!([{"name": "c", "image": image}]);
        self.edit(&[("spec.template.spec.containers", containers)]);
    }

    fn counts(&self) -> [i64; 4] {
        let set = self.one(RESOURCE, "c");
        let count = |name: &str| object::number(&set, &format!("/status/{name}"));
        [count("replicas"), count("readyReplicas"), count("updatedReplicas"), count("updatedReadyReplicas")]
    }

    fn uids(&self) -> Vec<String> {
        self.list("pods", None).iter().map(|pod| object::uid(pod).to_owned()).collect()
    }
}

fn with(replicas: i64, strategy: Value) -> FakeStore {
    let mut store = FakeStore::default();
    store.create(RESOURCE, clone_set(replicas, strategy), start());
    store.settle(start());
    store
}

#[test]
fn a_paused_set_rests_and_a_partition_keeps_old_pods() {
    let mut store = with(5, json!({"type": "InPlaceIfPossible"}));
    let set = store.one(RESOURCE, "c");
    assert_eq!(store.counts(), [5, 5, 5, 5]);
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    assert_eq!(set["status"]["labelSelector"], "app=a");
    let before = store.uids();
    store.edit(&[("spec.updateStrategy.paused", json!(true))]);
    store.edit_image("i:2");
    store.settle(start());
    assert_eq!(store.counts(), [5, 5, 0, 0]);
    store.edit(&[("spec.updateStrategy.paused", json!(false)), ("spec.updateStrategy.partition", json!(3))]);
    store.settle(start());
    assert_eq!(store.counts(), [5, 5, 2, 2]);
    let set = store.one(RESOURCE, "c");
    assert_eq!(set["status"]["expectedUpdatedReplicas"], 2);
    assert_eq!(set["status"]["observedGeneration"], 4);
    assert_ne!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    assert_eq!(before, store.uids(), "an image changes in place");
    // Back: the partition alone takes no pod back.
    store.edit(&[("spec.updateStrategy.partition", json!("100%"))]);
    store.settle(start());
    assert_eq!(store.counts(), [5, 5, 2, 2]);
    store.edit(&[("spec.updateStrategy.partition", json!(0))]);
    store.settle(start());
    assert_eq!(store.counts(), [5, 5, 5, 5]);
    let set = store.one(RESOURCE, "c");
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    let writes = store.writes;
    store.settle(start());
    assert_eq!(store.writes, writes, "a settled cluster writes nothing");
}

#[test]
fn replaced_pods_are_new_and_stay_within_max_unavailable() {
    for (kind, stays) in [("ReCreate", false), ("InPlaceIfPossible", true)] {
        let mut store = with(4, json!({"type": kind, "maxUnavailable": 1}));
        let before = store.uids();
        let mut set = store.one(RESOURCE, "c");
        let slow = json!({"simulate.vela.dev/start-seconds": "5"});
        object::set(&mut set, &["spec", "template", "metadata", "annotations"], slow);
        store.put(RESOURCE, set);
        store.edit_image("i:2");
        for second in 0..4 * 5 {
            let now: Timestamp = start() + SignedDuration::from_secs(second);
            store.settle(now);
            let [all, ready, updated, updated_ready] = store.counts();
            assert_eq!((all, ready, updated), (4, 3, second / 5 + 1), "{kind} at second {second}");
            assert_eq!(updated_ready, second / 5, "{kind} at second {second}");
        }
        store.settle(start() + SignedDuration::from_secs(20));
        assert_eq!(store.counts(), [4, 4, 4, 4]);
        assert_eq!(before == store.uids(), stays, "{kind}");
    }
}

#[test]
fn a_pod_changing_in_place_is_unready_until_its_container_runs() {
    let mut store = with(1, json!({"type": "InPlaceIfPossible"}));
    store.edit_image("i:2");
    let step = crate::simulate::reconcile(&store, RESOURCE, "n", "c", start());
    for action in step.actions {
        store.act(action, start());
    }
    let pod = store.list("pods", None).remove(0);
    assert_eq!(pod["spec"]["containers"][0]["image"], "i:2");
    assert!(!object::is_ready(&pod), "{}", pod["status"]);
    store.settle(start());
    assert_eq!(store.counts(), [1, 1, 1, 1]);
}

#[test]
fn other_changes_replace_pods_and_a_failing_pod_stops_the_rest() {
    let mut store = with(3, json!({"type": "InPlaceIfPossible", "maxUnavailable": 1}));
    let before = store.uids();
    store.edit(&[("spec.template.spec.hostNetwork", json!(true))]);
    store.settle(start());
    assert_eq!(store.counts(), [3, 3, 3, 3]);
    assert!(store.uids().iter().all(|uid| !before.contains(uid)));
    store.edit_image("i:simulate-fail-crash");
    store.settle(start());
    assert_eq!(store.counts(), [3, 2, 1, 0]);
    // A failing pod costs nothing, so it changes first on the way back.
    store.edit_image("i:3");
    store.settle(start());
    assert_eq!(store.counts(), [3, 3, 3, 3]);
}

#[test]
fn scaling_keeps_what_the_partition_wants() {
    let mut store = with(4, json!({"partition": "50%"}));
    store.edit_image("i:2");
    store.settle(start());
    assert_eq!(store.counts(), [4, 4, 2, 2]);
    store.edit(&[("spec.replicas", json!(8))]);
    store.settle(start());
    assert_eq!(store.counts(), [8, 8, 4, 4]);
    store.edit(&[("spec.replicas", json!(2))]);
    store.settle(start());
    assert_eq!(store.counts(), [2, 2, 1, 1]);
    store.edit(&[("spec.replicas", json!(0))]);
    store.settle(start());
    assert_eq!(store.counts(), [0, 0, 0, 0]);
    let set = store.one(RESOURCE, "c");
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
}

#[test]
fn the_newer_version_keeps_its_strategy_elsewhere() {
    let mut store = FakeStore::default();
    let mut set = clone_set(
        4,
        json!({"type": "RollingUpdate",
        "rollingUpdate": {"podUpdatePolicy": "InPlaceOnly", "partition": 1, "maxUnavailable": "100%"}}),
    );
    set["apiVersion"] = "apps.kruise.io/v1beta1".into();
    store.create(RESOURCE, set, start());
    store.settle(start());
    let before = store.uids();
    store.edit_image("i:2");
    store.settle(start());
    assert_eq!(store.counts(), [4, 4, 3, 3]);
    assert_eq!(before, store.uids());
}
