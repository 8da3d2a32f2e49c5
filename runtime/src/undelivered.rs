//! Changes that the store knows from the answers of our own writes, and that handlers must still be told when a list
//! brings no news of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;

use crate::cache::{Change, Key, version_of};

/// The objects as handlers saw them last, where the store is ahead of that. A watch brings each of these changes and
/// takes it off; when the watch is lost, the new list equals the store, and only this map tells that a handler still
/// waits.
#[derive(Default)]
pub(crate) struct Undelivered {
    seen: BTreeMap<Key, Option<Arc<DynamicObject>>>,
}

impl Undelivered {
    /// The answer of a write puts the store ahead of what handlers know of this key.
    pub(crate) fn record_write(&mut self, key: Key, before: Option<Arc<DynamicObject>>) {
        // Of several writes the first one replaced what handlers know.
        self.seen.entry(key).or_insert(before);
    }

    /// Handlers are about to be told of this state; out comes what they knew before, which is the store where it was not
    /// ahead. A handler that compared with an answer of our own write would miss the very change that write made.
    pub(crate) fn deliver(
        &mut self,
        key: &Key,
        delivered: Option<&Arc<DynamicObject>>,
        copy: Option<Arc<DynamicObject>>,
    ) -> Option<Arc<DynamicObject>> {
        let Some(before) = self.seen.remove(key) else { return copy };
        if let (Some(delivered), Some(copy)) = (delivered, &copy)
            && version_of(copy) > version_of(delivered)
        {
            self.seen.insert(key.clone(), Some(delivered.clone()));
        }
        before
    }

    /// The changes that a whole list means for handlers: first the objects that we wrote and another client has changed
    /// since, then the list in the order of the keys; afterwards nothing is undelivered. Where the server was set back,
    /// one version may mean two contents.
    pub(crate) fn changes(
        &mut self,
        fresh: &BTreeMap<Key, Arc<DynamicObject>>,
        mut known: BTreeMap<Key, Arc<DynamicObject>>,
        initial: bool,
        is_set_back: bool,
    ) -> Vec<Change> {
        let version = |object: &DynamicObject| object.metadata.resource_version.clone();
        let mut changes = Vec::with_capacity(fresh.len());
        for (key, seen) in std::mem::take(&mut self.seen) {
            let copy = match fresh.get(&key) {
                Some(new) => known.remove(&key).filter(|copy| version(copy) != version(new)),
                // The author of the object reads it in the store and has to hear that it is gone.
                None => None,
            };
            if let Some(copy) = copy {
                // Two steps, as a watch brings them: a handler that compares would not see who took back what we wrote.
                changes.push(Change { old: seen, new: Some(copy.clone()), initial });
                known.insert(key, copy);
            } else if let Some(seen) = seen {
                known.insert(key, seen);
            }
        }
        for (key, new) in fresh {
            let old = known.remove(key);
            let differs = |old: &Arc<DynamicObject>| {
                version(old) != version(new) || (is_set_back && old.as_ref() != new.as_ref())
            };
            if old.as_ref().is_none_or(differs) {
                changes.push(Change { old, new: Some(new.clone()), initial });
            }
        }
        // Objects that the new list lacks were deleted while the watch was away.
        changes.extend(known.into_values().map(|old| Change { old: Some(old), new: None, initial: false }));
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use kube::api::ApiResource;
    use serde_json::json;

    use super::*;
    use crate::cache::{Informer, Watch};

    fn object(version: &str) -> DynamicObject {
        let metadata = json!({"name": "a", "namespace": "b", "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    /// An informer whose handler writes down the version before and after each change.
    struct RecordingInformer {
        informer: Informer,
        changes: Arc<Mutex<Vec<(String, String)>>>,
    }

    impl RecordingInformer {
        fn new() -> Self {
            let resource = ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
            let informer = Informer::new(Watch::full(resource));
            let changes = Arc::<Mutex<Vec<_>>>::default();
            let recorder = changes.clone();
            let version = |object: &Option<Arc<DynamicObject>>| {
                let version = object.as_ref().and_then(|object| object.metadata.resource_version.clone());
                version.unwrap_or_default()
            };
            informer.on_change(Arc::new(move |change| {
                let recorded = (version(&change.old), version(&change.new));
                recorder.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
            }));
            Self { informer, changes }
        }

        fn list(&self, version: Option<&str>) {
            self.informer.list_started();
            version.into_iter().for_each(|version| self.informer.listed(object(version)));
            self.informer.list_finished();
        }

        #[track_caller]
        fn assert_changes(&self, wanted: &[(&str, &str)]) {
            let recorded = std::mem::take(&mut *self.changes.lock().unwrap());
            let recorded: Vec<_> = recorded.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
            assert_eq!(recorded, wanted);
        }
    }

    #[test]
    fn a_list_equal_to_our_own_write_is_news_to_handlers() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("1"));
        recorded.assert_changes(&[("", "1")]);
        recorded.informer.observe(object("2"));
        recorded.informer.observe(object("3"));
        recorded.assert_changes(&[]);
        recorded.list(Some("3"));
        recorded.assert_changes(&[("1", "3")]);
        recorded.list(Some("3"));
        recorded.assert_changes(&[]);
    }

    #[test]
    fn a_later_foreign_change_is_compared_with_our_write() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("1"));
        recorded.informer.observe(object("2"));
        recorded.list(Some("3"));
        recorded.assert_changes(&[("", "1"), ("1", "2"), ("2", "3")]);
        recorded.list(Some("3"));
        recorded.assert_changes(&[]);
    }

    #[test]
    fn what_the_watch_brought_is_no_news_in_a_list() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("1"));
        recorded.informer.observe(object("3"));
        recorded.informer.changed(object("2"));
        recorded.informer.changed(object("3"));
        recorded.assert_changes(&[("", "1"), ("1", "2"), ("2", "3")]);
        recorded.list(Some("3"));
        recorded.assert_changes(&[]);
    }

    #[test]
    fn a_watch_behind_our_own_write_still_tells_the_state_before() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("1"));
        recorded.informer.observe(object("2"));
        recorded.informer.changed(object("2"));
        recorded.informer.changed(object("3"));
        recorded.assert_changes(&[("", "1"), ("1", "2"), ("2", "3")]);
        recorded.informer.forget(&Key::of(&object("3")));
        recorded.informer.deleted(&object("4"));
        recorded.informer.observe(object("6"));
        recorded.informer.changed(object("6"));
        recorded.assert_changes(&[("3", ""), ("", "6")]);
    }

    #[test]
    fn a_list_tells_of_the_end_of_what_we_deleted_ourselves() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("1"));
        recorded.informer.forget(&Key::of(&object("1")));
        recorded.list(None);
        recorded.assert_changes(&[("", "1"), ("1", "")]);
        // No handler heard of the object that came and went.
        recorded.informer.observe(object("2"));
        recorded.informer.forget(&Key::of(&object("2")));
        recorded.list(None);
        recorded.assert_changes(&[]);
    }

    #[test]
    fn a_server_that_was_set_back_is_believed_from_its_list_on() {
        let recorded = RecordingInformer::new();
        recorded.list(Some("7"));
        recorded.informer.changed(object("9"));
        recorded.assert_changes(&[("", "7"), ("7", "9")]);
        recorded.informer.set_back();
        recorded.list(Some("5"));
        recorded.assert_changes(&[("9", "5")]);
        // Answers of our own writes are read from the store again, though the watch had passed their versions before.
        recorded.informer.observe(object("6"));
        let key = Key::of(&object("6"));
        let copy = recorded.informer.get(&key).and_then(|copy| copy.metadata.resource_version.clone());
        assert_eq!(copy.as_deref(), Some("6"));
        recorded.informer.changed(object("6"));
        recorded.assert_changes(&[("5", "6")]);
        // The same version, and another content.
        recorded.informer.set_back();
        recorded.informer.list_started();
        let mut other = object("6");
        other.data = json!({"data": {"is": "another"}});
        recorded.informer.listed(other);
        recorded.informer.list_finished();
        recorded.assert_changes(&[("6", "6")]);
    }

    #[test]
    fn a_list_tells_of_the_end_of_an_object_that_no_watch_showed() {
        let recorded = RecordingInformer::new();
        recorded.list(None);
        recorded.informer.observe(object("2"));
        recorded.list(None);
        recorded.assert_changes(&[("2", "")]);
        recorded.list(None);
        recorded.assert_changes(&[]);
    }
}
