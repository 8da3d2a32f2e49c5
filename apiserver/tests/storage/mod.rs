//! The file store: what was acknowledged is there after a restart, and old versions are told to be gone.

mod damage;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use vela_apiserver::ApiServer;
use vela_apiserver::store::Store;

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
