//! Fields that cannot change: what holds nothing is made again, what may hold data is told about and never deleted.

use serde_json::{Value, json};

use super::versions::kind;
use super::world::{World, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

pub(super) fn job(image: &str, policy: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "spec": {"template": {"spec": {
            "restartPolicy": policy,
            "containers": [{"name": "main", "image": image}],
        }}},
    })
}

pub(super) fn store(service: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "spec": {
            "serviceName": service, "selector": {"matchLabels": {"app": "data"}},
            "template": {
                "metadata": {"labels": {"app": "data"}},
                "spec": {"containers": [{"name": "main", "image": "store:1"}]},
            },
        },
    })
}

fn settings(text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": {"text": text}})
}

/// A world with a type that makes whatever its parameter says.
async fn world() -> World {
    let world = World::new().await;
    let mut thing = kind("thing", "");
    thing["spec"]["schematic"] =
        json!({"cue": {"template": "output: parameter.object\nparameter: object: {...}\n"}});
    world.create(thing).await;
    world
}

fn shop(name: &str, object: &Value) -> Value {
    application("shop", &[json!({"name": name, "type": "thing", "properties": {"object": object}})])
}

async fn wish(world: &World, name: &str, object: &Value) {
    let spec = shop(name, object)["spec"].clone();
    world.patch(OAM, "Application", "shop", json!({"spec": spec})).await;
}

fn uid(found: &Option<Value>) -> Value {
    found.as_ref().map(|found| found["metadata"]["uid"].clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_changed_job_is_made_again_once_the_change_stays() {
    let world = world().await;
    world.create(shop("once", &job("busybox:1", "Never"))).await;
    world.phase("shop", "running").await;
    let look = || world.get("batch/v1", "Job", "once");
    let before = uid(&look().await);
    // There and back: nothing is lost to a passing wish.
    wish(&world, "once", &job("busybox:2", "Never")).await;
    wish(&world, "once", &job("busybox:1", "Never")).await;
    world.phase("shop", "running").await;
    world.quiet().await;
    assert_eq!(uid(&look().await), before);
    wish(&world, "once", &job("busybox:2", "Never")).await;
    let another = |found: &Option<Value>| {
        let image =
            found.as_ref().map(|job| job["spec"]["template"]["spec"]["containers"][0]["image"].clone());
        uid(found) != before && image == Some(json!("busybox:2"))
    };
    until_or("it is made again", look, another).await;
    world.phase("shop", "running").await;
    world.quiet().await;
    let after = uid(&look().await);
    world.resync("thing").await;
    assert_eq!(uid(&look().await), after, "once");
    let told = || async {
        let events = world.list("events.k8s.io/v1", "Event").await;
        events.into_iter().filter(|event| event["reason"] == "Recreated").count()
    };
    until_or("it is told", told, |count| *count == 1).await;
    world.delete(OAM, "Application", "shop").await;
    world.gone("batch/v1", "Job", "once").await;
}

#[tokio::test]
async fn a_job_stays_where_the_new_one_would_be_refused() {
    let world = world().await;
    world.create(shop("once", &job("busybox:1", "Never"))).await;
    world.phase("shop", "running").await;
    let look = || world.get("batch/v1", "Job", "once");
    let before = uid(&look().await);
    wish(&world, "once", &job("busybox:2", "Always")).await;
    let told = |shop: &Value| shop["status"].to_string().contains("restartPolicy");
    until_or("it is told", || world.application("shop"), told).await;
    // Longer than what passes is waited for.
    world.pass(std::time::Duration::from_secs(3)).await;
    assert_eq!(uid(&look().await), before);
}

#[tokio::test]
async fn what_may_hold_data_is_told_about_and_not_tried_again_and_again() {
    let world = world().await;
    world.create(shop("data", &store("first"))).await;
    world.phase("shop", "running").await;
    let look = || world.get("apps/v1", "StatefulSet", "data");
    let before = uid(&look().await);
    wish(&world, "data", &store("second")).await;
    let told = |shop: &Value| shop["status"].to_string().contains("--cascade=orphan");
    until_or("what to do is told", || world.application("shop"), told).await;
    world.quiet().await;
    let reconciles = world.reconciles("application");
    world.requests();
    world.resync("thing").await;
    assert!(world.reconciles("application") > reconciles);
    let asked: Vec<_> =
        world.requests().into_iter().filter(|entry| entry.path.contains("/statefulsets/")).collect();
    assert!(asked.is_empty(), "it was refused for good: {asked:#?}");
    assert_eq!(uid(&look().await), before);
    // Whoever deletes it by hand gets it made again.
    world.delete("apps/v1", "StatefulSet", "data").await;
    let another =
        |found: &Option<Value>| found.as_ref().is_some_and(|store| store["spec"]["serviceName"] == "second");
    until_or("it is made again", look, another).await;
    world.phase("shop", "running").await;
}

#[tokio::test]
async fn an_immutable_config_map_is_made_again_unless_others_wrote_into_it() {
    let world = world().await;
    world.create(shop("text", &settings("1"))).await;
    world.phase("shop", "running").await;
    wish(&world, "text", &settings("2")).await;
    let look = || world.get("v1", "ConfigMap", "text");
    let says = |text: &'static str| {
        move |found: &Option<Value>| found.as_ref().is_some_and(|found| found["data"]["text"] == text)
    };
    let second = until_or("it is made again", look, says("2")).await;
    world.phase("shop", "running").await;
    // The like with a text that another writer put there before it was frozen.
    let mut open = settings("3");
    open.as_object_mut().unwrap().remove("immutable");
    wish(&world, "other", &open).await;
    world.phase("shop", "running").await;
    assert_ne!(uid(&second), uid(&world.get("v1", "ConfigMap", "other").await));
    world.patch("v1", "ConfigMap", "other", json!({"data": {"theirs": "x"}, "immutable": true})).await;
    wish(&world, "other", &settings("4")).await;
    let told = |shop: &Value| shop["status"].to_string().contains("somebody else put");
    until_or("it is told", || world.application("shop"), told).await;
    assert_eq!(world.get("v1", "ConfigMap", "other").await.unwrap()["data"]["theirs"], "x");
}
