//! Lists and objects that are longer than a sidecar takes: what can be given is given, and what cannot is said with the way out.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use tonic::Code;

use super::api_bench::{Bench, Sidecar, component, in_namespace, next, secret, within};

/// What a gRPC client takes unless it says otherwise. Dapr's sidecars never do.
const MESSAGE_AT_MOST: usize = 4 * 1024 * 1024;
const MEGABYTE: usize = 1_000_000;

fn of_a_megabyte(name: &str, scopes: &Value) -> Value {
    let mut large = component("h1", name, &json!({"name": "a", "value": "x".repeat(MEGABYTE)}));
    large["scopes"] = scopes.clone();
    large
}

async fn of_daprs_limit(bench: &Bench, app_id: &str) -> Sidecar {
    bench.sidecar("h1", app_id).await.max_decoding_message_size(MESSAGE_AT_MOST)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_too_long_for_a_sidecar_says_what_to_do() {
    let large: Vec<Value> = (0..5).map(|number| of_a_megabyte(&format!("c-{number}"), &json!([]))).collect();
    let bench = Bench::with(true, &large);
    let mut sidecar = of_daprs_limit(&bench, "app").await;
    let refused = within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    for part in ["5 objects Component", "\"h1\"", "500", "4194304", "`scopes`", "spread them over namespaces"]
    {
        assert!(refused.message().contains(part), "{part}: {refused}");
    }
    // Nothing else of that sidecar is touched, and the advice helps.
    let mut updates = sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner();
    within("resiliency", sidecar.list_resiliency(in_namespace("h1"))).await.unwrap();
    for (number, one) in large.iter().enumerate() {
        let scopes = if number < 2 { json!(["app"]) } else { json!(["other"]) };
        bench.change(one, &json!({"scopes": scopes}));
        next("the change", &mut updates).await;
    }
    for (app_id, count) in [("app", 2), ("other", 3), ("third", 0)] {
        let listed = of_daprs_limit(&bench, app_id).await.list_components(in_namespace("h1")).await;
        assert_eq!(listed.unwrap().get_ref().json.len(), count, "{app_id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_too_long_with_its_secrets_is_left_out() {
    let creds = secret("h1", "creds", &json!({"key": STANDARD.encode(vec![b'x'; MEGABYTE])}));
    let value = json!({"name": "a", "secretKeyRef": {"name": "creds", "key": "key"}});
    let fine = component("h1", "fine", &value);
    let mut huge = component("h1", "huge", &value);
    huge["spec"]["metadata"] = (0..4).map(|_| value.clone()).collect();
    let bench = Bench::with(true, &[creds, fine.clone()]);
    let mut sidecar = of_daprs_limit(&bench, "app").await;
    let mut updates = sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner();
    bench.create(&huge);
    bench.change(&fine, &json!({"spec": {"version": "v2"}}));
    // The stream goes on: the huge one is no event of it.
    assert_eq!(next("the fine one", &mut updates).await.1["metadata"]["name"], "fine");
    let listed = within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap();
    assert_eq!(listed.get_ref().json.len(), 1);
    let is_said = |event: &Value| {
        let note = event["note"].as_str().unwrap_or_default();
        event["regarding"]["name"] == "huge" && note.contains("make it smaller")
    };
    within("an event", async {
        loop {
            let path = "/apis/events.k8s.io/v1/namespaces/h1/events";
            let (_, events) = vela_embedded::send(&bench.server, Method::GET, path, None);
            if events["items"].as_array().is_some_and(|all| all.iter().any(is_said)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
