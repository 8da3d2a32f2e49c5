//! Objects of a configuration that no owner reference reaches: collected with it, and no foreign ones with them.

use serde_json::{Value, json};

use super::configuration::{complaint, component, configuration, synced};
use super::test_cluster::{TestCluster, until};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Names of objects without a namespace are of the whole cluster, which the tests share on a real one.
fn role(cluster: &TestCluster) -> String {
    format!("{}-role", cluster.namespace)
}

fn component_of(name: &str, workload: Value) -> Value {
    json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}})
}

async fn a_second_namespace(cluster: &TestCluster) -> TestCluster {
    let name = format!("{}-other", cluster.namespace);
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    TestCluster::in_namespace(cluster, &name)
}

fn entries(other: &str, with_trait: bool) -> Value {
    let words = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words", "namespace": other}, "data": {"a": "b"}});
    let traits = if with_trait { json!([{"trait": words}]) } else { json!([]) };
    json!([{"componentName": "front", "traits": traits}, {"componentName": "rights"}])
}

#[tokio::test]
async fn what_is_elsewhere_goes_with_its_configuration() {
    let mut cluster = TestCluster::unbounded().await;
    let other = a_second_namespace(&cluster).await;
    let third = a_second_namespace(&other).await;
    let rights =
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role(&cluster)}, "rules": []});
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component_of("rights", rights)).await;
    // A namesake in a third namespace, which no configuration made.
    third.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words", "labels": {"app.oam.dev/name": "shop"}}})).await;
    cluster.create(configuration("shop", entries(&other.namespace, true))).await;
    synced(&cluster, "shop").await;
    let words = other.get("v1", "ConfigMap", "words").await.unwrap();
    assert!(words["metadata"]["ownerReferences"].is_null());
    assert!(cluster.get(RBAC, "ClusterRole", &role(&cluster)).await.is_some());
    cluster.quiet().await;

    // Moved: the one that is left behind goes.
    let spec = entries(&cluster.namespace, true);
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    other.gone("v1", "ConfigMap", "words").await;
    assert!(cluster.get("v1", "ConfigMap", "words").await.is_some());
    let spec = entries(&other.namespace, true);
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    until("it is made again", || async { other.get("v1", "ConfigMap", "words").await.is_some() }).await;
    cluster.gone("v1", "ConfigMap", "words").await;
    // Dropped: it goes, the others stay.
    let spec = entries(&other.namespace, false);
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    other.gone("v1", "ConfigMap", "words").await;
    assert!(cluster.get(RBAC, "ClusterRole", &role(&cluster)).await.is_some());
    let spec = entries(&other.namespace, true);
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    until("it is back", || async { other.get("v1", "ConfigMap", "words").await.is_some() }).await;
    synced(&cluster, "shop").await;

    // Deleted while no controller runs: the next start collects it.
    cluster.stop().await;
    cluster.delete(OAM, AC, "shop").await;
    cluster.start_unbounded();
    cluster.gone(OAM, AC, "shop").await;
    other.gone("v1", "ConfigMap", "words").await;
    cluster.gone(RBAC, "ClusterRole", &role(&cluster)).await;
    assert!(third.get("v1", "ConfigMap", "words").await.is_some(), "it has another owner");
}

#[tokio::test]
async fn two_configurations_do_not_share_an_object_elsewhere() {
    let cluster = TestCluster::unbounded().await;
    let rights =
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role(&cluster)}, "rules": []});
    cluster.create(component_of("rights", rights)).await;
    cluster.create(configuration("first", json!([{"componentName": "rights"}]))).await;
    synced(&cluster, "first").await;
    cluster.create(configuration("second", json!([{"componentName": "rights"}]))).await;
    complaint(&cluster, "second", "existing object belongs to ApplicationConfiguration").await;
    cluster.delete(OAM, AC, "second").await;
    cluster.gone(OAM, AC, "second").await;
    assert!(cluster.get(RBAC, "ClusterRole", &role(&cluster)).await.is_some());
    // Taken over by a controller of its own, it stays.
    let boss =
        cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boss"}})).await;
    let owner = json!([{"apiVersion": "rbac.example.com/v1", "kind": "Boss", "name": "boss", "uid": boss.metadata.uid, "controller": true}]);
    cluster.delete(OAM, AC, "first").await;
    cluster.gone(OAM, AC, "first").await;
    cluster.gone(RBAC, "ClusterRole", &role(&cluster)).await;
    let kept = json!({"apiVersion": RBAC, "kind": "ClusterRole", "rules": [], "metadata": {
        "name": role(&cluster), "ownerReferences": owner, "labels": {"app.oam.dev/name": "first"}}});
    cluster.create(kept).await;
    cluster.create(configuration("first", json!([{"componentName": "rights"}]))).await;
    complaint(&cluster, "first", "it belongs to Boss boss").await;
    cluster.delete(OAM, AC, "first").await;
    cluster.gone(OAM, AC, "first").await;
    let left = cluster.get(RBAC, "ClusterRole", &role(&cluster)).await;
    assert!(left.is_some_and(|left| left["metadata"]["deletionTimestamp"].is_null()));
}
