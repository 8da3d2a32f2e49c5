//! Custom resources through kube's client: served at once, defaulted, counted, converted by name, deleted with their
//! definition; and what holds when many write at once.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams, WatchParams,
};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use vela_apiserver::{ApiServer, Clock};

use crate::verbs::{DEADLINE, client, config_map, refusal};

pub(crate) async fn define(client: &Client) -> (Api<DynamicObject>, Api<DynamicObject>) {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "size": { "type": "integer", "minimum": 1, "default": 3 }, "note": { "type": "string" } } },
        "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } } });
    let version = |name: &str, storage: bool| json!({ "name": name, "served": true, "storage": storage, "schema": schema, "subresources": { "status": {} } });
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "boxes.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "boxes", "kind": "Box" },
                  "versions": [version("v1alpha1", false), version("v1", true)] }
    }))
    .expect("a definition");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition).await.expect("created");
    let api = |version: &str| {
        let kind = GroupVersionKind::gvk("example.com", version, "Box");
        Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "boxes"))
    };
    (api("v1"), api("v1alpha1"))
}

pub(crate) fn a_box(version: &str, name: &str, spec: Value) -> DynamicObject {
    serde_json::from_value(json!({ "apiVersion": format!("example.com/{version}"), "kind": "Box",
        "metadata": { "name": name }, "spec": spec, "status": { "ignored": true } }))
    .expect("an object")
}

#[tokio::test]
async fn defaults_status_and_generation() {
    let (_server, client) = client();
    let (boxes, _) = define(&client).await;
    let made = boxes.create(&PostParams::default(), &a_box("v1", "a", json!({}))).await.expect("created");
    assert_eq!(made.data["spec"], json!({ "size": 3 }));
    assert!(made.data["status"].is_null(), "status has its own door");
    assert_eq!(made.metadata.generation, Some(1));

    let status = Patch::Merge(json!({ "status": { "full": true }, "spec": { "size": 9 } }));
    let patched = boxes.patch_status("a", &PatchParams::default(), &status).await.expect("patched");
    assert_eq!((&patched.data["spec"]["size"], &patched.data["status"]["full"]), (&json!(3), &json!(true)));
    assert_eq!(patched.metadata.generation, Some(1));

    let spec = Patch::Merge(json!({ "spec": { "size": 4 }, "status": null }));
    let grown = boxes.patch("a", &PatchParams::default(), &spec).await.expect("patched");
    assert_eq!((&grown.data["spec"]["size"], &grown.data["status"]["full"]), (&json!(4), &json!(true)));
    assert_eq!(grown.metadata.generation, Some(2));

    let bad = Patch::Merge(json!({ "spec": { "size": 0 } }));
    let error = refusal(boxes.patch("a", &PatchParams::default(), &bad).await.expect_err("refused"));
    assert_eq!((error.code, error.reason.as_str()), (422, "Invalid"));
    assert!(error.message.contains("spec.size: Invalid value: 0"), "{}", error.message);
}

#[tokio::test]
async fn versions_show_the_same_object() {
    let (_server, client) = client();
    let (new, old) = define(&client).await;
    old.create(&PostParams::default(), &a_box("v1alpha1", "a", json!({ "note": "x" })))
        .await
        .expect("created");
    let (seen_new, seen_old) = (new.get("a").await.expect("there"), old.get("a").await.expect("there"));
    assert_eq!(seen_new.types.as_ref().map(|t| t.api_version.as_str()), Some("example.com/v1"));
    assert_eq!(seen_old.types.as_ref().map(|t| t.api_version.as_str()), Some("example.com/v1alpha1"));
    assert_eq!(seen_new.data["spec"], seen_old.data["spec"]);
    assert_eq!(seen_new.metadata.uid, seen_old.metadata.uid);
}

#[tokio::test]
async fn server_side_apply_knows_its_owners() {
    let (_server, client) = client();
    let (boxes, _) = define(&client).await;
    let apply = |size: i64| {
        Patch::Apply(json!({ "apiVersion": "example.com/v1", "kind": "Box", "spec": { "size": size } }))
    };
    boxes.patch("a", &PatchParams::apply("one"), &apply(1)).await.expect("applied");
    let error = refusal(boxes.patch("a", &PatchParams::apply("two"), &apply(2)).await.expect_err("conflict"));
    assert_eq!((error.code, error.reason.as_str()), (409, "Conflict"));
    assert!(error.message.contains("conflict with \"one\": .spec.size"), "{}", error.message);
    let taken = boxes.patch("a", &PatchParams::apply("two").force(), &apply(2)).await.expect("forced");
    let again = boxes.patch("a", &PatchParams::apply("two"), &apply(2)).await.expect("applied");
    assert_eq!(
        again.resource_version(),
        taken.resource_version(),
        "an apply that changes nothing writes nothing"
    );
}

#[tokio::test]
async fn a_deleted_definition_takes_its_objects_along() {
    let (_server, client) = client();
    let (boxes, _) = define(&client).await;
    let mut held = a_box("v1", "held", json!({}));
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    boxes.create(&PostParams::default(), &held).await.expect("created");
    boxes.create(&PostParams::default(), &a_box("v1", "free", json!({}))).await.expect("created");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete("boxes.example.com", &DeleteParams::default()).await.expect("deleted");
    let left = boxes.list(&ListParams::default()).await.expect("still served");
    assert_eq!(left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["held"]);
    let error =
        boxes.create(&PostParams::default(), &a_box("v1", "late", json!({}))).await.expect_err("refused");
    assert_eq!(refusal(error).code, 405);
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    boxes.patch("held", &PatchParams::default(), &release).await.expect("released");
    assert!(definitions.get_opt("boxes.example.com").await.expect("answered").is_none());
    assert_eq!(refusal(boxes.list(&ListParams::default()).await.expect_err("not served")).code, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_of_many_writers_is_lost() {
    const WRITERS: usize = 8;
    const WRITES: usize = 25;
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &config_map("shared", "x")).await.expect("created");
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let maps = maps.clone();
            tokio::spawn(async move {
                for n in 0..WRITES {
                    let patch = Patch::Merge(json!({ "data": { format!("{writer}-{n}"): "1" } }));
                    maps.patch("shared", &PatchParams::default(), &patch).await.expect("patched");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("written");
    }
    let all = maps.get("shared").await.expect("there").data.expect("data");
    assert_eq!(all.len(), WRITERS * WRITES + 1);
}

#[tokio::test]
async fn a_watch_from_before_the_history_is_gone() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let first = maps.create(&PostParams::default(), &config_map("a", "0")).await.expect("created");
    // More changes than the history holds.
    for n in 0..4200 {
        let patch = Patch::Merge(json!({ "data": { "n": n.to_string() } }));
        maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    }
    let from = first.resource_version().expect("rv");
    // A real server answers the request, and refuses the version in the first event.
    let stream = maps.watch(&WatchParams::default(), &from).await.expect("answered");
    let event = tokio::time::timeout(DEADLINE, stream.boxed().try_next()).await.expect("in time");
    let Some(kube::api::WatchEvent::Error(status)) = event.expect("an event") else {
        panic!("expected an error event");
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

#[tokio::test]
async fn old_events_are_forgotten_and_both_groups_show_the_same() {
    let now: jiff::Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
    let server = ApiServer::builder().clock(Clock::from_fn(move || now)).build().expect("a server in memory");
    let client = Client::new(server.service(), "default");
    let events: Api<Event> = Api::default_namespaced(client.clone());
    let event = |name: &str, at: &str| -> Event {
        serde_json::from_value(
            json!({ "metadata": { "name": name }, "reason": "Made", "message": "it was made",
            "type": "Normal", "lastTimestamp": at,
            "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "default" } }),
        )
        .expect("an Event")
    };
    events.create(&PostParams::default(), &event("old", "2029-12-31T22:00:00Z")).await.expect("created");
    events.create(&PostParams::default(), &event("new", "2029-12-31T23:59:00Z")).await.expect("created");
    let newer: Api<k8s_openapi::api::events::v1::Event> = Api::default_namespaced(client);
    let seen = newer.get("new").await.expect("there");
    assert_eq!(seen.note.as_deref(), Some("it was made"));
    assert_eq!(seen.regarding.and_then(|r| r.name).as_deref(), Some("a"));
    let _controllers = server.run_controllers();
    let gone =
        kube::runtime::wait::await_condition(events.clone(), "old", |found: Option<&Event>| found.is_none());
    tokio::time::timeout(DEADLINE, gone).await.expect("in time").expect("gone");
    assert!(events.get_opt("new").await.expect("answered").is_some());
}

/// As the API server of Kubernetes judges it.
#[tokio::test]
async fn a_conversion_is_none_or_a_webhook() {
    let (_server, client) = client();
    define(&client).await;
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let change = |patch: Value| {
        let definitions = definitions.clone();
        async move {
            let patch = Patch::Json::<()>(serde_json::from_value(patch).expect("a patch"));
            definitions.patch("boxes.example.com", &PatchParams::default(), &patch).await
        }
    };
    let hook = json!({"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]});
    let add = |value: Value| json!([{"op": "add", "path": "/spec/conversion", "value": value}]);
    for (conversion, words) in [
        (json!({"webhook": hook}), "spec.conversion.strategy: Required value"),
        (
            json!({"strategy": "None", "webhook": hook}),
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        ),
        (json!({"strategy": "Magic"}), "spec.conversion.strategy: Unsupported value: \"Magic\""),
    ] {
        let said = refusal(change(add(conversion)).await.expect_err("refused")).message;
        assert!(said.contains(words), "{said}");
    }
    change(add(json!({"strategy": "Webhook", "webhook": hook}))).await.expect("patched");
    let none = change(json!([{"op": "remove", "path": "/spec/conversion"}])).await.expect("patched");
    assert_eq!(none.data["spec"]["conversion"], json!({"strategy": "None"}));
}
