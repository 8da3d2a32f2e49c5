//! Components of type `ref-objects` with `urls`: the objects behind a URL, asked for once per revision, and what a server may do wrong.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};
use vela_engine::Bounds;

use super::processing::{ok, serve};
use super::test_cluster::{TestCluster, application, until, until_or};

const TWO: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {word: first}\n---\n\
                   apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\ndata: {word: first}\n";

fn loading(urls: &[String]) -> Value {
    json!({"name": "words", "type": "ref-objects", "properties": {"urls": urls}})
}

/// Controllers that ask the servers of this machine, where those of a scenario are.
async fn cluster(bounds: Bounds) -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, bounds, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster
}

/// A server whose answer the test changes.
async fn changing(first: &str) -> (String, Arc<AtomicUsize>, Arc<Mutex<String>>) {
    let body = Arc::new(Mutex::new(first.to_owned()));
    let said = body.clone();
    let (url, asked) = serve(move |_| ok(&said.lock().unwrap())).await;
    (url, asked, body)
}

async fn word(cluster: &TestCluster, name: &str) -> Option<String> {
    let found = cluster.get("v1", "ConfigMap", name).await?;
    found["data"]["word"].as_str().map(str::to_owned)
}

/// The status of the application once it says all of this.
async fn said(cluster: &TestCluster, words: &[&str]) -> String {
    let status = || async { cluster.application("shop").await["status"].to_string().replace('\\', "") };
    until_or(&format!("{words:?}"), status, |said: &String| words.iter().all(|word| said.contains(word)))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_asked_once_for_each_revision() {
    let (url, asked, body) = changing(TWO).await;
    let cluster = cluster(Bounds::SAFE).await;
    let note = json!({"name": "note", "type": "settings", "properties": {"text": "x"}});
    let mut shop = application("shop", &[note, loading(&[format!("{url}/words.yaml?token=hidden")])]);
    cluster.create(shop.clone()).await;
    cluster.phase("shop", "running").await;
    let one = cluster.get("v1", "ConfigMap", "one").await.unwrap();
    assert_eq!(
        (&one["data"]["word"], &one["metadata"]["labels"]["app.oam.dev/name"]),
        (&json!("first"), &json!("shop"))
    );
    *body.lock().unwrap() = TWO.split("---").next().unwrap_or_default().replace("first", "second");
    cluster.quiet().await;
    cluster.resync("settings").await;
    assert!(cluster.writes().is_empty(), "what changed at the server is no change of the application");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "no server is asked again while nothing changes");
    shop["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "two"});
    cluster.patch("core.oam.dev/v1beta1", "Application", "shop", json!({"metadata": shop["metadata"]})).await;
    until("the new version asks again", || async {
        word(&cluster, "one").await.as_deref() == Some("second")
    })
    .await;
    cluster.gone("v1", "ConfigMap", "two").await;
    cluster.delete("core.oam.dev/v1beta1", "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_recovers_is_asked_again() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = is_well.clone();
    let (url, _) = serve(move |path| match (path, well.load(Ordering::SeqCst)) {
        (_, false) => "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(),
        ("/moved", true) => ok(TWO),
        _ => "HTTP/1.1 302 Found\r\nlocation: /moved\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            .to_owned(),
    })
    .await;
    let cluster = cluster(Bounds::SAFE).await;
    cluster.create(application("shop", &[loading(&[format!("{url}/words.yaml?token=hidden")])])).await;
    let shown = format!("{url}/words.yaml");
    let status = said(&cluster, &["component \"words\"", "urls", &shown, "answered 503"]).await;
    assert!(!status.contains("hidden"), "{status}");
    is_well.store(true, Ordering::SeqCst);
    cluster.phase("shop", "running").await;
    assert_eq!(word(&cluster, "two").await.as_deref(), Some("first"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_manifest_is_told_and_nothing_is_applied() {
    let (url, _, body) = changing("<html>").await;
    let cluster = cluster(Bounds::SAFE).await;
    cluster.create(application("shop", &[loading(&[url])])).await;
    said(&cluster, &["found a web page"]).await;
    let one = TWO.split("---").next().unwrap_or_default();
    *body.lock().unwrap() = format!("{one}---\n{one}");
    said(&cluster, &["documents 1 and 2 are both ConfigMap one"]).await;
    *body.lock().unwrap() =
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\n".to_owned();
    said(&cluster, &["does not load applications"]).await;
    assert_eq!(word(&cluster, "one").await, None);
    *body.lock().unwrap() = one.to_owned();
    cluster.phase("shop", "running").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_url_stay_in_the_bounds() {
    let wide = "apiVersion: v1\nkind: Namespace\nmetadata: {name: wide}\n";
    let (url, _, body) = changing(wide).await;
    let cluster = cluster(Bounds::SAFE).await;
    cluster.create(application("shop", &[loading(std::slice::from_ref(&url))])).await;
    said(&cluster, &["Namespace wide", "own namespace"]).await;
    *body.lock().unwrap() = TWO.replace("{name: two}", "{name: two, namespace: kube-system}");
    let mut named = application("shop", &[loading(&[url])]);
    named["spec"]["components"][0]["name"] = json!("elsewhere");
    cluster.patch("core.oam.dev/v1beta1", "Application", "shop", json!({"spec": named["spec"]})).await;
    said(&cluster, &["kube-system/two", "--allow-cross-namespace"]).await;
    assert_eq!(word(&cluster, "one").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_of_the_controller_is_not_asked() {
    let (url, asked, _) = changing(TWO).await;
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[loading(&[url])])).await;
    said(&cluster, &["component \"words\"", "own services"]).await;
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}
