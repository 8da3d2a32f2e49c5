//! Watches of kinds that a controller learns of only while it reconciles; each is started by the first read of its kind.
//!
//! A reconcile opens [`TrackedReads`], reads objects of any kind through them, and drops them. From then on a change of
//! anything that was read, or of anything that was missing and now exists, adds the key to the queue; the next reads of
//! that key replace the last ones. A kind that the cluster does not serve is tracked too: its CRD wakes the reconciles
//! that missed it. These watches never write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject};
use tokio::time::Instant;

use crate::cache::{Cache, Change, Depth, Informer, Key, Watch};
use crate::discovery::{self, Discovery, Kind};
use crate::owner;
use crate::queue::Queue;

/// Longest wait for the first list of a kind inside a reconcile, well below what a reconcile may take.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// The server lists a new kind a moment after its CRD appeared; this long a missing kind is asked for again…
const SERVED_AFTER: Duration = Duration::from_secs(30);
/// …this often, which is longer than discovery keeps a miss.
const ASK_AGAIN: Duration = Duration::from_secs(3);

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster does not serve the kind; its CRD wakes the key that asked.
    #[error("the cluster does not know kind {kind} of {api_version}: install it first")]
    Missing {
        /// The API version asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
        /// Ask again after this time: its CRD has just been changed.
        again: Option<Duration>,
    },
    /// The server could not be asked for its kinds.
    #[error(transparent)]
    Discovery(#[from] discovery::Error),
    /// The list of the kind did not arrive.
    #[error("cannot list {kind} of {api_version} yet; may this account list it?")]
    NotListed {
        /// The API version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// The server could not be asked for the object.
    #[error("cannot read {object}: {}", crate::apply::explain(source))]
    Client {
        /// Kind and name.
        object: String,
        /// The error of the client.
        source: kube::Error,
    },
}

/// How objects of a kind are selected: by name, by an owner, by a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Selector {
    Name(Key),
    Owner(String),
    Label {
        namespace: String,
        label: &'static str,
        value: String,
    },
    /// The kind itself, of which only the API version is known.
    Served,
}

/// `apiVersion kind` (or the API version alone, for a kind that is not served) and a selector.
type Subject = (Arc<str>, Selector);

#[derive(Default)]
struct State {
    /// Objects by owner and label.
    index: BTreeMap<Subject, BTreeSet<Key>>,
    /// The keys that read each subject.
    subscribers: BTreeMap<Subject, BTreeSet<Key>>,
    /// The last reads of each key.
    subscriptions: BTreeMap<Key, BTreeSet<Subject>>,
    /// Kinds whose first list is in the index.
    indexed: BTreeSet<Arc<str>>,
    /// When a CRD of an API group last changed.
    crds: BTreeMap<String, Instant>,
    queue: Option<Arc<Queue<Key>>>,
}

type Shared = Arc<Mutex<State>>;

fn lock(state: &Shared) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reads of the keys of one controller, and the watches behind them.
#[derive(Clone)]
pub struct DynamicWatches {
    client: kube::Client,
    cache: Cache,
    discovery: Discovery,
    labels: &'static [&'static str],
    depth: Depth,
    kinds: Arc<Mutex<BTreeMap<Arc<str>, Arc<Informer>>>>,
    crds: Arc<Mutex<bool>>,
    state: Shared,
}

impl fmt::Debug for DynamicWatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicWatches").finish_non_exhaustive()
    }
}

impl DynamicWatches {
    /// No watch yet; objects can be selected by these labels.
    pub fn new(
        client: kube::Client,
        cache: &Cache,
        discovery: &Discovery,
        labels: &'static [&'static str],
    ) -> Self {
        Self {
            client,
            cache: cache.clone(),
            discovery: discovery.clone(),
            labels,
            depth: Depth::Full,
            kinds: Arc::default(),
            crds: Arc::default(),
            state: Arc::default(),
        }
    }

    /// Keep only the metadata of what is watched, for a controller that waits on kinds of which there may be very many
    /// and reads itself the few objects it waits for: its reads use [`TrackedReads::metadata`].
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.depth = Depth::Metadata;
        self
    }

    /// Wake keys through this queue.
    pub fn wake(&self, queue: Arc<Queue<Key>>) {
        lock(&self.state).queue = Some(queue);
    }

    /// Begin to read for a key; what it read before is forgotten when these reads are dropped.
    pub fn track(&self, subscriber: &Key) -> TrackedReads {
        TrackedReads { watches: self.clone(), subscriber: subscriber.clone(), seen: Mutex::default() }
    }

    /// Forget a key that is gone.
    pub fn forget(&self, subscriber: &Key) {
        drop(self.track(subscriber));
    }

    fn informer(&self, name: &Arc<str>, kind: &Kind) -> Arc<Informer> {
        // The lock is held until the handler is in place: no reader may see the store before the handler wakes. The
        // handler takes another lock.
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(informer) = kinds.get(name) {
            return informer.clone();
        }
        let watch = Watch { depth: self.depth, ..Watch::full(kind.resource.clone()) };
        let informer = self.cache.informer(watch);
        kinds.insert(name.clone(), informer.clone());
        let (state, name, labels) = (self.state.clone(), name.clone(), self.labels);
        informer.on_change(Arc::new(move |change| object_changed(&state, &name, labels, change)));
        informer
    }

    /// A kind's first list is readable a moment before the handlers have seen it: the first of the two puts it into the
    /// index.
    fn index_once(&self, name: &Arc<str>, informer: &Informer) {
        if lock(&self.state).indexed.contains(name) {
            return;
        }
        let objects = informer.list();
        let mut state = lock(&self.state);
        objects.iter().for_each(|object| state.add(name, &Key::of(object), &selectors(object, self.labels)));
        state.indexed.insert(name.clone());
    }

    fn watch_crds(&self) {
        let mut watched = self.crds.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *watched, true) {
            return;
        }
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        let (state, discovery, cache) = (self.state.clone(), self.discovery.clone(), self.cache.weak());
        self.cache.informer(Watch::metadata(resource)).on_change(Arc::new(move |change| {
            let Some(group) = crd_changed(&state, &discovery, change) else { return };
            if let Some(cache) = cache.upgrade() {
                cache.changed(&group);
            }
        }));
    }
}

fn object_changed(state: &Shared, kind: &Arc<str>, labels: &'static [&'static str], change: &Change) {
    let selectors = |object: &Option<Arc<DynamicObject>>| {
        object.as_ref().map(|object| selectors(object, labels)).unwrap_or_default()
    };
    let (old, new) = (selectors(&change.old), selectors(&change.new));
    let Some(key) = change.object().map(|object| Key::of(object)) else { return };
    let mut state = lock(state);
    for selector in old.difference(&new) {
        let subject = (kind.clone(), selector.clone());
        if let Some(keys) = state.index.get_mut(&subject) {
            keys.remove(&key);
            if keys.is_empty() {
                state.index.remove(&subject);
            }
        }
    }
    state.add(kind, &key, &new);
    // The reconcile that started the watch waits for the first list and reads it.
    if !change.initial {
        let subjects = old.union(&new).map(|selector| (kind.clone(), selector.clone()));
        state.wake(subjects.collect::<Vec<_>>().iter());
    }
}

/// The group whose kinds changed.
fn crd_changed(state: &Shared, discovery: &Discovery, change: &Change) -> Option<String> {
    let name = change.object().and_then(|object| object.metadata.name.clone()).unwrap_or_default();
    let (_, group) = name.split_once('.')?;
    let mut state = lock(state);
    state.crds.insert(group.to_owned(), Instant::now());
    let missed: Vec<Subject> = state
        .subscribers
        .keys()
        .filter(|(version, selector)| *selector == Selector::Served && group_of(version) == group)
        .cloned()
        .collect();
    missed.iter().for_each(|(api_version, _)| discovery.forget(api_version));
    state.wake(missed.iter());
    Some(group.to_owned())
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn selectors(object: &DynamicObject, labels: &'static [&'static str]) -> BTreeSet<Selector> {
    let key = Key::of(object);
    let mut selectors = BTreeSet::new();
    for owner in object.metadata.owner_references.iter().flatten() {
        selectors.insert(Selector::Owner(owner.uid.clone()));
    }
    for label in labels {
        if let Some(value) = object.metadata.labels.as_ref().and_then(|labels| labels.get(*label)) {
            let namespace = key.namespace.clone();
            selectors.insert(Selector::Label { namespace, label, value: value.clone() });
        }
    }
    selectors.insert(Selector::Name(key));
    selectors
}

impl State {
    fn add(&mut self, kind: &Arc<str>, key: &Key, selectors: &BTreeSet<Selector>) {
        for selector in selectors.iter().filter(|selector| !matches!(selector, Selector::Name(_))) {
            self.index.entry((kind.clone(), selector.clone())).or_default().insert(key.clone());
        }
    }

    fn wake<'a>(&self, subjects: impl Iterator<Item = &'a Subject>) {
        let Some(queue) = &self.queue else { return };
        let keys: BTreeSet<&Key> =
            subjects.filter_map(|subject| self.subscribers.get(subject)).flatten().collect();
        keys.into_iter().for_each(|key| queue.add(key.clone()));
    }
}

/// The reads of one reconcile on behalf of its key; they are answered from watched stores.
pub struct TrackedReads {
    watches: DynamicWatches,
    subscriber: Key,
    seen: Mutex<BTreeSet<Subject>>,
}

impl fmt::Debug for TrackedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrackedReads").field("subscriber", &self.subscriber).finish_non_exhaustive()
    }
}

impl TrackedReads {
    /// The object of that name; the namespace is left out for a kind without namespaces.
    ///
    /// # Errors
    /// A kind that is not served or cannot be listed.
    pub async fn get(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
    ) -> Result<Option<Arc<DynamicObject>>, Error> {
        let (resolved, key, found) = self.find(api_version, kind, key).await?;
        if found.is_some() {
            return Ok(found);
        }
        // The cached object may be a moment behind a writer who was waited for; only a miss costs this request.
        let api = resolved.api(self.watches.client.clone(), &key.namespace);
        let found = api.get_opt(&key.name).await;
        let found = found.map_err(|source| Error::Client { object: format!("{kind} {key}"), source })?;
        Ok(found.map(|mut object| {
            object.types.get_or_insert_with(|| kube::core::TypeMeta {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            });
            Arc::new(object)
        }))
    }

    /// The same without asking the server for what the store does not have: for what is usually not there.
    ///
    /// # Errors
    /// A kind that is not served or cannot be listed.
    pub async fn known(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
    ) -> Result<Option<Arc<DynamicObject>>, Error> {
        Ok(self.find(api_version, kind, key).await?.2)
    }

    /// The kind, and what the store knows of the object of that name (with [`DynamicWatches::metadata_only`] its metadata);
    /// no request is made, and an object that the store does not have yet wakes the subscriber when it has it.
    ///
    /// # Errors
    /// A kind that is not served or cannot be listed.
    pub async fn metadata(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
    ) -> Result<(Kind, Option<Arc<DynamicObject>>), Error> {
        let (resolved, _, found) = self.find(api_version, kind, key).await?;
        Ok((resolved, found))
    }

    async fn find(
        &self,
        api_version: &str,
        kind: &str,
        key: &Key,
    ) -> Result<(Kind, Key, Option<Arc<DynamicObject>>), Error> {
        let (name, resolved, informer) = self.kind(api_version, kind).await?;
        let namespace = if resolved.namespaced { key.namespace.clone() } else { String::new() };
        let key = Key::new(namespace, key.name.clone());
        self.note((name, Selector::Name(key.clone())));
        let found = informer.get(&key);
        Ok((resolved, key, found))
    }

    /// Put the answer of a write into the store of its kind, so that the next read sees it.
    pub fn observe(&self, object: &DynamicObject) {
        let Some(types) = &object.types else { return };
        let name = format!("{} {}", types.api_version, types.kind);
        let kinds = self.watches.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(informer) = kinds.get(name.as_str()) {
            informer.observe(object.clone());
        }
    }

    /// The same for what was deleted and is gone.
    pub fn forget(&self, api_version: &str, kind: &str, key: &Key) {
        let name = format!("{api_version} {kind}");
        let kinds = self.watches.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(informer) = kinds.get(name.as_str()) {
            informer.forget(key);
        }
    }

    /// The objects of a kind in a namespace that name this uid as an owner, ordered by name.
    ///
    /// # Errors
    /// A kind that is not served or cannot be listed.
    pub async fn owned_by(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        uid: &str,
    ) -> Result<Vec<Arc<DynamicObject>>, Error> {
        let found = self.by_selector(api_version, kind, Selector::Owner(uid.to_owned())).await?;
        Ok(found
            .into_iter()
            .filter(|object| {
                object.metadata.namespace.as_deref().unwrap_or_default() == namespace
                    && owner::is_owned_by(object, uid)
            })
            .collect())
    }

    /// The objects of a kind in a namespace with this label, which must be one of those the watches were made with.
    ///
    /// # Errors
    /// A kind that is not served or cannot be listed.
    pub async fn labelled(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label: &'static str,
        value: &str,
    ) -> Result<Vec<Arc<DynamicObject>>, Error> {
        let selector = Selector::Label { namespace: namespace.to_owned(), label, value: value.to_owned() };
        let found = self.by_selector(api_version, kind, selector).await?;
        let has = |object: &DynamicObject| {
            object.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|v| v == value)
        };
        Ok(found.into_iter().filter(|object| has(object)).collect())
    }

    async fn by_selector(
        &self,
        api_version: &str,
        kind: &str,
        selector: Selector,
    ) -> Result<Vec<Arc<DynamicObject>>, Error> {
        let (name, _, informer) = self.kind(api_version, kind).await?;
        let subject = (name, selector);
        self.note(subject.clone());
        let keys = lock(&self.watches.state).index.get(&subject).cloned().unwrap_or_default();
        Ok(keys.iter().filter_map(|key| informer.get(key)).collect())
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<(Arc<str>, Kind, Arc<Informer>), Error> {
        let resolved = match self.watches.discovery.resolve(api_version, kind).await {
            Ok(resolved) => resolved,
            Err(discovery::Error::Unknown { .. }) => return Err(self.missing(api_version, kind)),
            Err(error) => return Err(error.into()),
        };
        let name: Arc<str> = format!("{api_version} {kind}").into();
        let informer = self.watches.informer(&name, &resolved);
        match tokio::time::timeout(LIST_TIMEOUT, informer.synced()).await {
            Ok(Ok(())) => {
                self.watches.index_once(&name, &informer);
                Ok((name, resolved, informer))
            }
            _ => Err(Error::NotListed { api_version: api_version.into(), kind: kind.into() }),
        }
    }

    fn missing(&self, api_version: &str, kind: &str) -> Error {
        self.note((api_version.into(), Selector::Served));
        self.watches.watch_crds();
        let changed = lock(&self.watches.state).crds.get(group_of(api_version)).copied();
        let again = changed.filter(|at| at.elapsed() < SERVED_AFTER).map(|_| ASK_AGAIN);
        Error::Missing { api_version: api_version.into(), kind: kind.into(), again }
    }

    /// Remembers the subject before anything is read, so that no change in between is lost.
    fn note(&self, subject: Subject) {
        let mut state = lock(&self.watches.state);
        state.subscribers.entry(subject.clone()).or_default().insert(self.subscriber.clone());
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(subject);
    }
}

impl Drop for TrackedReads {
    fn drop(&mut self) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = lock(&self.watches.state);
        let before = state.subscriptions.remove(&self.subscriber).unwrap_or_default();
        for subject in before.difference(&seen) {
            if let Some(subscribers) = state.subscribers.get_mut(subject) {
                subscribers.remove(&self.subscriber);
                if subscribers.is_empty() {
                    state.subscribers.remove(subject);
                }
            }
        }
        if !seen.is_empty() {
            state.subscriptions.insert(self.subscriber.clone(), seen);
        }
    }
}
