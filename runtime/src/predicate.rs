//! Changes of objects in → whether a watch cares; predicates are joined with `and`, `or` and `!`.
//!
//! Every predicate of this module lets creations and deletions pass unless its name says otherwise: what differs is asked
//! only of updates, as in controller-runtime.

use std::fmt;
use std::ops::Not;
use std::sync::Arc;

use kube::api::{DynamicObject, ObjectMeta};

use crate::cache::{Change, Informer};

/// Decides which changes of a watch wake a controller. It is asked for each change while the store waits, so it must be
/// quick; it never sees an object that the watch does not match.
#[derive(Clone)]
pub struct Predicate(Arc<dyn Fn(&Change) -> bool + Send + Sync>);

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predicate").finish_non_exhaustive()
    }
}

impl Predicate {
    /// A predicate of one's own.
    pub fn new(holds: impl Fn(&Change) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Asks the object as it is now, or as it was last known where it was deleted.
    pub fn object(holds: impl Fn(&DynamicObject) -> bool + Send + Sync + 'static) -> Self {
        Self::new(move |change| change.object().is_some_and(|object| holds(object)))
    }

    /// Objects that were not there before, and those that are there when the watch begins.
    pub fn created() -> Self {
        Self::new(|change| change.old.is_none() && change.new.is_some())
    }

    /// Objects that were there before and still are.
    pub fn updated() -> Self {
        Self::new(|change| change.old.is_some() && change.new.is_some())
    }

    /// Objects that are gone.
    pub fn deleted() -> Self {
        Self::new(|change| change.new.is_none())
    }

    /// The wanted state changed. A kind that does not count generations passes, since nothing tells its status apart; so
    /// does an object that another one of its name has replaced.
    pub fn generation_changed() -> Self {
        updates(|old, new| new.generation.is_none() || old.generation != new.generation || old.uid != new.uid)
    }

    /// The labels were changed.
    pub fn labels_changed() -> Self {
        updates(|old, new| old.labels != new.labels)
    }

    /// The annotations were changed.
    pub fn annotations_changed() -> Self {
        updates(|old, new| old.annotations != new.annotations)
    }

    /// A deletion was asked for, or a finalizer came or went.
    pub fn finalization_changed() -> Self {
        updates(|old, new| {
            old.deletion_timestamp != new.deletion_timestamp || old.finalizers != new.finalizers
        })
    }

    /// Anything but the status and the managed fields alone: what wakes the controller of a kind unless it is told
    /// otherwise ([`Controller::for_kind`](crate::Controller::for_kind)).
    pub fn status_aside() -> Self {
        Self::generation_changed()
            .or(Self::finalization_changed())
            .or(Self::labels_changed())
            .or(Self::annotations_changed())
    }

    /// Whether a change passes.
    pub fn holds(&self, change: &Change) -> bool {
        (self.0)(change)
    }

    /// Both pass; the second is asked only where the first does.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::new(move |change| self.holds(change) && other.holds(change))
    }

    /// One of them passes; the second is asked only where the first does not.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(move |change| self.holds(change) || other.holds(change))
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::new(move |change| !self.holds(change))
    }
}

/// True for what is no update, and for updates whose metadata differ so.
fn updates(differ: impl Fn(&ObjectMeta, &ObjectMeta) -> bool + Send + Sync + 'static) -> Predicate {
    Predicate::new(move |change| match (&change.old, &change.new) {
        (Some(old), Some(new)) => differ(&old.metadata, &new.metadata),
        _ => true,
    })
}

/// An informer, and which of its changes count: what a controller watches.
#[derive(Clone, Debug)]
pub struct Watched {
    pub(crate) informer: Arc<Informer>,
    pub(crate) predicate: Option<Predicate>,
}

impl From<&Arc<Informer>> for Watched {
    fn from(informer: &Arc<Informer>) -> Self {
        Self { informer: informer.clone(), predicate: None }
    }
}

impl Informer {
    /// This informer, for a controller that cares only for the changes that pass.
    #[must_use]
    pub fn only(self: &Arc<Self>, predicate: Predicate) -> Watched {
        Watched { informer: self.clone(), predicate: Some(predicate) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(metadata: Value) -> Arc<DynamicObject> {
        let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": metadata});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn update(old: Value, new: Value) -> Change {
        Change { old: Some(object(old)), new: Some(object(new)), initial: false }
    }

    #[test]
    fn a_new_generation_counts_and_a_new_status_does_not() {
        let counts = |old, new| Predicate::generation_changed().holds(&update(old, new));
        assert!(counts(json!({"generation": 1}), json!({"generation": 2})));
        assert!(!counts(json!({"generation": 1}), json!({"generation": 1, "resourceVersion": "9"})));
        assert!(counts(json!({"generation": 1, "uid": "a"}), json!({"generation": 1, "uid": "b"})));
        assert!(counts(json!({}), json!({"resourceVersion": "9"})), "a kind without generations");
    }

    #[test]
    fn metadata_that_people_write_count_each_for_itself() {
        let cases = [
            (Predicate::labels_changed(), json!({"labels": {"a": "b"}})),
            (Predicate::annotations_changed(), json!({"annotations": {"a": "b"}})),
            (Predicate::finalization_changed(), json!({"finalizers": ["a"]})),
            (Predicate::finalization_changed(), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
        ];
        for (predicate, mut metadata) in cases {
            assert!(!predicate.holds(&update(json!({}), json!({}))));
            assert!(predicate.holds(&update(json!({}), metadata.clone())), "{metadata}");
            metadata["generation"] = json!(1);
            assert!(Predicate::status_aside().holds(&update(json!({"generation": 1}), metadata)));
        }
        let status = update(json!({"generation": 1}), json!({"generation": 1, "resourceVersion": "9"}));
        assert!(!Predicate::status_aside().holds(&status));
    }

    #[test]
    fn what_came_or_went_passes_unless_it_is_asked_for() {
        let came = Change { old: None, new: Some(object(json!({}))), initial: true };
        let went = Change { old: Some(object(json!({}))), new: None, initial: false };
        for change in [&came, &went] {
            assert!(Predicate::status_aside().holds(change));
            assert!(!Predicate::updated().holds(change));
        }
        assert!(Predicate::created().holds(&came) && !Predicate::created().holds(&went));
        assert!(Predicate::deleted().holds(&went) && !Predicate::deleted().holds(&came));
    }

    #[test]
    fn predicates_are_joined_as_words_are() {
        let change = update(json!({"name": "a"}), json!({"name": "a"}));
        let named = |name: &'static str| Predicate::object(move |o| o.metadata.name.as_deref() == Some(name));
        for (predicate, holds) in [
            (named("a").and(named("a")), true),
            (named("a").and(named("b")), false),
            (named("b").or(named("a")), true),
            (named("b").or(named("c")), false),
            (!named("a"), false),
            (!named("b").and(named("a")), true),
            (named("a").and(!named("b").or(named("c"))), true),
        ] {
            assert_eq!(predicate.holds(&change), holds);
        }
    }

    #[test]
    fn the_second_is_asked_only_where_it_decides() {
        let change = update(json!({}), json!({}));
        let never = || Predicate::new(|_| panic!("this one is not asked"));
        assert!(Predicate::updated().or(never()).holds(&change));
        assert!(!Predicate::created().and(never()).holds(&change));
    }
}
