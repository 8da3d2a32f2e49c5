//! Moves kinds of withdrawn Kubernetes versions to the versions that followed, where the cluster serves only those.

use std::collections::BTreeSet;

use vela_engine::successor::{VersionKind, version};
use vela_engine::{Diagnostics, Graph};
use vela_runtime::discovery::Error;
use vela_runtime::{Discovery, Kind};

/// The kind in the version that followed a withdrawn one that the cluster does not serve; nothing where no version
/// followed or the cluster does not serve that one either.
pub(crate) async fn kind(
    discovery: &Discovery,
    api_version: &str,
    kind: &str,
) -> Result<Option<Kind>, Error> {
    let Some(next) = version(api_version, kind) else { return Ok(None) };
    match discovery.resolve(next, kind).await {
        Ok(found) => Ok(Some(found)),
        Err(Error::Unknown { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Those kinds of withdrawn versions that have to be written in the version that followed.
pub(crate) async fn not_served(
    discovery: &Discovery,
    withdrawn: BTreeSet<VersionKind>,
) -> Result<BTreeSet<VersionKind>, Error> {
    let mut not_served = BTreeSet::new();
    for (api_version, name) in withdrawn {
        match discovery.resolve(&api_version, &name).await {
            Ok(_) => {}
            Err(Error::Unknown { .. }) if kind(discovery, &api_version, &name).await?.is_some() => {
                not_served.insert((api_version, name));
            }
            // The apply says that the kind is unknown.
            Err(Error::Unknown { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(not_served)
}

/// Why a graph could not be written in the versions that the cluster serves.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessorError {
    /// The cluster does not tell what it serves.
    #[error(transparent)]
    Discovery(#[from] Error),
    /// An object cannot be written in the version that followed.
    #[error("{0}")]
    Object(Diagnostics),
}

/// The graph with its objects of versions that the cluster does not serve any more in the versions that followed.
pub(crate) async fn succeeded(discovery: &Discovery, graph: Graph) -> Result<Graph, SuccessorError> {
    let withdrawn = graph.rendered().withdrawn();
    if withdrawn.is_empty() {
        return Ok(graph);
    }
    let not_served = not_served(discovery, withdrawn).await?;
    graph.with_successors(&not_served).map_err(SuccessorError::Object)
}

/// The version in which a recorded object is found today. The next request reports a kind that the cluster cannot tell.
pub(crate) async fn address<'a>(discovery: &Discovery, api_version: &'a str, name: &str) -> &'a str {
    match version(api_version, name) {
        Some(next)
            if matches!(discovery.resolve(api_version, name).await, Err(Error::Unknown { .. }))
                && discovery.resolve(next, name).await.is_ok() =>
        {
            next
        }
        _ => api_version,
    }
}
