//! Confirms with reads past every cache that cached objects still ask for the same.
//!
//! A cache may be behind: a caller that deletes because of what an object no longer names asks here first. The proof
//! holds for the moment of the reads only, so it is asked for directly before the deletion.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};

use crate::cache::{Cache, Key};

/// Proof that the objects were read anew and still ask for the same; made nowhere else.
#[derive(Debug)]
pub struct Confirmed {
    _proof: (),
}

/// One object as a decision was made from it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its kind.
    pub resource: &'a ApiResource,
    /// The basis of the decision.
    pub object: &'a DynamicObject,
}

/// Read each object anew. Fields that the copies of this cache leave out do not count. Gives nothing when one of them is gone, is being deleted, or
/// asks for something else meanwhile: its watch will tell, and the decision is made anew.
///
/// # Errors
/// An object could not be read; nothing is known then.
pub async fn confirm(cache: &Cache, seen: &[Seen<'_>]) -> Result<Option<Confirmed>, kube::Error> {
    let reads = seen.iter().map(|seen| async move {
        let live = cache.read_anew(seen.resource, &Key::of(seen.object)).await?;
        let metadata = |object: &DynamicObject| cache.trimmed(seen.resource, object);
        let same = |live: DynamicObject| {
            same_spec(seen.object, &live) && same_metadata(&metadata(seen.object), &metadata(&live))
        };
        Ok::<bool, kube::Error>(live.is_some_and(same))
    });
    let stand: Vec<bool> = try_join_all(reads).await?;
    Ok(stand.into_iter().all(|stands| stands).then_some(Confirmed { _proof: () }))
}

/// The spec counts beside the generation, which counts from an earlier number again on a server that was restored from a backup.
fn same_spec(seen: &DynamicObject, live: &DynamicObject) -> bool {
    let spec = seen.data.get("spec");
    spec.is_none() || spec == live.data.get("spec")
}

/// Labels and annotations count, for controllers are steered by them; the status does not.
fn same_metadata(seen: &ObjectMeta, live: &ObjectMeta) -> bool {
    live.deletion_timestamp.is_none()
        && seen.uid == live.uid
        && seen.generation == live.generation
        && seen.labels == live.labels
        && all(seen.annotations.as_ref()) == all(live.annotations.as_ref())
}

/// A copy from which the last annotation was left out has none.
fn all(annotations: Option<&BTreeMap<String, String>>) -> Vec<(&String, &String)> {
    annotations.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn asks_the_same(seen: &DynamicObject, live: &DynamicObject) -> bool {
        same_spec(seen, live) && same_metadata(&seen.metadata, &live.metadata)
    }

    #[test]
    fn what_asks_for_something_else_is_not_the_same() {
        let object = |changed: Value| -> DynamicObject {
            let mut object =
                json!({"metadata": {"name": "web", "uid": "1", "generation": 2, "labels": {"a": "b"}}});
            for (field, value) in changed.as_object().into_iter().flatten() {
                object["metadata"][field] = value.clone();
            }
            serde_json::from_value(object).unwrap_or_else(|error| panic!("{error}"))
        };
        let seen = object(json!({}));
        assert!(asks_the_same(&seen, &object(json!({"resourceVersion": "7"}))));
        for changed in [
            json!({"uid": "2"}),
            json!({"generation": 3}),
            json!({"labels": {"a": "c"}}),
            json!({"annotations": {"a": "c"}}),
            json!({"deletionTimestamp": "2026-11-21T10:00:00Z"}),
        ] {
            assert!(!asks_the_same(&seen, &object(changed.clone())), "{changed}");
        }
        // One generation, and two specs: before a restore from a backup and after it.
        let with = |image: &str| {
            let mut object = seen.clone();
            object.data = json!({"spec": {"image": image}});
            object
        };
        assert!(asks_the_same(&with("a"), &with("a")));
        assert!(!asks_the_same(&with("a"), &with("b")) && !asks_the_same(&with("a"), &seen));
    }
}
