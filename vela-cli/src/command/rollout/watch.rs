//! A rollout that moves → its batches, shown anew until it rests: it has ended, or it waits for a person.

use std::time::Duration;

use vela_engine::rollout::rest::{doing, rest};

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
        let rollout = super::find(cluster, name).await?;
        let mut lines: Vec<String> = super::batches(&rollout).lines().map(str::to_owned).collect();
        lines.push(doing(&rollout));
        screen.progress(lines);
        if rest(&rollout).is_some() {
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
