//! The watched kind, the names of its objects, and a change of one, as handlers see it.

use std::fmt;
use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};

/// Namespace and name of an object; the namespace of a cluster-scoped object is empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The namespace, or nothing for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// A key from its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self {
            namespace: object.metadata.namespace.clone().unwrap_or_default(),
            name: object.metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// How much of each object a watch keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// The whole object without its managed fields.
    Full,
    /// Names, labels, annotations and owners only: enough to wait on a kind or to wake its owner.
    Metadata,
}

/// The selection of a watch; two equal ones share one watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    /// The kind.
    pub resource: ApiResource,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects this label selector matches.
    pub labels: Option<String>,
    /// How much to keep.
    pub depth: Depth,
}

impl Watch {
    /// Every object of the kind, whole.
    pub fn full(resource: ApiResource) -> Self {
        Self { resource, namespace: None, labels: None, depth: Depth::Full }
    }

    /// Every object of the kind, metadata only.
    pub fn metadata(resource: ApiResource) -> Self {
        Self { resource, namespace: None, labels: None, depth: Depth::Metadata }
    }

    /// Only objects the selector matches.
    #[must_use]
    pub fn labelled(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }
}

/// A change of one object, as handlers see it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object before, if it was known.
    pub old: Option<Arc<DynamicObject>>,
    /// The object now; absent when it was deleted.
    pub new: Option<Arc<DynamicObject>>,
    /// True while the change only reports what already existed when the watch began.
    pub initial: bool,
}

impl Change {
    /// The object now, or the last one known.
    pub fn object(&self) -> Option<&Arc<DynamicObject>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

/// Called for each change, in order; must be quick and must not block (it usually adds a key to a queue).
pub type Handler = Arc<dyn Fn(&Change) + Send + Sync>;

/// A resource version as a number; versions of one kind are ordered. Anything else counts as oldest.
pub fn version_of(object: &DynamicObject) -> u64 {
    object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}
