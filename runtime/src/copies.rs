//! Objects in → the same by key and by whatever terms a reader wants to find them by.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;

use crate::cache::Key;

/// The words by which an object can be found.
pub(crate) type Terms = Arc<dyn Fn(&DynamicObject) -> Vec<String> + Send + Sync>;

/// The objects of one kind, ordered, so that whoever walks through them does so in the same order every time.
#[derive(Default)]
pub(crate) struct Copies {
    rows: BTreeMap<Key, Arc<DynamicObject>>,
    indices: Vec<Index>,
}

struct Index {
    terms: Terms,
    /// The terms say what the spec says: while that is the same they are not asked again.
    of_spec: bool,
    places: BTreeMap<String, BTreeSet<Key>>,
}

impl Index {
    fn add(&mut self, key: &Key, object: &DynamicObject) {
        for term in (self.terms)(object) {
            self.places.entry(term).or_default().insert(key.clone());
        }
    }

    fn take(&mut self, key: &Key, object: &DynamicObject) {
        for term in (self.terms)(object) {
            if let Some(keys) = self.places.get_mut(&term) {
                keys.remove(key);
                if keys.is_empty() {
                    self.places.remove(&term);
                }
            }
        }
    }
}

impl Copies {
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
                index.take(&key, old);
            }
            index.add(&key, &object);
        }
        old
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<DynamicObject>> {
        let old = self.rows.remove(key)?;
        self.indices.iter_mut().for_each(|index| index.take(key, &old));
        Some(old)
    }

    /// Put these in the place of all; the old ones come back.
    pub(crate) fn replace(
        &mut self,
        rows: BTreeMap<Key, Arc<DynamicObject>>,
    ) -> BTreeMap<Key, Arc<DynamicObject>> {
        for index in &mut self.indices {
            index.places.clear();
            rows.iter().for_each(|(key, object)| index.add(key, object));
        }
        std::mem::replace(&mut self.rows, rows)
    }

    /// Begin to find objects by these terms; the number says which index it is.
    pub(crate) fn index(&mut self, terms: Terms, of_spec: bool) -> usize {
        let mut index = Index { terms, of_spec, places: BTreeMap::new() };
        self.rows.iter().for_each(|(key, object)| index.add(key, object));
        self.indices.push(index);
        self.indices.len() - 1
    }

    /// The objects with this term, in order.
    pub(crate) fn find(&self, index: usize, term: &str) -> Vec<Arc<DynamicObject>> {
        let keys = self.indices.get(index).and_then(|index| index.places.get(term));
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
        let mut copies = Copies::default();
        let (key, first) = object("one", &["x", "y"]);
        copies.insert(key.clone(), first);
        let terms: Terms = Arc::new(|object| {
            let uses = object.data["uses"].as_array().cloned().unwrap_or_default();
            uses.iter().filter_map(|term| term.as_str().map(str::to_owned)).collect()
        });
        let index = copies.index(terms, false);
        let found = |copies: &Copies, term: &str| {
            let found = copies.find(index, term);
            found.iter().map(|object| object.metadata.name.clone().unwrap()).collect::<Vec<_>>()
        };
        let (two, second) = object("two", &["y"]);
        copies.insert(two.clone(), second);
        assert_eq!(
            (found(&copies, "x"), found(&copies, "y")),
            (vec!["one".into()], vec!["one".into(), "two".into()])
        );
        copies.insert(key.clone(), object("one", &["z"]).1);
        assert_eq!((found(&copies, "x"), found(&copies, "z")), (vec![], vec!["one".into()]));
        copies.remove(&two);
        assert!(found(&copies, "y").is_empty());
        let old = copies.replace([object("three", &["x"])].into());
        assert_eq!(old.len(), 1);
        assert_eq!((found(&copies, "x"), found(&copies, "z")), (vec!["three".into()], vec![]));
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
        let mut copies = Copies::default();
        let terms = move |object: &DynamicObject| {
            count.fetch_add(1, Ordering::SeqCst);
            object.data["spec"]["image"].as_str().map(str::to_owned).into_iter().collect()
        };
        let index = copies.index(Arc::new(terms), true);
        for (image, status) in [("a", "1"), ("a", "2"), ("a", "3"), ("b", "3")] {
            let (key, object) = object(image, status);
            copies.insert(key, object);
        }
        // Once for the first, and for the change of the spec once with the old and once with the new one.
        assert_eq!(asked.load(Ordering::SeqCst), 3);
        assert_eq!((copies.find(index, "a").len(), copies.find(index, "b").len()), (0, 1));
        assert_eq!(copies.find(index, "b")[0].data["status"], "3");
    }
}
