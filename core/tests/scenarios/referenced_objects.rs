//! Components of type `ref-objects`: copies of what is there already, which follow it, and objects that are only looked at.

use serde_json::{Value, json};

use super::authors::{by, judged, reports};
use super::test_cluster::{TestCluster, application, until, until_or};

/// `first` and `second`, as the API stores them.
const FIRST: &str = "Zmlyc3Q=";
const SECOND: &str = "c2Vjb25k";

fn referring(name: &str, objects: &Value) -> Value {
    json!({"name": name, "type": "ref-objects", "properties": {"objects": objects}})
}

fn secret(name: &str, labels: &Value, text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "labels": labels, "annotations": {"note": "stays"}},
        "data": {"word": text},
    })
}

/// The application in its namespace, whose components go to another one.
fn copying(components: &[Value], to: &TestCluster) -> Value {
    let mut application = application("shop", components);
    application["spec"]["policies"] =
        json!([{"name": "there", "type": "topology", "properties": {"namespace": to.namespace}}]);
    application
}

async fn two_namespaces() -> (TestCluster, TestCluster) {
    let cluster = TestCluster::unbounded().await;
    let there = TestCluster::in_namespace(&cluster, &format!("{}-there", cluster.namespace));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": there.namespace}});
    there.create(namespace).await;
    (cluster, there)
}

async fn word(cluster: &TestCluster, name: &str) -> Option<String> {
    let found = cluster.get("v1", "Secret", name).await?;
    found["data"]["word"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_copy_follows_the_object_that_is_named() {
    let (cluster, there) = two_namespaces().await;
    let component = referring("login", &json!([{"resource": "secret"}]));
    cluster.create(copying(&[component], &there)).await;
    let shop = || async { cluster.application("shop").await["status"].to_string().replace('\\', "") };
    let is_missed = |said: &String| said.contains("/login does not exist");
    until_or("the missing Secret is named", shop, is_missed).await;
    cluster.create(secret("login", &json!({"team": "blue"}), FIRST)).await;
    cluster.phase("shop", "running").await;
    let copy = there.get("v1", "Secret", "login").await.unwrap();
    let metadata = &copy["metadata"];
    assert_eq!((&copy["data"]["word"], &metadata["annotations"]["note"]), (&json!(FIRST), &json!("stays")));
    assert_eq!(
        (&metadata["labels"]["team"], &metadata["labels"]["app.oam.dev/name"]),
        (&json!("blue"), &json!("shop"))
    );
    cluster.patch("v1", "Secret", "login", json!({"data": {"word": SECOND}})).await;
    until("the copy follows", || async { word(&there, "login").await.as_deref() == Some(SECOND) }).await;
    cluster.quiet().await;
    let shown = json!(cluster.list("core.oam.dev/v1beta1", "ApplicationRevision").await).to_string();
    assert!(!shown.contains(FIRST) && !shown.contains(SECOND), "no revision stores a Secret: {shown}");
    cluster.delete("core.oam.dev/v1beta1", "Application", "shop").await;
    there.gone("v1", "Secret", "login").await;
    assert_eq!(word(&cluster, "login").await.as_deref(), Some(SECOND), "what is referred to stays");
}

#[tokio::test]
async fn labels_select_the_objects_that_are_copied() {
    let (cluster, there) = two_namespaces().await;
    for (name, team) in [("one", "blue"), ("two", "blue"), ("three", "red")] {
        cluster.create(secret(name, &json!({"team": team}), FIRST)).await;
    }
    let objects = json!([{"apiVersion": "v1", "kind": "Secret", "labelSelector": {"team": "blue"}}]);
    cluster.create(copying(&[referring("logins", &objects)], &there)).await;
    cluster.phase("shop", "running").await;
    assert!(word(&there, "one").await.is_some() && word(&there, "two").await.is_some());
    assert_eq!(word(&there, "three").await, None);
}

#[tokio::test]
async fn an_object_may_be_looked_at_only() {
    let cluster = TestCluster::new().await;
    let legacy = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "legacy"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "legacy"}}, "template": {
            "metadata": {"labels": {"app": "legacy"}},
            "spec": {"containers": [{"name": "legacy", "image": "nginx:1"}]}}},
    });
    cluster.create(legacy).await;
    let mut looking = application("shop", &[referring("legacy", &json!([{"resource": "deployments"}]))]);
    looking["spec"]["policies"] = json!([{"name": "look", "type": "read-only", "properties": {
        "rules": [{"selector": {"componentNames": ["legacy"]}}]}}]);
    cluster.create(looking).await;
    cluster.phase("shop", "running").await;
    let found = cluster.deployment("legacy").await.unwrap();
    assert!(found["metadata"]["labels"]["app.oam.dev/name"].is_null(), "{found}");
    assert_eq!(cluster.application("shop").await["status"]["services"][0]["healthy"], true);
}

#[tokio::test]
async fn an_application_refers_to_its_own_namespace() {
    let cluster = TestCluster::new().await;
    let elsewhere =
        referring("web", &json!([{"resource": "secret", "name": "x", "namespace": "kube-system"}]));
    cluster.create(application("shop", &[elsewhere])).await;
    reports(&cluster, "Application", "shop", &["kube-system/x", "--allow-cross-namespace"]).await;
    cluster.create(application("wide", &[referring("x", &json!([{"resource": "namespace"}]))])).await;
    reports(&cluster, "Application", "wide", &["Namespace x", "own namespace"]).await;
}

#[tokio::test]
async fn objects_are_read_with_the_rights_of_the_author() {
    let Some((cluster, rights)) = judged().await else { return };
    cluster.create(secret("login", &json!({}), FIRST)).await;
    rights.grant("alice", &["configmaps"]);
    let component = referring("login", &json!([{"resource": "secret"}]));
    cluster.create(by("alice", "dev", application("shop", &[component]))).await;
    reports(&cluster, "Application", "shop", &["cannot read secret", "User \"alice\"", "\"secrets\""]).await;
}
