//! The controllers of a cluster: the store's events in, writes through the ordinary verbs out.
//!
//! One task reads every change, asks the pure controllers what they would do about it, and does it. Whatever fails
//! is asked again later, so a missed or refused write is made good as soon as it can be.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::act::act;
use super::delay_queue::{DelayQueue, Item};
use super::view::StoreView;
use super::{events, namespaces};
use crate::simulate::{self, Action};
use crate::state::State;
use crate::status::ApiResult;
use crate::store::{Entry, Event, EventKind};
use crate::{gc, object};

/// Events taken from one resource at once.
const BATCH_EVENTS: usize = 1024;
/// How soon a refused write is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Reconciles in one turn before events are looked at again, so that one busy object cannot starve the rest.
const TURN_MAX: usize = 256;
/// How often old Events are looked for.
const EVENTS_SWEEP: Duration = Duration::from_secs(60);

/// Runs the controllers until `stop`.
pub(crate) fn start(state: &Arc<State>, stop: &CancellationToken) {
    let mut manager = ControllerManager::new(state.clone());
    let stop = stop.clone();
    state.tasks.spawn(async move {
        let mut revisions = manager.state.store.subscribe_all();
        loop {
            revisions.mark_seen();
            // With a file each write waits for the disk, which must not hold up requests on this thread.
            let turn = if manager.state.store.is_durable() {
                let moved = tokio::task::spawn_blocking(move || {
                    let wait = manager.turn();
                    (manager, wait)
                });
                match moved.await {
                    Ok((back, wait)) => {
                        manager = back;
                        wait
                    }
                    Err(error) => {
                        tracing::error!(%error, "controllers ended");
                        return;
                    }
                }
            } else {
                manager.turn()
            };
            tokio::select! {
                () = stop.cancelled() => return,
                changed = revisions.changed() => if changed.is_err() { return },
                () = sleep_until(turn) => {}
            }
        }
    });
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Where garbage may be.
enum Garbage {
    /// Anywhere: at the start, or after more changes than could be followed.
    Everywhere,
    /// At these objects and at what hangs together with them.
    At(Vec<Arc<Entry>>),
}

impl Garbage {
    fn note(&mut self, entry: &Arc<Entry>) {
        if let Self::At(entries) = self {
            entries.push(entry.clone());
        }
    }
}

pub(crate) struct ControllerManager {
    state: Arc<State>,
    /// How far the events of each resource have been read; a resource that is not here is read as a whole first.
    seen: HashMap<Arc<str>, u64>,
    queue: DelayQueue,
    terminating: BTreeSet<String>,
    garbage: Garbage,
    next_sweep: Instant,
    /// Whether Events report what was done.
    makes_events: bool,
}

impl ControllerManager {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self {
            state,
            seen: HashMap::new(),
            queue: DelayQueue::default(),
            terminating: BTreeSet::new(),
            garbage: Garbage::Everywhere,
            next_sweep: Instant::now(),
            makes_events: true,
        }
    }

    /// Make no Events from now on.
    pub(crate) fn make_no_events(&mut self) {
        self.makes_events = false;
    }

    /// The same for a copy of the objects with a clock of its own: what waits here is due there at once.
    pub(crate) fn fork(&self, state: Arc<State>) -> Self {
        let now = Instant::now();
        let queue = self.queue.due_at(now);
        let garbage = match &self.garbage {
            Garbage::Everywhere => Garbage::Everywhere,
            Garbage::At(entries) => Garbage::At(entries.clone()),
        };
        let (seen, terminating) = (self.seen.clone(), self.terminating.clone());
        let (next_sweep, makes_events) = (now + EVENTS_SWEEP, self.makes_events);
        Self { state, seen, queue, terminating, garbage, next_sweep, makes_events }
    }

    /// Reads all events, does what is due, and says when to come back.
    pub(crate) fn turn(&mut self) -> Option<Instant> {
        self.read_events();
        let now = Instant::now();
        // Items that become due by this turn's own work wait for the next one.
        let ready: Vec<Item> = std::iter::from_fn(|| self.queue.pop(now)).take(TURN_MAX).collect();
        for item in ready {
            self.reconcile(item);
        }
        self.collect_garbage();
        for namespace in self.terminating.clone() {
            match namespaces::empty(&self.state.context(), &namespace) {
                Ok(false) => {}
                Ok(true) => {
                    self.terminating.remove(&namespace);
                }
                Err(error) => {
                    tracing::debug!(namespace, message = error.message, "namespace not emptied yet");
                    self.retry(("namespaces".into(), String::new(), namespace));
                }
            }
        }
        if self.next_sweep <= Instant::now() {
            self.next_sweep = Instant::now() + EVENTS_SWEEP;
            events::expire(&self.state.context());
        }
        self.queue.next().into_iter().chain([self.next_sweep]).min()
    }

    fn read_events(&mut self) {
        for (resource, latest) in self.state.store.resources() {
            let Some(seen) = self.seen.get(&resource).copied() else {
                self.read_all(&resource);
                continue;
            };
            if latest <= seen {
                continue;
            }
            match self.state.store.events_after(&resource, seen, BATCH_EVENTS) {
                Ok((events, complete_to)) => {
                    self.seen.insert(resource, complete_to);
                    for event in &events {
                        self.observe(event);
                    }
                    if events.len() == BATCH_EVENTS {
                        self.queue.insert(Item::default(), Instant::now());
                    }
                }
                // Too many changes since the last turn: what is there now says enough.
                Err(_) => self.read_all(&resource),
            }
        }
    }

    fn read_all(&mut self, resource: &Arc<str>) {
        let (entries, revision) = self.state.store.list(resource, None);
        self.seen.insert(resource.clone(), revision);
        self.garbage = Garbage::Everywhere;
        for entry in entries {
            self.enqueue(resource, entry.value());
        }
    }

    fn observe(&mut self, event: &Event) {
        self.enqueue(&event.key.resource, &event.entry);
        if let Some(before) = &event.previous {
            // An object that was concerned before the change (a selector, an owner) may be no longer.
            self.enqueue(&event.key.resource, before);
        }
        let owners = |entry: &Entry| entry.pointer("/metadata/ownerReferences").cloned();
        let others = event.previous.as_ref().is_none_or(|before| owners(before) != owners(&event.entry));
        if event.kind == EventKind::Deleted
            || object::is_deleting(&event.entry)
            || others && !self.owners_exist(&event.entry)
        {
            self.garbage.note(&event.entry);
        }
        if let Some(before) = event.previous.as_ref().filter(|_| others) {
            // An owner that waits for its dependents to go may have lost one.
            self.garbage.note(before);
        }
    }

    /// Whether every owner that an object names is there; only then can its creation leave no garbage.
    fn owners_exist(&self, object: &Value) -> bool {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let catalog = self.state.registry.catalog();
        owners.into_iter().flatten().all(|owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            catalog.by_kind(text("apiVersion"), text("kind")).is_some_and(|resource| {
                let namespace = if resource.namespaced { object::namespace(object) } else { "" };
                let found = self.state.store.find(&resource.store, namespace, text("name"));
                found.is_some_and(|found| object::uid(&found) == text("uid"))
            })
        })
    }

    fn enqueue(&mut self, resource: &str, object: &Value) {
        let now = Instant::now();
        let item =
            (resource.to_owned(), object::namespace(object).to_owned(), object::name(object).to_owned());
        if resource == "namespaces" {
            if object::is_deleting(object) {
                self.terminating.insert(object::name(object).to_owned());
            }
            self.queue.insert(item.clone(), now);
        }
        if simulate::RESOURCES.contains(&resource) {
            self.queue.insert(item, now);
        }
        for affected in simulate::affected(&StoreView(&self.state.store), resource, object) {
            self.queue.insert(affected, now);
        }
    }

    fn retry(&mut self, item: Item) {
        self.queue.insert(item, Instant::now() + RETRY_AFTER);
    }

    fn reconcile(&mut self, item: Item) {
        let (resource, namespace, name) = &item;
        if resource.is_empty() {
            return;
        }
        if resource == "namespaces" {
            if let Err(error) = namespaces::create_service_account(&self.state.context(), name) {
                tracing::debug!(
                    namespace = name,
                    message = error.message,
                    "namespace has no service account yet"
                );
                self.retry(item.clone());
            }
            if !simulate::RESOURCES.contains(&"namespaces") {
                return;
            }
        }
        let outcome = simulate::reconcile(
            &StoreView(&self.state.store),
            resource,
            namespace,
            name,
            self.state.clock.now(),
        );
        let mut failed = false;
        for action in outcome.actions {
            if let Err(error) = self.act(action) {
                tracing::debug!(
                    resource,
                    namespace,
                    name,
                    message = error.message,
                    "write refused; comes back"
                );
                failed = true;
            }
        }
        if failed {
            self.retry(item);
        } else if let Some(after) = outcome.again_after {
            self.queue.insert(item, Instant::now() + after);
        }
    }

    /// Carries out the decisions of a controller; writes Events only where a client reads them.
    fn act(&self, action: Action) -> ApiResult<()> {
        if matches!(action, Action::Event { .. }) && !self.makes_events {
            return Ok(());
        }
        act(&self.state.context(), action)
    }

    fn collect_garbage(&mut self) {
        let changed: Vec<Option<Arc<Entry>>> =
            match std::mem::replace(&mut self.garbage, Garbage::At(Vec::new())) {
                Garbage::Everywhere => vec![None],
                Garbage::At(entries) => entries.into_iter().map(Some).collect(),
            };
        if changed.is_empty() {
            return;
        }
        let catalog = self.state.registry.catalog();
        let served = catalog.stored().iter();
        let resources: Vec<gc::Resource<'_>> = served
            .map(|r| gc::Resource {
                resource: &r.store,
                group: &r.group,
                kind: &r.kind,
                namespaced: r.namespaced,
            })
            .collect();
        for entry in changed {
            let changed = entry.as_deref().map(Entry::value);
            let actions = gc::step(&StoreView(&self.state.store), &resources, changed);
            let mut refused = false;
            for action in actions {
                if let Err(error) = self.act(action) {
                    refused |= error.code != ::http::StatusCode::NOT_FOUND;
                }
            }
            if refused {
                // A successful write comes back as an event; a refused one does not, so it is tried again.
                match &entry {
                    Some(entry) => self.garbage.note(entry),
                    None => self.garbage = Garbage::Everywhere,
                }
                self.queue.insert(Item::default(), Instant::now() + RETRY_AFTER);
            }
        }
    }
}
