//! The recorded streams of Dapr's own operator, replayed: what each step is to each sidecar.

use std::fs;

use serde_json::{Value, json};
use vela_dapr::protocol::ResourceEventType;

use super::api_bench::{Bench, component, in_namespace, next, secret};
use super::lists::plain;

type Step = (&'static str, Box<dyn Fn(&Bench)>);

fn scoped(mut object: Value, scopes: &Value) -> Value {
    object["scopes"] = scopes.clone();
    object
}

/// The steps of the recording about Components, in its order, as far as they need no second connection.
fn steps() -> Vec<Step> {
    let set = |value: &str| json!({"name": "a", "value": value});
    let w0 = component("h1", "w0", &set("1"));
    let w1 = scoped(component("h1", "w1", &set("1")), &json!(["other"]));
    let w2 = component("h1", "w2", &json!({"name": "a", "secretKeyRef": {"name": "creds", "key": "user"}}));
    let w5 = component("h2", "w5", &set("1"));
    let creds = secret("h1", "creds", &json!({}));
    let create = |object: &Value| -> Box<dyn Fn(&Bench)> {
        let object = object.clone();
        Box::new(move |bench| bench.create(&object))
    };
    let delete = |object: &Value| -> Box<dyn Fn(&Bench)> {
        let object = object.clone();
        Box::new(move |bench| bench.delete(&object))
    };
    let change = |object: &Value, patch: Value| -> Box<dyn Fn(&Bench)> {
        let object = object.clone();
        Box::new(move |bench| bench.change(&object, &patch))
    };
    vec![
        ("create w0, no scopes", create(&w0)),
        ("update w0: value", change(&w0, json!({"spec": {"metadata": [set("2")]}}))),
        ("apply w0 again unchanged", change(&w0, json!({"spec": {"metadata": [set("2")]}}))),
        ("label w0 (metadata only)", change(&w0, json!({"metadata": {"labels": {"l": "1"}}}))),
        ("scope w0 to other", change(&w0, json!({"spec": {"metadata": [set("3")]}, "scopes": ["other"]}))),
        ("update w0 while scoped to other", change(&w0, json!({"spec": {"metadata": [set("4")]}}))),
        ("scope w0 to cart and other", change(&w0, json!({"scopes": ["cart", "other"]}))),
        ("scope w0 to nobody", change(&w0, json!({"scopes": ["nobody"]}))),
        ("scopes removed from w0", change(&w0, json!({"scopes": null}))),
        ("delete w0", delete(&w0)),
        ("create w1 scoped to other", create(&w1)),
        ("delete w1 scoped to other", delete(&w1)),
        ("create w2 with a secret", create(&w2)),
        ("change the Secret", change(&creds, json!({"data": {"user": "YmVydGE="}}))),
        ("update w2: version", change(&w2, json!({"spec": {"version": "v2"}}))),
        ("delete w2", delete(&w2)),
        ("create w5 in h2", create(&w5)),
        ("delete w5 in h2", delete(&w5)),
    ]
}

/// What was recorded of a stream in a step; objects there do not name their kind.
fn recorded(case: &Value, step: &str, stream: &str) -> Vec<(String, Value)> {
    let steps = case["steps"].as_array().unwrap();
    let found = steps.iter().find(|one| one["step"] == step).unwrap_or_else(|| panic!("{step} was recorded"));
    let mut events: Vec<(String, Value)> = found["events"][stream]
        .as_array()
        .into_iter()
        .flatten()
        .map(|event| (event["type"].as_str().unwrap().to_owned(), plain(&event["payload"])))
        .collect();
    match step {
        // Better here: the other sidecar saw it before, so to it this is an update.
        "scope w0 to cart and other" if stream.contains("other@") => events[0].0 = "UPDATED".to_owned(),
        // Better here: a new value of a Secret is an update of the component.
        "change the Secret" if stream.contains("@h1") => {
            let (_, mut object) = recorded(case, "create w2 with a secret", stream).remove(0);
            object["spec"]["metadata"][0]["value"] = json!("YmVydGE=");
            events = vec![("UPDATED".to_owned(), object)];
        }
        _ => {}
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn each_recorded_step_is_the_same_to_each_sidecar() {
    let path = vela_testkit::cases::folder("conformance/dapr").join("grpc/streams.json");
    let case: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let bench = Bench::with(true, &[secret("h1", "creds", &json!({"user": "YW5uYQ=="}))]);
    let mut streams = Vec::new();
    for (namespace, app_id) in [("h1", "cart"), ("h1", "other"), ("h2", "cart")] {
        let mut sidecar = bench.sidecar(namespace, app_id).await;
        let stream = sidecar.component_update(in_namespace(namespace)).await.unwrap().into_inner();
        streams.push((format!("ComponentUpdate {app_id}@{namespace}"), stream));
    }
    let mut compared = 0;
    for (step, act) in steps() {
        act(&bench);
        for (name, stream) in &mut streams {
            for (happened, object) in recorded(&case, step, name) {
                let (found, mut payload) = next(&format!("{name}: {step}"), stream).await;
                let found = match found {
                    ResourceEventType::Created => "CREATED",
                    ResourceEventType::Updated => "UPDATED",
                    ResourceEventType::Deleted => "DELETED",
                    ResourceEventType::Unknown => "UNKNOWN",
                };
                for name in ["apiVersion", "kind"] {
                    payload.as_object_mut().unwrap().remove(name);
                }
                assert_eq!((found, &payload), (happened.as_str(), &object), "{name}: {step}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

/// Daprd 1.18 starts anew for each update of an HTTPEndpoint with a value of a Secret: it compares that with what it made of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_sidecars_do_not_see_is_no_update() {
    let creds = secret("h1", "creds", &json!({"user": "YW5uYQ==", "other": "MQ=="}));
    let header = json!({"name": "k", "secretKeyRef": {"name": "creds", "key": "user"}});
    let endpoint = json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "HTTPEndpoint",
        "metadata": {"name": "outside", "namespace": "h1"},
        "spec": {"baseUrl": "https://example.org", "headers": [header]},
    });
    let plain = component("h1", "plain", &json!({"name": "a", "value": "1"}));
    let bench = Bench::with(true, &[creds.clone(), endpoint.clone(), plain.clone()]);
    let mut sidecar = bench.sidecar("h1", "cart").await;
    let mut endpoints = sidecar.http_endpoint_update(in_namespace("h1")).await.unwrap().into_inner();
    let mut components = sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner();
    let listed = sidecar.list_http_endpoints(in_namespace("h1")).await.unwrap().into_inner();
    assert_eq!(listed.json.len(), 1);
    let user = |value: &str| json!({"data": {"user": value}});
    bench.change(&creds, &user("YmVydGE="));
    let (_, before) = next("a value that is used", &mut endpoints).await;
    assert_eq!(before["spec"]["headers"][0]["value"], "YmVydGE=");
    let applied =
        json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
    for object in [&endpoint, &plain, &creds] {
        bench.change(object, &applied);
    }
    bench.change(&creds, &json!({"data": {"other": "Mg=="}}));
    // The next update is one of the next value.
    bench.change(&creds, &user("Y2xhcmE="));
    let (_, now) = next("another value that is used", &mut endpoints).await;
    assert_eq!(now["spec"]["headers"][0]["value"], "Y2xhcmE=");
    bench.change(&plain, &json!({"spec": {"version": "v2"}}));
    assert_eq!(next("another version", &mut components).await.1["spec"]["version"], "v2");
}
