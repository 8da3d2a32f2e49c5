//! The index: all objects in order, a bounded history per resource, and the revisions of each resource for watchers.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;

use super::file::File;
use super::revision::{RevisionReceiver, RevisionSender};
use super::{Entry, Error, Event, EventKind, IndexKey, Key, index_keys};

/// Events kept per resource: enough for a client that reconnects after a short break; older ones cost a relist.
const HISTORY_EVENTS: usize = 4096;
/// Events whose states are kept as values for those who follow at once; older states are kept as text, also those of
/// objects that have not changed since: a value takes ten times the space, and most objects are at rest.
const HISTORY_VALUES: usize = 256;
/// Objects in the whole store: one person's cluster, and a bound on memory.
const OBJECTS_MAX: usize = 500_000;

/// One write.
#[derive(Debug)]
pub enum Change {
    /// Write the object; its resource version is set by the store.
    Put(Value),
    /// Remove the object.
    Delete,
}

/// The precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// There is no such object.
    Absent,
    /// The object is at exactly this revision.
    Revision(u64),
}

/// Namespace and name.
type Place = (String, String);
type Rows = BTreeMap<Place, Arc<Entry>>;
type IndexRows = HashMap<IndexKey, BTreeSet<Place>>;

#[derive(Debug)]
struct ResourceStore {
    rows: Rows,
    /// Where the objects with a key lie.
    indexed: IndexRows,
    events: VecDeque<Event>,
    /// Watches may start at this revision or later.
    compacted: u64,
    revisions: RevisionSender,
}

impl ResourceStore {
    fn new(compacted: u64) -> Self {
        Self {
            rows: Rows::new(),
            indexed: IndexRows::new(),
            events: VecDeque::new(),
            compacted,
            revisions: RevisionSender::new(compacted),
        }
    }

    fn insert(&mut self, resource: &str, place: Place, entry: Arc<Entry>) {
        let new = index_keys(resource, &entry);
        let old = self.rows.get(&place).map(|old| index_keys(resource, old)).unwrap_or_default();
        if old != new {
            self.unindex(&place, old);
            for index_key in new {
                self.indexed.entry(index_key).or_default().insert(place.clone());
            }
        }
        self.rows.insert(place, entry);
    }

    /// Turn the state that the event at the edge of the newest ones has ended into text, here and where it began.
    fn pack(&mut self) {
        let Some(edge) = self.events.len().checked_sub(HISTORY_VALUES) else { return };
        let Some(event) = self.events.get_mut(edge) else { return };
        let place = (event.key.namespace.clone(), event.key.name.clone());
        let present = self.rows.get_mut(&place).filter(|row| Arc::ptr_eq(row, &event.entry));
        if present.is_some() || event.kind == EventKind::Deleted {
            event.entry = Arc::new(event.entry.packed());
        }
        if let Some(row) = present {
            *row = event.entry.clone();
        }
        let Some(ended) = &mut event.previous else { return };
        let packed = Arc::new(ended.packed());
        *ended = packed.clone();
        let revision = packed.revision();
        let began = self.events.partition_point(|event| event.revision < revision);
        if let Some(event) = self.events.get_mut(began).filter(|event| event.revision == revision) {
            event.entry = packed;
        }
    }

    fn remove(&mut self, resource: &str, place: &Place) {
        if let Some(old) = self.rows.remove(place) {
            self.unindex(place, index_keys(resource, &old));
        }
    }

    fn unindex(&mut self, place: &Place, index_keys: Vec<IndexKey>) {
        for index_key in index_keys {
            if let Some(places) = self.indexed.get_mut(&index_key) {
                places.remove(place);
                if places.is_empty() {
                    self.indexed.remove(&index_key);
                }
            }
        }
    }
}

#[derive(Debug, Default)]
struct Index {
    revision: u64,
    /// Revision at start: what came before is not in the history.
    floor: u64,
    resources: BTreeMap<Arc<str>, ResourceStore>,
    objects: usize,
    revisions: RevisionSender,
}

#[derive(Debug)]
struct Shared {
    index: RwLock<Index>,
    /// The lock spans the whole of a write, so that file and index agree on the order.
    writer: Mutex<()>,
    file: Option<File>,
}

/// All objects of one API server. Clones share the same objects.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

impl Store {
    /// An empty store that lives as long as the process.
    pub fn memory() -> Self {
        Self::with(Index { revision: 1, floor: 1, ..Index::default() }, None)
    }

    /// A store kept in the file at `path`, which is created when absent. Only one process can have it open.
    pub fn file(path: &std::path::Path) -> Result<Self, Error> {
        Self::from_file(File::open(path)?)
    }

    pub(crate) fn from_file(file: File) -> Result<Self, Error> {
        let loaded = file.load()?;
        let revision = loaded.revision.max(1);
        let mut index = Index { revision, floor: revision, ..Index::default() };
        for (key, entry) in loaded.objects {
            index.objects += 1;
            let resource_store =
                index.resources.entry(key.resource.clone()).or_insert_with(|| ResourceStore::new(revision));
            resource_store.insert(&key.resource, (key.namespace, key.name), Arc::new(entry));
        }
        Ok(Self::with(index, Some(file)))
    }

    fn with(index: Index, file: Option<File>) -> Self {
        Self { shared: Arc::new(Shared { index: RwLock::new(index), writer: Mutex::new(()), file }) }
    }

    /// Another store in memory that holds the same objects at the same versions and goes its own way. Objects are
    /// shared until one of the two changes them; the history before now is not copied.
    #[must_use]
    pub fn fork(&self) -> Self {
        let index = self.index();
        let revision = index.revision;
        let mut copy = Index { revision, floor: revision, objects: index.objects, ..Index::default() };
        for (resource, resource_store) in &index.resources {
            let resource_store = ResourceStore {
                rows: resource_store.rows.clone(),
                indexed: resource_store.indexed.clone(),
                ..ResourceStore::new(revision)
            };
            copy.resources.insert(resource.clone(), resource_store);
        }
        Self::with(copy, None)
    }

    // A panic while the lock was held cannot leave the index half-written: each write ends in one call of `publish`.
    fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.shared.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.shared.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest resource version of the whole store.
    pub fn revision(&self) -> u64 {
        self.index().revision
    }

    /// One object, to be read as a value.
    pub fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.find(&key.resource, &key.namespace, &key.name)
    }

    /// One object, by the parts of its key.
    pub fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Entry>> {
        let place = (namespace.to_owned(), name.to_owned());
        let found = self.index().resources.get(resource)?.rows.get(&place).cloned();
        // Text is read without the lock.
        found.map(|entry| entry.opened())
    }

    /// The objects of a resource in name order, and the revision of this view.
    pub fn list(&self, resource: &str, namespace: Option<&str>) -> (Vec<Arc<Entry>>, u64) {
        let index = self.index();
        let rows = index.resources.get(resource).map(|s| select(&s.rows, namespace)).unwrap_or_default();
        (rows, index.revision)
    }

    /// The objects of a resource that have this key, in name order.
    pub fn indexed(&self, resource: &str, index_key: &IndexKey) -> Vec<Arc<Entry>> {
        let index = self.index();
        let Some(resource_store) = index.resources.get(resource) else { return Vec::new() };
        let places = resource_store.indexed.get(index_key).into_iter().flatten();
        places.filter_map(|place| resource_store.rows.get(place).cloned()).collect()
    }

    /// Whether any object of a resource has this key.
    pub fn has(&self, resource: &str, index_key: &IndexKey) -> bool {
        self.index()
            .resources
            .get(resource)
            .is_some_and(|resource_store| resource_store.indexed.contains_key(index_key))
    }

    /// The objects of a resource as they were at `revision`.
    pub fn list_at(
        &self,
        resource: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        let index = self.index();
        let Some(resource_store) = index.resources.get(resource) else { return Ok(Vec::new()) };
        if revision < resource_store.compacted.max(index.floor) {
            return Err(Error::Expired { asked: revision, oldest: resource_store.compacted });
        }
        if resource_store.events.back().is_none_or(|event| event.revision <= revision) {
            return Ok(select(&resource_store.rows, namespace));
        }
        // History is walked backwards from now, each event undone.
        let mut rows = resource_store.rows.clone();
        for event in resource_store.events.iter().rev().take_while(|event| event.revision > revision) {
            let place = (event.key.namespace.clone(), event.key.name.clone());
            match &event.previous {
                Some(before) => rows.insert(place, before.clone()),
                None => rows.remove(&place),
            };
        }
        Ok(select(&rows, namespace))
    }

    /// Events of a resource after `revision`, at most `limit`, with the revision up to which they are complete.
    pub fn events_after(
        &self,
        resource: &str,
        revision: u64,
        limit: usize,
    ) -> Result<(Vec<Event>, u64), Error> {
        let index = self.index();
        let Some(resource_store) = index.resources.get(resource) else {
            return if revision < index.floor {
                Err(Error::Expired { asked: revision, oldest: index.floor })
            } else {
                Ok((Vec::new(), index.revision))
            };
        };
        let oldest = resource_store.compacted.max(index.floor);
        if revision < oldest {
            return Err(Error::Expired { asked: revision, oldest });
        }
        let start = resource_store.events.partition_point(|event| event.revision <= revision);
        let events: Vec<Event> = resource_store.events.iter().skip(start).take(limit).cloned().collect();
        let complete_to = match events.last() {
            Some(last) if events.len() == limit => last.revision,
            _ => index.revision,
        };
        Ok((events, complete_to))
    }

    /// A receiver of the revision of each change of the resource.
    pub fn subscribe(&self, resource: &str) -> RevisionReceiver {
        if let Some(resource_store) = self.index().resources.get(resource) {
            return resource_store.revisions.subscribe();
        }
        let mut index = self.index_mut();
        let floor = index.floor;
        index
            .resources
            .entry(Arc::from(resource))
            .or_insert_with(|| ResourceStore::new(floor))
            .revisions
            .subscribe()
    }

    /// A receiver of the revision of each change of anything.
    pub fn subscribe_all(&self) -> RevisionReceiver {
        self.index().revisions.subscribe()
    }

    /// Every resource that was ever used, with the revision of its latest change.
    pub fn resources(&self) -> Vec<(Arc<str>, u64)> {
        let index = self.index();
        index
            .resources
            .iter()
            .map(|(name, resource_store)| {
                (
                    name.clone(),
                    resource_store.events.back().map_or(resource_store.compacted, |event| event.revision),
                )
            })
            .collect()
    }

    /// Writes one object if `expect` holds, and returns its new state (its last state, for a deletion).
    /// With a file this returns after the change is on disk; a failed write changes nothing.
    pub fn write(&self, key: &Key, expect: Precondition, change: Change) -> Result<Arc<Entry>, Error> {
        let _order = self.writer();
        let (revision, previous) = {
            let index = self.index();
            let previous = index
                .resources
                .get(&key.resource)
                .and_then(|s| s.rows.get(&(key.namespace.clone(), key.name.clone())).cloned());
            if previous.is_none() && index.objects >= OBJECTS_MAX {
                return Err(Error::Full(OBJECTS_MAX));
            }
            (index.revision + 1, previous)
        };
        match (expect, &previous) {
            (Precondition::Absent, Some(_)) => return Err(Error::AlreadyExists),
            (Precondition::Revision(_), None) => return Err(Error::NotFound),
            (Precondition::Revision(want), Some(now)) if now.revision() != want => {
                return Err(Error::Conflict);
            }
            _ => {}
        }
        let (kind, entry) = match change {
            Change::Put(value) => {
                let kind = if previous.is_some() { EventKind::Modified } else { EventKind::Added };
                (kind, Arc::new(stamped(value, revision)))
            }
            Change::Delete => {
                let Some(last) = &previous else { return Err(Error::NotFound) };
                (EventKind::Deleted, Arc::new(stamped(last.value().clone(), revision)))
            }
        };
        if let Some(file) = &self.shared.file {
            match kind {
                EventKind::Deleted => file.remove(key, revision)?,
                EventKind::Added | EventKind::Modified => file.put(key, &entry.json(), revision)?,
            }
        }
        self.publish(Event { kind, key: key.clone(), entry: entry.clone(), previous, revision });
        Ok(entry)
    }

    /// Whether a write waits for a disk, so that async callers should not do it on a shared thread.
    pub fn is_durable(&self) -> bool {
        self.shared.file.is_some()
    }

    fn publish(&self, event: Event) {
        let mut index = self.index_mut();
        index.revision = event.revision;
        match event.kind {
            EventKind::Added => index.objects += 1,
            EventKind::Deleted => index.objects -= 1,
            EventKind::Modified => {}
        }
        let floor = index.floor;
        let resource_store =
            index.resources.entry(event.key.resource.clone()).or_insert_with(|| ResourceStore::new(floor));
        let place = (event.key.namespace.clone(), event.key.name.clone());
        match event.kind {
            EventKind::Deleted => resource_store.remove(&event.key.resource, &place),
            EventKind::Added | EventKind::Modified => {
                resource_store.insert(&event.key.resource, place, event.entry.clone());
            }
        };
        let revision = event.revision;
        resource_store.events.push_back(event);
        resource_store.pack();
        if resource_store.events.len() > HISTORY_EVENTS
            && let Some(dropped) = resource_store.events.pop_front()
        {
            resource_store.compacted = dropped.revision;
        }
        resource_store.revisions.send(revision);
        index.revisions.send(revision);
    }
}

fn select(rows: &Rows, namespace: Option<&str>) -> Vec<Arc<Entry>> {
    match namespace {
        None => rows.values().cloned().collect(),
        Some(namespace) => rows
            .range((namespace.to_owned(), String::new())..)
            .take_while(|((ns, _), _)| ns == namespace)
            .map(|(_, entry)| entry.clone())
            .collect(),
    }
}

fn stamped(mut value: Value, revision: u64) -> Entry {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), revision.to_string().into());
    }
    Entry::new(value, revision)
}
