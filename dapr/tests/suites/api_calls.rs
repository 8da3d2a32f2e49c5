//! What sidecars of 1.2, 1.11 and 1.18 call when they start, in their order.

use serde_json::json;
use tonic::Code;
use vela_dapr::protocol::{Named, ResourceEventType, SubscriptionsInNamespace};

use super::api_bench::{Bench, component, in_namespace, next, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_of_1_2_starts_in_plain_text() {
    let value = json!({"name": "a", "value": "1"});
    let objects = [
        component("h1", "store", &value),
        component("h2", "store", &value),
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Configuration",
            "metadata": {"name": "appconfig", "namespace": "h1"},
            "spec": {"features": [{"name": "F", "enabled": true}]}}),
    ];
    let bench = Bench::with(false, &objects);
    let mut sidecar = bench.connect(None).await.unwrap();
    let named = Named { name: "appconfig".into(), namespace: "h1".into() };
    let found = within("the configuration", sidecar.get_configuration(named)).await.unwrap().into_inner();
    let found: serde_json::Value = serde_json::from_slice(&found.json).unwrap();
    assert_eq!(found["metadata"]["name"], "appconfig");
    let mut updates = sidecar.component_update(in_namespace("")).await.unwrap().into_inner();
    let listed = sidecar.list_components(in_namespace("")).await.unwrap().into_inner();
    assert_eq!(listed.json.len(), 2, "of all namespaces");
    assert!(sidecar.list_subscriptions(()).await.unwrap().into_inner().json.is_empty());
    bench.create(&component("h2", "more", &json!({"name": "a", "value": "1"})));
    let (happened, object) = next("an event", &mut updates).await;
    assert_eq!((happened, &object["metadata"]["name"]), (ResourceEventType::Created, &json!("more")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_of_1_11_starts() {
    let bench = Bench::new();
    let mut sidecar = bench.sidecar("h1", "cart").await;
    let missing = sidecar.get_configuration(Named { name: "absent".into(), namespace: "h1".into() });
    let missing = missing.await.unwrap_err();
    assert_eq!(missing.code(), Code::Unknown);
    let expected = "error getting configuration h1/absent: Configuration.dapr.io \"absent\" not found";
    assert_eq!(missing.message(), expected);
    let asked = || in_namespace("h1");
    assert!(sidecar.list_resiliency(asked()).await.unwrap().into_inner().json.is_empty());
    assert!(sidecar.list_components(asked()).await.unwrap().into_inner().json.is_empty());
    assert!(sidecar.list_http_endpoints(asked()).await.unwrap().into_inner().json.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_of_1_18_starts_and_sees_the_operator_stop() {
    let bench = Bench::new();
    let mut sidecar = bench.sidecar("h1", "cart").await;
    let asked = || in_namespace("h1");
    let lists = [
        sidecar.list_resiliency(asked()).await,
        sidecar.list_components(asked()).await,
        sidecar.list_http_endpoints(asked()).await,
        sidecar.list_subscriptions_v2(SubscriptionsInNamespace { namespace: "h1".into() }).await,
        sidecar.list_workflow_access_policy(asked()).await,
        sidecar.list_mcp_servers(asked()).await,
    ];
    for list in lists {
        assert!(list.unwrap().into_inner().json.is_empty());
    }
    let streams = [
        sidecar.component_update(asked()).await,
        sidecar.subscription_update(asked()).await,
        sidecar.http_endpoint_update(asked()).await,
        sidecar.configuration_update(asked()).await,
        sidecar.resiliency_update(asked()).await,
        sidecar.mcp_server_update(asked()).await,
        sidecar.workflow_access_policy_update(asked()).await,
    ];
    let objects = [
        component("h1", "w", &json!({"name": "a", "value": "1"})),
        json!({"apiVersion": "dapr.io/v2alpha1", "kind": "Subscription", "metadata": {"name": "w", "namespace": "h1"},
            "spec": {"pubsubname": "b", "topic": "t", "routes": {"default": "/"}}}),
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "HTTPEndpoint", "metadata": {"name": "w", "namespace": "h1"},
            "spec": {"baseUrl": "https://x"}}),
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Configuration", "metadata": {"name": "w", "namespace": "h1"},
            "spec": {}}),
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Resiliency", "metadata": {"name": "w", "namespace": "h1"},
            "spec": {"policies": {}, "targets": {}}}),
    ];
    for object in &objects {
        bench.create(object);
    }
    let mut streams = streams.map(|stream| stream.unwrap().into_inner());
    for (stream, object) in streams.iter_mut().zip(&objects) {
        let (happened, found) = next("an event", stream).await;
        assert_eq!((happened, &found["kind"]), (ResourceEventType::Created, &object["kind"]));
    }
    bench.stop.cancel();
    for stream in &mut streams {
        let ended = within("the end", stream.message()).await.unwrap_err();
        assert_eq!(ended.code(), Code::Unavailable, "{ended:?}");
    }
}
