//! Kinds of other projects: their CRDs, real ones and, where any will do, small ones.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_runtime::discovery::Discovery;

use super::test_cluster::{TestCluster, until};

/// A CRD of the reference set.
pub(crate) fn crd(file: &str) -> Value {
    let path = vela_testkit::cases::folder("conformance/crds/foreign").join(file);
    let documents = vela_engine::manifest::read(file, &std::fs::read_to_string(path).unwrap()).unwrap();
    let mut values = documents.into_iter().map(|document| document.into_value());
    values.find(|document| document["kind"].is_string()).unwrap()
}

/// True while the cluster does not serve the kind; a real control plane may have it from an earlier run.
pub(crate) async fn is_absent(cluster: &TestCluster, api_version: &str, kind: &str) -> bool {
    Discovery::new(cluster.client.clone()).resolve(api_version, kind).await.is_err()
}

/// Installs a CRD unless it is there, and waits until its kind is served.
pub(crate) async fn install(cluster: &TestCluster, crd: Value, api_version: &str, kind: &str) {
    if is_absent(cluster, api_version, kind).await {
        cluster.create(crd).await;
    }
    until(&format!("{kind} is served"), || async { !is_absent(cluster, api_version, kind).await }).await;
}

/// Installs a CRD that takes any object.
pub(crate) async fn small(cluster: &TestCluster, group: &str, version: &str, kind: &str, plural: &str) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": any},
            }],
        },
    });
    install(cluster, crd, &format!("{group}/{version}"), kind).await;
}

/// An object of such a kind whose only condition holds.
pub(crate) async fn holds(cluster: &TestCluster, api_version: &str, kind: &str, name: &str) {
    let api = in_namespace(cluster, api_version, kind, &cluster.namespace).await;
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": {}});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&Default::default(), &object).await.unwrap();
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
}

/// The objects of a kind in a namespace.
pub(crate) async fn in_namespace(
    cluster: &TestCluster,
    api_version: &str,
    kind: &str,
    namespace: &str,
) -> Api<DynamicObject> {
    let discovery = Discovery::new(cluster.client.clone());
    let kind = discovery.resolve(api_version, kind).await.unwrap();
    kind.api(cluster.client.clone(), namespace).inner().unwrap()
}

/// True when the namespace is there.
pub(crate) async fn has_namespace(cluster: &TestCluster, name: &str) -> bool {
    in_namespace(cluster, "v1", "Namespace", "").await.get_opt(name).await.unwrap().is_some()
}
