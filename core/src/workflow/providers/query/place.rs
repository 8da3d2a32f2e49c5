//! The cluster that a call names: only one is reached.

use vela_engine::LOCAL;

use super::super::provider::{Asked, Called};

/// Why a call that names another cluster is not answered.
pub(super) fn elsewhere(asked: &Asked<'_>) -> Option<Called> {
    let cluster = asked.text("cluster");
    (!["", LOCAL].contains(&cluster))
        .then(|| asked.broken(format!("cluster {cluster} is not reached: only the local one is")))
}
