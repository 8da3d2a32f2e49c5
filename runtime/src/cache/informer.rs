//! The informer of one kind: fills a store from a watch and calls the handlers of its changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use tokio::sync::Notify;

use super::latest::Latest;
use super::{Change, Handler, Key, Watch, version_of};
use crate::store::Store;
use crate::undelivered::Undelivered;

/// Longest wait for a first list; after it the start fails and names the kind.
pub const SYNC_TIMEOUT: Duration = Duration::from_secs(120);

/// The local store of one watched kind.
pub struct Informer {
    watch: Watch,
    state: Mutex<State>,
    synced: Latest<bool>,
    /// Whether the server is away, as this watch knows it.
    away: Latest<bool>,
    /// Whether we lack the right to list the kind, as this watch knows it.
    forbidden: Latest<bool>,
    /// Whether the store follows the server, or had an answer that it cannot.
    follows: Latest<bool>,
    /// Rings when a kind that was refused may be served now.
    pub(super) recheck: Notify,
    shared: SharedState,
}

/// The report of the informers of one cache on all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedState {
    /// Counts how often the server came back.
    pub(super) reconnections: Latest<u64>,
    /// True from the moment that a server which was set back is noticed until all stores follow it.
    pub(super) is_set_back: Latest<bool>,
    /// The fields that cached copies leave out because no reader uses them.
    pub(super) unread: Arc<[Unread]>,
}

/// Annotations that no reader uses in the copies of these kinds.
#[derive(Clone, Debug)]
pub struct Unread {
    /// The kinds. No writer may send their copies back as a whole: that would remove the annotations.
    pub kinds: Vec<ApiResource>,
    /// The annotations.
    pub annotations: &'static [&'static str],
}

impl SharedState {
    /// Removes the annotations that no reader uses in copies of this kind.
    pub(super) fn without_unread(&self, resource: &ApiResource, metadata: &mut ObjectMeta) {
        let Some(annotations) = &mut metadata.annotations else { return };
        let unread = self.unread.iter().filter(|unread| unread.kinds.contains(resource));
        for annotation in unread.flat_map(|unread| unread.annotations) {
            annotations.remove(*annotation);
        }
    }
}

/// Why a watch does not follow its kind.
#[derive(Clone, Debug)]
pub(crate) struct WatchError {
    pub(crate) text: String,
    pub(crate) cause: Cause,
}

/// The error that kept a watch from following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No answer, or one that will change by itself.
    Away,
    /// The server answered, and asking again the same way will not help.
    Refused,
    /// So it did because we lack the right to list the kind; to wait for a first list would not help.
    Forbidden,
    /// So it did because it does not serve the kind: there is no object of it.
    Unserved,
}

#[derive(Default)]
struct State {
    objects: Store,
    listing: Option<BTreeMap<Key, Arc<DynamicObject>>>,
    handlers: Vec<Handler>,
    undelivered: Undelivered,
    /// The newest version the watch has passed: a write's answer older than this is no news.
    passed: u64,
    /// The server was set back since the last list: versions from before and after it cannot be compared.
    is_set_back: bool,
    failure: Option<WatchError>,
    /// How often in a row the server answered that it will not be followed.
    refusals: u32,
}

impl State {
    /// These are all objects that there are; out comes what handlers hear of it.
    fn replace(&mut self, fresh: BTreeMap<Key, Arc<DynamicObject>>, first: bool) -> Vec<Change> {
        for new in fresh.values() {
            self.passed = self.passed.max(version_of(new));
        }
        let known = self.objects.replace(fresh.clone());
        let is_set_back = std::mem::take(&mut self.is_set_back);
        self.undelivered.changes(&fresh, known, first, is_set_back)
    }
}

impl fmt::Debug for Informer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer").field("watch", &self.watch).finish_non_exhaustive()
    }
}

impl Informer {
    #[cfg(test)]
    pub(crate) fn new(watch: Watch) -> Self {
        Self::with_state(watch, SharedState::default())
    }

    pub(super) fn with_state(watch: Watch, shared: SharedState) -> Self {
        Self {
            watch,
            state: Mutex::default(),
            synced: Latest::default(),
            away: Latest::default(),
            forbidden: Latest::default(),
            follows: Latest::default(),
            recheck: Notify::new(),
            shared,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind of the watch.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The object of that key, if the store has it.
    pub fn get(&self, key: &Key) -> Option<Arc<DynamicObject>> {
        self.lock().objects.get(key)
    }

    /// Every object.
    pub fn list(&self) -> Vec<Arc<DynamicObject>> {
        self.lock().objects.objects().collect()
    }

    /// The key of every object, in order.
    pub fn keys(&self) -> Vec<Key> {
        self.lock().objects.keys().cloned().collect()
    }

    /// Find objects by terms from now on, without a look at all of them each time; `terms` names those of an object
    /// and is asked at each change, so it must be quick.
    pub fn index(
        self: &Arc<Self>,
        terms: impl Fn(&DynamicObject) -> Vec<String> + Send + Sync + 'static,
    ) -> Index {
        let number = self.lock().objects.index(Arc::new(terms), false);
        Index { informer: self.clone(), number }
    }

    /// The same where the terms depend on nothing but the spec: a change of status does not ask for them.
    pub fn index_of_spec(
        self: &Arc<Self>,
        terms: impl Fn(&DynamicObject) -> Vec<String> + Send + Sync + 'static,
    ) -> Index {
        let number = self.lock().objects.index(Arc::new(terms), true);
        Index { informer: self.clone(), number }
    }

    /// The objects of one namespace whose names begin like this, in order; no other object is looked at.
    pub fn list_prefixed(&self, namespace: &str, prefix: &str) -> Vec<Arc<DynamicObject>> {
        self.lock().objects.prefixed(namespace, prefix)
    }

    /// Every object for which the predicate holds.
    pub fn list_where(&self, keep: impl Fn(&DynamicObject) -> bool) -> Vec<Arc<DynamicObject>> {
        self.lock().objects.objects().filter(|object| keep(object)).collect()
    }

    /// Call the handler for every object already known (as initial) and then for each change.
    pub fn on_change(&self, handler: Handler) {
        let known: Vec<_> = {
            let mut state = self.lock();
            state.handlers.push(handler.clone());
            state.objects.objects().collect()
        };
        for object in known {
            handler(&Change { old: None, new: Some(object), initial: true });
        }
    }

    /// True once the first list is complete.
    pub fn is_synced(&self) -> bool {
        self.synced.get()
    }

    /// Wait for the first list; not for one that we lack the right to, though the watch goes on asking.
    ///
    /// # Errors
    /// There is no list after [`SYNC_TIMEOUT`], or the right to it is missing; the error says which.
    pub async fn synced(&self) -> Result<(), NotSynced> {
        let outcome = async {
            tokio::select! {
                biased;
                synced = self.synced.wait_for(|synced| synced) => synced,
                _ = self.forbidden.wait_for(|forbidden| forbidden) => false,
            }
        };
        match tokio::time::timeout(SYNC_TIMEOUT, outcome).await {
            Ok(true) => Ok(()),
            _ => {
                let error = self.lock().failure.clone();
                Err(NotSynced {
                    kind: self.watch.resource.kind.clone(),
                    api_version: self.watch.resource.api_version.clone(),
                    refused: error.as_ref().is_some_and(|error| error.cause != Cause::Away),
                    cause: error.map_or_else(|| "no answer yet".into(), |error| error.text),
                })
            }
        }
    }

    /// Put the answer of a write into the store, so that the next read sees it before the watch brings it.
    /// Ignored when the watch has already passed that version.
    pub fn observe(&self, mut object: DynamicObject) {
        self.trim(&mut object);
        let key = Key::of(&object);
        let version = version_of(&object);
        let mut state = self.lock();
        if version <= state.passed {
            return;
        }
        if state.objects.get(&key).is_some_and(|known| version_of(&known) >= version) {
            return;
        }
        let before = state.objects.insert(key.clone(), Arc::new(object));
        state.undelivered.record_write(key, before);
    }

    /// Note that this key was deleted by ourselves, so that the next read does not see it.
    pub fn forget(&self, key: &Key) {
        let mut state = self.lock();
        if let Some(before) = state.objects.remove(key) {
            state.undelivered.record_write(key.clone(), Some(before));
        }
    }

    pub(crate) fn list_started(&self) {
        self.lock().listing = Some(BTreeMap::new());
    }

    pub(crate) fn listed(&self, mut object: DynamicObject) {
        self.trim(&mut object);
        let mut state = self.lock();
        if let Some(listing) = state.listing.as_mut() {
            listing.insert(Key::of(&object), Arc::new(object));
        }
    }

    pub(crate) fn list_finished(&self) {
        let first = !self.is_synced();
        let (changes, handlers) = {
            let mut state = self.lock();
            let fresh = state.listing.take().unwrap_or_default();
            // A client that may list a kind may most likely watch it: a refused watch is not listed again.
            state.refusals = 0;
            (state.replace(fresh, first), state.handlers.clone())
        };
        // Synced before the handlers run: a reconcile they wake must find the store readable.
        self.synced.replace(true);
        self.reconnected();
        for change in &changes {
            handlers.iter().for_each(|handler| handler(change));
        }
    }

    /// The server is at an earlier version than it told of before, as after a restore from a backup. A list follows.
    pub(crate) fn set_back(&self) {
        let mut state = self.lock();
        (state.passed, state.is_set_back) = (0, true);
        drop(state);
        self.shared.is_set_back.replace(true);
    }

    /// The watch ended and is about to go on.
    pub(crate) fn resumes(&self) {
        self.follows.replace(false);
    }

    pub(crate) fn changed(&self, mut object: DynamicObject) {
        self.trim(&mut object);
        let key = Key::of(&object);
        let new = Arc::new(object);
        let (old, handlers) = {
            let mut state = self.lock();
            state.passed = state.passed.max(version_of(&new));
            let known = state.objects.get(&key);
            if known.as_ref().is_none_or(|known| version_of(known) <= version_of(&new)) {
                state.objects.insert(key.clone(), new.clone());
            }
            (state.undelivered.deliver(&key, Some(&new), known), state.handlers.clone())
        };
        let change = Change { old, new: Some(new), initial: false };
        handlers.iter().for_each(|handler| handler(&change));
    }

    pub(crate) fn deleted(&self, object: &DynamicObject) {
        let (old, handlers) = {
            let mut state = self.lock();
            state.passed = state.passed.max(version_of(object));
            let key = Key::of(object);
            let known = state.objects.remove(&key);
            (state.undelivered.deliver(&key, None, known), state.handlers.clone())
        };
        let mut last = object.clone();
        self.trim(&mut last);
        let change = Change { old: old.or_else(|| Some(Arc::new(last))), new: None, initial: false };
        handlers.iter().for_each(|handler| handler(&change));
    }

    pub(crate) fn failed(&self, error: WatchError) {
        let cause = error.cause;
        if cause == Cause::Unserved {
            self.emptied();
        }
        let mut state = self.lock();
        state.refusals = if cause == Cause::Away { 0 } else { state.refusals.saturating_add(1) };
        if state.failure.as_ref().is_none_or(|known| known.text != error.text) {
            tracing::warn!(kind = %self.watch.resource.kind, error = error.text, "watch interrupted; trying again");
        }
        state.failure = Some(error);
        drop(state);
        self.away.replace(cause == Cause::Away);
        self.forbidden.replace(cause == Cause::Forbidden);
        self.follows.replace(cause != Cause::Away);
    }

    /// The kind went with all its objects; a watch that ended before it told so must not leave them here for ever.
    fn emptied(&self) {
        if !self.is_synced() {
            return;
        }
        let (changes, handlers) = {
            let mut state = self.lock();
            state.listing = None;
            (state.replace(BTreeMap::new(), false), state.handlers.clone())
        };
        for change in &changes {
            handlers.iter().for_each(|handler| handler(change));
        }
    }

    /// The server follows the kind with us (again).
    pub(crate) fn connected(&self) {
        let mut state = self.lock();
        state.failure = None;
        state.refusals = 0;
        drop(state);
        self.reconnected();
    }

    /// How often in a row the server answered that it will not be followed.
    pub(crate) fn refusals(&self) -> u32 {
        self.lock().refusals
    }

    /// Ends when something happened that may change the server's mind.
    pub(crate) async fn recheck(&self) {
        self.recheck.notified().await;
    }

    /// Why the first list is missing, where the server is away.
    pub(super) fn unreachable(&self) -> Option<String> {
        let away = self.away.get() && !self.is_synced();
        away.then(|| self.lock().failure.clone()).flatten().map(|error| error.text)
    }

    /// The server answers. That it lists a kind does not say that it lets it be watched.
    fn reconnected(&self) {
        self.follows.replace(true);
        if self.away.replace(false) {
            let times = &self.shared.reconnections;
            times.replace(times.get() + 1);
        }
    }

    /// Wait until the server is not away: the store follows it, or the server says why it may not.
    pub(super) async fn current(&self) {
        // The sender lives as long as this does.
        self.away.wait_for(|away| !away).await;
    }

    /// Whether the store follows the server, or the server said why it may not.
    pub(super) fn is_following(&self) -> bool {
        self.follows.get()
    }

    pub(super) async fn follows(&self) {
        // The sender lives as long as this does.
        self.follows.wait_for(|follows| follows).await;
    }
}

impl Informer {
    /// Removes the fields that no reader uses: managed fields are often larger than the object.
    fn trim(&self, object: &mut DynamicObject) {
        let resource = &self.watch.resource;
        object.metadata.managed_fields = None;
        self.shared.without_unread(resource, &mut object.metadata);
        if object.types.is_none() {
            object.types = Some(kube::core::TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            });
        }
    }
}

/// Objects of one informer by terms.
#[derive(Clone, Debug)]
pub struct Index {
    informer: Arc<Informer>,
    number: usize,
}

impl Index {
    /// The objects with this term, in order.
    pub fn find(&self, term: &str) -> Vec<Arc<DynamicObject>> {
        self.informer.lock().objects.find(self.number, term)
    }
}

/// A kind's first list did not arrive in time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot list {kind} ({api_version}): {cause}; is the kind installed and may this account list it?")]
pub struct NotSynced {
    /// The kind.
    pub kind: String,
    /// Its API version.
    pub api_version: String,
    /// The last failure of the watch.
    pub cause: String,
    /// True when the server answered, and will answer the same again.
    pub refused: bool,
}
