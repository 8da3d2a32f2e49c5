//! Objects of the cluster that a component refers to, and what a cluster has of them: what is asked for, and what is answered.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// More objects are not taken of one reference.
pub const SELECTED_AT_MOST: usize = 500;

/// More URLs are not read for one component, and for one application: each is a request.
pub const URLS_AT_MOST: usize = 5;

/// Bytes that one URL may answer: its objects stay in the memory of a controller.
pub const MANIFEST_BYTES_AT_MOST: usize = 2 << 20;

/// How a reference names the kind of its objects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferencedKind {
    /// The plural or singular of a resource, and its group; any group where that is nothing.
    Resource(String, Option<String>),
    /// `apiVersion` and `kind`.
    Kind(String, String),
}

/// Objects of the cluster that a component refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Which kind they are.
    pub kind: ReferencedKind,
    /// The namespace in which they are, where their kind has namespaces.
    pub namespace: String,
    /// The name of the one that is meant; empty where labels select.
    pub name: String,
    /// They have all of these labels.
    pub labels: BTreeMap<String, String>,
}

/// What the cluster has of a reference.
#[derive(Debug, Clone, PartialEq)]
pub enum Referenced {
    /// There is no such kind.
    UnknownKind,
    /// The application may not read them: what is wrong, and what to do.
    Refused(String, String),
    /// They are there, and may not be read for a preview.
    Withheld,
    /// They are more than [`SELECTED_AT_MOST`].
    TooMany,
    /// The objects; none where there are none.
    Objects(Vec<Json>),
}

/// The public part of a URL: a query may hold a key, and so may a user in the address.
pub fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            format!("{scheme}://{}/{path}", authority.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            ReferencedKind::Resource(resource, None) => write!(f, "{resource} "),
            ReferencedKind::Resource(resource, Some(group)) => write!(f, "{resource}.{group} "),
            ReferencedKind::Kind(_, kind) => write!(f, "{kind} "),
        }?;
        if self.labels.is_empty() {
            return write!(f, "{}/{}", self.namespace, self.name);
        }
        let labels: Vec<String> = self.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        write!(f, "in {} with the labels {}", self.namespace, labels.join(","))
    }
}
