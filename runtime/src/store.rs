//! The store of the objects of one kind, by key and by the terms of an index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;

use crate::cache::Key;

/// Object → the terms by which an index finds it, like an IndexFunc of client-go.
pub(crate) type IndexFn = Arc<dyn Fn(&DynamicObject) -> Vec<String> + Send + Sync>;

/// The objects of one kind, ordered, so that whoever walks through them does so in the same order every time.
#[derive(Default)]
pub(crate) struct Store {
    rows: BTreeMap<Key, Arc<DynamicObject>>,
    indices: Vec<Index>,
}

struct Index {
    index_fn: IndexFn,
    /// The terms say what the spec says: while that is the same they are not asked again.
    of_spec: bool,
    keys: BTreeMap<String, BTreeSet<Key>>,
}

impl Index {
    fn add(&mut self, key: &Key, object: &DynamicObject) {
        for term in (self.index_fn)(object) {
            self.keys.entry(term).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &Key, object: &DynamicObject) {
        for term in (self.index_fn)(object) {
            if let Some(keys) = self.keys.get_mut(&term) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(&term);
                }
            }
        }
    }
}

impl Store {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<DynamicObject>> {
        self.rows.get(key)
    }

    pub(crate) fn rows(&self) -> &BTreeMap<Key, Arc<DynamicObject>> {
        &self.rows
    }

    pub(crate) fn insert(&mut self, key: Key, object: Arc<DynamicObject>) -> Option<Arc<DynamicObject>> {
        let old = self.rows.insert(key.clone(), object.clone());
        let same = old.as_ref().is_some_and(|old| old.data.get("spec") == object.data.get("spec"));
        for index in self.indices.iter_mut().filter(|index| !(same && index.of_spec)) {
            if let Some(old) = &old {
                index.remove(&key, old);
            }
            index.add(&key, &object);
        }
        old
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<DynamicObject>> {
        let old = self.rows.remove(key)?;
        self.indices.iter_mut().for_each(|index| index.remove(key, &old));
        Some(old)
    }

    /// Put these in the place of all; the old ones come back.
    pub(crate) fn replace(
        &mut self,
        rows: BTreeMap<Key, Arc<DynamicObject>>,
    ) -> BTreeMap<Key, Arc<DynamicObject>> {
        for index in &mut self.indices {
            index.keys.clear();
            rows.iter().for_each(|(key, object)| index.add(key, object));
        }
        std::mem::replace(&mut self.rows, rows)
    }

    /// Begin to find objects by these terms; the number says which index it is.
    pub(crate) fn index(&mut self, index_fn: IndexFn, of_spec: bool) -> usize {
        let mut index = Index { index_fn, of_spec, keys: BTreeMap::new() };
        self.rows.iter().for_each(|(key, object)| index.add(key, object));
        self.indices.push(index);
        self.indices.len() - 1
    }

    /// The objects with this term, in order.
    pub(crate) fn find(&self, index: usize, term: &str) -> Vec<Arc<DynamicObject>> {
        let keys = self.indices.get(index).and_then(|index| index.keys.get(term));
        keys.into_iter().flatten().filter_map(|key| self.rows.get(key).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, uses: &[&str]) -> (Key, Arc<DynamicObject>) {
        let object = json!({"metadata": {"name": name, "namespace": "a"}, "uses": uses});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        (Key::of(&object), Arc::new(object))
    }

    #[test]
    fn terms_follow_every_change() {
        let mut store = Store::default();
        let (key, first) = object("one", &["x", "y"]);
        store.insert(key.clone(), first);
        let index_fn: IndexFn = Arc::new(|object| {
            let uses = object.data["uses"].as_array().cloned().unwrap_or_default();
            uses.iter().filter_map(|term| term.as_str().map(str::to_owned)).collect()
        });
        let index = store.index(index_fn, false);
        let found = |store: &Store, term: &str| {
            let found = store.find(index, term);
            found.iter().map(|object| object.metadata.name.clone().unwrap()).collect::<Vec<_>>()
        };
        let (two, second) = object("two", &["y"]);
        store.insert(two.clone(), second);
        assert_eq!(
            (found(&store, "x"), found(&store, "y")),
            (vec!["one".into()], vec!["one".into(), "two".into()])
        );
        store.insert(key.clone(), object("one", &["z"]).1);
        assert_eq!((found(&store, "x"), found(&store, "z")), (vec![], vec!["one".into()]));
        store.remove(&two);
        assert!(found(&store, "y").is_empty());
        let old = store.replace([object("three", &["x"])].into());
        assert_eq!(old.len(), 1);
        assert_eq!((found(&store, "x"), found(&store, "z")), (vec!["three".into()], vec![]));
    }

    #[test]
    fn terms_of_a_spec_are_asked_again_only_when_it_changes() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let object = |image: &str, status: &str| {
            let object = json!({"metadata": {"name": "one"}, "spec": {"image": image}, "status": status});
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            (Key::of(&object), Arc::new(object))
        };
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let mut store = Store::default();
        let index_fn = move |object: &DynamicObject| {
            count.fetch_add(1, Ordering::SeqCst);
            object.data["spec"]["image"].as_str().map(str::to_owned).into_iter().collect()
        };
        let index = store.index(Arc::new(index_fn), true);
        for (image, status) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "3")] {
            let (key, object) = object(image, status);
            store.insert(key, object);
        }
        // Once for the first, and for the change of the spec once with the old and once with the new one.
        assert_eq!(asked.load(Ordering::SeqCst), 3);
        assert_eq!((store.find(index, "a").len(), store.find(index, "b").len()), (0, 1));
        assert_eq!(store.find(index, "b")[0].data["status"], "3");
    }
}
