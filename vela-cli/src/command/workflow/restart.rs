//! Runs a workflow anew: from its beginning, or from a step that failed, whose values are forgotten before.

use kube::api::DynamicObject;
use serde_json::json;
use vela_engine::workflow::{self, Order, Then};
use vela_runtime::{clock, over_conflicts};

use super::follow::follow;
use super::found::{spec_of, unsteerable};
use super::steer::{steer, too_busy, write};
use super::stored_values::StoredValues;
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
        let object = json!(application);
        let mut run = workflow::steerable(&object, clock::now()).map_err(unsteerable)?;
        let spec = spec_of(cluster, &application).await?;
        let mut stored = StoredValues::read(cluster, &run).await?;
        run.restart_from(step, &spec, &mut stored.values, clock::now())
            .map_err(|refusal| unsteerable(workflow::refused(&object, &refusal)))?;
        // The values go first: a run that begins again must not find those of the former try.
        if !stored.write(cluster).await? {
            return Ok(None);
        }
        write(cluster, &application, workflow::patch(&object, Some(&run), Then::UnderWay)).await
    });
    written.await?.ok_or_else(|| too_busy(name))
}
