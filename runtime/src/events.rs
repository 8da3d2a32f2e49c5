//! The event recorder: writes Events on objects and counts repeats on the server; a failure never stops a reconcile.
//!
//! While a manager runs it ([`Manager::events`](crate::manager::Manager::events)), what is published waits in a lane and is written beside the
//! reconciles: none of them waits for an event. Without one, and where the lane is full, the publisher writes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{Api, NAME_AT_MOST};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use crate::clock;

/// Longest note the API accepts is 1024 bytes; a longer one would be refused whole.
const NOTE_BYTES_AT_MOST: usize = 1000;
/// A name of ours ends in a dot and this many digits.
const NAME_DIGITS: usize = 16;
/// The same happening within this time after the last one is counted instead of told anew.
const REPEAT_WITHIN: SignedDuration = SignedDuration::from_mins(6);
/// Happenings remembered at most; a repeat of a forgotten one is a new event, which costs a line and nothing else.
const REMEMBERED_AT_MOST: usize = 4096;
/// So many events are written at the same time. Those of one object share a lane, so that they come in the order of time.
const LANES: usize = 4;
/// So many events wait in each lane; a publisher of more writes them itself, and so is slowed down.
const WAITING_AT_MOST: usize = 1024;

/// Hash of everything that makes two happenings the same.
type Key = [u8; 16];

/// Writes events for one component.
#[derive(Clone)]
pub struct EventRecorder {
    client: kube::Client,
    component: Arc<str>,
    recent: Arc<Mutex<RecentlyPublished>>,
    /// The lane where events wait for their writers; none while no writer runs.
    lanes: Arc<Mutex<Vec<mpsc::Sender<Waiting>>>>,
}

/// An event that is to be written.
struct Waiting {
    key: Key,
    lane: usize,
    namespace: String,
    reason: String,
    write: EventWrite,
}

/// The request that writes it.
enum EventWrite {
    Create(Box<Event>),
    Count { name: String, count: i32, at: Timestamp },
}

/// The lately published events. Every look costs the same however much was told: a thousand objects may all become
/// ready at once.
#[derive(Default)]
struct RecentlyPublished {
    events: HashMap<Key, Repeat>,
    /// In the order of time; an entry counts only while it is the last of its key.
    order: VecDeque<(Timestamp, Key)>,
}

struct Repeat {
    name: String,
    count: i32,
    last: Timestamp,
}

/// How a happening is to be written.
#[derive(Debug, PartialEq, Eq)]
enum Write {
    /// A new event of this name.
    Create(String),
    /// The event of this name has happened so often now.
    Count(String, i32),
}

impl RecentlyPublished {
    fn next(&mut self, key: Key, subject: &str, now: Timestamp) -> Write {
        while let Some((at, oldest)) = self.order.front().copied() {
            if self.order.len() < REMEMBERED_AT_MOST && now.duration_since(at) <= REPEAT_WITHIN {
                break;
            }
            self.order.pop_front();
            if self.events.get(&oldest).is_some_and(|repeat| repeat.last == at) {
                self.events.remove(&oldest);
            }
        }
        self.order.push_back((now, key));
        if let Some(repeat) = self.events.get_mut(&key) {
            repeat.count = repeat.count.saturating_add(1);
            repeat.last = now;
            return Write::Count(repeat.name.clone(), repeat.count);
        }
        let name = name(subject, &key, now);
        self.events.insert(key, Repeat { name: name.clone(), count: 1, last: now });
        Write::Create(name)
    }
}

impl std::fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventRecorder").finish_non_exhaustive()
    }
}

impl EventRecorder {
    /// A writer that signs with this component name.
    pub fn new(client: kube::Client, component: &str) -> Self {
        Self { client, component: component.into(), recent: Arc::default(), lanes: Arc::default() }
    }

    /// The writers of events beside the publishers, from now until [`EventRecorder::close`]; the caller runs each.
    pub(crate) fn open(&self) -> Vec<impl Future<Output = ()> + Send + 'static + use<>> {
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..LANES).map(|_| mpsc::channel::<Waiting>(WAITING_AT_MOST)).unzip();
        *self.lanes() = senders;
        receivers.into_iter().map(|receiver| self.clone().write_all(receiver)).collect()
    }

    async fn write_all(self, mut receiver: mpsc::Receiver<Waiting>) {
        while let Some(waiting) = receiver.recv().await {
            self.write(waiting).await;
        }
    }

    /// The writers end after the events that wait; from now on each publisher writes its own.
    pub(crate) fn close(&self) {
        self.lanes().clear();
    }

    /// Something went as it should.
    pub async fn normal(&self, object: &ObjectReference, reason: &str, note: &str) {
        self.publish(object, "Normal", reason, note).await;
    }

    /// Something went wrong.
    pub async fn warning(&self, object: &ObjectReference, reason: &str, note: &str) {
        self.publish(object, "Warning", reason, note).await;
    }

    fn recent(&self) -> MutexGuard<'_, RecentlyPublished> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lanes(&self) -> MutexGuard<'_, Vec<mpsc::Sender<Waiting>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn publish(&self, object: &ObjectReference, type_: &str, reason: &str, note: &str) {
        let waiting = self.next(object, (type_, reason, note));
        if let Some(waiting) = self.enqueue(waiting) {
            self.write(waiting).await;
        }
    }

    /// The Event to write for a happening.
    fn next(&self, object: &ObjectReference, (type_, reason, note): (&str, &str, &str)) -> Waiting {
        let mut end = note.len().min(NOTE_BYTES_AT_MOST);
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        let note = note.get(..end).unwrap_or_default();
        let key = key(object, type_, reason, note);
        let now = clock::now();
        let subject = object.name.as_deref().unwrap_or(&self.component);
        let write = match self.recent().next(key, subject, now) {
            Write::Create(name) => {
                EventWrite::Create(Box::new(self.event(name, object, (type_, reason, note), now)))
            }
            Write::Count(name, count) => EventWrite::Count { name, count, at: now },
        };
        let namespace = object.namespace.clone().unwrap_or_else(|| "default".to_owned());
        Waiting { key, lane: lane(object), namespace, reason: reason.to_owned(), write }
    }

    /// Leaves the event to the writers; gives it back where no writer runs, or where too many events wait.
    fn enqueue(&self, waiting: Waiting) -> Option<Waiting> {
        let lanes = self.lanes();
        let Some(lane) = lanes.get(waiting.lane) else { return Some(waiting) };
        lane.try_send(waiting).err().map(mpsc::error::TrySendError::into_inner)
    }

    async fn write(&self, waiting: Waiting) {
        let Waiting { key, namespace, reason, write, .. } = waiting;
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let written = match write {
            EventWrite::Create(event) => api.create(&PostParams::default(), &event).await,
            EventWrite::Count { name, count, at } => {
                let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(at)}});
                api.patch(&name, &PatchParams::default(), &Patch::Merge(&series)).await
            }
        };
        if let Err(error) = written {
            // The next time it is told anew: the event may have been deleted, or never written.
            self.recent().events.remove(&key);
            tracing::warn!(%error, reason, "cannot write the event");
        }
    }

    fn event(
        &self,
        name: String,
        object: &ObjectReference,
        (type_, reason, note): (&str, &str, &str),
        now: Timestamp,
    ) -> Event {
        Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: object.namespace.clone(),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(now)),
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
            reason: Some(reason.to_owned()),
            regarding: Some(object.clone()),
            reporting_controller: Some(self.component.to_string()),
            reporting_instance: Some(self.component.to_string()),
            type_: Some(type_.to_owned()),
            ..Event::default()
        }
    }
}

fn key(object: &ObjectReference, type_: &str, reason: &str, note: &str) -> Key {
    let ObjectReference { api_version, kind, name, namespace, uid, .. } = object;
    let mut hash = Sha256::new();
    for part in [api_version, kind, name, namespace, uid].map(|part| part.as_deref().unwrap_or_default()) {
        hash.update(part);
        hash.update([0]);
    }
    for part in [type_, reason, note] {
        hash.update(part);
        hash.update([0]);
    }
    short(hash)
}

/// The lane of all events of an object.
fn lane(object: &ObjectReference) -> usize {
    key(object, "", "", "").first().map_or(0, |byte| usize::from(*byte)) % LANES
}

fn short(hash: Sha256) -> Key {
    let mut key = Key::default();
    key.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    key
}

/// The subject's name and digits that differ for every happening and every moment.
fn name(subject: &str, key: &Key, now: Timestamp) -> String {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(now.as_nanosecond().to_be_bytes());
    let digits: String = hex::encode(short(hash)).chars().take(NAME_DIGITS).collect();
    let mut end = subject.len().min(NAME_AT_MOST - NAME_DIGITS - 1);
    while !subject.is_char_boundary(end) {
        end -= 1;
    }
    // A part of a name must not end in a dash or a dot.
    let subject = subject.get(..end).unwrap_or_default().trim_end_matches(['-', '.']);
    format!("{subject}.{digits}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered_key(number: usize) -> Key {
        key(&ObjectReference::default(), "Normal", "Told", &number.to_string())
    }

    #[test]
    fn a_repeat_is_counted_while_it_is_fresh() {
        let (start, mut recent) = (Timestamp::UNIX_EPOCH, RecentlyPublished::default());
        let Write::Create(first) = recent.next(numbered_key(0), "web", start) else { unreachable!() };
        let soon = start + REPEAT_WITHIN;
        assert_eq!(recent.next(numbered_key(0), "web", soon), Write::Count(first.clone(), 2));
        // The time runs from the last one.
        let later = soon + REPEAT_WITHIN;
        assert_eq!(recent.next(numbered_key(0), "web", later), Write::Count(first.clone(), 3));
        let late = later + REPEAT_WITHIN + SignedDuration::from_nanos(1);
        let Write::Create(second) = recent.next(numbered_key(0), "web", late) else { unreachable!() };
        assert_ne!(first, second);
        assert_eq!((recent.events.len(), recent.order.len()), (1, 1));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_newest() {
        let (now, mut recent) = (Timestamp::UNIX_EPOCH, RecentlyPublished::default());
        for number in 0..REMEMBERED_AT_MOST * 2 {
            assert!(matches!(recent.next(numbered_key(number), "web", now), Write::Create(_)));
        }
        assert_eq!((recent.events.len(), recent.order.len()), (REMEMBERED_AT_MOST, REMEMBERED_AT_MOST));
        assert!(matches!(
            recent.next(numbered_key(REMEMBERED_AT_MOST * 2 - 1), "web", now),
            Write::Count(..)
        ));
        assert!(matches!(recent.next(numbered_key(0), "web", now), Write::Create(_)));
    }

    #[test]
    fn names_differ_at_the_same_moment_and_fit() {
        let now = Timestamp::UNIX_EPOCH;
        assert_ne!(name("web", &numbered_key(0), now), name("web", &numbered_key(1), now));
        let long = name(&format!("{}-b", "a".repeat(235)), &numbered_key(0), now);
        assert!(long.len() <= NAME_AT_MOST && !long.contains("-."), "{long}");
    }
}
