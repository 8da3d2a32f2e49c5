//! The definitions that are there: of the cluster, or built in.

use vela_engine::{ClusterVersion, Definition, Snapshot};

use super::stored;
use crate::args::{Global, WhichDefinitions};
use crate::error::Result;
use crate::offline;
use crate::offline::DEFINITION_KINDS;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

/// The definitions of the cluster, or the built-in ones.
pub(super) fn there(which: &WhichDefinitions, global: &Global, screen: &mut Screen) -> Result<Snapshot> {
    if which.offline {
        let reader = offline::built_in(ClusterVersion::newest(), &[])?;
        return block_on(async {
            let found = reader.all_definitions("default", &DEFINITION_KINDS).await;
            found.map_err(|error| offline::unread(None, error))
        });
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let found = async {
            let cluster = &session.cluster;
            let reader = offline::of_cluster(cluster, &[]).await?;
            let found = reader.all_definitions(cluster.namespace(), &DEFINITION_KINDS).await;
            found.map_err(|error| offline::unread(Some(cluster), error))
        }
        .await;
        session.close().await?;
        found
    })
}

/// Those of the type that is asked for.
pub(super) fn chosen<'a>(snapshot: &'a Snapshot, which: &WhichDefinitions) -> Vec<&'a Definition> {
    let wanted = which.type_.map(stored::kind);
    let all = snapshot.definitions().map(AsRef::as_ref);
    let mut chosen: Vec<&Definition> =
        all.filter(|one| wanted.is_none_or(|kind| one.kind() == kind)).collect();
    chosen.sort_by_key(|one| (one.kind().noun(), one.name()));
    chosen
}
