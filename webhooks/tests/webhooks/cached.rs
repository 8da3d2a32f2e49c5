//! Cached definitions: they let in without a read, and refuse no valid object.

use serde_json::{Value, json};
use vela_runtime::Cache;
use vela_webhooks::Webhooks;

use super::cluster::{APPLICATIONS, cluster};

/// What the server says to an Application of one component.
async fn refusal(webhooks: &Webhooks, type_: &str, properties: Value) -> Option<String> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "namespace": "default", "object": {
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"components": [{"name": "cart", "type": type_, "properties": properties}]},
        }},
    });
    let reply = webhooks.answer(APPLICATIONS, review.to_string().as_bytes()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let response = &reply.body["response"];
    (response["allowed"] != true).then(|| response["status"]["message"].to_string())
}

fn note(parameter: &str) -> Value {
    let template = format!(
        "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.{parameter}}}\n\
         parameter: {{\n\t// +usage=What it says\n\t{parameter}: string\n}}\n"
    );
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": "note", "namespace": "default"},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    })
}

async fn apply(client: &kube::Client, object: Value) {
    use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
    let gvk = GroupVersionKind::gvk("core.oam.dev", "v1beta1", "ComponentDefinition");
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&gvk));
    let params = PatchParams::apply("test").force();
    api.patch("note", &params, &Patch::Apply(&object)).await.unwrap();
}

#[tokio::test]
async fn a_stale_copy_refuses_no_object() {
    let (server, webhooks) = cluster().await;
    let client = kube::Client::new(server.service(), "default");
    let cache = Cache::new(client.clone());
    let webhooks = webhooks.with_watches(&cache);
    // Before the first list nothing is cached.
    assert_eq!(refusal(&webhooks, "webservice", json!({"image": "nginx"})).await, None);
    cache.synced().await.unwrap();
    // From here on the cached ones stay as they are.
    cache.stop().await;
    assert_eq!(refusal(&webhooks, "webservice", json!({"image": "nginx"})).await, None);
    let refused = refusal(&webhooks, "webservice", json!({"image": 5})).await.unwrap();
    assert!(refused.contains("spec.components[0].properties.image"), "{refused}");
    apply(&client, note("text")).await;
    assert_eq!(refusal(&webhooks, "note", json!({"text": "hello"})).await, None, "written a moment ago");
}

#[tokio::test]
async fn a_copy_is_used_until_a_newer_definition_decides_against_it() {
    let (server, webhooks) = cluster().await;
    let client = kube::Client::new(server.service(), "default");
    apply(&client, note("text")).await;
    let cache = Cache::new(client.clone());
    let webhooks = webhooks.with_watches(&cache);
    cache.synced().await.unwrap();
    cache.stop().await;
    apply(&client, note("words")).await;
    assert_eq!(refusal(&webhooks, "note", json!({"words": "hello"})).await, None, "as it is now");
    // What the cached definition lets in enters without another look: the controller tells the rest.
    assert_eq!(
        refusal(&webhooks, "note", json!({"text": "hello"})).await,
        None,
        "as the cached definition is"
    );
    assert!(refusal(&webhooks, "note", json!({"neither": "hello"})).await.is_some());
}
