//! Follows one kind for its informer: lists, watches and reconnects by itself, and never gives up.

use std::sync::Arc;
use std::time::Duration;

use crate::api::Api;
use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::{Cause, Depth, Informer, WatchError};

/// Objects per page of an initial list: bounded answers, few round trips.
const PAGE_SIZE: u32 = 500;
/// Pause after the first failure of a watch.
const PAUSE_FIRST: Duration = Duration::from_millis(800);
/// Longest pause while the server stays away: few questions a second from all watches, and back within seconds.
const PAUSE_LAST: Duration = Duration::from_secs(5);
/// A watch that held this long starts with the first pause again.
const PAUSE_FORGOTTEN: Duration = Duration::from_secs(120);

/// Follow the informer's kind until cancelled.
pub(crate) async fn run(client: kube::Client, informer: Arc<Informer>, stop: CancellationToken) {
    let client = crate::watch_client::watch_client(client, informer.clone());
    let watch = informer.watch();
    let mut config = watcher::Config::default().page_size(PAGE_SIZE);
    if let Some(labels) = &watch.labels {
        config = config.labels(labels);
    }
    match watch.depth {
        Depth::Full => {
            let api: Api<DynamicObject> = api(client, watch.namespace.as_deref(), &watch.resource);
            let Some(api) = checked_api(api, &informer) else { return };
            let events = watcher(api, config).backoff(Pause::default());
            follow(events, &informer, stop, |object| object).await;
        }
        Depth::Metadata => {
            let api: Api<PartialObjectMeta<DynamicObject>> =
                api(client, watch.namespace.as_deref(), &watch.resource);
            let Some(api) = checked_api(api, &informer) else { return };
            let events = watcher(api, config).backoff(Pause::default());
            follow(events, &informer, stop, |object| DynamicObject {
                types: None,
                metadata: object.metadata,
                data: serde_json::Value::Null,
            })
            .await;
        }
    }
}

/// The pauses between attempts: chance would help a fleet, but two replicas need none and a run must be repeatable.
struct Pause {
    next: Duration,
    /// When a pause was last asked for: a long time ago means that the watch held.
    asked: Option<Instant>,
}

impl Default for Pause {
    fn default() -> Self {
        Self { next: PAUSE_FIRST, asked: None }
    }
}

impl Iterator for Pause {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.asked.is_some_and(|asked| asked.elapsed() > PAUSE_FORGOTTEN) {
            self.next = PAUSE_FIRST;
        }
        self.asked = Some(Instant::now());
        let now = self.next;
        self.next = (now * 2).min(PAUSE_LAST);
        Some(now)
    }
}

impl Backoff for Pause {
    /// The beginning of a list counts as a success there, although nothing has been heard of the server yet.
    fn reset(&mut self) {}
}

fn api<K>(client: kube::Client, namespace: Option<&str>, resource: &kube::api::ApiResource) -> Api<K>
where
    K: kube::Resource<DynamicType = kube::api::ApiResource, Scope = kube::core::DynamicResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, resource),
        None => Api::all_with(client, resource),
    }
}

/// A namespace that cannot be one is refused for good.
fn checked_api<K: kube::Resource>(api: Api<K>, informer: &Informer) -> Option<kube::Api<K>> {
    match api.inner() {
        Ok(api) => Some(api),
        Err(error) => {
            informer.failed(WatchError { text: error.to_string(), cause: Cause::Refused });
            None
        }
    }
}

async fn follow<K>(
    events: impl futures::Stream<Item = Result<watcher::Event<K>, watcher::Error>>,
    informer: &Informer,
    stop: CancellationToken,
    object: impl Fn(K) -> DynamicObject,
) {
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            event = events.next() => event,
        };
        match event {
            None => return,
            Some(Ok(watcher::Event::Init)) => informer.list_started(),
            Some(Ok(watcher::Event::InitApply(item))) => informer.listed(object(item)),
            Some(Ok(watcher::Event::InitDone)) => informer.list_finished(),
            Some(Ok(watcher::Event::Apply(item))) => informer.changed(object(item)),
            Some(Ok(watcher::Event::Delete(item))) => informer.deleted(&object(item)),
            Some(Err(error)) => informer.failed(watch_error(&error)),
        }
    }
}

/// The meaning of an error for the watch. Too many requests and a history that is gone will change by themselves.
fn watch_error(error: &watcher::Error) -> WatchError {
    let code = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    };
    let final_answer = |code: u16| (400..500).contains(&code) && !matches!(code, 408 | 410 | 429);
    let cause = match (error, code) {
        (_, Some(403)) => Cause::Forbidden,
        (watcher::Error::InitialListFailed(_), Some(404)) => Cause::Unserved,
        (watcher::Error::NoResourceVersion, _) => Cause::Refused,
        (_, Some(code)) if final_answer(code) => Cause::Refused,
        _ => Cause::Away,
    };
    WatchError { text: error.to_string(), cause }
}
