//! The caller's observations in the cluster after applying: live objects and errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value as Json;

/// Identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// "" for the cluster that the application is in.
    pub cluster: String,
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// "" for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectKey {
    /// An object of the local cluster.
    pub fn local(
        api_version: impl Into<String>,
        kind: impl Into<String>,
        namespace: impl Into<String>,
        name: impl Into<String>,
    ) -> Self {
        Self {
            cluster: String::new(),
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The identity written in an object, which does not say in which cluster it is: the local one.
    pub fn of(object: &Json) -> Self {
        let text = |value: Option<&Json>| value.and_then(Json::as_str).unwrap_or("").to_owned();
        let metadata = object.get("metadata");
        Self::local(
            text(object.get("apiVersion")),
            text(object.get("kind")),
            text(metadata.and_then(|metadata| metadata.get("namespace"))),
            text(metadata.and_then(|metadata| metadata.get("name"))),
        )
    }

    /// The API group; "" for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }?;
        match self.cluster.as_str() {
            "" => Ok(()),
            cluster => write!(f, " in cluster {cluster}"),
        }
    }
}

/// Live objects of one application, and the error of each object that could not be applied.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    objects: BTreeMap<ObjectKey, Json>,
    errors: BTreeMap<ObjectKey, String>,
    refused: BTreeSet<ObjectKey>,
    left_away: BTreeSet<ObjectKey>,
}

impl Observed {
    /// No observation yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A live object of the local cluster.
    pub fn insert(&mut self, object: Json) {
        self.insert_named(ObjectKey::of(&object), object);
    }

    /// A live object under the name that the graph has for it.
    pub fn insert_named(&mut self, key: ObjectKey, object: Json) {
        self.objects.insert(key, object);
    }

    /// An object that could not be applied, and why.
    pub fn insert_error(&mut self, key: ObjectKey, error: impl Into<String>) {
        self.errors.insert(key, error.into());
    }

    /// An object that cannot be applied as it is, and why: another try of the same object ends alike.
    pub fn insert_refusal(&mut self, key: ObjectKey, error: impl Into<String>) {
        self.refused.insert(key.clone());
        self.insert_error(key, error);
    }

    /// Was it refused, so that only another manifest or right helps?
    pub fn is_refused(&self, key: &ObjectKey) -> bool {
        self.refused.contains(key)
    }

    /// An object that a user deleted and that a policy keeps from being made again.
    pub fn insert_left_away(&mut self, key: ObjectKey) {
        self.left_away.insert(key);
    }

    /// Did a user delete it, and does a policy keep it from being made again?
    pub fn is_left_away(&self, key: &ObjectKey) -> bool {
        self.left_away.contains(key)
    }

    /// The live object, if it was seen.
    pub fn object(&self, key: &ObjectKey) -> Option<&Json> {
        self.objects.get(key)
    }

    /// Why an object could not be applied.
    pub fn error(&self, key: &ObjectKey) -> Option<&str> {
        self.errors.get(key).map(String::as_str)
    }
}
