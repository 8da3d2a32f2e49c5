//! The network door: TLS by the kubeconfig's authority, the token asked of everybody, an end that does not hang.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use vela_apiserver::ApiServer;
use vela_testkit::silent::{self, Trust};

use crate::verbs::{DEADLINE, config_map, refusal};

async fn connect(kubeconfig: &str) -> Client {
    // Another test may have chosen the provider already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let config =
        Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.expect("a config");
    Client::try_from(config).expect("a client")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_token_opens_the_door() {
    let server = ApiServer::builder().build().expect("a server in memory");
    let served = server.serve("127.0.0.1:0".parse().expect("an address")).await.expect("served");
    let namespaces: Api<Namespace> = Api::all(connect(&served.kubeconfig()).await);
    assert_eq!(namespaces.list(&ListParams::default()).await.expect("listed").items.len(), 4);
    let stranger = connect(&served.kubeconfig().replace(served.token(), "guessed")).await;
    let namespaces: Api<Namespace> = Api::all(stranger);
    let error = refusal(namespaces.list(&ListParams::default()).await.expect_err("refused"));
    assert_eq!((error.code, error.reason.as_str()), (401, "Unauthorized"));
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_ends_watches() {
    let server = ApiServer::builder().build().expect("a server in memory");
    let served = server.serve("127.0.0.1:0".parse().expect("an address")).await.expect("served");
    let maps: Api<ConfigMap> = Api::default_namespaced(connect(&served.kubeconfig()).await);
    let mut events = maps.watch(&WatchParams::default(), "0").await.expect("watching").boxed();
    maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    let first = tokio::time::timeout(DEADLINE, events.try_next()).await.expect("in time").expect("an event");
    assert!(matches!(first, Some(WatchEvent::Added(_))));
    tokio::time::timeout(DEADLINE, server.shutdown()).await.expect("the server ends");
    // Whether the client sees a clean end or a cut connection, it does not wait.
    let rest = tokio::time::timeout(DEADLINE, events.try_next()).await.expect("the watch ends");
    assert!(!matches!(rest, Ok(Some(_))), "nothing comes after the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_peers_block_no_client_and_end_no_watch() {
    silent::many_files().expect("files enough");
    let server = ApiServer::builder().build().expect("a server in memory");
    let served = server.serve("127.0.0.1:0".parse().expect("an address")).await.expect("served");
    let maps: Api<ConfigMap> = Api::default_namespaced(connect(&served.kubeconfig()).await);
    let mut events = maps.watch(&WatchParams::default(), "0").await.expect("watching").boxed();
    let trust = Trust::new(served.ca_pem(), "localhost").expect("an authority");
    let peers = silent::peers(served.address(), silent::MANY, Some(&trust)).await.expect("connected");
    // A new client, which has no connection yet.
    let newcomer: Api<ConfigMap> = Api::default_namespaced(connect(&served.kubeconfig()).await);
    let (options, map) = (PostParams::default(), config_map("a", "1"));
    let created = tokio::time::timeout(silent::DEADLINE, newcomer.create(&options, &map));
    created.await.expect("in time").expect("created");
    let first = tokio::time::timeout(DEADLINE, events.try_next()).await.expect("in time").expect("an event");
    assert!(matches!(first, Some(WatchEvent::Added(_))), "the watch, which was quiet, goes on: {first:?}");
    drop(peers);
    server.shutdown().await;
}
