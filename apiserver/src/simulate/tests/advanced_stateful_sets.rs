//! StatefulSets of OpenKruise: paused, by partition, several at a time, in place.
use serde_json::{Value, json};

use super::{World, start};
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

fn change(world: &mut World, path: &str, value: Value) {
    let mut set = world.one(ADVANCED, "s");
    object::set(&mut set, &path.split('.').collect::<Vec<_>>(), value);
    let generation = object::number(&set, "/metadata/generation") + 1;
    object::set(&mut set, &["metadata", "generation"], generation.into());
    world.put(ADVANCED, set);
}

fn counts(world: &World) -> [i64; 3] {
    let set = world.one(ADVANCED, "s");
    ["readyReplicas", "updatedReplicas", "updatedReadyReplicas"]
        .map(|name| object::number(&set, &format!("/status/{name}")))
}

#[test]
fn pods_change_in_place_from_the_highest_as_far_as_the_partition_lets_them() {
    let rolling = json!({"podUpdatePolicy": "InPlaceIfPossible", "paused": true, "maxUnavailable": 2});
    let mut world = World::default();
    world.create(ADVANCED, set(5, rolling), start());
    world.settle(start());
    assert_eq!(counts(&world), [5, 5, 5]);
    let uids = |world: &World| -> Vec<String> {
        world.list("pods", None).iter().map(|pod| object::uid(pod).to_owned()).collect()
    };
    let before = uids(&world);
    change(&mut world, "spec.template.spec.containers", json!([{"name": "c", "image": "i:2"}]));
    world.settle(start());
    assert_eq!(counts(&world), [5, 0, 0], "it is paused");
    change(&mut world, "spec.updateStrategy.rollingUpdate.partition", json!(2));
    change(&mut world, "spec.updateStrategy.rollingUpdate.paused", json!(false));
    // Two at a time: the first step takes the two highest.
    let step = crate::simulate::reconcile(&world, ADVANCED, "n", "s", start());
    for action in step.actions {
        world.act(action, start());
    }
    let image = |world: &World, name: &str| world.one("pods", name)["spec"]["containers"][0]["image"].clone();
    let now = ["s-4", "s-3", "s-2"].map(|name| image(&world, name));
    assert_eq!(now, [json!("i:2"), json!("i:2"), json!("i:1")]);
    world.settle(start());
    assert_eq!(counts(&world), [5, 3, 3]);
    assert_eq!(image(&world, "s-1"), "i:1");
    change(&mut world, "spec.updateStrategy.rollingUpdate.partition", json!(0));
    world.settle(start());
    assert_eq!(counts(&world), [5, 5, 5]);
    assert_eq!(uids(&world), before);
    let set = world.one(ADVANCED, "s");
    assert_eq!(set["status"]["currentRevision"], set["status"]["updateRevision"]);
    change(&mut world, "spec.template.spec.hostNetwork", json!(true));
    world.settle(start());
    assert!(uids(&world).iter().all(|uid| !before.contains(uid)), "what cannot change in place is replaced");
    let writes = world.writes;
    world.settle(start());
    assert_eq!(world.writes, writes, "a settled world writes nothing");
}
