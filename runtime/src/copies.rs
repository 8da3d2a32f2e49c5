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
        for index in &mut self.indices {
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
    pub(crate) fn index(&mut self, terms: Terms) -> usize {
        let mut index = Index { terms, places: BTreeMap::new() };
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
        let index = copies.index(terms);
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
}
