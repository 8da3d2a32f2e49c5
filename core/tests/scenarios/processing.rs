//! A trait that asks a server before it renders: asked once per revision, and never again while nothing changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

/// A server that answers every request with this body, and counts them.
async fn server(body: &'static str) -> (String, Arc<AtomicUsize>) {
    let (url, asked) = serve(move |_| ok(body)).await;
    (format!("{url}/token"), asked)
}

/// An answer with this body.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// A server that answers each path so, and counts the requests.
pub(crate) async fn serve(
    answer: impl Fn(&str) -> String + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            let _ = stream.write_all(answer(path).as_bytes()).await;
        }
    });
    (url, asked)
}

async fn cluster(url: &str) -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    // The servers of these scenarios are on this machine.
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    let template = r#"
processing: {
	output: token: *"" | string
	http: {
		method: "GET"
		url:    parameter.url
	}
}
patch: data: token: processing.output.token
parameter: url: string
"#;
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "account"},
            "spec": {"schematic": {"cue": {"template": template}}},
        }))
        .await;
    let component = json!({
        "name": "note", "type": "settings", "properties": {"text": "x"},
        "traits": [{"type": "account", "properties": {"url": url}}],
    });
    cluster.create(application("shop", &[component])).await;
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_asked_for_once_and_used() {
    let (url, asked) = server(r#"{"token": "secret"}"#).await;
    let cluster = cluster(&url).await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.get("v1", "ConfigMap", "note").await.unwrap()["data"]["token"], "secret");
    cluster.quiet().await;
    cluster.resync("settings").await;
    assert!(cluster.writes().is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 1, "no server is asked again while nothing changes");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_object_is_told_and_nothing_is_applied() {
    let (url, _) = server("[1]").await;
    let cluster = cluster(&url).await;
    let shop = until_or(
        "the mistake is told",
        || cluster.application("shop"),
        |found: &Value| found["status"].to_string().contains("must be a JSON object"),
    );
    assert!(shop.await["status"].to_string().contains("/token"));
    assert!(cluster.get("v1", "ConfigMap", "note").await.is_none());
}
