//! Whose rights are used, for every kind that people may write: only those of the object's author.

use serde_json::{Value, json};

use super::authors::{by, judged, reports};
use super::core_kinds::{scaler, workload};
use super::rollouts::{batches, recorded, rolling, rollout};
use super::standard::{STANDARD, deployment, pod_spec_workload, trait_of, two_containers};
use super::test_cluster::{TestCluster, until, until_or};

const NEW: &str = "core.oam.dev/v1beta1";
const OLD: &str = "core.oam.dev/v1alpha2";
const WEB: (&str, &str, &str) = ("apps/v1", "Deployment", "web");

async fn says(cluster: &TestCluster, object: &Value, words: &[&str]) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (version, kind, name) =
        (text(&object["apiVersion"]), text(&object["kind"]), text(&object["metadata"]["name"]));
    let status = || async {
        let found = cluster.get(&version, &kind, &name).await.unwrap_or_default();
        found["status"].to_string().replace('\\', "")
    };
    until_or(&format!("{kind}: {words:?}"), status, |said| words.iter().all(|word| said.contains(word)))
        .await;
}

/// Everything beside applications and rollouts that makes a controller act.
fn acted_for() -> Vec<Value> {
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let mut scales = scaler(5);
    scales["spec"]["workloadRef"] = reference.clone();
    let cpu = json!({"minReplicas": 1, "maxReplicas": 4,
        "triggers": [{"type": "cpu", "condition": {"type": "Utilization", "value": "80"}}]});
    let scope = json!({"apiVersion": OLD, "kind": "HealthScope", "metadata": {"name": "health"},
        "spec": {"workloadRefs": [reference]}});
    let moves = json!({"apiVersion": STANDARD, "kind": "RolloutTrait", "metadata": {"name": "moves"},
        "spec": {"targetRef": reference, "rolloutPlan": {"targetSize": 3, "rolloutBatches": [{"replicas": 2}]}}});
    vec![
        workload(json!([])),
        pod_spec_workload("pods", two_containers()),
        trait_of("Route", "way", WEB, json!({"host": ""})),
        scales,
        trait_of("MetricsTrait", "scrape", WEB, json!({"scrapeService": {"port": 80}})),
        trait_of("Autoscaler", "scale", WEB, cpu),
        scope,
        moves,
    ]
}

/// A user who has a right to nothing but these kinds gains no further right by them.
#[tokio::test]
async fn every_kind_is_acted_for_with_its_author_s_rights() {
    let Some((cluster, rights)) = judged().await else { return };
    cluster.create(deployment("web")).await;
    for object in acted_for() {
        let mut unstamped = object.clone();
        unstamped["metadata"]["name"] = json!("unstamped");
        cluster.create(unstamped.clone()).await;
        says(&cluster, &unstamped, &["its author is not known", "not executed"]).await;
        cluster.create(by("mallory", "", object.clone())).await;
        says(&cluster, &object, &["User \"mallory\" cannot"]).await;
        let asked =
            ["get", "patch"].map(|verb| rights.was_asked("mallory", "", &format!("{verb} deployments.apps")));
        assert!(asked.contains(&true), "{}", object["kind"]);
    }
    cluster.quiet().await;
    let all = cluster.list("apps/v1", "Deployment").await;
    assert_eq!(all.len(), 1, "{all:#?}");
    let web = cluster.deployment("web").await.unwrap();
    assert_eq!(web["spec"]["replicas"], 1, "no user may scale a foreign workload");
    assert!(web["metadata"]["ownerReferences"].is_null(), "nor hold it");
    assert!(cluster.list("v1", "Service").await.is_empty());
}

#[tokio::test]
async fn with_the_rights_of_its_author_each_does_its_work() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", &["deployments.apps", "services", "configmaps", "ingresses.networking.k8s.io"]);
    cluster.create(deployment("web")).await;
    cluster.create(by("alice", "", pod_spec_workload("pods", two_containers()))).await;
    cluster.create(by("alice", "", workload(json!([{"name": "http", "containerPort": 80}])))).await;
    cluster.create(by("alice", "", trait_of("Route", "way", WEB, json!({"host": ""})))).await;
    let mut scales = scaler(3);
    scales["spec"]["workloadRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    cluster.create(by("alice", "", scales)).await;
    for name in ["pods", "shop"] {
        until(name, || async { cluster.deployment(name).await.is_some() }).await;
    }
    until("the route's service", || async { cluster.get("v1", "Service", "way").await.is_some() }).await;
    let replicas = || async { cluster.deployment("web").await.unwrap()["spec"]["replicas"].clone() };
    until_or("alice may scale", replicas, |replicas| *replicas == 3).await;
    for what in ["patch deployments.apps", "patch services", "get deployments.apps"] {
        assert!(rights.was_asked("alice", "", what), "{what}");
    }
}

/// A revision that a user copied, with another image, and a rollout to it: neither becomes what the application's author may.
#[tokio::test]
async fn a_forged_revision_is_not_rolled_out() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", &["deployments.apps", "services"]);
    let mut shop = rolling("nginx:1");
    shop["metadata"]["annotations"]["app.oam.dev/username"] = json!("alice");
    cluster.create(shop).await;
    recorded(&cluster, "shop-v1").await;
    let mut plan = batches(&[1]);
    plan["targetSize"] = json!(1);

    let mut forged = cluster.get(NEW, "ApplicationRevision", "shop-v1").await.unwrap();
    let text = forged["spec"].to_string().replace("nginx:1", "evil:1");
    forged["spec"] = serde_json::from_str(&text).unwrap();
    let labels = forged["metadata"]["labels"].clone();
    forged["metadata"] = json!({"name": "shop-v7", "labels": labels});
    // Admission stamps the name of the writer.
    cluster.create(by("mallory", "", forged.clone())).await;
    cluster.create(by("mallory", "", rollout("shop-v7", None, plan.clone()))).await;
    reports(&cluster, "AppRollout", "release", &["shop-v7", "not what vela-core recorded"]).await;
    // Nor does a true revision give mallory a right.
    let patch = json!({"spec": {"targetAppRevisionName": "shop-v1"}});
    cluster.patch(NEW, "AppRollout", "release", patch).await;
    reports(&cluster, "AppRollout", "release", &["User \"mallory\" cannot"]).await;
    // The author of the application does not roll it out either, by mistake.
    let alices = json!({"metadata": {"annotations": {"app.oam.dev/username": "alice"}},
        "spec": {"targetAppRevisionName": "shop-v7"}});
    cluster.patch(NEW, "AppRollout", "release", alices).await;
    reports(&cluster, "AppRollout", "release", &["not what vela-core recorded"]).await;
    cluster.quiet().await;
    assert!(cluster.list("apps/v1", "Deployment").await.is_empty());

    cluster.patch(NEW, "AppRollout", "release", json!({"spec": {"targetAppRevisionName": "shop-v1"}})).await;
    until("alice's rollout runs", || async { cluster.deployment("front-v1").await.is_some() }).await;
    assert!(rights.was_asked("alice", "", "patch deployments.apps"));
}
