//! StatefulSets of OpenKruise: paused, by partition, several at a time, in place.
use serde_json::{Value, json};

use super::{FakeStore, start};
use crate::simulate::View as _;
use crate::simulate::object;
use crate::simulate::stateful_set::ADVANCED;

fn set(replicas: i64, rolling: Value) -> Value {
    json!({
        "apiVersion": "apps.kruise.io/v1beta1", "kind": "StatefulSet", "metadata": {"name": "s", "namespace": "n"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        },
    })
}

fn change(store: &mut FakeStore, path: &str, value: Value) {
    let mut set = store.one(ADVANCED, "s");
    object::set(&mut set, &path.split('.').collect::<Vec<_>>(), value);
    let generation = object::number(&set, "/metadata/generation") + 1;
    object::set(&mut set, &["metadata", "generation"], generation.into());
    store.put(ADVANCED, set);
}

fn counts(store: &FakeStore) -> [i64; 3] {
    let set = store.one(ADVANCED, "s");
    ["readyReplicas", "updatedReplicas", "updatedReadyReplicas"]
        .map(|name| object::number(&set, &format!("/status/{name}")))
}

#[test]
fn pods_change_in_place_from_the_highest_to_the_partition() {
    let rolling = json!({"podUpdatePolicy": "InPlaceIfPossible", "paused": true, "maxUnavailable": 2});
    let mut store = FakeStore::default();
    store.create(ADVANCED, set(5, rolling), start());
    store.settle(start());
    assert_eq!(counts(&store), [5, 5, 5]);
    let uids = |store: &FakeStore| -> Vec<String> {
        store.list("pods", None).iter().map(|pod| object::uid(pod).to_owned()).collect()
    };
    let before = uids(&store);
    change(&mut store, "spec.template.spec.containers", json!([{"name": "c", "image": "i:2"}]));
    store.settle(start());
    assert_eq!(counts(&store), [5, 0, 0], "it is paused");
    change(&mut store, "spec.updateStrategy.rollingUpdate.partition", json!(2));
    change(&mut store, "spec.updateStrategy.rollingUpdate.paused", json!(false));
    // Two at a time: the first step takes the two highest.
    let step = crate::simulate::reconcile(&store, ADVANCED, "n", "s", start());
    for action in step.actions {
        store.act(action, start());
    }
    let image =
        |store: &FakeStore, name: &str| store.one("pods", name)["spec"]["containers"][0]["image"].clone();
    let now = ["s-4", "s-3", "s-2"].map(|name| image(&store, name));
    assert_eq!(now, [json!("i:2"), json!("i:2"), json!("i:1")]);
    store.settle(start());
    assert_eq!(counts(&store), [5, 3, 3]);
    assert_eq!(image(&store, "s-1"), "i:1");
    change(&mut store, "spec.updateStrategy.rollingUpdate.partition", json!(0));
    store.settle(start());
    assert_eq!(counts(&store), [5, 5, 5]);
    assert_eq!(uids(&store), before);
    let set = store.one(ADVANCED, "s");
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    change(&mut store, "spec.template.spec.hostNetwork", json!(true));
    store.settle(start());
    assert!(uids(&store).iter().all(|uid| !before.contains(uid)), "what cannot change in place is replaced");
    let writes = store.writes;
    store.settle(start());
    assert_eq!(store.writes, writes, "a settled cluster writes nothing");
}
