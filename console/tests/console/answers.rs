//! Answers of the console for a cluster with one application.

use http::Method;
use http_body_util::BodyExt;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_console::Console;
use vela_runtime::Discovery;

async fn create(client: &Client, object: Value) -> Value {
    let discovery = Discovery::new(client.clone());
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let kind = discovery.resolve_object(&object).await.unwrap();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let api = kind.api(client.clone(), &namespace);
    serde_json::to_value(api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
}

/// A cluster with the CRDs, an application, its record, one object that is there and one that is not.
async fn cluster() -> (ApiServer, Console) {
    let server = ApiServer::builder().build().unwrap();
    let client = Client::new(server.service(), "default");
    for crd in vela_crds::crds().unwrap() {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        create(&client, crd).await;
    }
    let application = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"components": [{"name": "cart", "type": "webservice",
            "properties": {"image": "nginx"}, "traits": [{"type": "scaler"}]}]},
    });
    create(&client, application).await;
    let resource = ApiResource::erase::<vela_crds::Application>(&());
    let applications: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let status = json!({"status": {
        "status": "running",
        "services": [{"name": "cart", "healthy": true, "message": "Ready:1/1"}],
    }});
    let params = PatchParams::default();
    applications.patch_status("shop", &params, &Patch::Merge(&status)).await.unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cart-config", "namespace": "default"},
    });
    create(&client, config).await;
    let record = |name: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name,
            "component": "cart"})
    };
    let tracker = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ResourceTracker",
        "metadata": {"name": "shop-default", "labels": {
            "app.oam.dev/name": "shop", "app.oam.dev/namespace": "default"}},
        "spec": {"applicationGeneration": 1, "identity": "abc", "complete": true,
            "managedResources": [record("cart-config"), record("lost")]},
    });
    create(&client, tracker).await;
    (server, Console::new(client))
}

async fn get(console: &Console, path: &str) -> (u16, Value) {
    let response = console.answer(&Method::GET, path).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn lists_applications_in_short() {
    let (_server, console) = cluster().await;
    for path in ["/api/applications", "/api/namespaces/default/applications"] {
        let (status, body) = get(&console, path).await;
        assert_eq!(status, 200, "{body}");
        let app = &body["applications"][0];
        assert_eq!((&app["name"], &app["phase"]), (&json!("shop"), &json!("running")));
        assert_eq!(
            app["components"][0],
            json!({"name": "cart", "type": "webservice", "traits": ["scaler"], "healthy": true,
                "message": "Ready:1/1"})
        );
    }
    let (_, body) = get(&console, "/api/namespaces/kube-system/applications").await;
    assert_eq!(body["applications"], json!([]));
}

#[tokio::test]
async fn shows_what_is_there_and_what_is_missing() {
    let (_server, console) = cluster().await;
    let (status, body) = get(&console, "/api/namespaces/default/applications/shop").await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["tree"]["identity"], "abc");
    let objects = body["tree"]["objects"].as_array().unwrap();
    assert_eq!((&objects[0]["exists"], &objects[0]["ready"]), (&json!(true), &json!(true)));
    assert_eq!(objects[0]["component"], "cart");
    assert_eq!(objects[1]["exists"], false);
    assert_eq!(objects[1]["message"], "does not exist");
}

#[tokio::test]
async fn refuses_what_is_not_there_and_what_would_change_things() {
    let (_server, console) = cluster().await;
    let (status, body) = get(&console, "/api/namespaces/default/applications/nobody").await;
    assert_eq!(status, 404);
    assert_eq!(body["message"], "application default/nobody does not exist");
    let response = console.answer(&Method::DELETE, "/api/applications").await;
    assert_eq!(response.status(), 405);
    let page = console.answer(&Method::GET, "/").await;
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'"));
}
