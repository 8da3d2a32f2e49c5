//! One object that the application only looks at → as it is in the cluster; never writes.

use std::sync::Arc;

use vela_runtime::apply::{self as runtime_apply, Outcome, describe};

use super::error::Error;
use super::write_result::Written;
use crate::application::desired::Piece;
use crate::application::inventory::Owned;
use crate::application::reconciler::ApplicationReconciler;
use crate::author::Actor;

/// Reads an object that a policy marks as read-only, regardless of its owner. It may lack the labels by which objects
/// are watched, so the server is asked.
pub(super) async fn look(
    reconciler: &ApplicationReconciler,
    acting: &Actor,
    piece: &Piece,
    owned: &Owned,
) -> Result<Written, Error> {
    let kind = reconciler.context.discovery.resolve(&owned.api_version, &owned.kind).await;
    let kind =
        kind.map_err(|source| runtime_apply::Error::Kind { object: describe(&piece.object), source })?;
    let found = kind.api(acting.client(), &owned.key.namespace).get_opt(&owned.key.name).await;
    let found =
        found.map_err(|source| runtime_apply::Error::Client { object: describe(&piece.object), source })?;
    Ok(match found {
        Some(live) => Written::Seen(runtime_apply::Applied {
            object: Arc::new(live),
            kind,
            outcome: Outcome::Unchanged,
        }),
        None => Written::NotYet(format!(
            "{} ({}) is marked as read-only but does not exist: make it, or take it out of the read-only policy",
            owned.kind, owned.key.name
        )),
    })
}
