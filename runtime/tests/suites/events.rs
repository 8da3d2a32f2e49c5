//! What a controller tells stands on the server as events, repeats counted.

use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::json;
use vela_runtime::events::{EventRecorder, reference};

use super::cluster::{client, config_map, create};

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
    // An event that somebody deleted is told anew, not lost for good.
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    events.warning(&regarding, "Wrong", "one").await;
    events.warning(&regarding, "Wrong", "one").await;
    let list = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(stored(list), [("one".to_owned(), None)]);
}
