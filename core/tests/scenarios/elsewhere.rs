//! Objects outside the application's namespace: another namespace, no namespace, and what others control there.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// A component type that makes a ConfigMap in another namespace and an object of a kind without namespaces.
fn spread(elsewhere: &str, role: &str) -> Value {
    let template = format!(
        "output: {{\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tmetadata: namespace: \"{elsewhere}\"\n\t\
         data: text: parameter.text\n}}\n\
         if parameter.role {{\n\toutputs: role: {{\n\t\tapiVersion: \"{RBAC}\"\n\t\tkind: \"ClusterRole\"\n\t\t\
         metadata: name: \"{role}\"\n\t\trules: []\n\t}}\n}}\n\
         parameter: {{\n\ttext: string\n\trole: *true | bool\n}}\n"
    );
    json!({
        "apiVersion": OAM,
        "kind": "ComponentDefinition",
        "metadata": {"name": "spread"},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

fn component(name: &str, properties: &Value) -> Value {
    json!({"name": name, "type": "spread", "properties": properties})
}

/// A cluster, another namespace of it, and the name of the role that belongs to this test alone.
async fn two_namespaces() -> (TestCluster, TestCluster, String) {
    let cluster = TestCluster::unbounded().await;
    let elsewhere = TestCluster::in_namespace(&cluster, &format!("{}-elsewhere", cluster.namespace));
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": elsewhere.namespace}});
    elsewhere.create(namespace).await;
    let role = format!("{}-role", cluster.namespace);
    cluster.create(spread(&elsewhere.namespace, &role)).await;
    (cluster, elsewhere, role)
}

#[tokio::test]
async fn objects_elsewhere_are_made_followed_and_removed() {
    let (cluster, elsewhere, role) = two_namespaces().await;
    cluster.create(application("shop", &[component("front", &json!({"text": "one"}))])).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.get("v1", "ConfigMap", "front").await.is_none(), "it is where the template says");
    let made = elsewhere.get("v1", "ConfigMap", "front").await.unwrap();
    assert!(made["metadata"]["ownerReferences"].is_null(), "no owner reaches across namespaces: {made}");
    assert!(cluster.get(RBAC, "ClusterRole", &role).await.is_some());
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 2, "{tracker}");

    // Changed by hand there: the wish comes back.
    elsewhere.patch("v1", "ConfigMap", "front", json!({"data": {"text": "mine"}})).await;
    let restored = |object: &Option<Value>| object.as_ref().unwrap()["data"]["text"] == "one";
    until_or("the wish is restored", || elsewhere.get("v1", "ConfigMap", "front"), restored).await;

    // No longer named: gone. Still named: the same object.
    let components = [component("front", &json!({"text": "one", "role": false}))];
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    cluster.gone(RBAC, "ClusterRole", &role).await;
    let kept = elsewhere.get("v1", "ConfigMap", "front").await.unwrap();
    assert_eq!(kept["metadata"]["uid"], made["metadata"]["uid"]);

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    elsewhere.gone("v1", "ConfigMap", "front").await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn what_others_have_elsewhere_stays_theirs() {
    let (cluster, elsewhere, role) = two_namespaces().await;
    // One made by hand, one that a controller there owns although it carries our label.
    let by_hand = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role}, "rules": []});
    let by_hand = cluster.create(by_hand).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let owner = elsewhere.create(owner).await;
    let labels = json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": cluster.namespace});
    let controller = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": true,
                            "uid": owner.metadata.uid});
    let controlled = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "theirs"},
                            "metadata": {"name": "back", "labels": labels, "ownerReferences": [controller]}});
    let controlled = elsewhere.create(controlled).await;
    let components = [
        component("front", &json!({"text": "one"})),
        component("back", &json!({"text": "two", "role": false})),
    ];
    cluster.create(application("shop", &components)).await;
    let is_reported = |application: &Value| {
        let status = application["status"].to_string();
        status.contains("was not made by application") && status.contains("is controlled by ConfigMap owner")
    };
    until_or("both are told", || cluster.application("shop"), is_reported).await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    let role = cluster.get(RBAC, "ClusterRole", &role).await.unwrap();
    assert_eq!(role["metadata"]["uid"].as_str(), by_hand.metadata.uid.as_deref());
    let back = elsewhere.get("v1", "ConfigMap", "back").await.unwrap();
    assert_eq!(back["metadata"]["uid"].as_str(), controlled.metadata.uid.as_deref());
    assert_eq!(back["data"]["text"], "theirs");
    assert!(cluster.tracker("shop").await.is_none());
}
