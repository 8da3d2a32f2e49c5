//! Reads objects of kinds without a watch, and checks that their changes wake the reader.

use std::time::Duration;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use vela_runtime::dynamic_watch::{DynamicWatches, Error};
use vela_runtime::queue::{Queue, Verdict};
use vela_runtime::{Cache, Discovery, Key};

use super::cluster::{client, config_map, create, object};

const DEADLINE: Duration = Duration::from_secs(30);

struct Asker {
    client: kube::Client,
    interests: DynamicWatches,
    queue: std::sync::Arc<Queue<Key>>,
    key: Key,
}

impl Asker {
    fn new() -> Self {
        let client = client();
        let (cache, discovery) = (Cache::new(client.clone()), Discovery::new(client.clone()));
        let interests = DynamicWatches::new(client.clone(), &cache, &discovery, &["app"]);
        let queue = std::sync::Arc::new(Queue::new());
        interests.wake(queue.clone());
        Self { client, interests, queue, key: Key::new("default", "asker") }
    }

    async fn woken(&self) {
        let item = tokio::time::timeout(DEADLINE, self.queue.next()).await;
        let Ok(Some(item)) = item else { panic!("never woken") };
        assert_eq!(item.key, self.key);
        self.queue.done(&item.key, Verdict::Forget);
    }
}

fn owned(name: &str, uid: &str) -> DynamicObject {
    object(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "shop"}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": uid},
        ]},
    }))
}

#[tokio::test]
async fn a_change_wakes_the_readers_of_the_object() {
    let asker = Asker::new();
    let at = Key::new("default", "a");
    let look = asker.interests.track(&asker.key);
    assert!(look.get("v1", "ConfigMap", &at).await.unwrap().is_none());
    drop(look);
    create(&asker.client, &config_map("b", json!({}))).await;
    create(&asker.client, &config_map("a", json!({"x": "1"}))).await;
    asker.woken().await;
    let look = asker.interests.track(&asker.key);
    let found = look.get("v1", "ConfigMap", &at).await.unwrap().unwrap();
    assert_eq!(found.data["data"]["x"], "1");
    drop(look);
    // The reader is gone: neither this change nor that of the stranger before wakes anyone.
    asker.interests.forget(&asker.key);
    super::cluster::api(&asker.client).delete("a", &DeleteParams::default()).await.unwrap();
    let late = tokio::time::timeout(Duration::from_millis(200), asker.queue.next()).await;
    assert!(late.is_err(), "woken without a reader: {late:?}");
}

#[tokio::test]
async fn a_look_at_metadata_asks_for_nothing_and_keeps_no_content() {
    let mut asker = Asker::new();
    asker.interests = asker.interests.metadata_only();
    let at = Key::new("default", "a");
    let look = asker.interests.track(&asker.key);
    let (kind, found) = look.metadata("v1", "ConfigMap", &at).await.unwrap();
    assert!(found.is_none() && kind.namespaced);
    drop(look);
    let made = create(&asker.client, &config_map("a", json!({"x": "1"}))).await;
    asker.woken().await;
    let look = asker.interests.track(&asker.key);
    let (_, found) = look.metadata("v1", "ConfigMap", &at).await.unwrap();
    let found = found.unwrap();
    assert_eq!(found.metadata.resource_version, made.metadata.resource_version);
    assert!(found.data["data"].is_null());
}

#[tokio::test]
async fn children_are_found_by_their_owner_and_by_a_label() {
    let asker = Asker::new();
    let parent = create(&asker.client, &config_map("parent", json!({}))).await;
    let uid = parent.metadata.uid.unwrap();
    let look = asker.interests.track(&asker.key);
    assert!(look.owned_by("v1", "ConfigMap", "default", &uid).await.unwrap().is_empty());
    drop(look);
    create(&asker.client, &owned("child", &uid)).await;
    create(&asker.client, &owned("stranger", "other")).await;
    asker.woken().await;
    let look = asker.interests.track(&asker.key);
    let found = look.owned_by("v1", "ConfigMap", "default", &uid).await.unwrap();
    assert_eq!(found.iter().map(|o| Key::of(o).name).collect::<Vec<_>>(), ["child"]);
    assert!(look.owned_by("v1", "ConfigMap", "elsewhere", &uid).await.unwrap().is_empty());
    let labelled = look.labelled("v1", "ConfigMap", "default", "app", "shop").await.unwrap();
    assert!(labelled.iter().any(|o| Key::of(o).name == "child"));
}

#[tokio::test]
async fn what_was_there_before_the_first_look_is_found_by_it() {
    let asker = Asker::new();
    for number in 0..50 {
        create(&asker.client, &owned(&format!("child-{number}"), "parent")).await;
    }
    let look = asker.interests.track(&asker.key);
    let found = look.owned_by("v1", "ConfigMap", "default", "parent").await.unwrap();
    assert_eq!(found.len(), 50);
}

#[tokio::test]
async fn a_kind_installed_later_wakes_the_readers_that_missed_it() {
    let asker = Asker::new();
    let at = Key::new("default", "one");
    let look = asker.interests.track(&asker.key);
    let missing = look.get("late.example/v1", "Late", &at).await.unwrap_err();
    assert!(matches!(&missing, Error::Missing { again: None, .. }), "{missing}");
    assert!(missing.to_string().contains("late.example/v1"), "{missing}");
    drop(look);
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let crds: Api<DynamicObject> = Api::all_with(asker.client.clone(), &ApiResource::from_gvk(&kind));
    crds.create(&PostParams::default(), &object(crd())).await.unwrap();
    let end = tokio::time::Instant::now() + DEADLINE;
    loop {
        asker.woken().await;
        match asker.interests.track(&asker.key).get("late.example/v1", "Late", &at).await {
            Ok(found) => break assert!(found.is_none()),
            Err(Error::Missing { again: Some(again), .. }) => asker.queue.add_after(asker.key.clone(), again),
            Err(error) => panic!("{error}"),
        }
        assert!(tokio::time::Instant::now() < end, "the kind is never served");
    }
}

fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lates.late.example"},
        "spec": {
            "group": "late.example", "scope": "Namespaced",
            "names": {"kind": "Late", "plural": "lates", "singular": "late", "listKind": "LateList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}
