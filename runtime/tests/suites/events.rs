//! What a controller tells stands on the server as events, repeats counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::events::{EventRecorder, reference};
use vela_runtime::fault::Entry;
use vela_runtime::{Action, Controller, Failure, Informer, Key, Manager, Reconciler};

use super::cluster::{client, config_map, config_maps, create, recorded, until};

/// Tells something of everything, three times each.
struct Teller {
    events: EventRecorder,
    stored: Arc<Informer>,
    ended: Arc<AtomicUsize>,
}

impl Reconciler for Teller {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.stored.get(&key) else { return Ok(Action::Done) };
        for _ in 0..3 {
            self.events.normal(&reference(&live), "Seen", "it was seen").await;
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(Action::Done)
    }
}

#[tokio::test(start_paused = true)]
async fn no_reconcile_waits_for_its_events_and_a_stop_leaves_none_out() {
    let (client, faults) = recorded();
    for name in ["a", "b", "c"] {
        create(&client, &config_map(name, json!({}))).await;
    }
    faults.slow(Duration::from_millis(150), Entry::is_event);
    let began = tokio::time::Instant::now();
    let cache = Cache::new(client.clone());
    let (events, stored) =
        (EventRecorder::new(client.clone(), "teller"), cache.informer(Watch::full(config_maps())));
    let ended = Arc::new(AtomicUsize::new(0));
    let teller = Teller { events: events.clone(), stored: stored.clone(), ended: ended.clone() };
    let controller = Controller::new("teller", teller).for_kind(&stored).workers(1);
    let stop = CancellationToken::new();
    let manager = Manager::new(client.clone(), cache).with(controller).events(events);
    let task = tokio::spawn(manager.run(stop.clone()));
    until("all are seen", || ended.load(Ordering::SeqCst) == 3).await;
    assert!(began.elapsed() < Duration::from_millis(150), "{:?}", began.elapsed());
    stop.cancel();
    task.await.unwrap().unwrap();
    let api: Api<Event> = Api::default_namespaced(client);
    let list = api.list(&ListParams::default()).await.unwrap().items;
    let mut counts: Vec<_> = list.into_iter().map(|event| event.series.map(|series| series.count)).collect();
    counts.sort();
    assert_eq!(counts, [Some(3); 3], "repeats are counted after what they repeat");
}

#[tokio::test]
async fn a_repeat_is_counted_and_another_note_is_another_event() {
    let client = client();
    let live = create(&client, &config_map("web", json!({}))).await;
    let regarding = reference(&live);
    let events = EventRecorder::new(client.clone(), "teller");
    for note in ["one", "one", "two", "one"] {
        events.warning(&regarding, "Wrong", note).await;
    }
    let api: Api<Event> = Api::default_namespaced(client);
    let stored = |list: Vec<Event>| -> Vec<_> {
        let mut rows: Vec<_> = list
            .into_iter()
            .map(|event| {
                assert_eq!(event.regarding.as_ref(), Some(&regarding));
                assert_eq!(event.reporting_controller.as_deref(), Some("teller"));
                (event.note.unwrap_or_default(), event.series.map(|series| series.count))
            })
            .collect();
        rows.sort();
        rows
    };
    let list = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(stored(list), [("one".to_owned(), Some(3)), ("two".to_owned(), None)]);
    // An event that a user deleted is told anew, not lost for good.
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    events.warning(&regarding, "Wrong", "one").await;
    events.warning(&regarding, "Wrong", "one").await;
    let list = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(stored(list), [("one".to_owned(), None)]);
}
