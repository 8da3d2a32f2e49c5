//! `vela rollout`: previews, follows, pauses, resumes, promotes, undoes and abandons rollouts.

mod found;
mod history;
mod plan;
mod show;
mod simulate;
mod watch;

use serde_json::json;
use vela_crds::annotations::ABANDON_ROLLOUT;
use vela_engine::rollout::rest;
use vela_engine::rollout::steering::{self, Change, Order, Steered, Steering, follow};

pub(crate) use self::found::read;
use self::found::{API_VERSION, APPLICATION, KIND, find};
pub(crate) use self::show::show;
use crate::args::{Global, Rollout};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::ownership::Path;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

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
        Rollout::Undo { name } => steer(cluster, name, Order::Undo, screen).await,
        Rollout::Abandon { name } => abandon(cluster, name, screen).await,
        Rollout::Pause { name } => steer(cluster, name, Order::Pause, screen).await,
        Rollout::Resume { name } => steer(cluster, name, Order::Resume, screen).await,
        Rollout::Promote { name, full } => steer(cluster, name, Order::Promote { full: *full }, screen).await,
    }
}

/// Carries out an order as the engine decides it.
async fn steer(cluster: &Cluster, name: &str, order: Order, screen: &mut Screen) -> Result<()> {
    // A namesake that does not exist is told as such, and not as a failed patch.
    let rollout = find(cluster, name).await?;
    let Steering { change, then } = match steering::steer(&rollout, order) {
        Ok(steering) => steering,
        Err(refusal) if refusal.hint.is_empty() => {
            screen.say(&refusal.message);
            return Ok(());
        }
        Err(refusal) => return Err(Error::user(refusal.message).hint(refusal.hint).into()),
    };
    match change {
        Change::Fields { of, writes } => {
            let (kind, name) = match &of {
                Steered::Application(application) => (APPLICATION, application.as_str()),
                Steered::Rollout => (KIND, name),
            };
            for fields in writes {
                cluster.change((API_VERSION, kind), name, &fields).await?;
            }
        }
        Change::Restore { application, revision } => restore(cluster, &application, &revision).await?,
    }
    screen.say(&then);
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
    let Some(stored) = stored else {
        let message =
            format!("ApplicationRevision {revision} is not there any more, so its content is not known");
        return Err(Error::user(message).hint("apply the former manifest of the application").into());
    };
    let Some(live) = cluster.get(API_VERSION, APPLICATION, None, name).await? else {
        return Err(Error::user(format!("Application {name} is not there any more")).into());
    };
    let Some(spec) = steering::restored(&stored.data, &live.data) else {
        let message = format!("ApplicationRevision {revision} has no content");
        return Err(Error::user(message).hint("apply the former manifest of the application").into());
    };
    cluster.change((API_VERSION, APPLICATION), name, &[(&["spec"], Some(spec))]).await
}
