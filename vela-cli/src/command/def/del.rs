//! `vela def del`: deletes a definition that nothing uses any more, after asking.

use std::time::Duration;

use kube::api::DynamicObject;

use super::stored;
use super::users;
use crate::applications::{API_VERSION, enumerated};
use crate::args::{DeleteDefinition, Global};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};

/// Nothing holds a definition that is deleted but a finalizer of another program.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(args: &DeleteDefinition, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let deleted = delete(&session.cluster, args, screen).await;
        let closed = session.close().await;
        Failure::all([deleted, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn delete(cluster: &Cluster, args: &DeleteDefinition, screen: &mut Screen) -> Result<()> {
    let found = stored::find(cluster, &args.name, args.type_).await?;
    let namespace = cluster.namespace();
    let title = found.title(namespace);
    let users = users::of(cluster, found.kind, namespace, &args.name).await?;
    if !users.is_empty() && !args.force {
        let message = format!("{title} is used by {}", enumerated(&users));
        let hint =
            "change or delete what uses it first, or add --force: what uses it cannot be rendered then";
        return Err(Error::user(message).hint(hint).into());
    }
    if !users.is_empty() {
        screen.say(&format!("{title} is used by {}.", enumerated(&users)));
    }
    if !args.yes {
        let question = Question {
            question: &format!("Delete {title}"),
            unasked: &format!("{title} would be deleted"),
            declined: "nothing was deleted",
        };
        confirm(&question, screen)?;
    }
    let kind = found.kind.kind();
    let object: DynamicObject = serde_json::from_value(found.object)
        .map_err(|error| Error::internal(format!("{title} cannot be read: {error}")))?;
    if cluster.delete(API_VERSION, kind, Some(namespace), &args.name).await?.is_some() {
        wait::gone(cluster, &[Awaited::of(&object)], LONGEST_WAIT, screen).await?;
    }
    Ok(())
}
