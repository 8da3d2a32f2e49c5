//! Writes only where something differs, and never to objects of another owner.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use tower::Layer;
use vela_apiserver::ApiServer;
use vela_runtime::Key;
use vela_runtime::apply::{Applier, Conflicts, Deletion, Error, Outcome};
use vela_runtime::cache::{Cache, Unread};
use vela_runtime::confirm::{Seen, confirm};
use vela_runtime::discovery::{self, Discovery};
use vela_runtime::fault::Faults;

use super::cluster::{api, client, config_map, create, object};

fn anybody(_: &DynamicObject) -> Result<(), String> {
    Ok(())
}

fn refuse(_: &DynamicObject) -> Result<(), String> {
    Err("it is theirs".to_owned())
}

fn applier(client: &kube::Client) -> Applier {
    Applier::new(client.clone(), Discovery::new(client.clone()), "test")
}

#[tokio::test]
async fn an_object_is_created_changed_and_then_left_alone() {
    let server = ApiServer::builder().build().unwrap();
    let faults = Faults::new();
    let client = kube::Client::new(faults.layer(server.service()), "default");
    let applier = applier(&client);
    let first = config_map("a", json!({"text": "one"}));
    let done = applier.apply(&first, None, false, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(done.outcome, Outcome::Created);
    faults.take();
    let same = applier.apply(&first, Some(done.object), false, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(same.outcome, Outcome::Unchanged);
    assert_eq!(faults.take(), [], "what we wrote ourselves costs no request");
    let second = config_map("a", json!({"text": "two"}));
    let done = applier.apply(&second, Some(same.object), true, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(done.outcome, Outcome::Configured);
    assert_eq!(faults.take().len(), 1);
    // A new process has no memory; the caller's record tells that this was applied before.
    let fresh = Applier::new(client.clone(), applier.discovery().clone(), "test");
    let same =
        fresh.apply(&second, Some(done.object.clone()), true, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(same.outcome, Outcome::Unchanged);
    assert_eq!(faults.take(), []);
    let mut changed = (*done.object).clone();
    changed.data["data"]["text"] = json!("by hand");
    let undone =
        fresh.apply(&second, Some(Arc::new(changed)), true, Conflicts::Force, &anybody).await.unwrap();
    assert_eq!(undone.object.data["data"]["text"], "two");
}

#[tokio::test]
async fn fields_that_a_kind_does_not_declare_are_left_out_once() {
    let server = ApiServer::builder().build().unwrap();
    let faults = Faults::new();
    let client = kube::Client::new(faults.layer(server.service()), "default");
    let applier = applier(&client);
    let mut wanted = config_map("a", json!({"text": "one"}));
    wanted.data["misspelt"] = json!({"x": 1});
    wanted.data["other"] = json!(2);
    let done = applier.apply(&wanted, None, false, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(done.object.data["data"]["text"], "one");
    assert!(done.object.data.get("misspelt").is_none());
    faults.take();
    let same = applier.apply(&wanted, Some(done.object), true, Conflicts::Refuse, &anybody).await.unwrap();
    assert_eq!(same.outcome, Outcome::Unchanged);
    assert_eq!(faults.take(), [], "what was left out is not tried again and again");
}

#[tokio::test]
async fn a_status_is_sent_only_where_it_is_a_field_like_any_other() {
    let client = client();
    let kind = |group: &str, subresources: serde_json::Value| {
        object(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("states.{group}")},
            "spec": {"group": group, "scope": "Namespaced",
                "names": {"kind": "State", "plural": "states", "singular": "state", "listKind": "StateList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        }))
    };
    let applier = applier(&client);
    for (group, subresources, kept) in [
        ("plain.example", json!({}), json!("pending")),
        ("apart.example", json!({"status": {}}), json!(null)),
    ] {
        let crd = kind(group, subresources);
        applier.apply(&crd, None, false, Conflicts::Refuse, &anybody).await.unwrap();
        let version = format!("{group}/v1");
        super::cluster::served(&client, &version, "State").await;
        let wanted = object(json!({"apiVersion": version, "kind": "State", "spec": {"a": 1},
            "metadata": {"name": "a", "namespace": "default"}, "status": {"state": "pending"}}));
        let done = applier.apply(&wanted, None, false, Conflicts::Refuse, &anybody).await.unwrap();
        assert_eq!(done.object.data["status"]["state"], kept, "{group}");
        let fresh = Applier::new(client.clone(), applier.discovery().clone(), "test");
        let same = fresh.apply(&wanted, Some(done.object), true, Conflicts::Refuse, &anybody).await.unwrap();
        assert_eq!(same.outcome, Outcome::Unchanged, "{group}");
    }
}

#[tokio::test]
async fn another_owners_object_is_neither_changed_nor_deleted() {
    let client = client();
    create(&client, &config_map("a", json!({"text": "theirs"}))).await;
    let applier = applier(&client);
    let wish = config_map("a", json!({"text": "ours"}));
    let refused = applier.apply(&wish, None, false, Conflicts::Force, &refuse).await;
    assert!(matches!(refused, Err(Error::Foreign { .. })), "{refused:?}");
    let key = Key::new("default", "a");
    let refused = applier.delete("v1", "ConfigMap", &key, None, &refuse).await;
    assert!(matches!(refused, Err(Error::Foreign { .. })), "{refused:?}");
    assert_eq!(api(&client).get("a").await.unwrap().data["data"]["text"], "theirs");
}

#[tokio::test]
async fn a_delete_spares_a_namesake_that_came_later() {
    let client = client();
    let applier = applier(&client);
    let old = Arc::new(create(&client, &config_map("a", json!({}))).await);
    let key = Key::new("default", "a");
    let gone = applier.delete("v1", "ConfigMap", &key, Some(old.clone()), &anybody).await.unwrap();
    assert_eq!(gone, Deletion::Gone);
    create(&client, &config_map("a", json!({"text": "new"}))).await;
    let spared = applier.delete("v1", "ConfigMap", &key, Some(old), &anybody).await;
    assert!(matches!(spared, Err(Error::Client { .. })), "{spared:?}");
    assert!(api(&client).get_opt("a").await.unwrap().is_some());
    assert_eq!(
        applier.delete("v1", "ConfigMap", &Key::new("default", "none"), None, &anybody).await.unwrap(),
        Deletion::Gone
    );
}

#[tokio::test]
async fn a_delete_judges_anew_what_changed_meanwhile() {
    let client = client();
    let applier = applier(&client);
    let old = Arc::new(create(&client, &config_map("a", json!({"text": "old"}))).await);
    let key = Key::new("default", "a");
    let keep_it = json!({"data": {"text": "keep"}});
    api(&client).patch("a", &PatchParams::default(), &Patch::Merge(&keep_it)).await.unwrap();
    let only_old = |live: &DynamicObject| match live.data["data"]["text"].as_str() {
        Some("old") => Ok(()),
        _ => Err("it says keep".to_owned()),
    };
    let kept = applier.delete("v1", "ConfigMap", &key, Some(old.clone()), &only_old).await;
    assert!(matches!(kept, Err(Error::Foreign { .. })), "{kept:?}");
    assert!(api(&client).get_opt("a").await.unwrap().is_some());
    let gone = applier.delete("v1", "ConfigMap", &key, Some(old), &anybody).await.unwrap();
    assert_eq!(gone, Deletion::Gone, "a change that does not matter holds nothing up");
}

#[tokio::test]
async fn what_changed_meanwhile_is_not_confirmed() {
    let client = client();
    let cache = Cache::new(client.clone());
    let seen = create(&client, &config_map("a", json!({}))).await;
    let other = create(&client, &config_map("b", json!({}))).await;
    let kind = kube::api::ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let both = [Seen { resource: &kind, object: &seen }, Seen { resource: &kind, object: &other }];
    assert!(confirm(&cache, &both).await.unwrap().is_some());
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    api(&client).patch("b", &PatchParams::default(), &Patch::Merge(&label)).await.unwrap();
    assert!(confirm(&cache, &both).await.unwrap().is_none());
    assert!(confirm(&cache, &both[..1]).await.unwrap().is_some());
    api(&client).delete("a", &Default::default()).await.unwrap();
    assert!(confirm(&cache, &both[..1]).await.unwrap().is_none());
}

#[tokio::test]
async fn what_copies_leave_out_is_no_change() {
    let client = client();
    let kind = kube::api::ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let unread = Unread { kinds: vec![kind.clone()], annotations: &["note"] };
    let cache = Cache::without(client.clone(), vec![unread]);
    let mut seen = create(&client, &config_map("a", json!({}))).await;
    let annotated = json!({"metadata": {"annotations": {"note": "long"}}});
    api(&client).patch("a", &PatchParams::default(), &Patch::Merge(&annotated)).await.unwrap();
    let as_read = api(&client).get_opt("a").await.unwrap().unwrap();
    assert!(confirm(&cache, &[Seen { resource: &kind, object: &as_read }]).await.unwrap().is_some());
    seen.metadata.annotations = None;
    assert!(confirm(&cache, &[Seen { resource: &kind, object: &seen }]).await.unwrap().is_some());
    let other = json!({"metadata": {"annotations": {"other": "short"}}});
    api(&client).patch("a", &PatchParams::default(), &Patch::Merge(&other)).await.unwrap();
    assert!(confirm(&cache, &[Seen { resource: &kind, object: &seen }]).await.unwrap().is_none());
}

#[tokio::test]
async fn an_unknown_kind_and_a_nameless_object_are_told() {
    let applier = applier(&client());
    let unknown =
        object(json!({"apiVersion": "example.com/v1", "kind": "Nothing", "metadata": {"name": "a"}}));
    let error = applier.apply(&unknown, None, false, Conflicts::Refuse, &anybody).await.unwrap_err();
    assert!(matches!(&error, Error::Kind { source: discovery::Error::Unknown { .. }, .. }), "{error}");
    assert!(error.to_string().contains("Nothing") && error.to_string().contains("example.com/v1"), "{error}");
    let nameless =
        object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default"}}));
    let error = applier.apply(&nameless, None, false, Conflicts::Refuse, &anybody).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
}
