//! Applications that cannot be applied: what users are told, and what must not happen.

use serde_json::json;

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

#[tokio::test]
async fn an_unknown_type_is_reported_and_nothing_else_is_written() {
    let cluster = TestCluster::new().await;
    // The answer lists the types that are known, and the definitions' controllers make some.
    cluster.settled().await;
    cluster.requests();
    let unknown = json!({"name": "front", "type": "no-such-type", "properties": {}});
    cluster.create(application("shop", &[unknown, web("back", "nginx:1")])).await;
    let application = until_or(
        "the condition tells",
        || cluster.application("shop"),
        |application| application["status"]["conditions"][0]["status"] == "False",
    );
    let application = application.await;
    assert_eq!(application["status"]["conditions"][0]["type"], "Parsed");
    let message = application["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("no-such-type"), "{message}");
    cluster.rested(1).await;
    let writes = cluster.writes();
    assert_eq!(writes.len(), 1, "one status write: {writes:#?}");
    assert!(writes[0].path.contains("/applications/shop/status"));
    assert!(cluster.deployment("back").await.is_none(), "no part of a broken application is applied");
}

#[tokio::test]
async fn a_definition_that_comes_later_heals_the_application() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[json!({"name": "a", "type": "late", "properties": {}})])).await;
    until_or(
        "the condition tells",
        || cluster.application("shop"),
        |application| application["status"]["conditions"][0]["status"] == "False",
    )
    .await;
    let template = "apiVersion: v1\nkind: ConfigMap\ndata: {}\n";
    cluster
        .create(json!({
            "apiVersion": OAM,
            "kind": "ComponentDefinition",
            "metadata": {"name": "late"},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"handlebars": {"template": template}},
            },
        }))
        .await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_foreign_object_is_neither_taken_over_nor_deleted() {
    let cluster = TestCluster::new().await;
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "front"}, "data": {"mine": "yes"}});
    let before = cluster.create(foreign).await;
    let settings = json!({"name": "front", "type": "settings", "properties": {"text": "hello"}});
    cluster.create(application("shop", &[settings])).await;
    let shop = until_or(
        "the conflict is told",
        || cluster.application("shop"),
        |application| {
            application["status"]["conditions"].as_array().is_some_and(|conditions| {
                conditions
                    .iter()
                    .any(|condition| condition["type"] == "Workflow" && condition["status"] == "False")
            })
        },
    )
    .await;
    assert!(shop["status"].to_string().contains("was not made by application"), "{}", shop["status"]);
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    let after = cluster.get("v1", "ConfigMap", "front").await.unwrap();
    assert_eq!(after["metadata"]["uid"].as_str(), before.metadata.uid.as_deref());
    assert_eq!(after["data"], json!({"mine": "yes"}));
}

#[tokio::test]
async fn of_two_that_made_one_object_the_labelled_one_owns_it() {
    let cluster = TestCluster::new().await;
    let settings = |text: &str| json!({"name": "front", "type": "settings", "properties": {"text": text}});
    cluster.create(application("shop", &[settings("of shop")])).await;
    cluster.phase("shop", "running").await;
    // What a second application does that saw no object when it looked: the uid is on record in both.
    let theirs = json!({"metadata": {"labels": {"app.oam.dev/name": "other"}}, "data": {"text": "of other"}});
    cluster.patch("v1", "ConfigMap", "front", theirs).await;
    cluster.resync("settings").await;
    let shop = until_or(
        "the loss is told",
        || cluster.application("shop"),
        |application| application["status"].to_string().contains("belongs to application core/other"),
    )
    .await;
    assert_eq!(cluster.get("v1", "ConfigMap", "front").await.unwrap()["data"]["text"], "of other", "{shop}");
    cluster.create(application("other", &[settings("of other")])).await;
    cluster.phase("other", "running").await;
    let before = cluster.get("v1", "ConfigMap", "front").await.unwrap();
    cluster.resync("settings").await;
    let after = cluster.get("v1", "ConfigMap", "front").await.unwrap();
    assert_eq!(
        after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"],
        "nothing is written"
    );
    // The one that lost it does not take it along.
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    let left = cluster.get("v1", "ConfigMap", "front").await.unwrap();
    assert_eq!(left["metadata"]["uid"], before["metadata"]["uid"]);
}

#[tokio::test]
async fn a_version_that_is_not_served_is_told_with_those_that_are() {
    let cluster = TestCluster::new().await;
    cluster.create(application("good", &[web("front", "nginx:1")])).await;
    cluster.phase("good", "running").await;
    let old = json!({
        "apiVersion": OAM,
        "kind": "ComponentDefinition",
        "metadata": {"name": "old"},
        "spec": {
            "workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}},
            "schematic": {"handlebars": {"template": "apiVersion: apps/v1alpha1\nkind: Deployment\n"}},
        },
    });
    cluster.create(old).await;
    cluster.create(application("shop", &[json!({"name": "back", "type": "old", "properties": {}})])).await;
    let is_reported = |application: &serde_json::Value| {
        application["status"]["conditions"].to_string().contains("Deployment of apps/v1alpha1")
    };
    let shop = until_or("it is told", || cluster.application("shop"), is_reported).await;
    let message = shop["status"]["services"][0]["message"].as_str().unwrap();
    assert!(message.contains("it is served as apps/v1; correct the object, or the template"), "{message}");
    assert_eq!(message.matches(&format!("Deployment {}/back", cluster.namespace)).count(), 1, "{message}");
}

#[tokio::test]
async fn what_is_not_done_is_told_by_an_event() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["spec"]["components"][0]["scopes"] = json!({"healthscopes.core.oam.dev": "health"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let doubts = || async {
        let events = cluster.list("events.k8s.io/v1", "Event").await;
        events.into_iter().filter(|event| event["reason"] == "Doubtful").collect::<Vec<_>>()
    };
    let recorded = until_or("the doubt is told", doubts, |events| !events.is_empty()).await;
    let note = recorded[0]["note"].as_str().unwrap();
    assert!(note.contains("spec.components[0].scopes"), "{note}");
    cluster.rested(0).await;
    assert_eq!(doubts().await.len(), 1, "once for each generation");
}
