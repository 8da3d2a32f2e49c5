//! The file store: what was acknowledged is there after a restart, and old versions are told to be gone.

mod damage;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use vela_apiserver::ApiServer;
use vela_apiserver::store::{Change, Key, Precondition, Store};

use crate::custom::{a_box, define};
use crate::verbs::{DEADLINE, config_map, refusal};

async fn open(path: &std::path::Path) -> (ApiServer, Api<ConfigMap>) {
    // The client before may still hold the store for a moment: it ends in the background.
    let deadline = tokio::time::Instant::now() + DEADLINE;
    let store = loop {
        match Store::file(path) {
            Ok(store) => break store,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
        tokio::task::yield_now().await;
    };
    let server = ApiServer::builder().store(store).build().expect("a server");
    let maps = Api::default_namespaced(Client::new(server.service(), "default"));
    (server, maps)
}

#[tokio::test]
async fn objects_and_versions_survive_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects.redb");
    let (server, maps) = open(&path).await;
    let kept = maps.create(&PostParams::default(), &config_map("kept", "1")).await.expect("created");
    maps.create(&PostParams::default(), &config_map("gone", "1")).await.expect("created");
    maps.delete("gone", &DeleteParams::default()).await.expect("deleted");
    let last = server.store().revision();
    drop((server, maps));

    let (server, maps) = open(&path).await;
    let found = maps.list(&ListParams::default()).await.expect("listed");
    assert_eq!(found.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["kept"]);
    assert_eq!(maps.get("kept").await.expect("there"), kept);
    assert!(server.store().revision() >= last, "versions never go back");
    // History is not kept over a restart: who asks for it must list again.
    let params = ListParams::default()
        .at(&kept.resource_version().expect("rv"))
        .matching(kube::api::VersionMatch::Exact);
    let error = refusal(maps.list(&params).await.expect_err("too old"));
    assert_eq!((error.code, error.reason.as_str()), (410, "Expired"));
}

/// Holds an object until its finalizers are gone.
fn held(name: &str) -> ConfigMap {
    let mut held = config_map(name, "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    held
}

#[tokio::test]
async fn the_last_finalizer_and_the_object_go_in_one_write() {
    let server = ApiServer::builder().build().expect("a server");
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(server.service(), "default"));
    maps.create(&PostParams::default(), &held("held")).await.expect("created");
    maps.delete("held", &DeleteParams::default()).await.expect("marked");
    let before = server.store().revision();
    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let answer = maps.patch("held", &PatchParams::default(), &release).await.expect("released");
    // A process that is killed between two writes would leave an object that no client can end.
    assert_eq!(server.store().revision(), before + 1);
    assert_eq!(answer.metadata.finalizers, None, "the answer is the object as it was asked for");
    assert!(answer.metadata.deletion_timestamp.is_some());
    assert!(maps.get_opt("held").await.expect("read").is_none());
}

#[tokio::test]
async fn a_deletion_that_was_cut_off_is_finished_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects.redb");
    let (server, maps) = open(&path).await;
    maps.create(&PostParams::default(), &held("held")).await.expect("created");
    maps.delete("held", &DeleteParams::default()).await.expect("marked");
    // As an earlier release stored it, before it removed the object in a second write.
    let key = Key { resource: "configmaps".into(), namespace: "default".into(), name: "held".into() };
    let marked = server.store().get(&key).expect("stored");
    let mut left = marked.value().clone();
    left["metadata"].as_object_mut().expect("metadata").remove("finalizers");
    let unchanged = Precondition::Revision(marked.revision());
    server.store().write(&key, unchanged, Change::Put(left)).expect("written");
    maps.create(&PostParams::default(), &held("waiting")).await.expect("created");
    maps.delete("waiting", &DeleteParams::default()).await.expect("marked");
    drop((server, maps));

    let (_server, maps) = open(&path).await;
    assert!(maps.get_opt("held").await.expect("read").is_none(), "nothing holds it");
    assert!(maps.get_opt("waiting").await.expect("read").is_some(), "its finalizer holds it");
}

#[tokio::test]
async fn a_definition_half_deleted_takes_its_objects_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects.redb");
    let (server, maps) = open(&path).await;
    let client = Client::new(server.service(), "default");
    let (boxes, _) = define(&client).await;
    boxes.create(&PostParams::default(), &a_box("v1", "free", json!({}))).await.expect("created");
    let definitions = "customresourcedefinitions.apiextensions.k8s.io";
    let key =
        Key { resource: definitions.into(), namespace: String::new(), name: "boxes.example.com".into() };
    let stored = server.store().get(&key).expect("stored");
    let mut marked = stored.value().clone();
    marked["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    marked["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    let unchanged = Precondition::Revision(stored.revision());
    server.store().write(&key, unchanged, Change::Put(marked)).expect("written");
    drop((server, maps, client, boxes));

    let (server, _maps) = open(&path).await;
    assert!(server.store().get(&key).is_none(), "the definition is gone");
    assert_eq!(server.store().list("boxes.example.com", None).0.len(), 0, "and its objects");
}

#[tokio::test]
async fn a_store_has_one_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects.redb");
    let _first = open(&path).await;
    let error = Store::file(&path).expect_err("in use");
    assert!(error.to_string().contains("storage file"), "{error}");
}

#[test]
fn a_damaged_file_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("objects.redb");
    std::fs::write(&path, vec![7u8; 8192]).expect("written");
    assert!(Store::file(&path).is_err());
}
