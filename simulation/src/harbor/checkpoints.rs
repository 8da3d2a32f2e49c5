//! Prepares the servers with which schedules begin: what stands beside a Harbor, and a Harbor that has settled.

use std::time::Duration;

use vela_embedded::virtual_time::{self, EPOCH};
use vela_embedded::{Checkpoint, objects};

use super::calm::run_until_ready;
use super::cluster::{Cluster, collection};
use super::model::{self, NAMESPACE, Wish};
use crate::checkpoints::prepared;

/// Where schedules begin.
pub(crate) struct Checkpoints {
    /// What stands beside a Harbor.
    pub(super) fresh: Checkpoint,
    /// A Harbor that has settled, with its secrets.
    pub(super) settled: Checkpoint,
}

impl Checkpoints {
    /// Makes them.
    pub(crate) fn prepare() -> Result<Self, String> {
        let fresh = fresh()?;
        let settled = virtual_time::run(async {
            let mut cluster = Cluster::new(&fresh, None);
            cluster.network.open();
            cluster.start()?;
            cluster.create(&Wish::FIRST.harbor());
            run_until_ready(&mut cluster).await?;
            cluster.kill();
            Ok::<Checkpoint, String>(cluster.embedded.checkpoint())
        });
        let settled = settled.map_err(|error| error.to_string())??.moved_to(EPOCH);
        Ok(Self { fresh, settled })
    }
}

fn fresh() -> Result<Checkpoint, String> {
    let mut all = model::kinds()?;
    all.push(objects::namespace(NAMESPACE));
    all.extend(model::beside());
    all.extend(model::around());
    prepared(Duration::ZERO, all.into_iter().map(|object| (collection(&object), object)).collect())
}
