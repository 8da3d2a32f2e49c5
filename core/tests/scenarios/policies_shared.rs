//! Objects that several applications share: who writes them, who joins and leaves, and what becomes of them.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

/// An application that names the ConfigMap `common` with this text.
fn sharing(name: &str, text: &str, shares: bool) -> Value {
    let component = json!({"name": "common", "type": "settings", "properties": {"text": text}});
    let mut application = application(name, &[component]);
    if shares {
        let rules = json!({"rules": [{"selector": {"resourceTypes": ["ConfigMap"]}}]});
        application["spec"]["policies"] =
            json!([{"name": "p", "type": "shared-resource", "properties": rules}]);
    }
    application
}

async fn common(cluster: &TestCluster) -> Value {
    cluster.get("v1", "ConfigMap", "common").await.unwrap_or_default()
}

fn owner(object: &Value) -> &Value {
    &object["metadata"]["labels"]["app.oam.dev/name"]
}

fn sharers(object: &Value) -> &Value {
    &object["metadata"]["annotations"]["app.oam.dev/shared-by"]
}

async fn delete(cluster: &TestCluster, name: &str) {
    cluster.delete(OAM, "Application", name).await;
    cluster.gone(OAM, "Application", name).await;
}

#[tokio::test]
async fn a_shared_object_is_written_by_one_and_goes_with_the_last() {
    let cluster = TestCluster::new().await;
    let list = |names: &[&str]| {
        let keys: Vec<String> = names.iter().map(|name| format!("{}/{name}", cluster.namespace)).collect();
        json!(keys.join(","))
    };
    cluster.create(sharing("first", "first", true)).await;
    cluster.phase("first", "running").await;
    assert_eq!(*sharers(&common(&cluster).await), list(&["first"]));
    cluster.create(sharing("second", "second", true)).await;
    cluster.phase("second", "running").await;
    let found = common(&cluster).await;
    assert_eq!((owner(&found), sharers(&found)), (&json!("first"), &list(&["first", "second"])));
    assert_eq!(found["data"]["text"], "first", "the second one only looks at it");
    let mut annotations = found["metadata"]["annotations"].as_object().unwrap().keys();
    assert!(annotations.all(|name| !name.contains("last-applied")), "fields have owners: {found}");

    // The owner writes on, and loses no sharer from the list.
    cluster
        .patch(OAM, "Application", "first", json!({"spec": sharing("first", "again", true)["spec"]}))
        .await;
    cluster.phase("first", "running").await;
    let found = common(&cluster).await;
    assert_eq!((&found["data"]["text"], sharers(&found)), (&json!("again"), &list(&["first", "second"])));

    delete(&cluster, "first").await;
    let is_second = |found: &Value| *owner(found) == "second" && found["data"]["text"] == "second";
    let found = until_or("the second one writes it", || common(&cluster), is_second).await;
    assert_eq!(*sharers(&found), list(&["second"]));
    delete(&cluster, "second").await;
    cluster.gone("v1", "ConfigMap", "common").await;
}

#[tokio::test]
async fn one_that_leaves_takes_nothing_from_the_owner() {
    let cluster = TestCluster::new().await;
    cluster.create(sharing("first", "first", true)).await;
    cluster.phase("first", "running").await;
    cluster.create(sharing("second", "second", true)).await;
    cluster.phase("second", "running").await;
    let before = common(&cluster).await;
    delete(&cluster, "second").await;
    let found = common(&cluster).await;
    assert_eq!((owner(&found), &found["metadata"]["uid"]), (&json!("first"), &before["metadata"]["uid"]));
    assert_eq!(*sharers(&found), format!("{}/first", cluster.namespace).as_str());
    // No other application shares it now.
    delete(&cluster, "first").await;
    cluster.gone("v1", "ConfigMap", "common").await;
}

#[tokio::test]
async fn one_that_does_not_share_any_more_takes_nothing_over() {
    let cluster = TestCluster::new().await;
    cluster.create(sharing("first", "first", true)).await;
    cluster.phase("first", "running").await;
    cluster.create(sharing("second", "second", true)).await;
    cluster.phase("second", "running").await;
    cluster.patch(OAM, "Application", "second", json!({"spec": {"policies": null}})).await;
    let conditions = || async { cluster.application("second").await["status"].to_string() };
    until_or("it is refused", conditions, |said| said.contains("belongs to application")).await;
    let found = common(&cluster).await;
    assert_eq!((owner(&found), &found["data"]["text"]), (&json!("first"), &json!("first")));
    // It is on the list until it goes.
    delete(&cluster, "second").await;
    assert_eq!(*sharers(&common(&cluster).await), format!("{}/first", cluster.namespace).as_str());
}

#[tokio::test]
async fn an_object_that_its_owner_does_not_share_is_left_to_it() {
    let cluster = TestCluster::new().await;
    cluster.create(sharing("first", "first", false)).await;
    cluster.phase("first", "running").await;
    cluster.create(sharing("second", "second", true)).await;
    let conditions = || async { cluster.application("second").await["status"].to_string() };
    until_or("it is refused", conditions, |said| said.contains("is not sharable")).await;
    assert_eq!(common(&cluster).await["data"]["text"], "first");
    // When it shares it, the other one joins by itself.
    cluster
        .patch(OAM, "Application", "first", json!({"spec": sharing("first", "first", true)["spec"]}))
        .await;
    cluster.phase("second", "running").await;
}
