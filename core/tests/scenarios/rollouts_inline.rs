//! Applications with a rollout plan of their own: the first revision at once, every later one in batches, and back.

use serde_json::{Value, json};

use super::pod_bounds::PodBounds;
use super::rollouts::{OAM, has, has_no_owner};
use super::test_cluster::{TestCluster, application, until, until_or, web};

fn sized(name: &str, image: &str) -> Value {
    let mut component = web(name, image);
    component["properties"]["replicas"] = json!(4);
    component
}

fn planned(plan: Value) -> Value {
    let mut shop = application("shop", &[sized("front", "nginx:1"), sized("back", "nginx:1")]);
    shop["spec"]["rolloutPlan"] = plan;
    shop
}

async fn image(cluster: &TestCluster, image: &str) {
    let spec = json!({"components": [sized("front", image), sized("back", image)]});
    cluster.patch(OAM, "Application", "shop", json!({ "spec": spec })).await;
}

async fn plan(cluster: &TestCluster, plan: Value) {
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"rolloutPlan": plan}})).await;
}

/// The status once the application runs this revision, or waits on the way to it.
async fn reached(cluster: &TestCluster, revision: &str, phase: &str, reason: &str) -> Value {
    let what = format!("{revision} is {phase}, {reason}");
    let found = until_or(
        &what,
        || cluster.get(OAM, "Application", "shop"),
        |found| {
            let status = &found.as_ref().unwrap()["status"];
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            status["status"] == phase
                && status["latestRevision"]["name"] == revision
                && conditions.iter().any(|each| each["type"] == "Workflow" && each["reason"] == reason)
        },
    )
    .await;
    found.unwrap()["status"].clone()
}

fn halves() -> Value {
    json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "100%"}], "batchPartition": 0})
}

#[tokio::test]
async fn an_application_with_a_plan_reaches_its_revisions_in_batches() {
    let cluster = TestCluster::new().await;
    cluster.create(planned(halves())).await;
    reached(&cluster, "shop-v1", "running", "Available").await;
    has(&cluster, "front", 4).await;
    assert!(cluster.get(OAM, "AppRollout", "shop").await.is_none(), "there is nothing to come from");
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    image(&cluster, "nginx:2").await;
    let held = reached(&cluster, "shop-v2", "rollingOut", "RolloutWaits").await;
    assert!(held["conditions"].to_string().contains("vela rollout promote shop"), "{held:#}");
    assert_eq!(held["rollout"]["rollingState"], "rollingInBatches");
    for name in ["front", "front-v2", "back", "back-v2"] {
        has(&cluster, name, 2).await;
    }
    cluster.quiet().await;
    plan(&cluster, json!({"batchPartition": null})).await;
    let done = reached(&cluster, "shop-v2", "running", "Available").await;
    let made = done["appliedResources"].as_array().unwrap();
    assert!(made.iter().any(|each| each["name"] == "front-v2" && each["kind"] == "Deployment"), "{done:#}");
    assert_eq!(done["services"][0]["message"], "4 of 4 pods are new and ready", "{done:#}");
    for name in ["front-v2", "back-v2"] {
        has(&cluster, name, 4).await;
        assert!(has_no_owner(&cluster.deployment(name).await.unwrap()));
    }
    cluster.quiet().await;
    // Back to the content of the first: a revision of its own, and the workloads that it had.
    image(&cluster, "nginx:1").await;
    reached(&cluster, "shop-v3", "running", "Available").await;
    has(&cluster, "front", 4).await;
    has(&cluster, "front-v2", 0).await;
    assert!(cluster.deployment("front-v3").await.is_none());
    bounds.assert_held(8, 8 + 4);
    cluster.delete(OAM, "Application", "shop").await;
    until("everything is gone", || async {
        cluster.get(OAM, "AppRollout", "shop").await.is_none()
            && cluster.list("apps/v1", "Deployment").await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn only_components_that_changed_are_rolled_out() {
    let cluster = TestCluster::new().await;
    let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "100%"}]});
    cluster.create(planned(plan)).await;
    reached(&cluster, "shop-v1", "running", "Available").await;
    has(&cluster, "back", 4).await;
    let before = cluster.deployment("back").await.unwrap();
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let set = async |components: Value| {
        cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    };
    set(json!([sized("front", "nginx:2"), sized("back", "nginx:1")])).await;
    let done = reached(&cluster, "shop-v2", "running", "Available").await;
    assert_eq!(done["services"][1]["message"], "nothing of it changed", "{done:#}");
    has(&cluster, "front-v2", 4).await;
    let back = cluster.deployment("back").await.unwrap();
    assert_eq!(back["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(back["spec"], before["spec"]);
    assert_eq!(back["metadata"]["labels"]["app.oam.dev/appRevision"], "shop-v2");
    // What was left alone is the source of what comes next, however often it was left alone.
    set(json!([sized("front", "nginx:2"), sized("back", "nginx:2")])).await;
    reached(&cluster, "shop-v3", "running", "Available").await;
    has(&cluster, "back-v3", 4).await;
    has(&cluster, "back", 0).await;
    // One that is new is not rolled out, and holds up nothing.
    let third = [sized("front", "nginx:3"), sized("back", "nginx:2"), sized("side", "nginx:1")];
    set(json!(third)).await;
    reached(&cluster, "shop-v4", "running", "Available").await;
    has(&cluster, "front-v4", 4).await;
    has(&cluster, "front-v2", 0).await;
    has(&cluster, "side", 4).await;
    for name in ["back-v2", "front-v3", "back-v4", "side-v4"] {
        assert!(cluster.deployment(name).await.is_none(), "{name}");
    }
    bounds.assert_held(8, i64::MAX);
    cluster.delete(OAM, "Application", "shop").await;
    until("everything is gone", || async { cluster.list("apps/v1", "Deployment").await.is_empty() }).await;
}

#[tokio::test]
async fn a_plan_that_did_not_fit_is_tried_again_when_it_is_changed() {
    let cluster = TestCluster::new().await;
    cluster.create(planned(json!({"rolloutBatches": [{"replicas": 3}, {"replicas": 3}]}))).await;
    reached(&cluster, "shop-v1", "running", "Available").await;
    image(&cluster, "nginx:2").await;
    let failed = reached(&cluster, "shop-v2", "unhealthy", "RolloutFailed").await;
    assert!(failed["conditions"].to_string().contains("batch size mismatch"), "{failed:#}");
    has(&cluster, "front", 4).await;
    plan(&cluster, json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 3}]})).await;
    reached(&cluster, "shop-v2", "running", "Available").await;
    has(&cluster, "front-v2", 4).await;
    has(&cluster, "front", 0).await;
}

#[tokio::test]
pub(super) async fn a_revision_that_comes_half_way_replaces_both() {
    let cluster = TestCluster::new().await;
    cluster.create(planned(halves())).await;
    reached(&cluster, "shop-v1", "running", "Available").await;
    image(&cluster, "nginx:2").await;
    reached(&cluster, "shop-v2", "rollingOut", "RolloutWaits").await;
    image(&cluster, "nginx:3").await;
    reached(&cluster, "shop-v3", "rollingOut", "RolloutWaits").await;
    plan(&cluster, json!({"batchPartition": null})).await;
    reached(&cluster, "shop-v3", "running", "Available").await;
    has(&cluster, "front-v3", 4).await;
    for name in ["front", "front-v2", "back", "back-v2"] {
        has(&cluster, name, 0).await;
    }
    // Without a plan it applies its workloads itself again, and loses no pod by that.
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"rolloutPlan": null}})).await;
    has(&cluster, "front", 4).await;
    until("the rollout is gone", || async { cluster.get(OAM, "AppRollout", "shop").await.is_none() }).await;
    until("what the rollouts made is gone", || async {
        cluster.list("apps/v1", "Deployment").await.len() == 2
    })
    .await;
    bounds.assert_held(8, i64::MAX);
}

#[tokio::test]
async fn a_component_that_older_revisions_made_is_a_source_too() {
    let cluster = TestCluster::new().await;
    let components = |front: &str, back: &str| json!([sized("front", front), sized("back", back)]);
    let set = async |components: Value, plan: Value| {
        let spec = json!({"spec": {"components": components, "rolloutPlan": plan}});
        cluster.patch(OAM, "Application", "shop", spec).await;
    };
    cluster.create(application("shop", &[sized("front", "nginx:1"), sized("back", "nginx:1")])).await;
    reached(&cluster, "shop-v1", "running", "Available").await;
    // Nothing of the front changes, so it stays as the first revision made it.
    set(components("nginx:1", "nginx:2"), Value::Null).await;
    reached(&cluster, "shop-v2", "running", "Available").await;
    assert_eq!(
        cluster.deployment("front").await.unwrap()["metadata"]["labels"]["app.oam.dev/appRevision"],
        "shop-v1"
    );
    let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "100%"}]});
    set(components("nginx:3", "nginx:3"), plan).await;
    reached(&cluster, "shop-v3", "running", "Available").await;
    for name in ["front-v3", "back-v3"] {
        has(&cluster, name, 4).await;
    }
}

#[tokio::test]
async fn a_namesake_of_another_owner_is_left_alone() {
    let cluster = TestCluster::new().await;
    let other = json!({"apiVersion": OAM, "kind": "AppRollout", "metadata": {"name": "shop"},
        "spec": {"targetAppRevisionName": "other-v1", "rolloutPlan": {}}});
    cluster.create(other).await;
    cluster.create(planned(halves())).await;
    let shop = until_or(
        "it is told",
        || cluster.get(OAM, "Application", "shop"),
        |found| found.as_ref().unwrap()["status"]["conditions"].to_string().contains("AppRollout"),
    )
    .await
    .unwrap();
    assert!(shop["status"]["conditions"].to_string().contains("not this application's"), "{shop:#}");
    let kept = cluster.get(OAM, "AppRollout", "shop").await.unwrap();
    assert_eq!(kept["spec"]["targetAppRevisionName"], "other-v1");
}

#[tokio::test]
async fn what_stands_beside_a_rollout_is_written_in_versions_of_today() {
    let cluster = TestCluster::new().await;
    let ingress = super::versions::ingress("networking.k8s.io/v1beta1").to_string();
    cluster.create(super::versions::kind("entry", &ingress)).await;
    let mut shop = application(
        "shop",
        &[sized("front", "nginx:1"), json!({"name": "web", "type": "entry", "properties": {}})],
    );
    shop["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    cluster.create(shop).await;
    let plan = json!({"targetSize": 5, "rolloutBatches": [{"replicas": 1}]});
    let mut first = super::rollouts::rollout("shop-v1", None, plan);
    first["spec"]["componentList"] = json!(["front"]);
    cluster.create(first).await;
    super::rollouts::state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v1", 5).await;
    assert!(cluster.get("networking.k8s.io/v1", "Ingress", "web").await.is_some());
}
