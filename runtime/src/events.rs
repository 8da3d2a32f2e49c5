//! A happening in → an Event on the object; repeats are counted on the server, failures never stop a reconcile.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DynamicObject;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

/// Longest note the API accepts is 1024 bytes; a longer one would be refused whole.
const NOTE_BYTES_AT_MOST: usize = 1000;

/// Writes events for one component.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// A writer that signs with this component name.
    pub fn new(client: kube::Client, component: &str) -> Self {
        let reporter = Reporter { controller: component.to_owned(), instance: None };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Something went as it should.
    pub async fn normal(&self, object: &ObjectReference, reason: &str, note: &str) {
        self.publish(object, EventType::Normal, reason, note).await;
    }

    /// Something went wrong.
    pub async fn warning(&self, object: &ObjectReference, reason: &str, note: &str) {
        self.publish(object, EventType::Warning, reason, note).await;
    }

    async fn publish(&self, object: &ObjectReference, type_: EventType, reason: &str, note: &str) {
        let mut end = note.len().min(NOTE_BYTES_AT_MOST);
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        let note = note.get(..end).unwrap_or_default();
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, object).await {
            tracing::warn!(%error, reason, "cannot write the event");
        }
    }
}

/// The reference of an object, as events carry it.
pub fn reference(object: &DynamicObject) -> ObjectReference {
    let types = object.types.clone().unwrap_or_default();
    ObjectReference {
        api_version: Some(types.api_version),
        kind: Some(types.kind),
        name: object.metadata.name.clone(),
        namespace: object.metadata.namespace.clone(),
        uid: object.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}
