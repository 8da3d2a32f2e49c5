//! Versions of Kubernetes kinds: withdrawn ones are written in the version that followed, and no version deletes another.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";
const INGRESS: &str = "networking.k8s.io/v1";

pub(super) fn kind(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": OAM,
        "kind": "ComponentDefinition",
        "metadata": {"name": name},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"handlebars": {"template": template}},
        },
    })
}

pub(super) fn ingress(api_version: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": "Ingress",
        "metadata": {"name": "web"},
        "spec": {"rules": [{"host": "web.example.com", "http": {"paths": [
            {"path": "/", "backend": {"serviceName": "web", "servicePort": 80}},
        ]}}]},
    })
}

#[tokio::test]
async fn an_application_writes_the_successor_of_a_withdrawn_version() {
    let cluster = TestCluster::new().await;
    cluster.create(kind("entry", &ingress("networking.k8s.io/v1beta1").to_string())).await;
    cluster.create(application("shop", &[json!({"name": "web", "type": "entry", "properties": {}})])).await;
    cluster.phase("shop", "running").await;
    let made = cluster.get(INGRESS, "Ingress", "web").await.unwrap();
    let path = &made["spec"]["rules"][0]["http"]["paths"][0];
    assert_eq!(path["pathType"], "ImplementationSpecific");
    assert_eq!(path["backend"]["service"], json!({"name": "web", "port": {"number": 80}}));
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["managedResources"][0]["apiVersion"], INGRESS);
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(INGRESS, "Ingress", "web").await;
}

#[tokio::test]
async fn a_configuration_writes_successors_and_traits_refer_to_them() {
    let cluster = TestCluster::new().await;
    let component = json!({
        "apiVersion": "core.oam.dev/v1alpha2",
        "kind": "Component",
        "metadata": {"name": "web"},
        "spec": {"workload": {
            "apiVersion": "extensions/v1beta1",
            "kind": "Deployment",
            "spec": {"template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
            }},
        }},
    });
    cluster.create(component).await;
    let configuration = json!({
        "apiVersion": "core.oam.dev/v1alpha2",
        "kind": "ApplicationConfiguration",
        "metadata": {"name": "shop"},
        "spec": {"components": [{"componentName": "web", "traits": [
            {"trait": ingress("extensions/v1beta1")},
            {"trait": {"apiVersion": "core.oam.dev/v1alpha2", "kind": "ManualScalerTrait", "metadata": {"name": "scale"}, "spec": {"replicaCount": 2}}},
        ]}]},
    });
    cluster.create(configuration).await;
    let scaled =
        |found: &Option<Value>| found.as_ref().is_some_and(|deployment| deployment["spec"]["replicas"] == 2);
    let deployment = until_or("it is scaled", || cluster.deployment("web"), scaled).await.unwrap();
    assert_eq!(deployment["spec"]["selector"], json!({"matchLabels": {"app": "web"}}));
    let read = || cluster.get("core.oam.dev/v1alpha2", "ApplicationConfiguration", "shop");
    let recorded = |found: &Option<Value>| {
        let status = found.as_ref().map(|found| found["status"].clone()).unwrap_or_default();
        status["conditions"][0]["status"] == "True"
    };
    let status = until_or("it is synced", read, recorded).await.unwrap()["status"].clone();
    assert_eq!(status["workloads"][0]["workloadRef"]["apiVersion"], "apps/v1");
    assert_eq!(status["workloads"][0]["traits"][0]["traitRef"]["apiVersion"], INGRESS);
    assert!(cluster.get(INGRESS, "Ingress", "web").await.is_some());
    let scalers = cluster.list("core.oam.dev/v1alpha2", "ManualScalerTrait").await;
    assert_eq!(scalers[0]["spec"]["workloadRef"]["apiVersion"], "apps/v1");
}

#[tokio::test]
async fn an_object_that_is_wanted_in_another_version_is_not_deleted() {
    let cluster = TestCluster::new().await;
    let name = format!("tools.{}.example.com", cluster.namespace);
    let group = format!("{}.example.com", cluster.namespace);
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": "Tool", "plural": "tools"},
            "versions": [version("v1", true), version("v2", false)]},
    });
    cluster.create(crd).await;
    let template =
        |version: &str| format!("apiVersion: {group}/{version}\nkind: Tool\nspec:\n  sharp: true\n");
    let (first, second) = (format!("{group}/v1"), format!("{group}/v2"));
    let served = || async { cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", &name).await };
    let established = |found: &Option<Value>| {
        let conditions = found.as_ref().and_then(|crd| crd["status"]["conditions"].as_array().cloned());
        conditions.into_iter().flatten().any(|one| one["type"] == "Established" && one["status"] == "True")
    };
    until_or("the kind is served", served, established).await;
    cluster.create(kind("tool", &template("v1"))).await;
    let mut shop = application("shop", &[json!({"name": "saw", "type": "tool", "properties": {}})]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let before = cluster.get(&first, "Tool", "saw").await.unwrap()["metadata"]["uid"].clone();
    let spec = kind("tool", &template("v2"))["spec"].clone();
    cluster.patch(OAM, "ComponentDefinition", "tool", json!({"spec": spec})).await;
    let recorded = |tracker: &Option<Value>| {
        let resources = tracker.as_ref().and_then(|one| one["spec"]["managedResources"].as_array().cloned());
        let resources = resources.unwrap_or_default();
        // The former version is forgotten once its quiet time is over.
        resources.len() == 1 && resources[0]["apiVersion"] == json!(second)
    };
    until_or("only the new version is recorded", || cluster.tracker("shop"), recorded).await;
    cluster.rested(1).await;
    assert_eq!(cluster.get(&second, "Tool", "saw").await.unwrap()["metadata"]["uid"], before);
    let deleted: Vec<_> = cluster.writes().into_iter().filter(|entry| entry.method == "DELETE").collect();
    assert!(deleted.is_empty(), "{deleted:#?}");
}
