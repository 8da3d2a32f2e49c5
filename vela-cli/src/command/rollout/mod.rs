//! `vela rollout`: previews, follows, pauses, resumes, promotes, undoes and abandons rollouts.

mod found;
mod history;
mod plan;
mod show;
mod simulate;
mod watch;

use serde_json::{Value, json};
use vela_crds::annotations::ABANDON_ROLLOUT;
use vela_engine::rollout::rest;

pub(crate) use self::found::read;
use self::found::{API_VERSION, APPLICATION, KIND, application_of, find};
pub(crate) use self::show::show;
use crate::args::{Global, Rollout};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::ownership::Path;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

/// Holds a rollout where it is.
const PAUSED: Path = &["spec", "rolloutPlan", "paused"];
/// The last batch that a rollout goes to by itself.
const PARTITION: Path = &["spec", "rolloutPlan", "batchPartition"];

pub(crate) fn run(args: &Rollout, global: &Global, screen: &mut Screen) -> Result<()> {
    if let Rollout::Plan(args) = args {
        return plan::run(args, screen);
    }
    if let Rollout::Simulate(args) = args {
        return simulate::run(args, global, screen);
    }
    let purpose = match args {
        // A rollout in the sandbox moves only while controllers run.
        Rollout::Status { watch: false, .. } | Rollout::History { .. } => Purpose::Read,
        _ => Purpose::Change,
    };
    block_on(async {
        let session = Session::open(global, purpose, screen).await?;
        let done = on_cluster(&session.cluster, args, screen).await;
        session.close().await?;
        done
    })
}

async fn on_cluster(cluster: &Cluster, args: &Rollout, screen: &mut Screen) -> Result<()> {
    match args {
        Rollout::Plan(_) | Rollout::Simulate(_) => Ok(()),
        Rollout::Status { name, output, watch, timeout } => {
            let watched = match watch {
                true => watch::watch(cluster, name, *timeout, screen).await,
                false => Ok(()),
            };
            let rollout = find(cluster, name).await?;
            show(&rollout, *output, screen)?;
            match rest::rest(&rollout).filter(|_| *watch) {
                Some(rest::Rest::Failed(why)) => {
                    Err(Error::user(format!("rollout {name} failed: {why}")).into())
                }
                _ => watched,
            }
        }
        Rollout::History { application, output } => {
            history::show(cluster, application, *output, screen).await
        }
        Rollout::Undo { name } => undo(cluster, name, screen).await,
        Rollout::Abandon { name } => abandon(cluster, name, screen).await,
        Rollout::Pause { name } => {
            change(cluster, name, &[(PAUSED, Some(json!(true)))]).await?;
            screen.say(&format!("Rollout {name} is paused: `vela rollout resume {name}` lets it go on."));
            Ok(())
        }
        Rollout::Resume { name } => resume(cluster, name, screen).await,
        Rollout::Promote { name, full } => promote(cluster, name, *full, screen).await,
    }
}

fn follow(name: &str) -> String {
    format!("`vela rollout status {name} --watch` follows it.")
}

/// Lets a rollout go on that is paused, and measures one anew that a metric holds.
async fn resume(cluster: &Cluster, name: &str, screen: &mut Screen) -> Result<()> {
    let rollout = find(cluster, name).await?;
    if rest::held(&rollout).is_some() && !rollout.spec.rollout_plan.paused {
        // A metric holds its rollout until the object changes, and in the end the plan is what it was.
        for paused in [Some(json!(true)), None] {
            cluster.change((API_VERSION, KIND), name, &[(PAUSED, paused)]).await?;
        }
        screen.say(&format!("Rollout {name} measures its batch anew: {}", follow(name)));
        return Ok(());
    }
    change(cluster, name, &[(PAUSED, None)]).await?;
    screen.say(&format!("Rollout {name} goes on: {}", follow(name)));
    Ok(())
}

/// Lets a rollout go on behind the batch it waits for, by one batch or to the end.
async fn promote(cluster: &Cluster, name: &str, full: bool, screen: &mut Screen) -> Result<()> {
    let rollout = find(cluster, name).await?;
    if let Some(why) = rest::held(&rollout) {
        screen.say(&format!("Rollout {name} waits for a metric: {why}"));
        return Ok(());
    }
    let plan = &rollout.spec.rollout_plan;
    let Some(partition) = plan.batch_partition else {
        screen.say(&format!("Rollout {name} does not wait for a user: it has no batchPartition."));
        return Ok(());
    };
    let last = plan.rollout_batches.as_ref().map_or(0, Vec::len).saturating_sub(1);
    let next = partition.saturating_add(1);
    let is_last = usize::try_from(next).is_ok_and(|next| next >= last);
    let partition = (!full && !is_last).then_some(next);
    change(cluster, name, &[(PARTITION, partition.map(Value::from))]).await?;
    let then = match plan.paused {
        true => format!("once `vela rollout resume {name}` lets it."),
        false => follow(name),
    };
    screen.say(&match partition {
        None => format!("Rollout {name} goes on to the end: {then}"),
        Some(next) => format!("Rollout {name} goes on to batch {} of {}: {then}", next + 1, last + 1),
    });
    Ok(())
}

/// Turns a rollout round: its target becomes the source. Nothing holds it up on the way back.
async fn undo(cluster: &Cluster, name: &str, screen: &mut Screen) -> Result<()> {
    let rollout = find(cluster, name).await?;
    let application = application_of(&rollout).map(str::to_owned);
    let spec = rollout.spec;
    let Some(source) = spec.source().map(str::to_owned) else {
        let message = format!("rollout {name} came from no revision: it only scales {}", spec.target());
        return Err(Error::user(message)
            .hint("to scale back, change rolloutPlan.targetSize and its batches")
            .into());
    };
    let target = spec.target().to_owned();
    let [to, from]: [Path; 2] = match spec.target_application_name {
        Some(_) => [&["spec", "targetApplicationName"], &["spec", "sourceApplicationName"]],
        None => [&["spec", "targetAppRevisionName"], &["spec", "sourceAppRevisionName"]],
    };
    match application {
        Some(application) => restore(cluster, &application, &source).await?,
        None => {
            let back: [(Path, _); 4] =
                [(to, Some(json!(source))), (from, Some(json!(target))), (PAUSED, None), (PARTITION, None)];
            change(cluster, name, &back).await?;
        }
    }
    screen.say(&format!("Rollout {name} goes back from {target} to {source}: {}", follow(name)));
    Ok(())
}

/// Ends a rollout where it stands. It is asked of the rollout itself, also where an Application keeps it: the plan stays.
async fn abandon(cluster: &Cluster, name: &str, screen: &mut Screen) -> Result<()> {
    let rollout = find(cluster, name).await?;
    match rest::rest(&rollout) {
        Some(rest::Rest::Succeeded) => {
            let message = format!("rollout {name} has succeeded: there is nothing to abandon");
            return Err(Error::user(message).hint("`vela rollout undo` goes back").into());
        }
        Some(rest::Rest::Failed(_)) => {
            screen.say(&format!("Rollout {name} is over: its workloads stay as they stand."));
            return Ok(());
        }
        _ => {}
    }
    let asked: (Path, _) = (&["metadata", "annotations", ABANDON_ROLLOUT], Some(json!("true")));
    cluster.change((API_VERSION, KIND), name, &[asked]).await?;
    screen.say(&format!(
        "Rollout {name} is abandoned: its workloads stay as they stand. `vela rollout undo {name}` goes back; {}",
        follow(name)
    ));
    Ok(())
}

/// Gives an Application the content of one of its revisions, and lets its plan go on.
async fn restore(cluster: &Cluster, name: &str, revision: &str) -> Result<()> {
    let stored = cluster.get(API_VERSION, "ApplicationRevision", None, revision).await?;
    let spec = stored.and_then(|stored| stored.data.pointer("/spec/application/spec").cloned());
    let Some(mut spec) = spec else {
        let message =
            format!("ApplicationRevision {revision} is not there any more, so its content is not known");
        return Err(Error::user(message).hint("apply the former manifest of the application").into());
    };
    let Some(live) = cluster.get(API_VERSION, APPLICATION, None, name).await? else {
        return Err(Error::user(format!("Application {name} is not there any more")).into());
    };
    spec["rolloutPlan"] = live.data["spec"]["rolloutPlan"].clone();
    for held in ["paused", "batchPartition"] {
        if let Some(plan) = spec["rolloutPlan"].as_object_mut() {
            plan.remove(held);
        }
    }
    cluster.change((API_VERSION, APPLICATION), name, &[(&["spec"], Some(spec))]).await
}

async fn change(cluster: &Cluster, name: &str, fields: &[(Path<'_>, Option<Value>)]) -> Result<()> {
    // A namesake that does not exist is told as such, and not as a failed patch.
    let rollout = find(cluster, name).await?;
    let (kind, name) = match application_of(&rollout) {
        Some(application) => (APPLICATION, application),
        None => (KIND, name),
    };
    cluster.change((API_VERSION, kind), name, fields).await
}
