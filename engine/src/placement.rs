//! Where the objects of a component go: a namespace of a cluster.

/// The cluster that the application itself is in, as policies and people name it.
pub const LOCAL: &str = "local";

/// A cluster and a namespace in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// The name of the cluster as the author wrote it; "" where none is named, which means [`LOCAL`].
    pub cluster: String,
    /// Every object with a namespace goes there; "" leaves each where its template puts it, or in the application's.
    pub namespace: String,
    /// Which of several copies of the component at one place it is; "" where there is one only.
    pub replica: String,
}

impl Placement {
    /// The place of a component of which there is one only.
    pub fn new(cluster: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { cluster: cluster.into(), namespace: namespace.into(), replica: String::new() }
    }

    /// Is it the same place, however its cluster was named?
    pub fn is_same_place(&self, other: &Self) -> bool {
        let Self { cluster, namespace, replica } = self;
        remote(cluster) == remote(&other.cluster)
            && *namespace == other.namespace
            && *replica == other.replica
    }
}

/// The cluster as keys and records carry it: "" for the local one, which needs no name.
pub(crate) fn remote(cluster: &str) -> &str {
    if cluster == LOCAL { "" } else { cluster }
}
