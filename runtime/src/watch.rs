//! One watch of a kind → the store and the handlers of its informer; reconnects by itself, never gives up.

use std::sync::Arc;

use futures::StreamExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio_util::sync::CancellationToken;

use crate::cache::{Depth, Informer};

/// Objects per page of an initial list: bounded answers, few round trips.
const PAGE_SIZE: u32 = 500;

/// Follow the informer's kind until cancelled.
pub(crate) async fn run(client: kube::Client, informer: Arc<Informer>, stop: CancellationToken) {
    let watch = informer.watch();
    let mut config = watcher::Config::default().page_size(PAGE_SIZE);
    if let Some(labels) = &watch.labels {
        config = config.labels(labels);
    }
    match watch.depth {
        Depth::Full => {
            let api: Api<DynamicObject> = api(client, watch.namespace.as_deref(), &watch.resource);
            let events = watcher(api, config).default_backoff();
            follow(events, &informer, stop, |object| object).await;
        }
        Depth::Metadata => {
            let api: Api<PartialObjectMeta<DynamicObject>> =
                api(client, watch.namespace.as_deref(), &watch.resource);
            let events = watcher(api, config).default_backoff();
            follow(events, &informer, stop, |object| DynamicObject {
                types: None,
                metadata: object.metadata,
                data: serde_json::Value::Null,
            })
            .await;
        }
    }
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

async fn follow<K>(
    events: impl futures::Stream<Item = Result<watcher::Event<K>, watcher::Error>>,
    informer: &Informer,
    stop: CancellationToken,
    object: impl Fn(K) -> DynamicObject,
) {
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
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
            Some(Err(error)) => informer.failed(&error.to_string()),
        }
    }
}
