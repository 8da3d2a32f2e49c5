//! The recorded lists of Dapr's own operator, asked for over the API.

use std::fs;

use http::Method;
use serde_json::{Value, json};
use tonic::Code;
use vela_dapr::protocol::{Named, ResourceEventType, SubscriptionsInNamespace};

use super::api_bench::{Bench, Sidecar, in_namespace, next, secret, within};
use super::lists::{plain, stored};

/// Calls what a recording names; out come the payloads.
async fn call(
    sidecar: &mut Sidecar,
    method: &str,
    request: &Value,
) -> Option<Result<Vec<Value>, tonic::Status>> {
    let namespace = request["namespace"].as_str().unwrap_or_default().to_owned();
    let named =
        Named { name: request["name"].as_str().unwrap_or_default().to_owned(), namespace: namespace.clone() };
    let asked = in_namespace(&namespace);
    let one = |found: Result<tonic::Response<vela_dapr::protocol::Resource>, _>| {
        found.map(|found| vec![found.into_inner().json])
    };
    let listed = match method {
        "GetConfiguration" => one(sidecar.get_configuration(named).await),
        "GetResiliency" => one(sidecar.get_resiliency(named).await),
        other => match other {
            "ListComponents" => sidecar.list_components(asked).await,
            "ListSubscriptions" => sidecar.list_subscriptions(()).await,
            "ListSubscriptionsV2" => {
                sidecar.list_subscriptions_v2(SubscriptionsInNamespace { namespace }).await
            }
            "ListResiliency" => sidecar.list_resiliency(asked).await,
            "ListHTTPEndpoints" => sidecar.list_http_endpoints(asked).await,
            "ListMCPServers" => sidecar.list_mcp_servers(asked).await,
            "ListWorkflowAccessPolicy" => sidecar.list_workflow_access_policy(asked).await,
            _ => return None,
        }
        .map(|list| list.into_inner().json),
    };
    Some(listed.map(|all| all.iter().map(|json| plain(&serde_json::from_slice(json).unwrap())).collect()))
}

fn filled() -> Bench {
    let stored = stored();
    let mut objects: Vec<Value> = Vec::new();
    for (namespace, secrets) in &stored.secrets {
        objects.extend(secrets.iter().map(|(name, data)| secret(namespace, name, &json!(data))));
    }
    let is_served = |object: &Value| object["apiVersion"].as_str().unwrap().starts_with("dapr.io/");
    objects.extend(stored.objects.into_iter().filter(is_served));
    Bench::with(true, &objects)
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_calls_are_answered_the_same_way() {
    let bench = filled();
    let mut compared = 0;
    for file in ["lists-own-namespace-cart", "lists-own-namespace-other-app", "lists-other-namespace"] {
        let path = vela_testkit::cases::folder("conformance/dapr").join(format!("grpc/{file}.json"));
        let case: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let identity = |name: &str| case["identity"][name].as_str().unwrap();
        let mut sidecar = bench.sidecar(identity("NS"), identity("ID")).await;
        for recorded in case["calls"].as_array().unwrap() {
            let (method, request) = (recorded["method"].as_str().unwrap(), &recorded["request"]);
            let called = within(method, call(&mut sidecar, method, request)).await;
            let answer = called.unwrap_or_else(|| panic!("{file}: {method} is not called"));
            match answer {
                Ok(payloads) => {
                    let mut expected: Vec<Value> =
                        recorded["payloads"].as_array().into_iter().flatten().map(plain).collect();
                    expected.sort_by_key(|object| object["metadata"]["name"].to_string());
                    assert_eq!(recorded["code"], "OK", "{file}: {method} {request}");
                    assert_eq!(payloads, expected, "{file}: {method} {request}");
                }
                Err(status) => {
                    assert_eq!(
                        format!("{:?}", status.code()),
                        recorded["code"],
                        "{file}: {recorded} {status:?}"
                    );
                    if status.code() == Code::PermissionDenied {
                        assert_eq!(status.message(), recorded["message"], "{file}: {method} {request}");
                    }
                }
            }
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_costs_one_component_and_is_said_on_it() {
    let bench = filled();
    let mut sidecar = bench.sidecar("h3", "any").await;
    let mut updates = sidecar.component_update(in_namespace("h3")).await.unwrap().into_inner();
    let names = |list: &[bytes::Bytes]| -> Vec<String> {
        let name = |json: &bytes::Bytes| {
            let object: Value = serde_json::from_slice(json).unwrap();
            object["metadata"]["name"].as_str().unwrap().to_owned()
        };
        list.iter().map(name).collect()
    };
    let list = sidecar.list_components(in_namespace("h3")).await.unwrap().into_inner();
    assert_eq!(names(&list.json), ["fine"]);
    let is_said = |event: &Value| {
        event["regarding"]["name"] == "broken"
            && event["note"].as_str().unwrap_or_default().contains("\"missing\"")
    };
    within("an event", async {
        loop {
            let path = "/apis/events.k8s.io/v1/namespaces/h3/events";
            let (_, events) = vela_embedded::send(&bench.server, Method::GET, path, None);
            if events["items"].as_array().is_some_and(|all| all.iter().any(is_said)) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    bench.create(&secret("h3", "missing", &json!({"missing": "YQ==", "k": "YQ==", "user": "YQ=="})));
    let (happened, object) = next("the component", &mut updates).await;
    assert_eq!((happened, &object["metadata"]["name"]), (ResourceEventType::Updated, &json!("broken")));
    let list = sidecar.list_components(in_namespace("h3")).await.unwrap().into_inner();
    assert_eq!(names(&list.json), ["broken", "fine"]);
}
