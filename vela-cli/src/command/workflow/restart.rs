//! Runs a workflow anew: from its beginning, or from a step that failed, whose values are forgotten before.

use kube::api::DynamicObject;
use serde_json::json;
use vela_engine::workflow::{self, Order, RestartFrom};
use vela_runtime::{clock, over_conflicts};

use super::follow::follow;
use super::found::{run_of, spec_of, unsteerable};
use super::steer::{steer, too_busy, write};
use super::stored_values;
use crate::applications::find;
use crate::args::Restart;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::screen::Screen;

pub(super) async fn restart(cluster: &Cluster, args: &Restart, screen: &mut Screen) -> Result<()> {
    let name = &args.application;
    let written = match &args.step {
        Some(step) => from_step(cluster, name, step).await?,
        None => steer(cluster, name, Order::Restart).await?,
    };
    let place =
        args.step.as_ref().map_or_else(|| "its beginning".to_owned(), |step| format!("step {step:?}"));
    screen.say(&format!("The workflow of {name} runs anew from {place}."));
    follow(cluster, &written, None, &args.followed, screen).await
}

async fn from_step(cluster: &Cluster, name: &str, step: &str) -> Result<DynamicObject> {
    let written = over_conflicts(|| async move {
        let application = find(cluster, name).await?;
        let run = run_of(&application)?;
        let spec = spec_of(cluster, &application).await?;
        let stored = stored_values::read(cluster, &run).await?;
        let RestartFrom { values, status } =
            workflow::restart_from(&json!(application), step, &spec, stored, clock::now())
                .map_err(unsteerable)?;
        if let Some(values) = values
            && !stored_values::write(cluster, &run, values).await?
        {
            return Ok(None);
        }
        write(cluster, &application, status).await
    });
    written.await?.ok_or_else(|| too_busy(name))
}
