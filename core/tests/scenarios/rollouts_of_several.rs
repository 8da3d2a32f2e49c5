//! Rollouts of several components together, turned to a third revision half-way, and of workloads that their application made.

use serde_json::{Value, json};

use super::pod_bounds::PodBounds;
use super::rollouts::{
    OAM, batch, batches, change, first, has, has_no_owner, pods, recorded, rollout, second, state,
};
use super::test_cluster::{TestCluster, application, until, web};

fn sized(name: &str, image: &str, replicas: i64) -> Value {
    let mut component = web(name, image);
    component["properties"]["replicas"] = json!(replicas);
    component
}

/// An application that made its workloads itself, and whose second revision is left to a rollout.
async fn handed_over(cluster: &TestCluster, components: [&[Value]; 2]) {
    cluster.create(application("shop", components[0])).await;
    for component in components[0] {
        let wanted = component["properties"]["replicas"].as_i64().unwrap();
        has(cluster, component["name"].as_str().unwrap(), wanted).await;
    }
    let left = json!({
        "metadata": {"annotations": {"app.oam.dev/rollout-template": "true"}},
        "spec": {"components": components[1]},
    });
    cluster.patch(OAM, "Application", "shop", left).await;
    recorded(cluster, "shop-v2").await;
}

fn halves() -> Value {
    json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "100%"}]})
}

#[tokio::test]
async fn several_components_go_through_each_batch_together() {
    let cluster = TestCluster::new().await;
    let of = |image: &str| [sized("front", image, 4), sized("back", image, 2), sized("other", image, 1)];
    handed_over(&cluster, [&of("nginx:1"), &of("nginx:2")]).await;
    let mut plan = halves();
    plan["batchPartition"] = json!(0);
    let mut both = rollout("shop-v2", Some("shop-v1"), plan);
    both["spec"]["componentList"] = json!(["front", "back"]);
    cluster.create(both).await;
    let held = batch(&cluster, 0, "batchReady").await;
    for (name, wanted) in [("front", 2), ("front-v2", 2), ("back", 1), ("back-v2", 1)] {
        has(&cluster, name, wanted).await;
    }
    let status = &held["status"];
    assert_eq!((&status["rolloutTargetSize"], &status["upgradedReadyReplicas"]), (&json!(6), &json!(3)));
    let each = status["components"].as_array().unwrap();
    let sizes: Vec<_> = each.iter().map(|each| (&each["name"], &each["rolloutTargetSize"])).collect();
    assert_eq!(sizes, [(&json!("back"), &json!(2)), (&json!("front"), &json!(4))]);
    let on = json!({"spec": {"rolloutPlan": {"batchPartition": null}}});
    cluster.patch(OAM, "AppRollout", "release", on).await;
    state(&cluster, "rolloutSucceed").await;
    for (name, wanted) in [("front", 0), ("front-v2", 4), ("back", 0), ("back-v2", 2)] {
        has(&cluster, name, wanted).await;
        assert!(has_no_owner(&cluster.deployment(name).await.unwrap()));
    }
    let other = cluster.deployment("other").await.unwrap();
    assert_eq!(
        other["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2",
        "it is not rolled out"
    );
    // One number of pods cannot be meant for both.
    let mut plan = halves();
    plan["targetSize"] = json!(4);
    let back = json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2",
        "rolloutPlan": plan}});
    cluster.patch(OAM, "AppRollout", "release", back).await;
    let failed = state(&cluster, "rolloutFailed").await;
    assert!(failed["status"]["conditions"].to_string().contains("several components: front, back"));
}

#[tokio::test]
async fn the_next_rollout_removes_deployments_of_deleted_revisions() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    cluster.create(rollout("shop-v2", Some("shop-v1"), batches(&[4]))).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v1", 0).await;
    change(&cluster, "nginx:3").await;
    recorded(&cluster, "shop-v3").await;
    cluster.delete(OAM, "ApplicationRevision", "shop-v1").await;
    cluster.gone(OAM, "ApplicationRevision", "shop-v1").await;
    let on = json!({"spec": {"targetAppRevisionName": "shop-v3", "sourceAppRevisionName": "shop-v2"}});
    cluster.patch(OAM, "AppRollout", "release", on).await;
    has(&cluster, "front-v3", 4).await;
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    let done = state(&cluster, "rolloutSucceed").await;
    assert_eq!(done["status"]["lastTargetAppRevision"], "shop-v3");
    has(&cluster, "front-v2", 0).await;
    let tracker = cluster.tracker("shop").await.unwrap().to_string();
    assert!(!tracker.contains("front-v1") && tracker.contains("front-v2"), "{tracker}");
}

#[tokio::test]
async fn what_an_application_made_itself_is_rolled_out_of_and_back_to() {
    let cluster = TestCluster::new().await;
    let of = |image: &str| [sized("front", image, 3)];
    handed_over(&cluster, [&of("nginx:1"), &of("nginx:2")]).await;
    let made = cluster.deployment("front").await.unwrap();
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    cluster.create(rollout("shop-v2", Some("shop-v1"), batches(&[1, 2]))).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v2", 3).await;
    has(&cluster, "front", 0).await;
    let back = json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"}});
    cluster.patch(OAM, "AppRollout", "release", back).await;
    has(&cluster, "front-v2", 0).await;
    has(&cluster, "front", 3).await;
    assert_eq!(cluster.deployment("front").await.unwrap()["metadata"]["uid"], made["metadata"]["uid"]);
    assert!(cluster.deployment("front-v1").await.is_none(), "nothing is made beside it");
    bounds.assert_held(3, i64::MAX);
    cluster.delete(OAM, "Application", "shop").await;
    until("everything is gone", || async {
        cluster.deployment("front").await.is_none() && cluster.deployment("front-v2").await.is_none()
    })
    .await;
}

#[tokio::test]
async fn a_third_revision_replaces_the_pods_of_both_half_way() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[2, 2]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    has(&cluster, "front-v1", 2).await;
    has(&cluster, "front-v2", 2).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    change(&cluster, "nginx:3").await;
    recorded(&cluster, "shop-v3").await;
    let to = json!({"spec": {"targetAppRevisionName": "shop-v3", "rolloutPlan": {"batchPartition": null}}});
    cluster.patch(OAM, "AppRollout", "release", to).await;
    has(&cluster, "front-v3", 4).await;
    let done = state(&cluster, "rolloutSucceed").await;
    assert!(done["status"]["givenUpRevisions"].is_null(), "{done:#}");
    for name in ["front-v1", "front-v2"] {
        assert_eq!(pods(&cluster, name).await.0, 0);
        assert!(has_no_owner(&cluster.deployment(name).await.unwrap()));
    }
    bounds.assert_held(4, 4 + 2);
}
