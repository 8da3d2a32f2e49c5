//! Shows the batches of a rollout anew until it rests: it has ended, or it waits for a person.

use std::time::Duration;

use serde_json::Value;
use vela_crds::AppRollout;
use vela_engine::rollout::rest::{doing, rest};
use vela_engine::rollout::steering::application_of;

use super::found::{API_VERSION, APPLICATION, find};
use super::show::batches;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::screen::Screen;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Show it until it rests, the time is up, or Ctrl-C.
pub(super) async fn watch(
    cluster: &Cluster,
    name: &str,
    timeout: Duration,
    screen: &mut Screen,
) -> Result<()> {
    let end = tokio::time::Instant::now() + timeout;
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let rollout = find(cluster, name).await?;
        let mut lines: Vec<String> = batches(&rollout).lines().map(str::to_owned).collect();
        lines.push(doing(&rollout));
        screen.progress(lines);
        if rest(&rollout).is_some() && is_observed(cluster, &rollout).await? {
            break;
        }
        if tokio::time::Instant::now() >= end {
            screen.settle();
            let message =
                format!("rollout {name} still moves after {} s: {}", timeout.as_secs(), doing(&rollout));
            return Err(Error::user(message)
                .hint("--timeout waits longer; the rollout goes on by itself")
                .into());
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = &mut interrupt => break,
        }
    }
    screen.settle();
    Ok(())
}

/// Does it know what is wanted of it? One that carries out the plan of an Application learns it from there.
async fn is_observed(cluster: &Cluster, rollout: &AppRollout) -> Result<bool> {
    let Some(name) = application_of(rollout) else { return Ok(true) };
    let Some(application) = cluster.get(API_VERSION, APPLICATION, None, name).await? else {
        return Ok(true);
    };
    let seen = application.data.pointer("/status/observedGeneration").and_then(Value::as_i64);
    Ok(seen >= application.metadata.generation)
}
