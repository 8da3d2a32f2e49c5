//! An API server in process and short ways to its objects.

use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};
use tower::Layer as _;
use vela_apiserver::ApiServer;
use vela_runtime::fault::Faults;

/// A wait that ends in failure, far beyond what a busy machine needs.
const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) fn client() -> kube::Client {
    let server = ApiServer::builder().build().unwrap();
    // The store lives as long as any service over it.
    kube::Client::new(server.service(), "default")
}

/// The same, with its requests on record.
pub(crate) fn recorded() -> (kube::Client, Faults) {
    let faults = Faults::new();
    let server = ApiServer::builder().build().unwrap();
    (kube::Client::new(faults.layer(server.service()), "default"), faults)
}

pub(crate) fn config_maps() -> ApiResource {
    ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&())
}

pub(crate) fn api(client: &kube::Client) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", &config_maps())
}

pub(crate) fn config_map(name: &str, data: Value) -> DynamicObject {
    object(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }))
}

pub(crate) fn object(object: Value) -> DynamicObject {
    serde_json::from_value(object).unwrap()
}

pub(crate) async fn create(client: &kube::Client, object: &DynamicObject) -> DynamicObject {
    api(client).create(&PostParams::default(), object).await.unwrap()
}

pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + DEADLINE;
    while !condition() {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Wait until a kind is served.
pub(crate) async fn served(client: &kube::Client, api_version: &str, kind: &str) {
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while vela_runtime::Discovery::new(client.clone()).resolve(api_version, kind).await.is_err() {
        assert!(tokio::time::Instant::now() < end, "never served: {kind}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
