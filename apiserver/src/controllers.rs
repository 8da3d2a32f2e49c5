//! What a cluster does by itself: the store's events in, writes through the ordinary verbs out.
//!
//! One task hears of every change, asks the pure controllers what they would do about it, and does it. Whatever fails
//! is asked again later, so a missed or refused write is made good as soon as it can be.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::delete::{DeleteOptions, Propagation};
use crate::object;
use crate::registry::Resource;
use crate::server::Core;
use crate::simulate::{self, Action};
use crate::status::{ApiError, ApiResult};
use crate::store::{Entry, Event, EventKind, IndexKey, Store};
use crate::write::WriteOptions;

/// Events taken from one resource at once.
const BATCH_EVENTS: usize = 1024;
/// How soon a refused write is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);
/// Reconciles in one turn before events are looked at again, so that one busy object cannot starve the rest.
const TURN_MAX: usize = 256;
/// How long core Events are kept, as kube-apiserver does by default.
const EVENTS_KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// How often old Events are looked for.
const EVENTS_SWEEP: Duration = Duration::from_secs(60);
/// Events kept at most, so that a crash loop cannot fill the store within the hour.
const EVENTS_MAX: usize = 10_000;
/// Who writes, as managed fields show it.
const MANAGER: &str = "kube-controller-manager";

/// An object to look at: store resource, namespace, name.
type Item = (String, String, String);

pub(crate) fn start(core: &Arc<Core>, stop: &CancellationToken) {
    let mut driver = Driver::new(core.clone());
    let stop = stop.clone();
    core.tasks.spawn(async move {
        let mut revisions = driver.core.store.subscribe_all();
        loop {
            revisions.mark_seen();
            // With a file each write waits for the disk, which must not hold up requests on this thread.
            let turn = if driver.core.store.is_durable() {
                let moved = tokio::task::spawn_blocking(move || {
                    let wait = driver.turn();
                    (driver, wait)
                });
                match moved.await {
                    Ok((back, wait)) => {
                        driver = back;
                        wait
                    }
                    Err(error) => {
                        tracing::error!(%error, "controllers ended");
                        return;
                    }
                }
            } else {
                driver.turn()
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
    fn look_at(&mut self, entry: &Arc<Entry>) {
        if let Self::At(entries) = self {
            entries.push(entry.clone());
        }
    }
}

/// Who is to be looked at, and when; an item waits once, and the first in time comes first.
#[derive(Default)]
struct DelayQueue {
    at: BTreeMap<Item, Instant>,
    order: BTreeSet<(Instant, Item)>,
}

impl DelayQueue {
    /// The earlier of two times counts, so that an item which is told of again and again is not put off for ever.
    fn insert(&mut self, item: Item, at: Instant) {
        match self.at.get(&item) {
            Some(old) if *old <= at => return,
            Some(old) => self.order.remove(&(*old, item.clone())),
            None => false,
        };
        self.at.insert(item.clone(), at);
        self.order.insert((at, item));
    }

    /// Take the next item that is due.
    fn pop(&mut self, now: Instant) -> Option<Item> {
        let (at, _) = self.order.first()?;
        if *at > now {
            return None;
        }
        let (_, item) = self.order.pop_first()?;
        self.at.remove(&item);
        Some(item)
    }

    fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }
}

pub(crate) struct Driver {
    core: Arc<Core>,
    /// How far the events of each resource have been read; a resource that is not here is read as a whole first.
    seen: HashMap<Arc<str>, u64>,
    queue: DelayQueue,
    terminating: BTreeSet<String>,
    garbage: Garbage,
    next_sweep: Instant,
    /// Whether Events tell people what was done.
    tells: bool,
}

impl Driver {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self {
            core,
            seen: HashMap::new(),
            queue: DelayQueue::default(),
            terminating: BTreeSet::new(),
            garbage: Garbage::Everywhere,
            next_sweep: Instant::now(),
            tells: true,
        }
    }

    /// Make no Events from now on.
    pub(crate) fn be_silent(&mut self) {
        self.tells = false;
    }

    /// The same for a copy of the objects with a clock of its own: what waits here is due there at once.
    pub(crate) fn fork(&self, core: Arc<Core>) -> Self {
        let now = Instant::now();
        let mut queue = DelayQueue::default();
        self.queue.at.keys().for_each(|item| queue.insert(item.clone(), now));
        let garbage = match &self.garbage {
            Garbage::Everywhere => Garbage::Everywhere,
            Garbage::At(entries) => Garbage::At(entries.clone()),
        };
        let (seen, terminating) = (self.seen.clone(), self.terminating.clone());
        Self { core, seen, queue, terminating, garbage, next_sweep: now + EVENTS_SWEEP, tells: self.tells }
    }

    /// Reads all news, does what is due, and says when to come back.
    pub(crate) fn turn(&mut self) -> Option<Instant> {
        self.read_news();
        let now = Instant::now();
        // What becomes due by this turn's own work waits for the next one.
        let ready: Vec<Item> = std::iter::from_fn(|| self.queue.pop(now)).take(TURN_MAX).collect();
        for item in ready {
            self.reconcile(item);
        }
        self.collect_garbage();
        for namespace in self.terminating.clone() {
            if let Err(error) = self.empty_namespace(&namespace) {
                tracing::debug!(namespace, message = error.message, "namespace not emptied yet");
                self.come_back(("namespaces".into(), String::new(), namespace));
            }
        }
        if self.next_sweep <= Instant::now() {
            self.next_sweep = Instant::now() + EVENTS_SWEEP;
            self.forget_old_events();
        }
        self.queue.next().into_iter().chain([self.next_sweep]).min()
    }

    /// Deletes Events that nobody will look for any more.
    fn forget_old_events(&self) {
        let Ok(resource) = self.resource("events") else { return };
        let now = self.core.clock.now();
        let mut events = self.core.store.list(&resource.store, None).0;
        // The newest last: what was written last is kept longest.
        events.sort_by_key(|event| event.revision());
        let too_many = events.len().saturating_sub(EVENTS_MAX);
        for (at, event) in events.iter().enumerate() {
            if at >= too_many {
                let event = event.shared();
                let seen = ["lastTimestamp", "eventTime"].iter().find_map(|field| event[*field].as_str());
                let seen = seen.unwrap_or_else(|| object::meta(&event, "creationTimestamp"));
                let seen = seen.parse::<jiff::Timestamp>();
                if !seen.is_ok_and(|seen| now.duration_since(seen) > EVENTS_KEPT) {
                    // Those after it were written later.
                    break;
                }
            }
            let options = DeleteOptions::default();
            if let Err(error) =
                self.core.delete(&resource, object::namespace(event), object::name(event), &options)
            {
                tracing::debug!(message = error.message, "old event not deleted yet");
            }
        }
    }

    fn read_news(&mut self) {
        for (resource, latest) in self.core.store.resources() {
            let Some(seen) = self.seen.get(&resource).copied() else {
                self.read_all(&resource);
                continue;
            };
            if latest <= seen {
                continue;
            }
            match self.core.store.events_after(&resource, seen, BATCH_EVENTS) {
                Ok((events, complete_to)) => {
                    self.seen.insert(resource, complete_to);
                    for event in &events {
                        self.hear(event);
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
        let (entries, revision) = self.core.store.list(resource, None);
        self.seen.insert(resource.clone(), revision);
        self.garbage = Garbage::Everywhere;
        for entry in entries {
            self.notice(resource, entry.value());
        }
    }

    fn hear(&mut self, event: &Event) {
        self.notice(&event.key.resource, &event.entry);
        if let Some(before) = &event.previous {
            // Who was concerned before the change (a selector, an owner) may be no longer.
            self.notice(&event.key.resource, before);
        }
        let owners = |entry: &Entry| entry.pointer("/metadata/ownerReferences").cloned();
        let others = event.previous.as_ref().is_none_or(|before| owners(before) != owners(&event.entry));
        if event.kind == EventKind::Deleted
            || object::is_deleting(&event.entry)
            || others && !self.owners_exist(&event.entry)
        {
            self.garbage.look_at(&event.entry);
        }
        if let Some(before) = event.previous.as_ref().filter(|_| others) {
            // An owner that waits for its dependents to go may have lost one.
            self.garbage.look_at(before);
        }
    }

    /// Whether every owner that an object names is there; only then can its creation leave no garbage.
    fn owners_exist(&self, object: &Value) -> bool {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let catalog = self.core.registry.catalog();
        owners.into_iter().flatten().all(|owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            catalog.by_kind(text("apiVersion"), text("kind")).is_some_and(|resource| {
                let namespace = if resource.namespaced { object::namespace(object) } else { "" };
                let found = self.core.store.find(&resource.store, namespace, text("name"));
                found.is_some_and(|found| object::uid(&found) == text("uid"))
            })
        })
    }

    fn notice(&mut self, resource: &str, object: &Value) {
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
        for affected in simulate::affected(&Seen(&self.core.store), resource, object) {
            self.queue.insert(affected, now);
        }
    }

    fn come_back(&mut self, item: Item) {
        self.queue.insert(item, Instant::now() + RETRY_AFTER);
    }

    fn reconcile(&mut self, item: Item) {
        let (resource, namespace, name) = &item;
        if resource.is_empty() {
            return;
        }
        if resource == "namespaces" {
            if let Err(error) = self.furnish_namespace(name) {
                tracing::debug!(namespace = name, message = error.message, "namespace not furnished yet");
                self.come_back(item.clone());
            }
            if !simulate::RESOURCES.contains(&"namespaces") {
                return;
            }
        }
        let outcome =
            simulate::reconcile(&Seen(&self.core.store), resource, namespace, name, self.core.clock.now());
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
            self.come_back(item);
        } else if let Some(after) = outcome.again_after {
            self.queue.insert(item, Instant::now() + after);
        }
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
        let catalog = self.core.registry.catalog();
        let resources: Vec<crate::gc::Resource<'_>> = catalog
            .stored()
            .iter()
            .map(|r| crate::gc::Resource {
                resource: &r.store,
                group: &r.group,
                kind: &r.kind,
                namespaced: r.namespaced,
            })
            .collect();
        for entry in changed {
            let actions =
                crate::gc::step(&Seen(&self.core.store), &resources, entry.as_deref().map(Entry::value));
            let mut refused = false;
            for action in actions {
                if let Err(error) = self.act(action) {
                    refused |= error.code != ::http::StatusCode::NOT_FOUND;
                }
            }
            if refused {
                // What was done is heard of as news; what was refused is not, so it is tried again.
                match &entry {
                    Some(entry) => self.garbage.look_at(entry),
                    None => self.garbage = Garbage::Everywhere,
                }
                self.queue.insert(Item::default(), Instant::now() + RETRY_AFTER);
            }
        }
    }

    fn act(&self, action: Action) -> ApiResult<()> {
        let options = WriteOptions::own(MANAGER);
        match action {
            Action::Create { resource, object } => {
                let resource = self.resource(&resource)?;
                let namespace = object::namespace(&object).to_owned();
                match self.core.add(&resource, &namespace, None, object, &options) {
                    Err(error) if error.reason == "AlreadyExists" => Ok(()),
                    other => other.map(drop),
                }
            }
            Action::UpdateStatus { resource, object } => self.change(&resource, "status", object),
            Action::Update { resource, object } => self.change(&resource, "", object),
            Action::Event { .. } if !self.tells => Ok(()),
            Action::Event { object } => {
                let resource = self.resource("events")?;
                let namespace = object::namespace(&object).to_owned();
                self.core.add(&resource, &namespace, None, object, &options).map(drop)
            }
            Action::Delete { resource, namespace, name, uid, propagation } => {
                let resource = self.resource(&resource)?;
                let options = DeleteOptions {
                    propagation: propagation.map(|p| match p {
                        simulate::Propagation::Background => Propagation::Background,
                        simulate::Propagation::Foreground => Propagation::Foreground,
                        simulate::Propagation::Orphan => Propagation::Orphan,
                    }),
                    uid: Some(uid).filter(|u| !u.is_empty()),
                    grace_seconds: Some(0),
                    ..DeleteOptions::default()
                };
                match self.core.delete(&resource, &namespace, &name, &options) {
                    Err(error) if error.reason == "NotFound" => Ok(()),
                    other => other.map(drop),
                }
            }
        }
    }

    fn change(&self, resource: &str, sub: &str, object: Value) -> ApiResult<()> {
        let resource = self.resource(resource)?;
        let (namespace, name) = (object::namespace(&object).to_owned(), object::name(&object).to_owned());
        let options = WriteOptions::own(MANAGER);
        match self.core.change(&resource, &namespace, &name, sub, &options, |_| Ok(object.clone())) {
            Err(error) if error.reason == "NotFound" => Ok(()),
            other => other.map(drop),
        }
    }

    /// The resource whose objects lie at `store`, in the version in which they lie there.
    fn resource(&self, store: &str) -> ApiResult<Arc<Resource>> {
        let catalog = self.core.registry.catalog();
        catalog.by_store(store).cloned().ok_or_else(ApiError::no_such_path)
    }

    /// Gives a namespace the service account that every pod needs.
    fn furnish_namespace(&self, namespace: &str) -> ApiResult<()> {
        let Some(found) = self.core.store.find("namespaces", "", namespace) else { return Ok(()) };
        if object::is_deleting(&found)
            || self.core.store.find("serviceaccounts", namespace, "default").is_some()
        {
            return Ok(());
        }
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
                              "metadata": { "name": "default", "namespace": namespace } });
        self.act(Action::Create { resource: "serviceaccounts".into(), object: account })
    }

    /// Deletes what is in a namespace that is going away, and the namespace once it is empty.
    fn empty_namespace(&mut self, namespace: &str) -> ApiResult<()> {
        let Some(found) = self.core.store.find("namespaces", "", namespace) else {
            self.terminating.remove(namespace);
            return Ok(());
        };
        if !object::is_deleting(&found) {
            self.terminating.remove(namespace);
            return Ok(());
        }
        let mut left = 0;
        for resource in self.core.registry.catalog().stored().iter().filter(|r| r.namespaced) {
            for entry in self.core.store.list(&resource.store, Some(namespace)).0 {
                left += 1;
                if object::is_deleting(&entry) {
                    continue;
                }
                let options = DeleteOptions {
                    propagation: Some(Propagation::Background),
                    grace_seconds: Some(0),
                    ..DeleteOptions::default()
                };
                match self.core.delete(resource, namespace, object::name(&entry), &options) {
                    Ok(crate::delete::Deleted::Gone(_)) => left -= 1,
                    Ok(crate::delete::Deleted::Waiting(_)) => {}
                    Err(error) if error.reason == "NotFound" => left -= 1,
                    Err(error) => return Err(error),
                }
            }
        }
        if left > 0 {
            // The deletion of the last object brings us back.
            return Ok(());
        }
        let resource = self.resource("namespaces")?;
        let options = WriteOptions::own(MANAGER);
        self.core.change(&resource, "", namespace, "finalize", &options, |old| {
            let mut next = old.clone();
            if let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
            Ok(next)
        })?;
        self.terminating.remove(namespace);
        Ok(())
    }
}

/// The store as the pure controllers see it.
struct Seen<'a>(&'a Store);

impl simulate::View for Seen<'_> {
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        crate::store::View::get(self.0, resource, namespace, name).map(|entry| entry.shared())
    }

    fn list(&self, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.0.list(resource, namespace).0.iter().map(|entry| entry.shared()).collect()
    }

    fn indexed(&self, resource: &str, index_key: &IndexKey) -> Vec<Arc<Value>> {
        self.0.indexed(resource, index_key).iter().map(|entry| entry.shared()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_time_comes_first_and_nobody_is_put_off() {
        let now = Instant::now();
        let later = now + RETRY_AFTER;
        let item = |name: &str| (String::new(), String::new(), name.to_owned());
        let mut queue = DelayQueue::default();
        queue.insert(item("z"), now);
        queue.insert(item("z"), later);
        queue.insert(item("a"), later + RETRY_AFTER);
        queue.insert(item("a"), later);
        assert_eq!(queue.next(), Some(now));
        assert_eq!(queue.pop(now), Some(item("z")));
        assert_eq!(queue.pop(now), None);
        assert_eq!(queue.pop(later), Some(item("a")));
        assert_eq!((queue.next(), queue.pop(later)), (None, None));
    }
}
