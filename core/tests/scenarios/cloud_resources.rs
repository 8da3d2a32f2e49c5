//! Steps `deploy-cloud-resource` and `share-cloud-resource`: what Terraform makes for an environment, and who gets its Secret.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::authors::reports;
use super::foreign::small;
use super::test_cluster::{TestCluster, application, until, until_or};

const OAM: &str = "core.oam.dev/v1beta1";
const TERRAFORM: &str = "terraform.core.oam.dev/v1beta2";
/// `hush`, as the API stores it.
const HUSH: &str = "aHVzaA==";

fn rds() -> Value {
    json!({
        "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "rds"},
        "spec": {
            "workload": {"definition": {"apiVersion": TERRAFORM, "kind": "Configuration"}},
            "schematic": {"terraform": {"configuration": "variable size {}"}},
        },
    })
}

async fn another(cluster: &TestCluster, name: &str) -> TestCluster {
    let another = TestCluster::in_namespace(cluster, &format!("{}-{name}", cluster.namespace));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": another.namespace}});
    another.create(namespace).await;
    another
}

fn shop(envs: &Value, steps: &Value) -> Value {
    let db = json!({"name": "db", "type": "rds", "properties": {
        "size": 1, "writeConnectionSecretToRef": {"name": "conn"}}});
    let mut shop = application("shop", &[db]);
    shop["spec"]["policies"] = json!([{"name": "envs", "type": "env-binding", "properties": {"envs": envs}}]);
    shop["spec"]["workflow"] = json!({"steps": steps});
    shop
}

fn deploy(env: &str) -> Value {
    json!({"name": "make", "type": "deploy-cloud-resource", "properties": {"env": env}})
}

async fn cluster() -> TestCluster {
    let cluster = TestCluster::unbounded().await;
    small(&cluster, "terraform.core.oam.dev", "v1beta2", "Configuration", "configurations").await;
    cluster.create(rds()).await;
    cluster
}

/// What the terraform controller does: it reports the run, and writes the Secret that it was asked for.
async fn carry_out(cluster: &TestCluster, name: &str) {
    let made = until_or(
        "the Configuration is there",
        || cluster.get(TERRAFORM, "Configuration", name),
        |found: &Option<Value>| found.is_some(),
    );
    made.await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "conn-prod"}, "data": {"word": HUSH}});
    cluster.create(secret).await;
    let status = json!({"status": {"apply": {"state": "Available"}}});
    let api = cluster.api(TERRAFORM, "Configuration").await;
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
}

async fn word(cluster: &TestCluster, name: &str) -> Value {
    cluster.get("v1", "Secret", name).await.unwrap_or_default()["data"]["word"].clone()
}

#[tokio::test]
async fn a_cloud_resource_is_made_and_its_secret_brought() {
    let cluster = cluster().await;
    let (production, tools) = (another(&cluster, "production").await, another(&cluster, "tools").await);
    let envs = json!([{"name": "prod", "placement": {"namespaceSelector": {"name": production.namespace}},
        "patch": {"components": [{"name": "db", "type": "rds", "properties": {"size": 3}}]}}]);
    let share = json!({"name": "share", "type": "share-cloud-resource", "properties": {
        "env": "prod", "placements": [{"namespace": tools.namespace}]}});
    cluster.create(shop(&envs, &json!([deploy("prod"), share]))).await;
    let status = || async { cluster.application("shop").await["status"].to_string() };
    until_or("the step waits for Terraform", status, |said| said.contains("wait healthy")).await;
    carry_out(&cluster, "db-prod").await;
    cluster.phase("shop", "running").await;
    let made = cluster.get(TERRAFORM, "Configuration", "db-prod").await.unwrap();
    assert_eq!(made["spec"]["variable"], json!({"size": 3}), "as its environment says");
    let to = json!({"name": "conn-prod", "namespace": cluster.namespace});
    assert_eq!(made["spec"]["writeConnectionSecretToRef"], to);
    assert!(
        cluster.get(TERRAFORM, "Configuration", "db").await.is_none(),
        "it is there for environments only"
    );
    for there in [&production, &tools] {
        assert_eq!(word(there, "conn").await, HUSH, "{}", there.namespace);
    }
    let origin = cluster.get("v1", "Secret", "conn-prod").await.unwrap();
    assert!(
        origin["metadata"]["labels"]["app.oam.dev/name"].is_null(),
        "it is not the application's: {origin}"
    );
    let shown = cluster.application("shop").await.to_string();
    assert!(!shown.contains(HUSH), "{shown}");
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(TERRAFORM, "Configuration", "db-prod").await;
    production.gone("v1", "Secret", "conn").await;
    tools.gone("v1", "Secret", "conn").await;
}

#[tokio::test]
async fn a_cloud_resource_is_kept_as_it_was_asked_for() {
    let cluster = cluster().await;
    cluster.create(shop(&json!([{"name": "prod", "placement": {}}]), &json!([deploy("prod")]))).await;
    carry_out(&cluster, "db-prod").await;
    cluster.phase("shop", "running").await;
    assert_eq!(word(&cluster, "conn").await, HUSH, "without a place it is the application's namespace");
    cluster.patch(TERRAFORM, "Configuration", "db-prod", json!({"spec": {"variable": {"size": 9}}})).await;
    let size = || async {
        let made = cluster.get(TERRAFORM, "Configuration", "db-prod").await.unwrap();
        made["spec"]["variable"]["size"] == 1
    };
    until("the change is taken back", size).await;
    cluster.delete("v1", "Secret", "conn").await;
    cluster.quiet().await;
    assert_eq!(cluster.application("shop").await["status"]["status"], "running");
}

#[tokio::test]
async fn other_clusters_and_lone_shares_are_reported() {
    let cluster = cluster().await;
    let far = json!([{"name": "prod", "placement": {"clusterSelector": {"name": "far"}}}]);
    cluster.create(shop(&far, &json!([deploy("prod")]))).await;
    reports(&cluster, "Application", "shop", &["far", "not supported"]).await;
    let share = json!({"name": "share", "type": "share-cloud-resource", "properties": {
        "env": "prod", "placements": [{"namespace": "x"}]}});
    let envs = json!([{"name": "prod", "placement": {}}, {"name": "test", "placement": {}}]);
    let mut lone = shop(&envs, &json!([share, deploy("test")]));
    lone["metadata"]["name"] = json!("lone");
    lone["spec"]["components"][0]["name"] = json!("db2");
    cluster.create(lone).await;
    let said = || async { cluster.application("lone").await["status"].to_string() };
    until_or("what is missing is named", said, |said| {
        said.contains("db2-prod") && said.contains("deploy-cloud-resource")
    })
    .await;
}
