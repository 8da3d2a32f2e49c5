//! Kinds that the server refuses to list or to watch: what they cost, how often that is told, and how they come back.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use serde_json::json;
use tower::ServiceExt as _;
use vela_apiserver::{ApiServer, ApiService, Clock};
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::fault::SwitchableService;

use super::cluster::{config_map, config_maps, create, until};

const HOUR: Duration = Duration::from_secs(3600);

/// Whose warnings are counted: those of our own code.
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        if event.metadata().target().starts_with("vela") {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// A server that refuses to watch ConfigMaps by this code, and to list them too, until it is told otherwise.
fn refusing(
    server: SwitchableService<ApiService>,
    code: u16,
    lists: bool,
    refuses: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (server, refuses, asked) = (server.clone(), refuses.clone(), asked.clone());
        async move {
            let query = request.uri().query().unwrap_or_default();
            let watch = query.contains("watch=true");
            let reads =
                request.method() == http::Method::GET && request.uri().path().ends_with("/configmaps");
            if reads {
                asked.fetch_add(1, Ordering::SeqCst);
            }
            if reads && (watch || lists) && refuses.load(Ordering::SeqCst) {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                    "reason": "Forbidden", "message": "not this kind"});
                let answer = Response::builder().status(code).header("content-type", "application/json");
                return Ok::<_, Infallible>(
                    answer.body(Full::new(Bytes::from(status.to_string())).boxed_unsync()).unwrap(),
                );
            }
            Ok(server.oneshot(request).await.unwrap())
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_asked_for_ever_more_seldom_and_told_once() {
    let warned = Arc::<AtomicUsize>::default();
    let _guard = tracing::subscriber::set_default(Warnings(warned.clone()));
    // With one subscriber only, a place in the code that another test's thread passes first would stay silent for all.
    let _second = tracing::Dispatch::new(Warnings(Arc::default()));
    for (code, lists) in [(403, true), (404, true), (405, true), (403, false), (405, false)] {
        let (refuses, asked) = (Arc::new(AtomicBool::new(true)), Arc::<AtomicUsize>::default());
        warned.store(0, Ordering::SeqCst);
        let server = SwitchableService::new(ApiServer::builder().build().unwrap().service());
        let client = refusing(server, code, lists, refuses.clone(), asked.clone());
        let cache = Cache::new(client.clone());
        let informer = cache.informer(Watch::full(config_maps()));
        tokio::time::sleep(HOUR).await;
        let (asked, warned) = (asked.load(Ordering::SeqCst), warned.load(Ordering::SeqCst));
        assert!((3..=120).contains(&asked), "{code}, lists refused: {lists}: {asked} questions in an hour");
        assert_eq!(warned, 1, "{code}, lists refused: {lists}");
        // A right that was granted is noticed all the same.
        refuses.store(false, Ordering::SeqCst);
        tokio::time::sleep(HOUR / 20).await;
        create(&client, &config_map("a", json!({}))).await;
        until("the kind is followed", || informer.keys().len() == 1).await;
        cache.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_deleted_kind_takes_its_objects_along_after_the_watch_ends() {
    let server = ApiServer::builder().build().unwrap();
    let switch = SwitchableService::new(server.service());
    let (refuses, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let client = refusing(switch.clone(), 404, true, refuses.clone(), asked);
    create(&client, &config_map("stays", json!({}))).await;
    let cache = Cache::new(client);
    let informer = cache.informer(Watch::full(config_maps()));
    let changes = Arc::<Mutex<Vec<bool>>>::default();
    let sink = changes.clone();
    informer.on_change(Arc::new(move |change| sink.lock().unwrap().push(change.new.is_some())));
    informer.synced().await.unwrap();
    assert_eq!(*changes.lock().unwrap(), [true]);
    refuses.store(true, Ordering::SeqCst);
    switch.switch_to(server.fork(Clock::system()).service());
    server.shutdown().await;
    until("the store is empty", || informer.keys().is_empty()).await;
    assert_eq!(*changes.lock().unwrap(), [true, false], "and that is told");
    // It was a server that did not know its kinds yet: everything is there again.
    refuses.store(false, Ordering::SeqCst);
    until("the kind is followed", || informer.keys().len() == 1).await;
    assert_eq!(*changes.lock().unwrap(), [true, false, true]);
    cache.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_refused_with_gone_lists_everything_anew() {
    let server = ApiServer::builder().build().unwrap();
    let switch = SwitchableService::new(server.service());
    let (refuses, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let client = refusing(switch.clone(), 410, false, refuses.clone(), asked);
    create(&client, &config_map("a", json!({}))).await;
    let cache = Cache::new(client.clone());
    let informer = cache.informer(Watch::full(config_maps()));
    informer.synced().await.unwrap();
    refuses.store(true, Ordering::SeqCst);
    // The watch ends with its server; its version is gone at the next one.
    switch.switch_to(server.fork(Clock::system()).service());
    server.shutdown().await;
    create(&client, &config_map("b", json!({}))).await;
    until("a list shows what no watch told", || informer.keys().len() == 2).await;
    refuses.store(false, Ordering::SeqCst);
    create(&client, &config_map("c", json!({}))).await;
    until("the kind is followed again", || informer.keys().len() == 3).await;
    cache.stop().await;
}
