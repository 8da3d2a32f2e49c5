//! Goes back to the last revision that succeeded, or to a named one: the application gets its content again.

use kube::ResourceExt as _;
use kube::api::DynamicObject;

use super::follow::follow;
use super::found::run_of;
use crate::applications::find;
use crate::args::Rollback;
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::revisions;
use crate::screen::Screen;

pub(super) async fn rollback(cluster: &Cluster, args: &Rollback, screen: &mut Screen) -> Result<()> {
    let name = &args.application;
    let application = find(cluster, name).await?;
    is_at_rest(&application)?;
    let current = text(&application.data, "/status/latestRevision/name");
    let all = revisions::of(cluster, name).await?;
    let target = match &args.revision {
        Some(wanted) => revisions::named(&all, name, wanted)?,
        None => revisions::last_succeeded(&all, current).ok_or_else(|| no_other(name))?,
    };
    let revision = target.name_any();
    if revision == current {
        let message = format!("{name} is at revision {revision} already");
        let hint = format!("`vela workflow restart {name}` runs its workflow anew");
        return Err(Error::user(message).hint(hint).into());
    }
    revisions::restore(cluster, &application, target, None).await?;
    let whether = match args.revision.is_some() || revisions::is_recorded(target) {
        true => "",
        false => " (whether it succeeded is not recorded)",
    };
    screen.say(&format!("{name} goes back from {current} to the content of {revision}{whether}."));
    follow(cluster, &find(cluster, name).await?, Some(&application), &args.followed, screen).await
}

/// What runs would go on beside what is restored.
fn is_at_rest(application: &DynamicObject) -> Result<()> {
    // An application whose workflow never began has nothing that runs.
    let Ok(run) = run_of(application) else { return Ok(()) };
    if run.finished || run.suspend || run.terminated {
        return Ok(());
    }
    let name = application.name_any();
    let message = format!("can not roll back {name} while its workflow is running");
    let hint = format!("`vela workflow suspend {name}` holds it, `vela workflow terminate {name}` ends it");
    Err(Error::user(message).hint(hint).into())
}

fn no_other(name: &str) -> Failure {
    Error::user(format!("no other revision of {name} is known to have succeeded"))
        .hint(format!("`vela revision list {name}` lists its revisions, --revision names one"))
        .into()
}
