//! Prepares the servers with which schedules begin: kinds and definitions, new or recorded by the controllers.

use std::time::Duration;

use http::Method;
use serde_json::Value;
use vela_apiserver::{ApiServer, Clock};
use vela_embedded::objects::{kinds, namespace};
use vela_embedded::virtual_time::{self, EPOCH};
use vela_embedded::{Checkpoint, EmbeddedCluster, send};

use crate::cluster::SimulatedCluster;
use crate::model::{self, Form, NAMESPACE, collection};
use crate::rollout::{self, RolloutCheckpoint};

/// How long before schedules begin the definitions were made and recorded.
const BEFORE: Duration = Duration::from_secs(3600);
/// Seconds that each controller has to record the definitions before schedules begin: a reconcile takes milliseconds.
const SECONDS_BEFORE: usize = 10;
/// Turns in which the workload controllers have made what every namespace has.
const TURNS_BEFORE: usize = 10;

/// All checkpoints.
pub(crate) struct Checkpoints {
    /// Kinds, namespace and definitions, never seen by our controllers.
    pub(crate) fresh: Checkpoint,
    /// The same after our controllers have recorded the definitions, so that a schedule is about its application.
    pub(crate) recorded: Checkpoint,
    /// Those of rollouts, where they are asked for.
    pub(crate) rollouts: Vec<RolloutCheckpoint>,
}

impl Checkpoints {
    /// Makes them.
    pub(crate) fn prepare(form: Option<Form>) -> Result<Self, String> {
        let fresh = fresh()?;
        let recorded = virtual_time::run(recorded(&fresh)).map_err(|error| error.to_string())??;
        let rollouts = match form.filter(|form| form.rolls()) {
            Some(form) => rollout::checkpoints(&recorded, form)?,
            None => Vec::new(),
        };
        Ok(Self { fresh, recorded, rollouts })
    }
}

/// Lets the controllers of both forms look at the fresh server until they have nothing to do.
async fn recorded(fresh: &Checkpoint) -> Result<Checkpoint, String> {
    let before = EmbeddedCluster::fork_at(fresh, EPOCH - BEFORE);
    let mut cluster = SimulatedCluster::new(before, Form::Application, 1, None);
    cluster.network.open();
    for form in [Form::Application, Form::Configuration] {
        cluster.form = form;
        cluster.start_all();
        for _ in 0..SECONDS_BEFORE {
            cluster.pass(Duration::from_secs(1)).await;
            cluster.turn();
        }
        cluster.kill(0);
    }
    let revisions = cluster.store().list("definitionrevisions.core.oam.dev", None).0;
    if revisions.len() < model::definitions().len() {
        return Err("cannot prepare the cluster: the definitions have no revisions".to_owned());
    }
    Ok(cluster.checkpoint().moved_to(EPOCH))
}

/// Kinds, namespaces, definitions.
fn fresh() -> Result<Checkpoint, String> {
    // Made at one moment of the simulated past: what schedules begin with is the same on every day.
    let mut objects = kinds()?;
    objects.extend([namespace(NAMESPACE), namespace("vela-system")]);
    objects.extend(model::definitions());
    let placed: Result<Vec<_>, _> =
        objects.into_iter().map(|object| Ok::<_, String>((collection(&object)?, object))).collect();
    prepared(BEFORE, placed?)
}

/// A cluster with these objects, each made in its collection so long before schedules begin, and what every namespace has.
pub(crate) fn prepared(before: Duration, objects: Vec<(String, Value)>) -> Result<Checkpoint, String> {
    let made = EPOCH - before;
    let server = ApiServer::builder().build().map_err(|error| error.to_string())?;
    let server = server.fork(Clock::from_fn(move || made));
    for (collection, object) in objects {
        let answer = send(&server, Method::POST, &collection, Some(&object));
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
