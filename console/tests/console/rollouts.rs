//! Rollouts of an application: which they are, how far their batches are, and the picture of them.

use serde_json::{Value, json};

use crate::cluster::{Cluster, application};

const ROLLOUTS: &str = "/api/v1/namespaces/default/applications/shop/rollouts";

fn rollout(name: &str, target: &str, source: Option<&str>) -> Value {
    let batches = json!([{"replicas": 1}, {"replicas": 3}]);
    let mut rollout = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetAppRevisionName": target, "componentList": ["cart"],
            "rolloutPlan": {"targetSize": 4, "batchPartition": 0, "rolloutBatches": batches}},
    });
    if let Some(source) = source {
        rollout["spec"]["sourceAppRevisionName"] = json!(source);
    }
    rollout
}

/// With a rollout that waits behind its first batch, that of another application, and one nothing looked at.
async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    cluster.create(rollout("canary", "shop-v2", Some("shop-v1"))).await;
    cluster.create(rollout("other", "shop-front-v2", Some("shop-front-v1"))).await;
    cluster.create(rollout("scale", "shop-v3", None)).await;
    let status = json!({
        "rolloutOriginalSize": 4, "rolloutTargetSize": 4, "rollingState": "rollingInBatches",
        "batchRollingState": "batchReady", "currentBatch": 0, "upgradedReplicas": 1, "upgradedReadyReplicas": 1,
        "lastTargetAppRevision": "shop-v2", "LastSourceAppRevision": "shop-v1", "targetGeneration": "",
    });
    cluster.status("core.oam.dev/v1beta1", "AppRollout", "canary", status).await;
    cluster
}

#[tokio::test]
async fn rollouts_have_their_batches_and_why_they_wait() {
    let cluster = cluster().await;
    let (status, list) = cluster.json(ROLLOUTS).await;
    assert_eq!((status, &list["planned"], &list["truncated"]), (200, &json!(false), &json!(false)), "{list}");
    let items = list["items"].as_array().unwrap();
    let mut names: Vec<&str> = items.iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["canary", "scale"]);
    let canary = items.iter().find(|one| one["name"] == "canary").unwrap();
    for (field, expected) in [
        ("from", json!("shop-v1")),
        ("to", json!("shop-v2")),
        ("phase", json!("rollingInBatches")),
        ("waiting", json!(true)),
        ("ofApplication", json!(false)),
        ("podsBefore", json!(4)),
        ("podsAfter", json!(4)),
        ("replaced", json!(1)),
        (
            "batches",
            json!([{"pods": 1, "ready": 1, "phase": "done", "state": ""}, {"pods": 3, "ready": 0, "phase": "toCome", "state": ""}]),
        ),
    ] {
        assert_eq!(canary[field], expected, "{field}: {canary}");
    }
    assert!(canary["reason"].as_str().unwrap().contains("vela rollout promote canary"), "{canary}");
    let scale = items.iter().find(|one| one["name"] == "scale").unwrap();
    assert_eq!(
        (&scale["phase"], &scale["doing"]),
        (&json!(""), &json!("no controller has looked at it yet"))
    );
    assert_eq!(cluster.json(&ROLLOUTS.replace("shop", "absent")).await.0, 404);
}

#[tokio::test]
async fn the_page_of_rollouts_draws_their_batches() {
    let cluster = cluster().await;
    let (status, page) = cluster.text("/namespaces/default/applications/shop/rollouts").await;
    assert_eq!(status, 200, "{page}");
    for words in [
        "aria-label=\"Batches of canary, 1 of 2 done\"",
        "<rect class=\"done\" x=\"0\" y=\"2\" height=\"28\" width=\"200\"/>",
        "<rect class=\"to-come\" x=\"204\" y=\"2\" height=\"28\" width=\"0\"/>",
        "It waits: batch 1 is done",
        "Its batches are not known yet.",
        "data-watch=\"/api/v1/watch/namespaces/default/applications/shop/rollouts\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(" style=") && !page.contains("shop-front"), "{page}");
    cluster.create(application("plain")).await;
    cluster
        .until("/api/v1/applications?search=plain", |list| list["items"][0]["metadata"]["name"] == "plain")
        .await;
    let (_, page) = cluster.text("/namespaces/default/applications/plain/rollouts").await;
    assert!(page.contains("no AppRollout names its revisions"), "{page}");
}

#[tokio::test]
async fn a_rollout_of_the_applications_own_plan_is_marked() {
    let cluster = Cluster::new().await;
    let mut planned = application("shop");
    planned["spec"]["rolloutPlan"] = json!({"rolloutBatches": [{"replicas": 1}]});
    let planned = cluster.create(planned).await;
    cluster.until(ROLLOUTS, |list| list["planned"] == true).await;
    let mut own = rollout("shop", "shop-v1", None);
    own["metadata"]["ownerReferences"] = json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop",
        "uid": planned["metadata"]["uid"], "controller": true}]);
    cluster.create(own).await;
    let (_, list) = cluster.json(ROLLOUTS).await;
    assert_eq!(
        (&list["items"][0]["name"], &list["items"][0]["ofApplication"]),
        (&json!("shop"), &json!(true)),
        "{list}"
    );
}

#[tokio::test]
async fn changes_of_rollouts_come_as_events() {
    let cluster = cluster().await;
    let mut events = cluster.events("/api/v1/watch/namespaces/default/applications/shop/rollouts").await;
    let text = events.until("\"name\":\"canary\"").await;
    assert!(text.contains("event: changed"), "{text}");
    cluster.create(rollout("late", "shop-v4", Some("shop-v2"))).await;
    events.until("\"name\":\"late\"").await;
}
