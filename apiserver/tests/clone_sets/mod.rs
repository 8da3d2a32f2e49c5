//! A CloneSet on a running server: pods once its kind is there, gone with it, and a status through the API.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use serde_json::{Value, json};
use vela_apiserver::{ApiServer, ManualControllers, simulate};

/// Turns until nothing moves: each makes one step of everything that is due.
const TURNS: usize = 40;

fn settle(cluster: &mut ManualControllers) {
    for _ in 0..TURNS {
        cluster.turn();
    }
}

#[tokio::test]
async fn a_clone_set_is_played_where_its_kind_is_installed() {
    let server = ApiServer::builder().build().expect("a server");
    let mut cluster = server.manual_controllers();
    let client = Client::new(server.service(), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in simulate::definitions() {
        let definition: CustomResourceDefinition = serde_json::from_value(definition).expect("a definition");
        definitions.create(&PostParams::default(), &definition).await.expect("created");
    }
    let kind = GroupVersionKind::gvk("apps.kruise.io", "v1alpha1", "CloneSet");
    let resource = ApiResource::from_gvk_with_plural(&kind, "clonesets");
    let sets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    let set: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": "c"},
        "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        },
    }))
    .expect("a set");
    sets.create(&PostParams::default(), &set).await.expect("created");
    settle(&mut cluster);
    let ready = |set: &DynamicObject| set.data["status"]["updatedReadyReplicas"].clone();
    let found = sets.get("c").await.expect("the set");
    assert_eq!(ready(&found), 3, "{}", found.data["status"]);
    let patch = |spec: Value| Patch::Merge(json!({ "spec": spec }));
    let paused =
        patch(json!({"updateStrategy": {"paused": true}, "template": {"spec": {"hostNetwork": true}}}));
    sets.patch("c", &PatchParams::default(), &paused).await.expect("changed");
    settle(&mut cluster);
    let found = sets.get("c").await.expect("the set");
    assert_eq!(ready(&found), 0, "{}", found.data["status"]);
    assert_eq!(found.data["status"]["observedGeneration"], json!(found.metadata.generation));
    sets.delete("c", &DeleteParams::default()).await.expect("deleted");
    settle(&mut cluster);
    let pods: Api<Pod> = Api::default_namespaced(client);
    assert!(pods.list(&ListParams::default()).await.expect("pods").items.is_empty());
    server.shutdown().await;
}
