//! The store of the objects of one kind, by key and by the terms of an index.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kube::api::DynamicObject;

use crate::cache::Key;
use crate::packed::Packed;

/// Object → the terms by which an index finds it, like an IndexFunc of client-go.
pub(crate) type IndexFn = Arc<dyn Fn(&DynamicObject) -> Vec<String> + Send + Sync>;

/// Objects of one kind that are at hand as values: those that changed last, which are read again soon. The others are packed.
const UNPACKED_AT_MOST: usize = 256;

/// The objects of one kind, ordered, so that each reader walks through them in the same order every time.
#[derive(Default)]
pub(crate) struct Store {
    rows: BTreeMap<Key, Row>,
    /// The changes since which an object is not packed, oldest first; one counts while its object did not change again.
    changes: VecDeque<(u64, Key)>,
    sequence: u64,
    indices: Vec<Index>,
}

enum Row {
    /// With the number of its last change.
    Unpacked(Arc<DynamicObject>, u64),
    Packed(Packed),
}

impl Row {
    fn object(&self) -> Option<Arc<DynamicObject>> {
        match self {
            Self::Unpacked(object, _) => Some(object.clone()),
            Self::Packed(packed) => packed.unpack(),
        }
    }
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
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<DynamicObject>> {
        self.rows.get(key)?.object()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rows.keys()
    }

    /// Every object, in order.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Arc<DynamicObject>> {
        self.rows.values().filter_map(Row::object)
    }

    /// The objects of one namespace whose names begin like this, in order; no other object is looked at.
    pub(crate) fn prefixed(&self, namespace: &str, prefix: &str) -> Vec<Arc<DynamicObject>> {
        let first = Key::new(namespace, prefix);
        let inside = |key: &Key| key.namespace == namespace && key.name.starts_with(prefix);
        let found = self.rows.range(first..).take_while(|(key, _)| inside(key));
        found.filter_map(|(_, row)| row.object()).collect()
    }

    pub(crate) fn insert(&mut self, key: Key, object: Arc<DynamicObject>) -> Option<Arc<DynamicObject>> {
        let row = self.row(&key, object.clone());
        let old = self.rows.insert(key.clone(), row).and_then(|old| old.object());
        let same = old.as_ref().is_some_and(|old| old.data.get("spec") == object.data.get("spec"));
        for index in self.indices.iter_mut().filter(|index| !(same && index.of_spec)) {
            if let Some(old) = &old {
                index.remove(&key, old);
            }
            index.add(&key, &object);
        }
        self.pack();
        old
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<DynamicObject>> {
        let old = self.rows.remove(key)?.object()?;
        self.indices.iter_mut().for_each(|index| index.remove(key, &old));
        Some(old)
    }

    /// Put these in the place of all; the old ones come back.
    pub(crate) fn replace(
        &mut self,
        objects: BTreeMap<Key, Arc<DynamicObject>>,
    ) -> BTreeMap<Key, Arc<DynamicObject>> {
        for index in &mut self.indices {
            index.keys.clear();
            objects.iter().for_each(|(key, object)| index.add(key, object));
        }
        self.changes.clear();
        let old = std::mem::take(&mut self.rows);
        for (key, object) in objects {
            let row = self.row(&key, object);
            self.rows.insert(key, row);
            self.pack();
        }
        old.into_iter().filter_map(|(key, row)| Some((key, row.object()?))).collect()
    }

    /// An object that changed just now.
    fn row(&mut self, key: &Key, object: Arc<DynamicObject>) -> Row {
        self.sequence += 1;
        self.changes.push_back((self.sequence, key.clone()));
        Row::Unpacked(object, self.sequence)
    }

    /// Pack what has not changed for longest, where there is more than is to be at hand.
    fn pack(&mut self) {
        while self.changes.len() > UNPACKED_AT_MOST {
            let Some((change, key)) = self.changes.pop_front() else { return };
            let Some(row) = self.rows.get_mut(&key) else { continue };
            let packed = match row {
                Row::Unpacked(object, last) if *last == change => Packed::of(object),
                Row::Unpacked(..) | Row::Packed(_) => None,
            };
            if let Some(packed) = packed {
                *row = Row::Packed(packed);
            }
        }
    }

    /// Begin to find objects by these terms; the number says which index it is.
    pub(crate) fn index(&mut self, index_fn: IndexFn, of_spec: bool) -> usize {
        let mut index = Index { index_fn, of_spec, keys: BTreeMap::new() };
        for (key, row) in &self.rows {
            if let Some(object) = row.object() {
                index.add(key, &object);
            }
        }
        self.indices.push(index);
        self.indices.len() - 1
    }

    /// The objects with this term, in order.
    pub(crate) fn find(&self, index: usize, term: &str) -> Vec<Arc<DynamicObject>> {
        let keys = self.indices.get(index).and_then(|index| index.keys.get(term));
        keys.into_iter().flatten().filter_map(|key| self.get(key)).collect()
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

    fn is_packed(store: &Store, name: &str) -> bool {
        matches!(store.rows.get(&Key::new("a", name)), Some(Row::Packed(_)))
    }

    #[test]
    fn what_does_not_change_is_packed_and_reads_as_before() {
        let mut store = Store::default();
        let index_fn: IndexFn = Arc::new(|object| {
            let uses = object.data["uses"].as_array().cloned().unwrap_or_default();
            uses.iter().filter_map(|term| term.as_str().map(str::to_owned)).collect()
        });
        let index = store.index(index_fn, false);
        let name = |number: usize| format!("n{number:05}");
        let count = UNPACKED_AT_MOST * 3;
        for number in 0..count {
            let (key, object) = object(&name(number), &[&name(number % 2)]);
            store.insert(key, object);
            // This one changes all the time.
            let (key, object) = self::object("busy", &["x"]);
            store.insert(key, object);
        }
        assert!(is_packed(&store, &name(0)) && !is_packed(&store, "busy"));
        let unpacked = store.rows.values().filter(|row| matches!(row, Row::Unpacked(..))).count();
        assert!(unpacked <= UNPACKED_AT_MOST, "{unpacked}");
        assert_eq!(store.get(&Key::new("a", name(0))), Some(object(&name(0), &[&name(0)]).1));
        assert_eq!(store.find(index, &name(0)).len(), count.div_ceil(2));
        assert_eq!(store.prefixed("a", "n0000").len(), 10);
        let (key, changed) = object(&name(0), &["y"]);
        let old = store.insert(key.clone(), changed.clone());
        assert_eq!(
            old,
            Some(object(&name(0), &[&name(0)]).1),
            "who hears of the change hears what was before"
        );
        assert_eq!(store.find(index, &name(0)).len(), count.div_ceil(2) - 1);
        assert_eq!((store.remove(&key), store.get(&key)), (Some(changed), None));
        let fresh: BTreeMap<_, _> = store.objects().map(|object| (Key::of(&object), object)).collect();
        assert_eq!(store.replace(fresh.clone()), fresh);
        assert_eq!(store.keys().count(), fresh.len());
        assert!(store.objects().eq(fresh.into_values()));
    }
}
