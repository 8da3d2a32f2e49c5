//! Runs a workflow anew: from its beginning, or from a step that failed, whose values are forgotten before.

use kube::api::DynamicObject;
use vela_runtime::clock;

use super::follow::follow;
use super::found::{run_of, spec_of};
use super::steer::{Then, refused, steerable, too_busy, write};
use super::stored_values::StoredValues;
use crate::applications::find;
use crate::args::Restart;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::screen::Screen;

/// How often it is tried again when the controller wrote meanwhile.
const MOST_TRIES: usize = 20;

pub(super) async fn restart(cluster: &Cluster, args: &Restart, screen: &mut Screen) -> Result<()> {
    let name = &args.application;
    let written = match &args.step {
        Some(step) => from_step(cluster, name, step).await?,
        None => from_beginning(cluster, name).await?,
    };
    let place =
        args.step.as_ref().map_or_else(|| "its beginning".to_owned(), |step| format!("step {step:?}"));
    screen.say(&format!("The workflow of {name} runs anew from {place}."));
    follow(cluster, &written, None, &args.followed, screen).await
}

/// Without a record of a run, the controller begins one.
async fn from_beginning(cluster: &Cluster, name: &str) -> Result<DynamicObject> {
    for _ in 0..MOST_TRIES {
        let application = find(cluster, name).await?;
        run_of(&application)?;
        if let Some(written) = write(cluster, &application, None, Then::UnderWay).await? {
            return Ok(written);
        }
    }
    Err(too_busy(name))
}

async fn from_step(cluster: &Cluster, name: &str, step: &str) -> Result<DynamicObject> {
    for _ in 0..MOST_TRIES {
        let application = find(cluster, name).await?;
        let mut run = steerable(&application)?;
        let spec = spec_of(cluster, &application).await?;
        let mut stored = StoredValues::read(cluster, &run).await?;
        run.restart_from(step, &spec, &mut stored.values, clock::now())
            .map_err(|refusal| refused(name, &refusal))?;
        // The values go first: a run that begins again must not find those of the former try.
        if stored.write(cluster).await?
            && let Some(written) = write(cluster, &application, Some(&run), Then::UnderWay).await?
        {
            return Ok(written);
        }
    }
    Err(too_busy(name))
}
