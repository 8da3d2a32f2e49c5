//! Fields that cannot change: what holds nothing is made again, what may hold data is told about and never deleted.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};
use super::versions::kind;

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

/// A cluster with a type that makes whatever its parameter says.
async fn cluster() -> TestCluster {
    let cluster = TestCluster::new().await;
    let mut thing = kind("thing", "");
    thing["spec"]["schematic"] =
        json!({"cue": {"template": "output: parameter.object\nparameter: object: {...}\n"}});
    cluster.create(thing).await;
    cluster
}

fn shop(name: &str, object: &Value) -> Value {
    application("shop", &[json!({"name": name, "type": "thing", "properties": {"object": object}})])
}

async fn wish(cluster: &TestCluster, name: &str, object: &Value) {
    let spec = shop(name, object)["spec"].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": spec})).await;
}

fn uid(found: &Option<Value>) -> Value {
    found.as_ref().map(|found| found["metadata"]["uid"].clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_changed_job_is_made_again_once_the_change_stays() {
    let cluster = cluster().await;
    cluster.create(shop("once", &job("busybox:1", "Never"))).await;
    cluster.phase("shop", "running").await;
    let look = || cluster.get("batch/v1", "Job", "once");
    let before = uid(&look().await);
    // There and back: nothing is lost to a passing wish.
    wish(&cluster, "once", &job("busybox:2", "Never")).await;
    wish(&cluster, "once", &job("busybox:1", "Never")).await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
    assert_eq!(uid(&look().await), before);
    wish(&cluster, "once", &job("busybox:2", "Never")).await;
    let another = |found: &Option<Value>| {
        let image =
            found.as_ref().map(|job| job["spec"]["template"]["spec"]["containers"][0]["image"].clone());
        uid(found) != before && image == Some(json!("busybox:2"))
    };
    until_or("it is made again", look, another).await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
    let after = uid(&look().await);
    cluster.resync("thing").await;
    assert_eq!(uid(&look().await), after, "once");
    let warnings = || async {
        let events = cluster.list("events.k8s.io/v1", "Event").await;
        events.into_iter().filter(|event| event["reason"] == "Recreated").count()
    };
    until_or("it is told", warnings, |count| *count == 1).await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone("batch/v1", "Job", "once").await;
}

#[tokio::test]
async fn a_job_stays_where_the_new_one_would_be_refused() {
    let cluster = cluster().await;
    cluster.create(shop("once", &job("busybox:1", "Never"))).await;
    cluster.phase("shop", "running").await;
    let look = || cluster.get("batch/v1", "Job", "once");
    let before = uid(&look().await);
    wish(&cluster, "once", &job("busybox:2", "Always")).await;
    let is_reported = |shop: &Value| shop["status"].to_string().contains("restartPolicy");
    until_or("it is told", || cluster.application("shop"), is_reported).await;
    // Longer than what passes is waited for.
    cluster.pass(std::time::Duration::from_secs(3)).await;
    assert_eq!(uid(&look().await), before);
}

#[tokio::test]
async fn objects_with_data_are_reported_and_not_retried() {
    let cluster = cluster().await;
    cluster.create(shop("data", &store("first"))).await;
    cluster.phase("shop", "running").await;
    let look = || cluster.get("apps/v1", "StatefulSet", "data");
    let before = uid(&look().await);
    wish(&cluster, "data", &store("second")).await;
    let is_reported = |shop: &Value| shop["status"].to_string().contains("--cascade=orphan");
    until_or("what to do is told", || cluster.application("shop"), is_reported).await;
    cluster.quiet().await;
    let reconciles = cluster.reconciles("application");
    cluster.requests();
    cluster.resync("thing").await;
    assert!(cluster.reconciles("application") > reconciles);
    let asked: Vec<_> =
        cluster.requests().into_iter().filter(|entry| entry.path.contains("/statefulsets/")).collect();
    assert!(asked.is_empty(), "it was refused for good: {asked:#?}");
    assert_eq!(uid(&look().await), before);
    // The controller makes it again when a user deletes it by hand.
    cluster.delete("apps/v1", "StatefulSet", "data").await;
    let another =
        |found: &Option<Value>| found.as_ref().is_some_and(|store| store["spec"]["serviceName"] == "second");
    until_or("it is made again", look, another).await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn an_immutable_config_map_is_recreated_unless_others_wrote_it() {
    let cluster = cluster().await;
    cluster.create(shop("text", &settings("1"))).await;
    cluster.phase("shop", "running").await;
    wish(&cluster, "text", &settings("2")).await;
    let look = || cluster.get("v1", "ConfigMap", "text");
    let says = |text: &'static str| {
        move |found: &Option<Value>| found.as_ref().is_some_and(|found| found["data"]["text"] == text)
    };
    let second = until_or("it is made again", look, says("2")).await;
    cluster.phase("shop", "running").await;
    // The like with a text that another writer put there before it was frozen.
    let mut open = settings("3");
    open.as_object_mut().unwrap().remove("immutable");
    wish(&cluster, "other", &open).await;
    cluster.phase("shop", "running").await;
    assert_ne!(uid(&second), uid(&cluster.get("v1", "ConfigMap", "other").await));
    cluster.patch("v1", "ConfigMap", "other", json!({"data": {"theirs": "x"}, "immutable": true})).await;
    wish(&cluster, "other", &settings("4")).await;
    let is_reported = |shop: &Value| shop["status"].to_string().contains("another client put");
    until_or("it is told", || cluster.application("shop"), is_reported).await;
    assert_eq!(cluster.get("v1", "ConfigMap", "other").await.unwrap()["data"]["theirs"], "x");
}
