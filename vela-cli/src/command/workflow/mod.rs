//! `vela workflow`: suspends, resumes, ends, restarts and rolls back the workflows of applications, and tells what they did.

mod debug;
mod follow;
mod found;
mod list;
mod logs;
mod restart;
mod rollback;
mod simulate;
mod steer;
mod stored_values;

use vela_engine::workflow::Order;

use self::follow::follow;
use self::steer::steer;
use crate::args::{Global, Resume, Steered, Workflow};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};

pub(crate) fn run(args: &Workflow, global: &Global, screen: &mut Screen) -> Result<()> {
    if let Workflow::Simulate(args) = args {
        return simulate::run(args, global, screen);
    }
    let purpose = match args {
        Workflow::List { .. } | Workflow::Logs { .. } | Workflow::Debug { .. } => Purpose::Read,
        // A workflow in the sandbox goes on only while controllers run.
        _ => Purpose::Change,
    };
    block_on(async {
        let session = Session::open(global, purpose, screen).await?;
        let done = on_cluster(&session.cluster, args, screen).await;
        let closed = session.close().await;
        done.and(closed)
    })
}

async fn on_cluster(cluster: &Cluster, args: &Workflow, screen: &mut Screen) -> Result<()> {
    match args {
        Workflow::Simulate(_) => Ok(()),
        Workflow::Suspend(what) => suspend(cluster, what, screen).await,
        Workflow::Resume(args) => resume(cluster, args, screen).await,
        Workflow::Terminate(what) => terminate(cluster, what, screen).await,
        Workflow::Restart(args) => restart::restart(cluster, args, screen).await,
        Workflow::Rollback(args) => rollback::rollback(cluster, args, screen).await,
        Workflow::Logs { application, step } => {
            logs::print(cluster, application, step.as_deref(), screen).await
        }
        Workflow::Debug { application, step, output } => {
            debug::print(cluster, application, step.as_deref(), *output, screen).await
        }
        Workflow::List { all_namespaces, output } => {
            list::print(cluster, *all_namespaces, *output, screen).await
        }
    }
}

async fn suspend(cluster: &Cluster, what: &Steered, screen: &mut Screen) -> Result<()> {
    let (name, step) = (&what.application, what.step.as_deref());
    steer(cluster, name, Order::Suspend(step)).await?;
    screen.say(&format!("{} is suspended: `vela workflow resume {name}` lets it go on.", title(what)));
    Ok(())
}

async fn resume(cluster: &Cluster, args: &Resume, screen: &mut Screen) -> Result<()> {
    let (name, step) = (&args.what.application, args.what.step.as_deref());
    let written = steer(cluster, name, Order::Resume(step)).await?;
    screen.say(&format!("{} goes on.", title(&args.what)));
    follow(cluster, &written, None, &args.followed, screen).await
}

async fn terminate(cluster: &Cluster, what: &Steered, screen: &mut Screen) -> Result<()> {
    let name = &what.application;
    if let Some(step) = &what.step {
        let error = Error::user(format!("a workflow ends as a whole, and not at step {step:?}"));
        return Err(error.hint("leave out --step, or hold the step with `vela workflow suspend`").into());
    }
    steer(cluster, name, Order::Terminate).await?;
    screen.say(&format!("{} is ended: `vela workflow restart {name}` runs it anew.", title(what)));
    Ok(())
}

/// How messages call what is steered.
fn title(what: &Steered) -> String {
    match &what.step {
        Some(step) => format!("Step {step:?} of the workflow of {}", what.application),
        None => format!("The workflow of {}", what.application),
    }
}
