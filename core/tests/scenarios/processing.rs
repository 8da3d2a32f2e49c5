//! A trait that asks a server before it renders: asked once per revision, and never again by an unchanged world.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};

use super::world::{World, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

/// A server that answers every request with this body, and counts them.
async fn server(body: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/token", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut text = [0; 4096];
            let _ = stream.read(&mut text).await;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, asked)
}

async fn world(url: &str) -> World {
    let mut world = World::without_controllers().await;
    // The servers of these scenarios are on this machine.
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, ..Options::default() };
    world.start_as(Process { options, ..Process::default() });
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
    world
        .create(json!({
            "apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "account"},
            "spec": {"schematic": {"cue": {"template": template}}},
        }))
        .await;
    let component = json!({
        "name": "note", "type": "settings", "properties": {"text": "x"},
        "traits": [{"type": "account", "properties": {"url": url}}],
    });
    world.create(application("shop", &[component])).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_asked_for_once_and_used() {
    let (url, asked) = server(r#"{"token": "secret"}"#).await;
    let world = world(&url).await;
    world.phase("shop", "running").await;
    assert_eq!(world.get("v1", "ConfigMap", "note").await.unwrap()["data"]["token"], "secret");
    world.quiet().await;
    world.resync("settings").await;
    assert!(world.writes().is_empty());
    assert_eq!(asked.load(Ordering::SeqCst), 1, "an unchanged world asks nobody again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_object_is_told_and_nothing_is_applied() {
    let (url, _) = server("[1]").await;
    let world = world(&url).await;
    let told = until_or(
        "the mistake is told",
        || world.application("shop"),
        |found: &Value| found["status"].to_string().contains("must be a JSON object"),
    );
    assert!(told.await["status"].to_string().contains("/token"));
    assert!(world.get("v1", "ConfigMap", "note").await.is_none());
}
