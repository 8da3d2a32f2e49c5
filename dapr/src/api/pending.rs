//! What one stream has still to send: for each object the state that the sidecar knows and the newest one, in the order of the first
//! change. It is bounded by the number of objects, not by the number of changes, so a sidecar that reads slowly costs little and
//! holds up no other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::DynamicObject;
use tokio::sync::Notify;
use vela_runtime::{Change, Key};

use crate::resources::{Update, UpdateType, Viewer, updates};

/// Objects with something to send at most; the stream of a sidecar that is further behind ends, and it lists anew.
pub(super) const OBJECTS_AT_MOST: usize = 20_000;

/// The queue of one stream.
#[derive(Debug)]
pub(super) struct Pending {
    viewer: Viewer,
    state: Mutex<State>,
    arrived: Notify,
}

/// The sidecar is so far behind that it has to list anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooFarBehind;

#[derive(Debug, Default)]
struct State {
    order: VecDeque<Key>,
    objects: HashMap<Key, Waiting>,
    is_too_far_behind: bool,
}

#[derive(Debug)]
struct Waiting {
    /// As the sidecar knows it.
    before: Option<Arc<DynamicObject>>,
    now: Option<Arc<DynamicObject>>,
    secrets: SecretsBefore,
}

/// The Secrets of an object that changed since the sidecar was told of it, by name: the version that each had then, if it was there.
pub(super) type SecretsBefore = BTreeMap<String, Option<String>>;

/// An object as the sidecar was told of it.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) object: Arc<DynamicObject>,
    pub(super) secrets: SecretsBefore,
}

/// What is to be sent.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) update: Update,
    /// What an update is to be compared with: not every change is one to a sidecar.
    pub(super) before: Option<Before>,
}

impl Pending {
    pub(super) fn of(viewer: Viewer) -> Self {
        Self { viewer, state: Mutex::default(), arrived: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object changed. Quick, and never waits for the sidecar.
    pub(super) fn changed(&self, change: &Change) {
        if change.initial {
            return;
        }
        let sees =
            |object: &Option<Arc<DynamicObject>>| object.as_ref().is_some_and(|one| self.viewer.sees(one));
        let is_seen = sees(&change.old) || sees(&change.new);
        let Some(object) = change.object().filter(|object| self.viewer.is_near(object)) else { return };
        let key = Key::of(object);
        let mut state = self.state();
        match state.objects.get_mut(&key) {
            Some(waiting) => waiting.now.clone_from(&change.new),
            None if is_seen => {
                let (before, now) = (change.old.clone(), change.new.clone());
                state.insert(key, Waiting { before, now, secrets: SecretsBefore::new() });
            }
            None => return,
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// A Secret that the object takes a value from changed, and had this version before.
    pub(super) fn secret_changed(&self, object: &Arc<DynamicObject>, secret: &str, version: Option<&str>) {
        if !self.viewer.sees(object) {
            return;
        }
        let key = Key::of(object);
        let mut state = self.state();
        let before = (secret.to_owned(), version.map(str::to_owned));
        match state.objects.get_mut(&key) {
            Some(waiting) => {
                waiting.secrets.entry(before.0).or_insert(before.1);
            }
            None => {
                let known = Some(object.clone());
                let secrets = SecretsBefore::from([before]);
                state.insert(key, Waiting { before: known.clone(), now: known, secrets });
            }
        }
        drop(state);
        self.arrived.notify_one();
    }

    /// Waits for the object that changed first; what happened to it since, as one update, or two where another object took its place.
    pub(super) async fn next(&self) -> Result<Vec<Due>, TooFarBehind> {
        loop {
            let found = {
                let mut state = self.state();
                if state.is_too_far_behind {
                    return Err(TooFarBehind);
                }
                let key = state.order.pop_front();
                key.and_then(|key| state.objects.remove(&key))
            };
            match found.map(|waiting| waiting.updates(&self.viewer)) {
                Some(updates) if !updates.is_empty() => return Ok(updates),
                Some(_) => {}
                None => self.arrived.notified().await,
            }
        }
    }
}

impl State {
    fn insert(&mut self, key: Key, waiting: Waiting) {
        if self.is_too_far_behind {
            return;
        }
        if self.objects.len() >= OBJECTS_AT_MOST {
            *self = Self { is_too_far_behind: true, ..Self::default() };
            return;
        }
        self.order.push_back(key.clone());
        self.objects.insert(key, waiting);
    }
}

impl Waiting {
    fn updates(self, viewer: &Viewer) -> Vec<Due> {
        let Self { before, now, secrets } = self;
        let change = Change { old: before, new: now, initial: false };
        let mut found = updates(viewer, &change);
        if let Some(object) = change.new.filter(|object| viewer.sees(object))
            && found.is_empty()
            && !secrets.is_empty()
        {
            found.push(Update { update_type: UpdateType::Updated, object });
        }
        let mut before = change.old.map(|object| Before { object, secrets });
        let due = |update: Update| Due {
            before: if update.update_type == UpdateType::Updated { before.take() } else { None },
            update,
        };
        found.into_iter().map(due).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use serde_json::json;

    use super::UpdateType::{Created, Deleted, Updated};
    use super::*;

    fn object(name: &str, uid: &str, version: usize) -> Option<Arc<DynamicObject>> {
        let metadata =
            json!({"name": name, "namespace": "h1", "uid": uid, "resourceVersion": version.to_string()});
        let object = json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": metadata});
        Some(Arc::new(serde_json::from_value(object).unwrap()))
    }

    fn change(old: Option<Arc<DynamicObject>>, new: Option<Arc<DynamicObject>>) -> Change {
        Change { old, new, initial: false }
    }

    fn pending() -> Pending {
        Pending::of(Viewer::authorized(&"spiffe://t/ns/h1/cart".parse().unwrap(), "h1").unwrap())
    }

    fn taken(pending: &Pending) -> Vec<(UpdateType, String)> {
        let mut all = Vec::new();
        while let Some(found) = pending.next().now_or_never() {
            let version = |update: &Update| update.object.metadata.resource_version.clone().unwrap();
            all.extend(found.unwrap().iter().map(|Due { update, .. }| (update.update_type, version(update))));
        }
        all
    }

    #[test]
    fn the_newest_state_of_each_object_wins() {
        let pending = pending();
        for version in 1..1000 {
            pending.changed(&change(object("a", "u", version - 1), object("a", "u", version)));
        }
        pending.changed(&change(None, object("b", "v", 1)));
        pending.changed(&change(object("b", "v", 1), object("b", "v", 2)));
        assert_eq!(taken(&pending), [(Updated, "999".to_owned()), (Created, "2".to_owned())]);
    }

    #[test]
    fn what_came_and_went_meanwhile_is_not_sent() {
        let pending = pending();
        pending.changed(&change(None, object("a", "u", 1)));
        pending.changed(&change(object("a", "u", 1), None));
        pending.changed(&change(object("b", "u", 1), None));
        pending.changed(&change(None, object("b", "v", 3)));
        assert_eq!(taken(&pending), [(Deleted, "1".to_owned()), (Created, "3".to_owned())]);
    }

    #[test]
    fn a_new_secret_is_an_update_of_the_object() {
        let pending = pending();
        let known = object("a", "u", 1).unwrap();
        pending.secret_changed(&known, "creds", Some("7"));
        pending.secret_changed(&known, "creds", Some("8"));
        let due = pending.next().now_or_never().unwrap().unwrap().remove(0);
        assert_eq!(due.update.update_type, Updated);
        // What the sidecar was told of last counts, not what was there between.
        let expected = SecretsBefore::from([("creds".to_owned(), Some("7".to_owned()))]);
        assert_eq!(due.before.unwrap().secrets, expected);
        pending.secret_changed(&known, "creds", Some("9"));
        pending.changed(&change(Some(known), None));
        assert_eq!(taken(&pending), [(Deleted, "1".to_owned())]);
    }

    #[test]
    fn a_sidecar_too_far_behind_lists_anew() {
        let pending = pending();
        for number in 0..=OBJECTS_AT_MOST {
            pending.changed(&change(None, object(&format!("c-{number}"), "u", 1)));
        }
        assert_eq!(pending.next().now_or_never().unwrap().unwrap_err(), TooFarBehind);
    }
}
