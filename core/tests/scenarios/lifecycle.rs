//! An application from creation to deletion: what appears, what stays, what goes.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until, until_or, web};

const APPS: &str = "apps/v1";
const OAM: &str = "core.oam.dev/v1beta1";

fn uid(object: &Option<Value>) -> String {
    object.as_ref().unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_created_application_runs_and_its_record_is_complete() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let deployment = cluster.deployment("front").await.unwrap();
    assert_eq!(deployment["metadata"]["labels"]["app.oam.dev/name"], "shop");
    assert_eq!(deployment["spec"]["replicas"], 2);
    assert!(cluster.get("v1", "Service", "front").await.is_some());
    let application = cluster.application("shop").await;
    for condition in application["status"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["status"], "True", "{condition}");
    }
    assert_eq!(application["status"]["latestRevision"]["name"], "shop-v1");
    let revision = cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap();
    let hash = &revision["metadata"]["labels"]["app.oam.dev/app-revision-hash"];
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["complete"], true);
    assert_eq!(&tracker["spec"]["identity"], hash, "one identity for revision and record");
    assert_eq!(&application["status"]["latestRevision"]["revisionHash"], hash);
    assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_update_prunes_only_what_was_removed() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let before = uid(&cluster.deployment("front").await);
    cluster
        .patch(OAM, "Application", "shop", json!({"spec": {"components": [web("front", "nginx:2")]}}))
        .await;
    cluster.gone(APPS, "Deployment", "back").await;
    cluster.gone("v1", "Service", "back").await;
    cluster.phase("shop", "running").await;
    let front = cluster.deployment("front").await;
    assert_eq!(uid(&front), before, "the object that stays is the same object");
    assert_eq!(front.unwrap()["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    let tracker = until_or(
        "the record holds what is left",
        || cluster.tracker("shop"),
        |tracker| tracker.as_ref().unwrap()["spec"]["managedResources"].as_array().unwrap().len() == 2,
    );
    assert_eq!(tracker.await.unwrap()["spec"]["complete"], true);
    let services = cluster.application("shop").await["status"]["services"].clone();
    assert_eq!(services.as_array().unwrap().len(), 1, "what is removed has no status: {services}");
    assert_eq!(services[0]["name"], "front");
}

#[tokio::test]
async fn going_back_and_forth_keeps_the_objects() {
    let cluster = TestCluster::new().await;
    let (a, b) = ([web("front", "nginx:1"), web("back", "nginx:1")], [web("front", "nginx:2")]);
    cluster.create(application("shop", &a)).await;
    cluster.phase("shop", "running").await;
    let before = uid(&cluster.deployment("front").await);
    // As fast as the API takes them, so that reconciles meet any of the states in between.
    for _ in 0..5 {
        for components in [&b[..], &a[..]] {
            cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
        }
    }
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    let front = cluster.deployment("front").await;
    assert_eq!(uid(&front), before);
    assert_eq!(front.unwrap()["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1");
    assert!(cluster.deployment("back").await.is_some(), "what the last wish names is there");
    assert_eq!(cluster.tracker("shop").await.unwrap()["spec"]["complete"], true);
}

#[tokio::test]
pub(super) async fn a_deleted_application_leaves_nothing() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.create(application("other", &[web("kept", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.phase("other", "running").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.tracker("shop").await.is_none());
    assert!(cluster.deployment("front").await.is_none_or(|d| d["metadata"]["deletionTimestamp"].is_string()));
    cluster.gone("v1", "Service", "front").await;
    until("revisions, replica sets and pods are collected", || async {
        let ours = |list: Vec<Value>, label: &str, value: &str| {
            list.iter().any(|object| object["metadata"]["labels"][label] == value)
        };
        !ours(cluster.list(OAM, "ApplicationRevision").await, "app.oam.dev/name", "shop")
            && !ours(cluster.list(APPS, "ReplicaSet").await, "app.oam.dev/component", "front")
            && !ours(cluster.list("v1", "Pod").await, "app.oam.dev/component", "front")
    })
    .await;
    assert!(cluster.deployment("kept").await.is_some(), "another application's objects stay");
}

#[tokio::test]
async fn a_component_waits_for_the_health_of_another() {
    let cluster = TestCluster::new().await;
    let mut second = web("second", "nginx:1");
    second["dependsOn"] = json!(["first"]);
    cluster.create(application("shop", &[second, web("first", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let time = |object: &Option<Value>, field: &str| object.as_ref().unwrap()["metadata"][field].clone();
    let (first, second) = (cluster.deployment("first").await, cluster.deployment("second").await);
    let version = |object: &Option<Value>| time(object, "creationTimestamp").as_str().unwrap().to_owned();
    assert!(version(&first) <= version(&second));
    let waves = cluster.tracker("shop").await.unwrap()["spec"]["managedResources"].clone();
    let wave = |name: &str| {
        let found = waves.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap();
        found["wave"].as_i64().unwrap()
    };
    assert!(wave("first") < wave("second"));
}

#[tokio::test]
async fn a_change_by_hand_is_undone() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.patch(APPS, "Deployment", "front", json!({"spec": {"replicas": 5}})).await;
    until_or(
        "the wish is restored",
        || cluster.deployment("front"),
        |deployment| deployment.as_ref().unwrap()["spec"]["replicas"] == 2,
    )
    .await;
    cluster.delete("v1", "Service", "front").await;
    until("the deleted object is back", || async {
        let service = cluster.get("v1", "Service", "front").await;
        service.is_some_and(|service| service["metadata"]["deletionTimestamp"].is_null())
    })
    .await;
}

#[tokio::test]
async fn the_health_of_what_runs_is_followed() {
    let cluster = TestCluster::new().await;
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: ready: \"yes\"}\nparameter: {}\n";
    let health = "isHealth: context.output.data.ready == \"yes\"";
    cluster
        .create(
            json!({"apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "gauge"}, "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}}, "status": {"healthPolicy": health}}}),
        )
        .await;
    let mut shop = application("shop", &[json!({"name": "gauge", "type": "gauge"})]);
    // What a person writes into it stays.
    shop["spec"]["policies"] =
        json!([{"name": "once", "type": "apply-once", "properties": {"enable": true}}]);
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    for (ready, phase) in [("no", "unhealthy"), ("yes", "running"), ("no", "unhealthy")] {
        cluster.patch("v1", "ConfigMap", "gauge", json!({"data": {"ready": ready}})).await;
        cluster.phase("shop", phase).await;
        let service = cluster.application("shop").await["status"]["services"][0].clone();
        assert_eq!(service["healthy"], phase == "running", "{service}");
    }
}

#[tokio::test]
async fn a_deleted_application_ends_its_workflow() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")]);
    shop["spec"]["workflow"] = json!({"steps": [
        {"name": "first", "type": "apply-component", "properties": {"component": "front"}},
        {"name": "hold", "type": "suspend", "properties": {"duration": "1s"}},
        {"name": "second", "type": "apply-component", "properties": {"component": "back"}},
    ]});
    cluster.create(shop).await;
    cluster.phase("shop", "workflowSuspending").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone(APPS, "Deployment", "front").await;
    // The time at which the workflow would have gone on.
    cluster.pass(std::time::Duration::from_secs(2)).await;
    cluster.quiet().await;
    for name in ["front", "back"] {
        assert!(cluster.deployment(name).await.is_none(), "{name} is not made again");
    }
}
