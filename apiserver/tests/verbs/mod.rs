//! Verbs on built-in kinds through kube's client, in process.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Client, Error, ResourceExt};
use serde_json::json;
use vela_apiserver::ApiServer;

/// Long enough for a busy machine; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) fn client() -> (ApiServer, Client) {
    let server = ApiServer::builder().build().expect("a server in memory");
    let client = Client::new(server.service(), "default");
    (server, client)
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": { "name": name, "labels": { "value": value } }, "data": { "key": value }
    }))
    .expect("a ConfigMap")
}

pub(crate) fn refusal(error: Error) -> Status {
    match error {
        Error::Api(status) => *status,
        other => panic!("expected a Status, got {other}"),
    }
}

#[tokio::test]
async fn create_get_update_delete() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    assert!(created.metadata.uid.is_some() && created.metadata.creation_timestamp.is_some());
    let again = maps.create(&PostParams::default(), &config_map("a", "1")).await.expect_err("exists");
    let again = refusal(again);
    assert_eq!((again.code, again.reason.as_str()), (409, "AlreadyExists"));
    assert_eq!(again.message, "configmaps \"a\" already exists");

    let mut changed = created.clone();
    changed.data = Some([("key".to_owned(), "2".to_owned())].into());
    let replaced = maps.replace("a", &PostParams::default(), &changed).await.expect("replaced");
    assert_ne!(replaced.resource_version(), created.resource_version());
    let stale = refusal(maps.replace("a", &PostParams::default(), &changed).await.expect_err("stale"));
    assert_eq!((stale.code, stale.reason.as_str()), (409, "Conflict"));
    assert!(
        stale
            .message
            .starts_with("Operation cannot be fulfilled on configmaps \"a\": the object has been modified")
    );

    maps.delete("a", &DeleteParams::default()).await.expect("deleted");
    let gone = refusal(maps.get("a").await.expect_err("gone"));
    assert_eq!((gone.code, gone.message.as_str()), (404, "configmaps \"a\" not found"));
}

#[tokio::test]
async fn an_unchanged_write_changes_nothing() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    let patch = Patch::Merge(json!({ "data": { "key": "1" } }));
    let same = maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    assert_eq!(same.resource_version(), created.resource_version());
}

#[tokio::test]
async fn a_missing_namespace_is_named() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::namespaced(client, "nowhere");
    let error =
        refusal(maps.create(&PostParams::default(), &config_map("a", "1")).await.expect_err("refused"));
    assert_eq!((error.code, error.message.as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test]
async fn bad_names_are_refused_with_the_field() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let error =
        refusal(maps.create(&PostParams::default(), &config_map("A_b", "1")).await.expect_err("refused"));
    assert_eq!((error.code, error.reason.as_str()), (422, "Invalid"));
    assert!(error.message.contains("metadata.name: Invalid value: \"A_b\""), "{}", error.message);
}

#[tokio::test]
async fn dry_run_stores_nothing() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    maps.create(&dry, &config_map("a", "1")).await.expect("accepted");
    assert!(maps.get_opt("a").await.expect("answered").is_none());
}

#[tokio::test]
async fn lists_come_in_pages_of_one_moment() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for n in 0..7 {
        maps.create(&PostParams::default(), &config_map(&format!("m{n}"), "x")).await.expect("created");
    }
    let first = maps.list(&ListParams::default().limit(3)).await.expect("listed");
    assert_eq!(first.items.len(), 3);
    assert_eq!(first.metadata.remaining_item_count, Some(4));
    // What is created after the first page is not in the later ones.
    maps.create(&PostParams::default(), &config_map("m9", "x")).await.expect("created");
    maps.delete("m5", &DeleteParams::default()).await.expect("deleted");
    let mut names: Vec<String> = first.items.iter().map(ResourceExt::name_any).collect();
    let mut token = first.metadata.continue_.clone();
    while let Some(next) = token.filter(|t| !t.is_empty()) {
        let page = maps.list(&ListParams::default().limit(3).continue_token(&next)).await.expect("listed");
        names.extend(page.items.iter().map(ResourceExt::name_any));
        token = page.metadata.continue_.clone();
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
}

#[tokio::test]
async fn selectors_select() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "3")] {
        maps.create(&PostParams::default(), &config_map(name, value)).await.expect("created");
    }
    for (labels, fields, expected) in [
        ("value in (1,2)", "", vec!["a", "b"]),
        ("value!=2", "", vec!["a", "c"]),
        ("!value", "", vec![]),
        ("value,value notin (1)", "metadata.name!=c", vec!["b"]),
        ("", "metadata.name=b", vec!["b"]),
    ] {
        let found = maps.list(&ListParams::default().labels(labels).fields(fields)).await.expect("listed");
        let names: Vec<String> = found.items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, expected, "{labels} {fields}");
    }
    let error = refusal(maps.list(&ListParams::default().fields("data.key=1")).await.expect_err("refused"));
    assert_eq!(error.code, 400);
    assert!(error.message.ends_with("field label not supported: data.key"), "{}", error.message);
}

#[tokio::test]
async fn a_watch_tells_every_change_from_its_version_on() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let version =
        maps.list(&ListParams::default()).await.expect("listed").metadata.resource_version.expect("rv");
    let params = WatchParams::default().labels("value=1");
    maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    let mut events = maps.watch(&params, &version).await.expect("watching").boxed();
    maps.create(&PostParams::default(), &config_map("other", "2")).await.expect("created");
    let relabel = Patch::Merge(json!({ "metadata": { "labels": { "value": "2" } } }));
    maps.patch("a", &PatchParams::default(), &relabel).await.expect("patched");
    let back = Patch::Merge(json!({ "metadata": { "labels": { "value": "1" } } }));
    maps.patch("a", &PatchParams::default(), &back).await.expect("patched");
    maps.delete("a", &DeleteParams::default()).await.expect("deleted");
    let mut seen = Vec::new();
    while seen.len() < 4 {
        let event = tokio::time::timeout(DEADLINE, events.try_next()).await.expect("in time").expect("event");
        seen.push(match event.expect("not ended") {
            WatchEvent::Added(o) => format!("+{}", o.name_any()),
            WatchEvent::Modified(o) => format!("~{}", o.name_any()),
            WatchEvent::Deleted(o) => format!("-{}", o.name_any()),
            other => format!("{other:?}"),
        });
    }
    // Out of the selection is a deletion, back into it an addition.
    assert_eq!(seen, ["+a", "-a", "+a", "-a"]);
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let (_server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut held = config_map("a", "1");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    maps.create(&PostParams::default(), &held).await.expect("created");
    maps.delete("a", &DeleteParams::default()).await.expect("marked");
    let marked = maps.get("a").await.expect("still there");
    assert!(marked.metadata.deletion_timestamp.is_some());
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("a", &PatchParams::default(), &release).await.expect("released");
    assert!(maps.get_opt("a").await.expect("answered").is_none());
}

#[tokio::test]
async fn a_streamed_list_ends_with_a_bookmark() {
    let (_server, client) = client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let stream =
        kube::runtime::watcher(namespaces, kube::runtime::watcher::Config::default().streaming_lists());
    let mut stream = stream.boxed();
    let mut names = Vec::new();
    loop {
        let event = tokio::time::timeout(DEADLINE, stream.try_next()).await.expect("in time").expect("event");
        match event.expect("not ended") {
            kube::runtime::watcher::Event::InitApply(ns) => names.push(ns.name_any()),
            kube::runtime::watcher::Event::InitDone => break,
            _ => {}
        }
    }
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    let pods: Api<Pod> = Api::all(client);
    assert!(pods.list(&ListParams::default()).await.expect("listed").items.is_empty());
}

#[tokio::test]
async fn a_deleted_namespace_takes_its_content_along() {
    let (server, client) = client();
    let _controllers = server.run_controllers();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let team: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": "team" } })).expect("a Namespace");
    namespaces.create(&PostParams::default(), &team).await.expect("created");
    let maps: Api<ConfigMap> = Api::namespaced(client, "team");
    maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    namespaces.delete("team", &DeleteParams::default()).await.expect("deleted");
    let gone =
        kube::runtime::wait::await_condition(namespaces.clone(), "team", |found: Option<&Namespace>| {
            found.is_none()
        });
    tokio::time::timeout(DEADLINE, gone).await.expect("in time").expect("gone");
    assert!(maps.get_opt("a").await.expect("answered").is_none());
}
