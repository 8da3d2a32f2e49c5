//! Start and stop in order, and what the endpoints tell.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::manager::{Error, Manager};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::cluster::{client, config_map, config_maps, create, until};

#[derive(Clone, Default)]
struct Slow {
    began: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
}

impl Reconciler for Slow {
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        self.began.store(true, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.ended.store(true, Ordering::SeqCst);
        Ok(Action::Done)
    }
}

async fn free_address() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

#[tokio::test]
async fn a_stop_lets_the_running_reconcile_end_and_closes_the_endpoints() {
    let client = client();
    create(&client, &config_map("a", serde_json::json!({}))).await;
    let (health, metrics) = (free_address().await, free_address().await);
    let slow = Slow::default();
    let cache = Cache::new(client.clone());
    let controller =
        Controller::new("slow", slow.clone()).for_kind(&cache.informer(Watch::full(config_maps())));
    let manager =
        Manager::new(client, cache).with(controller).health(Some(health)).metrics_address(Some(metrics));
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    until("a reconcile began", || slow.began.load(Ordering::SeqCst)).await;
    assert!(get(health, "/healthz").await.unwrap().ends_with("ok"));
    assert!(get(health, "/readyz?verbose").await.unwrap().contains("[+]caches ok"));
    assert!(get(health, "/").await.unwrap().starts_with("HTTP/1.1 404"));
    let text = get(metrics, "/metrics").await.unwrap();
    assert!(text.contains("controller_runtime_active_workers{controller=\"slow\"} 1"), "{text}");
    stop.cancel();
    task.await.unwrap().unwrap();
    assert!(slow.ended.load(Ordering::SeqCst), "the reconcile was not cut off");
    assert!(get(health, "/healthz").await.is_none_or(|answer| answer.is_empty()));
}

#[tokio::test]
async fn two_controllers_of_one_name_are_refused() {
    let client = client();
    let cache = Cache::new(client.clone());
    let twice = || Controller::new("same", Slow::default());
    let result = Manager::new(client, cache).with(twice()).with(twice()).run(CancellationToken::new()).await;
    assert!(matches!(result, Err(Error::DuplicateName(name)) if name == "same"));
}

#[tokio::test]
async fn a_taken_address_is_told() {
    let client = client();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let manager = Manager::new(client.clone(), Cache::new(client)).health(taken.local_addr().ok());
    let error = manager.run(CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("choose another address"), "{error}");
}
