//! AppDeployments and ApplicationContexts of release 1.0: revisions side by side, who gets the requests, and what is refused.

use serde_json::{Value, json};

use super::foreign;
use super::rollouts::{change, has, recorded};
use super::test_cluster::{TestCluster, application, until, until_or, web};

const V1BETA1: &str = "core.oam.dev/v1beta1";
const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
const ISTIO: &str = "networking.istio.io/v1beta1";
const ONLY: &str = "app.oam.dev/revision-only";

/// Two revisions of an application that only records them.
async fn two(cluster: &TestCluster) {
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["metadata"]["annotations"] = json!({ONLY: "true"});
    cluster.create(shop).await;
    recorded(cluster, "shop-v1").await;
    change(cluster, "nginx:2").await;
    recorded(cluster, "shop-v2").await;
}

fn revision(name: &str, replicas: i64) -> Value {
    json!({"revisionName": name, "placement": [{"distribution": {"replicas": replicas}}]})
}

fn deployment(revisions: &[Value]) -> Value {
    json!({
        "apiVersion": V1BETA1, "kind": "AppDeployment", "metadata": {"name": "both"}, "spec": {"appRevisions": revisions},
    })
}

async fn edit(cluster: &TestCluster, spec: Value) {
    cluster.patch(V1BETA1, "AppDeployment", "both", json!({"spec": spec})).await;
}

async fn phase(cluster: &TestCluster, wanted: &str) -> Value {
    let is = |found: &Option<Value>| found.as_ref().is_some_and(|found| found["status"]["phase"] == wanted);
    until_or(wanted, || cluster.get(V1BETA1, "AppDeployment", "both"), is).await.unwrap()
}

async fn says(cluster: &TestCluster, (api_version, kind): (&str, &str), words: &str) {
    let conditions = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["status"]["conditions"].to_string().contains(words))
    };
    until_or(words, || cluster.get(api_version, kind, "both"), conditions).await;
}

const KIND: (&str, &str) = (V1BETA1, "AppDeployment");

#[tokio::test]
pub(crate) async fn two_revisions_run_side_by_side_and_share_the_requests() {
    let cluster = TestCluster::new().await;
    two(&cluster).await;
    cluster.create(deployment(&[revision("shop-v1", 2), revision("shop-v2", 1)])).await;
    has(&cluster, "front-v1", 2).await;
    has(&cluster, "front-v2", 1).await;
    let both = phase(&cluster, "Completed").await;
    assert_eq!(
        both["status"]["placement"][1],
        json!({"revisionName": "shop-v2", "clusters": [{"clusterName": "local", "replicas": 1}]})
    );
    let second = cluster.deployment("front-v2").await.unwrap();
    assert_eq!(second["metadata"]["labels"]["app.oam.dev/appDeployment"], "both");
    let mark = "app.oam.dev/appRevision";
    assert_eq!(second["spec"]["selector"]["matchLabels"][mark], "shop-v2");
    assert_eq!(second["spec"]["template"]["metadata"]["labels"][mark], "shop-v2");

    let target = |revision: &str, weight: i64| json!({"revisionName": revision, "componentName": "front", "port": 80, "weight": weight});
    let http = |first: i64| {
        json!({"traffic": {
            "hosts": ["shop.example.com"],
            "http": [{"weightedTargets": [target("shop-v1", first), target("shop-v2", 100 - first)]}],
        }})
    };
    if foreign::is_absent(&cluster, ISTIO, "VirtualService").await {
        edit(&cluster, http(60)).await;
        says(&cluster, KIND, "the cluster does not know kind VirtualService").await;
    }
    foreign::small(&cluster, "networking.istio.io", "v1beta1", "VirtualService", "virtualservices").await;
    edit(&cluster, http(90)).await;
    let weight = |found: &Option<Value>| {
        let found = found.as_ref().map(|found| &found["spec"]["http"][0]["route"][0]);
        found.is_some_and(|route| route["destination"]["host"] == "shop-v1-front-80" && route["weight"] == 90)
    };
    until_or("requests are split", || cluster.get(ISTIO, "VirtualService", "both"), weight).await;
    let service = cluster.get("v1", "Service", "shop-v2-front-80").await.unwrap();
    assert_eq!(service["spec"]["selector"], json!({mark: "shop-v2", "app.oam.dev/component": "front"}));
    phase(&cluster, "Completed").await;

    edit(&cluster, json!({"traffic": null, "appRevisions": [revision("shop-v2", 3)]})).await;
    has(&cluster, "front-v2", 3).await;
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    cluster.gone("v1", "Service", "shop-v1-front-80").await;
    cluster.gone(ISTIO, "VirtualService", "both").await;
    phase(&cluster, "Completed").await;
    cluster.quiet().await;
    let shared = cluster.get("v1", "Service", "front").await.unwrap();
    assert_eq!(shared["metadata"]["ownerReferences"][0]["kind"], "AppDeployment", "it is in both revisions");
}

#[tokio::test]
async fn what_serves_stays_until_the_next_revision_is_there() {
    let cluster = TestCluster::new().await;
    two(&cluster).await;
    cluster.create(deployment(&[revision("shop-v1", 2)])).await;
    has(&cluster, "front-v1", 2).await;
    phase(&cluster, "Completed").await;
    change(&cluster, "nginx:simulate-fail-crash").await;
    recorded(&cluster, "shop-v3").await;
    edit(&cluster, json!({"appRevisions": [revision("shop-v3", 1)]})).await;
    until("the broken one is tried", || async { cluster.deployment("front-v3").await.is_some() }).await;
    phase(&cluster, "Rolling").await;
    cluster.quiet().await;
    assert!(cluster.deployment("front-v1").await.is_some(), "no other pod serves");
    edit(&cluster, json!({"appRevisions": [revision("shop-v2", 1)]})).await;
    phase(&cluster, "Completed").await;
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    cluster.gone("apps/v1", "Deployment", "front-v3").await;
}

#[tokio::test]
async fn what_cannot_be_is_said_with_its_field() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    recorded(&cluster, "shop-v1").await;
    let elsewhere =
        json!({"revisionName": "shop-v1", "placement": [{"clusterSelector": {"name": "prod-1"}}]});
    cluster.create(deployment(&[elsewhere])).await;
    says(&cluster, KIND, "clusterSelector: other clusters are not supported yet").await;
    phase(&cluster, "Failed").await;
    edit(&cluster, json!({"appRevisions": [revision("shop-v7", 1)]})).await;
    says(&cluster, KIND, "spec.appRevisions[0].revisionName: ApplicationRevision").await;
    edit(&cluster, json!({"appRevisions": [revision("shop-v1", 1)]})).await;
    says(&cluster, KIND, "applies its workloads itself").await;
    assert!(cluster.deployment("front-v1").await.is_none());
    // The Application changes, and that wakes the traits that wait for it; its objects have no other owner yet.
    let only = json!({"metadata": {"annotations": {ONLY: "true"}}});
    cluster.patch(V1BETA1, "Application", "shop", only).await;
    says(&cluster, KIND, "nothing controls it").await;
    assert!(cluster.deployment("front-v1").await.is_none(), "no pod starts beside those that are there");
    for (api_version, kind) in [("v1", "Service"), ("apps/v1", "Deployment")] {
        cluster.delete(api_version, kind, "front").await;
    }
    phase(&cluster, "Completed").await;
}

#[tokio::test]
pub(crate) async fn a_context_deploys_its_revision() {
    let cluster = TestCluster::new().await;
    two(&cluster).await;
    let context = |name: &str| json!({"spec": {"applicationRevisionName": name}});
    let mut made = context("shop-v1");
    made["apiVersion"] = json!(V1ALPHA2);
    made["kind"] = json!("ApplicationContext");
    made["metadata"] = json!({"name": "both"});
    cluster.create(made).await;
    has(&cluster, "front-v1", 2).await;
    let named = |name: &'static str| {
        move |found: &Option<Value>| {
            let found = found.as_ref().map(|found| &found["status"]["workloads"][0]);
            found.is_some_and(|one| one["workloadRef"]["name"] == name && one["componentName"] == "front")
        }
    };
    let status = || cluster.get(V1ALPHA2, "ApplicationContext", "both");
    until_or("the workload is recorded", status, named("front-v1")).await;
    cluster.patch(V1ALPHA2, "ApplicationContext", "both", context("shop-v2")).await;
    until_or("the other one is", status, named("front-v2")).await;
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    cluster.patch(V1ALPHA2, "ApplicationContext", "both", context("shop-v9")).await;
    says(&cluster, (V1ALPHA2, "ApplicationContext"), "shop-v9 is not there").await;
    assert!(cluster.deployment("front-v2").await.is_some());
}
