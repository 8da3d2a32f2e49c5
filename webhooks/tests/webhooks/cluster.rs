//! Requests over the embedded API server: definitions are read from it, answers are complete.

use std::sync::Arc;

use kube::Client;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_engine::Templates;
use vela_runtime::Discovery;
use vela_webhooks::{Reply, Webhooks};

pub(crate) const APPLICATIONS: &str = "/validating-core-oam-dev-v1beta1-applications";

/// A cluster with the CRDs and the built-in webservice and scaler.
pub(crate) async fn cluster() -> (ApiServer, Webhooks) {
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    let mut objects: Vec<Value> = Vec::new();
    for crd in vela_crds::crds().unwrap() {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        objects.push(crd);
    }
    objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vela-system"}}));
    for definition in vela_definitions::builtin() {
        if ["webservice", "scaler"].contains(&definition.name) {
            objects.push(definition.manifest("vela-system"));
        }
    }
    let discovery = Discovery::new(client.clone());
    for object in objects {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = discovery.resolve_object(&object).await.unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api = kind.api(client.clone(), &namespace);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    (server, Webhooks::new(client, Arc::new(Templates::new())))
}

/// The review of a new Application.
pub(crate) fn creation(components: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "namespace": "default", "object": {
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"components": components},
        }},
    })
}

pub(crate) async fn ask(webhooks: &Webhooks, components: Value) -> Reply {
    webhooks.answer(APPLICATIONS, creation(&components).to_string().as_bytes()).await
}

#[tokio::test]
async fn a_misspelt_type_is_answered_with_the_one_that_may_be_meant() {
    let (_server, webhooks) = cluster().await;
    let component = json!({"name": "cart", "type": "webservic", "properties": {"image": "nginx"},
        "traits": [{"type": "scalar", "properties": {"replicas": 2}}]});
    let reply = ask(&webhooks, json!([component])).await;
    for words in ["did you mean \\\"webservice\\\"?", "did you mean \\\"scaler\\\"?"] {
        assert!(reply.body.to_string().contains(words), "{words}: {}", reply.body);
    }
}

#[tokio::test]
async fn an_application_of_built_in_types_enters() {
    let (_server, webhooks) = cluster().await;
    let component = json!({"name": "cart", "type": "webservice", "properties": {"image": "nginx"},
        "traits": [{"type": "scaler", "properties": {"replicas": 2}}]});
    let reply = ask(&webhooks, json!([component])).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body["response"]["allowed"], true, "{}", reply.body);
}

#[tokio::test]
async fn a_wrong_parameter_is_refused_at_its_field() {
    let (_server, webhooks) = cluster().await;
    let component = json!({"name": "cart", "type": "webservice",
        "properties": {"image": "nginx", "ports": [{"port": "eighty"}]}});
    let reply = ask(&webhooks, json!([component])).await;
    assert_eq!(reply.body["response"]["allowed"], false, "{}", reply.body);
    let causes = reply.body["response"]["status"]["details"]["causes"].as_array().unwrap();
    assert!(
        causes.iter().any(|cause| {
            cause["field"].as_str().unwrap().starts_with("spec.components[0].properties.ports")
        }),
        "{causes:?}"
    );
}

#[tokio::test]
async fn a_missing_parameter_is_refused() {
    let (_server, webhooks) = cluster().await;
    let reply = ask(&webhooks, json!([{"name": "cart", "type": "webservice"}])).await;
    assert_eq!(reply.body["response"]["allowed"], false, "{}", reply.body);
    let message = reply.body["response"]["status"]["message"].as_str().unwrap();
    assert!(message.contains("image"), "{message}");
}

#[tokio::test]
async fn what_is_no_webhook_is_told() {
    let (_server, webhooks) = cluster().await;
    assert_eq!(webhooks.answer("/nothing", b"{}").await.status, 404);
    assert_eq!(webhooks.answer(APPLICATIONS, b"{}").await.status, 400);
}
