//! Prepares the servers with which schedules begin: what stands beside a Harbor, and a Harbor that has settled.

use http::Method;
use vela_apiserver::{ApiServer, Clock};
use vela_embedded::virtual_time::{self, EPOCH};
use vela_embedded::{Checkpoint, objects, send};

use super::calm::run_until_ready;
use super::cluster::{Cluster, collection};
use super::model::{self, NAMESPACE, Wish};

/// Turns in which the workload controllers have made what every namespace has.
const TURNS_BEFORE: usize = 10;

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
    let server = ApiServer::builder().build().map_err(|error| error.to_string())?;
    let server = server.fork(Clock::from_fn(|| EPOCH));
    let mut all = model::kinds()?;
    all.push(objects::namespace(NAMESPACE));
    all.extend(model::beside());
    for object in all {
        let answer = send(&server, Method::POST, &collection(&object), Some(&object));
        if !answer.0.is_success() {
            return Err(format!("cannot prepare the cluster: {}", answer.1));
        }
    }
    let mut workloads = server.manual_controllers().silent();
    for _ in 0..TURNS_BEFORE {
        workloads.turn();
    }
    Ok(Checkpoint::new(server, workloads, EPOCH))
}
