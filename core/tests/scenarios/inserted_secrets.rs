//! Parameters with `+insertSecretTo`: an application waits for the Secret, follows it, and reports none of its values.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const NEW: &str = "core.oam.dev/v1beta1";

/// `alice-of-the-first-day` and `bob-of-the-second-day`, as the API stores them.
const ALICE: &str = "YWxpY2Utb2YtdGhlLWZpcnN0LWRheQ==";
const BOB: &str = "Ym9iLW9mLXRoZS1zZWNvbmQtZGF5";

const TEMPLATE: &str = r#"
output: {
    apiVersion: "v1"
    kind:       "ConfigMap"
    data: user: dbConn.username
}
parameter: {
    // +insertSecretTo=dbConn
    dbSecret: string
}
"#;

async fn holds(cluster: &TestCluster, user: &str) {
    until_or(
        "it holds what the Secret says",
        || cluster.get("v1", "ConfigMap", "text"),
        |found: &Option<Value>| found.as_ref().is_some_and(|found| found["data"]["user"] == user),
    )
    .await;
}

fn connected() -> Value {
    json!({
        "apiVersion": NEW, "kind": "ComponentDefinition", "metadata": {"name": "connected"},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": TEMPLATE}},
        },
    })
}

#[tokio::test]
async fn an_application_waits_for_the_secret_and_follows_it() {
    let cluster = TestCluster::new().await;
    cluster.create(connected()).await;
    let text = json!({"name": "text", "type": "connected", "properties": {"dbSecret": "db"}});
    cluster.create(application("shop", &[text])).await;
    until_or(
        "the status names what it waits for",
        || cluster.application("shop"),
        |shop| shop["status"].to_string().contains("is not there yet"),
    )
    .await;
    assert!(cluster.get("v1", "ConfigMap", "text").await.is_none());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"username": ALICE},
    });
    cluster.create(secret).await;
    holds(&cluster, "alice-of-the-first-day").await;
    cluster.phase("shop", "running").await;
    cluster.patch("v1", "Secret", "db", json!({"data": {"username": BOB}})).await;
    holds(&cluster, "bob-of-the-second-day").await;
    cluster.quiet().await;
    let shop = cluster.application("shop").await.to_string();
    let revisions = cluster.list(NEW, "ApplicationRevision").await;
    for shown in [shop, json!(revisions).to_string()] {
        for hidden in ["alice-of", "bob-of", ALICE, BOB] {
            assert!(!shown.contains(hidden), "{shown}");
        }
    }
}

#[tokio::test]
async fn no_secret_is_stored_for_an_application_in_the_v1alpha2_form() {
    let cluster = TestCluster::new().await;
    cluster.create(connected()).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"username": ALICE},
    });
    cluster.create(secret).await;
    let mut stored = application("shop", &[]);
    stored["spec"]["components"] =
        json!([{"name": "text", "type": "connected", "settings": {"dbSecret": "db"}}]);
    cluster.create(stored).await;
    until_or(
        "it is told where the content would be stored",
        || cluster.application("shop"),
        |shop| shop["status"].to_string().contains("Components and their revisions"),
    )
    .await;
    cluster.quiet().await;
    for (api_version, kind) in [
        (NEW, "Application"),
        (NEW, "ApplicationRevision"),
        ("core.oam.dev/v1alpha2", "Component"),
        ("core.oam.dev/v1alpha2", "ApplicationConfiguration"),
        ("apps/v1", "ControllerRevision"),
    ] {
        let shown = json!(cluster.list(api_version, kind).await).to_string();
        assert!(!shown.contains("alice-of") && !shown.contains(ALICE), "{kind}: {shown}");
    }
}
