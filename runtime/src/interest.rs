//! What a reconcile looked at → the same key again when that changes; a kind is watched from the first look on.
//!
//! A reconcile opens a [`Look`], reads objects of any kind through it, and drops it. From then on a change of
//! anything it read, or of anything that was not there and now is, adds its key to the queue; the next look replaces
//! the last one. A kind the cluster does not serve is an interest too: its CRD wakes whoever missed it.

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

/// Why something could not be looked at.
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
        /// What the client said.
        source: kube::Error,
    },
}

/// How objects are found again: by name, by an owner, by a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Handle {
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

/// `apiVersion kind` (or the API version alone, for a kind that is not served) and a handle.
type Place = (Arc<str>, Handle);

#[derive(Default)]
struct State {
    /// Objects by owner and label.
    index: BTreeMap<Place, BTreeSet<Key>>,
    /// Who looked at a place.
    askers: BTreeMap<Place, BTreeSet<Key>>,
    /// What an asker looked at last time.
    looks: BTreeMap<Key, BTreeSet<Place>>,
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

/// The interests of one controller's keys.
#[derive(Clone)]
pub struct Interests {
    client: kube::Client,
    cache: Cache,
    discovery: Discovery,
    labels: &'static [&'static str],
    depth: Depth,
    kinds: Arc<Mutex<BTreeMap<Arc<str>, Arc<Informer>>>>,
    crds: Arc<Mutex<bool>>,
    state: Shared,
}

impl fmt::Debug for Interests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interests").finish_non_exhaustive()
    }
}

impl Interests {
    /// No interest yet; objects can be looked up by these labels.
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
    /// and reads itself the few objects it waits for: its looks use [`Look::metadata`].
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.depth = Depth::Metadata;
        self
    }

    /// Wake keys through this queue.
    pub fn wake(&self, queue: Arc<Queue<Key>>) {
        lock(&self.state).queue = Some(queue);
    }

    /// Begin to look around for a key; what it looked at before is forgotten when the look ends.
    pub fn look(&self, asker: &Key) -> Look {
        Look { interests: self.clone(), asker: asker.clone(), seen: Mutex::default() }
    }

    /// Forget a key that is gone.
    pub fn forget(&self, asker: &Key) {
        drop(self.look(asker));
    }

    fn informer(&self, name: &Arc<str>, kind: &Kind) -> Arc<Informer> {
        // Held until the handler is in place: nobody may read the store before it wakes. The handler takes another lock.
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

    /// A kind's first list is readable a moment before the handlers have seen it: whoever comes first puts it into the
    /// index.
    fn index_once(&self, name: &Arc<str>, informer: &Informer) {
        if lock(&self.state).indexed.contains(name) {
            return;
        }
        let objects = informer.list();
        let mut state = lock(&self.state);
        objects.iter().for_each(|object| state.add(name, &Key::of(object), &handles(object, self.labels)));
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
    let handles = |object: &Option<Arc<DynamicObject>>| {
        object.as_ref().map(|object| handles(object, labels)).unwrap_or_default()
    };
    let (old, new) = (handles(&change.old), handles(&change.new));
    let Some(key) = change.object().map(|object| Key::of(object)) else { return };
    let mut state = lock(state);
    for handle in old.difference(&new) {
        let place = (kind.clone(), handle.clone());
        if let Some(keys) = state.index.get_mut(&place) {
            keys.remove(&key);
            if keys.is_empty() {
                state.index.remove(&place);
            }
        }
    }
    state.add(kind, &key, &new);
    // Whoever started the watch waits for the first list and reads it.
    if !change.initial {
        let places = old.union(&new).map(|handle| (kind.clone(), handle.clone()));
        state.wake(places.collect::<Vec<_>>().iter());
    }
}

/// The group whose kinds changed.
fn crd_changed(state: &Shared, discovery: &Discovery, change: &Change) -> Option<String> {
    let name = change.object().and_then(|object| object.metadata.name.clone()).unwrap_or_default();
    let (_, group) = name.split_once('.')?;
    let mut state = lock(state);
    state.crds.insert(group.to_owned(), Instant::now());
    let missed: Vec<Place> = state
        .askers
        .keys()
        .filter(|(version, handle)| *handle == Handle::Served && group_of(version) == group)
        .cloned()
        .collect();
    missed.iter().for_each(|(api_version, _)| discovery.forget(api_version));
    state.wake(missed.iter());
    Some(group.to_owned())
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn handles(object: &DynamicObject, labels: &'static [&'static str]) -> BTreeSet<Handle> {
    let key = Key::of(object);
    let mut handles = BTreeSet::new();
    for owner in object.metadata.owner_references.iter().flatten() {
        handles.insert(Handle::Owner(owner.uid.clone()));
    }
    for label in labels {
        if let Some(value) = object.metadata.labels.as_ref().and_then(|labels| labels.get(*label)) {
            let namespace = key.namespace.clone();
            handles.insert(Handle::Label { namespace, label, value: value.clone() });
        }
    }
    handles.insert(Handle::Name(key));
    handles
}

impl State {
    fn add(&mut self, kind: &Arc<str>, key: &Key, handles: &BTreeSet<Handle>) {
        for handle in handles.iter().filter(|handle| !matches!(handle, Handle::Name(_))) {
            self.index.entry((kind.clone(), handle.clone())).or_default().insert(key.clone());
        }
    }

    fn wake<'a>(&self, places: impl Iterator<Item = &'a Place>) {
        let Some(queue) = &self.queue else { return };
        let keys: BTreeSet<&Key> = places.filter_map(|place| self.askers.get(place)).flatten().collect();
        keys.into_iter().for_each(|key| queue.add(key.clone()));
    }
}

/// One look around on behalf of a key; its reads come from watched stores.
pub struct Look {
    interests: Interests,
    asker: Key,
    seen: Mutex<BTreeSet<Place>>,
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("asker", &self.asker).finish_non_exhaustive()
    }
}

impl Look {
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
        // The copy may be a moment behind a writer who was waited for; only a miss costs this request.
        let api = resolved.api(self.interests.client.clone(), &key.namespace);
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

    /// The kind, and what the store knows of the object of that name (with [`Interests::metadata_only`] its metadata);
    /// no request is made, and an object that the store does not have yet wakes the asker when it has it.
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
        self.note((name, Handle::Name(key.clone())));
        let found = informer.get(&key);
        Ok((resolved, key, found))
    }

    /// Put the answer of a write into the store of its kind, so that the next look sees it.
    pub fn observe(&self, object: &DynamicObject) {
        let Some(types) = &object.types else { return };
        let name = format!("{} {}", types.api_version, types.kind);
        let kinds = self.interests.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(informer) = kinds.get(name.as_str()) {
            informer.observe(object.clone());
        }
    }

    /// The same for what was deleted and is gone.
    pub fn forget(&self, api_version: &str, kind: &str, key: &Key) {
        let name = format!("{api_version} {kind}");
        let kinds = self.interests.kinds.lock().unwrap_or_else(PoisonError::into_inner);
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
        let found = self.by_handle(api_version, kind, Handle::Owner(uid.to_owned())).await?;
        Ok(found
            .into_iter()
            .filter(|object| {
                object.metadata.namespace.as_deref().unwrap_or_default() == namespace
                    && owner::is_owned_by(object, uid)
            })
            .collect())
    }

    /// The objects of a kind in a namespace with this label, which must be one of those the interests were made with.
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
        let handle = Handle::Label { namespace: namespace.to_owned(), label, value: value.to_owned() };
        let found = self.by_handle(api_version, kind, handle).await?;
        let has = |object: &DynamicObject| {
            object.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_some_and(|v| v == value)
        };
        Ok(found.into_iter().filter(|object| has(object)).collect())
    }

    async fn by_handle(
        &self,
        api_version: &str,
        kind: &str,
        handle: Handle,
    ) -> Result<Vec<Arc<DynamicObject>>, Error> {
        let (name, _, informer) = self.kind(api_version, kind).await?;
        let place = (name, handle);
        self.note(place.clone());
        let keys = lock(&self.interests.state).index.get(&place).cloned().unwrap_or_default();
        Ok(keys.iter().filter_map(|key| informer.get(key)).collect())
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<(Arc<str>, Kind, Arc<Informer>), Error> {
        let resolved = match self.interests.discovery.resolve(api_version, kind).await {
            Ok(resolved) => resolved,
            Err(discovery::Error::Unknown { .. }) => return Err(self.missing(api_version, kind)),
            Err(error) => return Err(error.into()),
        };
        let name: Arc<str> = format!("{api_version} {kind}").into();
        let informer = self.interests.informer(&name, &resolved);
        match tokio::time::timeout(LIST_TIMEOUT, informer.synced()).await {
            Ok(Ok(())) => {
                self.interests.index_once(&name, &informer);
                Ok((name, resolved, informer))
            }
            _ => Err(Error::NotListed { api_version: api_version.into(), kind: kind.into() }),
        }
    }

    fn missing(&self, api_version: &str, kind: &str) -> Error {
        self.note((api_version.into(), Handle::Served));
        self.interests.watch_crds();
        let changed = lock(&self.interests.state).crds.get(group_of(api_version)).copied();
        let again = changed.filter(|at| at.elapsed() < SERVED_AFTER).map(|_| ASK_AGAIN);
        Error::Missing { api_version: api_version.into(), kind: kind.into(), again }
    }

    /// Remembers the interest before anything is read, so that no change in between is lost.
    fn note(&self, place: Place) {
        let mut state = lock(&self.interests.state);
        state.askers.entry(place.clone()).or_default().insert(self.asker.clone());
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let mut state = lock(&self.interests.state);
        let before = state.looks.remove(&self.asker).unwrap_or_default();
        for place in before.difference(&seen) {
            if let Some(askers) = state.askers.get_mut(place) {
                askers.remove(&self.asker);
                if askers.is_empty() {
                    state.askers.remove(place);
                }
            }
        }
        if !seen.is_empty() {
            state.looks.insert(self.asker.clone(), seen);
        }
    }
}
