//! Prepares where schedules of rollouts begin: recorded revisions, pods that run, rollouts half-way.
//!
//! A rollout without faults is taken apart: after each of its writes the cluster is kept, and schedules begin there.

use std::time::Duration;

use http::Method;
use serde_json::json;
use vela_embedded::{Checkpoint, virtual_time};

use super::manifests::{application, component, definition, object};
use super::plan::{Batch, Number, Plan};
use super::{APPLICATIONS, Kind, ROLLOUTS, SIZE};
use crate::cluster::SimulatedCluster;
use crate::model::{Form, NAMESPACE, path};

/// Steps of a calm run at most.
const STEPS_AT_MOST: usize = 4000;

/// Where schedules begin.
pub(crate) struct RolloutCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) kind: Kind,
    /// Is a rollout under way?
    pub(crate) rolls: bool,
}

/// All of them. Those without a rollout under way stand first of their kind.
pub(crate) fn checkpoints(recorded: &Checkpoint, form: Form) -> Result<Vec<RolloutCheckpoint>, String> {
    let mut all = Vec::new();
    for &kind in Kind::of(form) {
        let made = virtual_time::run(of_kind(recorded, kind)).map_err(|error| error.to_string())?;
        all.extend(made.map_err(|error| format!("cannot prepare rollouts of {kind:?}: {error}"))?);
    }
    Ok(all)
}

async fn of_kind(recorded: &Checkpoint, kind: Kind) -> Result<Vec<RolloutCheckpoint>, String> {
    let mut cluster = SimulatedCluster::calm(recorded, kind.form());
    cluster.start_all();
    cluster.make(&definition(kind))?;
    cluster.make(&application(kind, 1))?;
    for value in 1..=4 {
        let body = json!({"spec": {"components": [component(kind, value)]}});
        cluster.user(Method::PATCH, &path(APPLICATIONS, "shop"), Some(&body));
        let name = format!("shop-v{value}");
        calmly(&mut cluster, |_| (), |cluster| is_recorded(cluster, kind, &name)).await?;
    }
    let checkpoint = |cluster: &SimulatedCluster, rolls: bool| RolloutCheckpoint {
        checkpoint: cluster.checkpoint(),
        kind,
        rolls,
    };
    let stopped = checkpoint(&cluster, false);
    let scale = Plan {
        size: Some(SIZE),
        batches: vec![Batch { pods: Number::Percent(100), ..Batch::default() }],
        ..Plan::default()
    };
    let first = object(kind, "release", "shop-v1", None, &scale);
    cluster.user(Method::POST, &path(ROLLOUTS, ""), Some(&first));
    calmly(&mut cluster, |_| (), |cluster| state(cluster) == "rolloutSucceed").await?;
    cluster.user(Method::DELETE, &path(ROLLOUTS, "release"), None);
    calmly(
        &mut cluster,
        |_| (),
        |cluster| !exists(cluster, ROLLOUTS, "release") && is_settled(cluster, kind),
    )
    .await?;
    let running = checkpoint(&cluster, false);
    let mut all = Vec::new();
    for plan in plans(kind) {
        let mut cluster = SimulatedCluster::calm(&running.checkpoint, kind.form());
        cluster.start_all();
        let rollout = object(kind, "release", "shop-v2", Some("shop-v1"), &plan);
        cluster.user(Method::POST, &path(ROLLOUTS, ""), Some(&rollout));
        let keep = |cluster: &SimulatedCluster| all.push(checkpoint(cluster, true));
        calmly(&mut cluster, keep, |cluster| state(cluster) == "rolloutSucceed").await?;
        cluster.kill(0);
    }
    cluster.kill(0);
    all.insert(0, running);
    all.insert(1, stopped);
    Ok(all)
}

/// What is taken apart.
fn plans(kind: Kind) -> Vec<Plan> {
    let batches = |unavailable: i64| {
        let batch =
            |percent: i64| Batch { pods: Number::Percent(percent), unavailable: Number::Pods(unavailable) };
        [25, 25, 50].into_iter().map(batch).collect()
    };
    let increase = Plan { size: Some(SIZE), batches: batches(0), ..Plan::default() };
    let decrease = Plan { decreases_first: true, batches: batches(1), ..Plan::default() };
    match kind {
        Kind::Deployment | Kind::Configured => vec![increase, decrease],
        Kind::StatefulSet => vec![Plan { size: None, ..increase }],
    }
}

/// Everything goes on, one request or line at a time, until the condition holds; after each write the cluster is shown.
async fn calmly(
    cluster: &mut SimulatedCluster,
    mut written: impl FnMut(&SimulatedCluster),
    until: impl Fn(&SimulatedCluster) -> bool,
) -> Result<(), String> {
    for _ in 0..STEPS_AT_MOST {
        cluster.settle_step().await;
        if until(cluster) {
            return Ok(());
        }
        let asked = cluster.network.lock().pending.iter().map(|(id, asked)| (*id, asked.writes())).next();
        if let Some((id, writes)) = asked {
            cluster.network.pass(id);
            cluster.network.lock().performed.clear();
            if writes {
                written(cluster);
            }
            continue;
        }
        if !cluster.network.watches.deliver_all() {
            cluster.turn();
            cluster.pass(Duration::from_millis(50)).await;
        }
    }
    Err("the calm run does not end".to_owned())
}

fn exists(cluster: &SimulatedCluster, resource: &str, name: &str) -> bool {
    cluster.store().find(resource, NAMESPACE, name).is_some()
}

/// Can a rollout go to this revision? A configuration is applied, or waits for one.
fn is_recorded(cluster: &SimulatedCluster, kind: Kind, name: &str) -> bool {
    let Some(found) = cluster.store().find(kind.revisions(), NAMESPACE, name) else { return false };
    let waits = found["status"]["rollingStatus"] == "RollingTemplated";
    kind != Kind::Configured
        || waits
        || name == "shop-v1" && exists(cluster, kind.resource(), &kind.workload(name))
}

fn state(cluster: &SimulatedCluster) -> String {
    let found = cluster.store().find(ROLLOUTS, NAMESPACE, "release");
    found.and_then(|found| found["status"]["rollingState"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn is_settled(cluster: &SimulatedCluster, kind: Kind) -> bool {
    let name = kind.workload("shop-v1");
    let found = cluster.store().find(kind.resource(), NAMESPACE, &name);
    found.is_some_and(|found| found["status"]["readyReplicas"] == SIZE)
}
