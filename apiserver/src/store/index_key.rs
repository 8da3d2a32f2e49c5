//! An object in → the keys by which it is found again without a look at all others.

use serde_json::Value;

/// The keys of an object beside its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexKey {
    /// It names the object of this uid among its owners.
    Owner(String),
    /// A pod of this namespace with this label.
    Label(String, String, String),
    /// A service of this namespace whose selector begins with this label; a pod has the first label of every
    /// selector that matches it.
    Selector(String, String, String),
    /// A service with this cluster address.
    ClusterIp(String),
    /// A service with this port on every node.
    NodePort(i64),
}

/// Every key of an object of `resource`.
pub fn index_keys(resource: &str, object: &Value) -> Vec<IndexKey> {
    let mut out: Vec<IndexKey> = list(object, "/metadata/ownerReferences")
        .filter_map(|owner| owner["uid"].as_str())
        .map(|uid| IndexKey::Owner(uid.to_owned()))
        .collect();
    let namespace = || text(object, "/metadata/namespace").to_owned();
    match resource {
        "pods" => {
            let labels = pairs(object, "/metadata/labels");
            out.extend(labels.map(|(name, value)| IndexKey::Label(namespace(), name, value)));
        }
        "services" => {
            let first = pairs(object, "/spec/selector").next();
            out.extend(first.map(|(name, value)| IndexKey::Selector(namespace(), name, value)));
            let address = text(object, "/spec/clusterIP");
            out.extend(
                Some(address)
                    .filter(|address| !address.is_empty())
                    .map(|a| IndexKey::ClusterIp(a.to_owned())),
            );
            out.extend(
                list(object, "/spec/ports")
                    .filter_map(|port| port["nodePort"].as_i64())
                    .map(IndexKey::NodePort),
            );
        }
        _ => {}
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn pairs<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = (String, String)> + 'a {
    let map = object.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    map.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_has_the_marks_it_is_looked_up_by() {
        let owned = json!({"metadata": {"namespace": "a", "labels": {"x": "y"}, "ownerReferences": [{"uid": "u"}, {"uid": "u"}]}});
        let owner = IndexKey::Owner("u".into());
        assert_eq!(index_keys("secrets", &owned), std::slice::from_ref(&owner));
        assert_eq!(index_keys("pods", &owned), [owner, IndexKey::Label("a".into(), "x".into(), "y".into())]);
        let service = json!({"metadata": {"namespace": "a"}, "spec": {
            "selector": {"b": "2", "a": "1"}, "clusterIP": "10.0.0.1", "ports": [{"nodePort": 30000}, {"port": 1}],
        }});
        let expected = [
            IndexKey::Selector("a".into(), "a".into(), "1".into()),
            IndexKey::ClusterIp("10.0.0.1".into()),
            IndexKey::NodePort(30000),
        ];
        assert_eq!(index_keys("services", &service), expected);
    }

    #[test]
    fn a_store_finds_by_marks_what_is_there_now() {
        use crate::store::{Change, Key, Precondition, Store};
        let store = Store::memory();
        let key = |name: &str| Key { resource: "pods".into(), namespace: "a".into(), name: name.into() };
        let pod = |label: &str| json!({"metadata": {"namespace": "a", "labels": {"app": label}}});
        let found = |store: &Store, label: &str| {
            let index_key = IndexKey::Label("a".into(), "app".into(), label.into());
            let revisions =
                store.indexed("pods", &index_key).iter().map(|entry| entry.revision()).collect::<Vec<_>>();
            assert_eq!(store.has("pods", &index_key), !revisions.is_empty());
            revisions
        };
        let one = store.write(&key("one"), Precondition::Absent, Change::Put(pod("x"))).unwrap().revision();
        let two = store.write(&key("two"), Precondition::Absent, Change::Put(pod("x"))).unwrap().revision();
        assert_eq!(found(&store, "x"), [one, two]);
        let fork = store.fork();
        let moved =
            store.write(&key("one"), Precondition::Revision(one), Change::Put(pod("y"))).unwrap().revision();
        assert_eq!((found(&store, "x"), found(&store, "y")), (vec![two], vec![moved]));
        store.write(&key("two"), Precondition::Revision(two), Change::Delete).unwrap();
        assert!(found(&store, "x").is_empty());
        assert_eq!(found(&fork, "x"), [one, two]);
    }

    #[test]
    fn old_states_are_kept_as_text_and_read_the_same() {
        use crate::store::{Change, Key, Precondition, Store};
        const WRITES: u64 = 600;
        let store = Store::memory();
        let key = Key { resource: "configmaps".into(), namespace: "a".into(), name: "one".into() };
        let mut last = None;
        for number in 0..WRITES {
            let expect = last.map_or(Precondition::Absent, Precondition::Revision);
            let change = Change::Put(json!({"metadata": {}, "data": {"number": number}}));
            last = Some(store.write(&key, expect, change).unwrap().revision());
        }
        let (events, _) = store.events_after("configmaps", 1, 1000).unwrap();
        for (number, event) in (0..WRITES).zip(&events) {
            assert_eq!(event.entry["data"]["number"], number);
            assert_eq!(event.entry["metadata"]["resourceVersion"], event.revision.to_string());
            let before = event.previous.as_ref().map(|before| before["data"]["number"].clone());
            assert_eq!(before, number.checked_sub(1).map(Into::into));
        }
        assert_eq!(events.len() as u64, WRITES);
    }

    #[test]
    fn objects_at_rest_are_kept_as_text_and_read_the_same() {
        use std::sync::Arc;

        use crate::store::{Change, Key, Precondition, Store};
        const OBJECTS: u64 = 600;
        let store = Store::memory();
        let key = |number: u64| Key {
            resource: "configmaps".into(),
            namespace: "a".into(),
            name: format!("m{number:03}"),
        };
        let object = |number: u64| json!({"apiVersion": "v1", "metadata": {}, "data": {"number": number}});
        for number in 0..OBJECTS {
            store.write(&key(number), Precondition::Absent, Change::Put(object(number))).unwrap();
        }
        let (rows, _) = store.list("configmaps", Some("a"));
        let resting = rows.iter().filter(|entry| entry.is_text()).count();
        assert!(resting > 300 && resting < 600, "{resting} of {OBJECTS} rest");
        for (number, row) in (0..OBJECTS).zip(&rows) {
            assert!(row.is_of("v1") && !row.is_of("v") && !row.is_of("v1beta1"));
            assert_eq!(row.shared()["data"]["number"], number);
            assert_eq!(row.opened()["data"]["number"], number);
            assert_eq!(store.get(&key(number)).unwrap()["data"]["number"], number);
        }
        // Reading has changed nothing.
        assert_eq!(rows.iter().filter(|entry| entry.is_text()).count(), resting);
        let first = store.get(&key(0)).unwrap();
        assert!(first.opened().shared().is_object() && !first.is_text());
        let expect = Precondition::Revision(first.revision());
        let changed = store.write(&key(0), expect, Change::Put(object(7))).unwrap();
        assert!(Arc::ptr_eq(&store.get(&key(0)).unwrap(), &changed));
        store.write(&key(1), Precondition::Revision(rows[1].revision()), Change::Delete).unwrap();
        assert!(store.get(&key(1)).is_none());
        assert_eq!(store.list_at("configmaps", None, rows[599].revision()).unwrap().len(), 600);
    }
}
