//! `vela def del`: deletes a definition that nothing uses any more, after asking.

use std::time::Duration;

use kube::api::DynamicObject;

use super::stored::{self, Stored};
use super::users;
use crate::applications::{API_VERSION, enumerated};
use crate::args::{DeleteDefinition, Global};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::wait::{self, Awaited};

/// Nothing holds a definition that is deleted but a finalizer of another program.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) fn run(args: &DeleteDefinition, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let cluster = &session.cluster;
        let deleted = match stored::find(cluster, &args.name, args.type_).await {
            Ok(found) => delete(cluster, found, &Ask { yes: args.yes, force: args.force }, screen).await,
            Err(failure) => Err(failure),
        };
        let closed = session.close().await;
        Failure::all([deleted, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

/// How far a user has answered already.
pub(in crate::command) struct Ask {
    /// Ask nothing.
    pub(in crate::command) yes: bool,
    /// Delete it although it is used.
    pub(in crate::command) force: bool,
}

/// Deletes a definition of the namespace of the command, and waits until it is gone.
pub(in crate::command) async fn delete(
    cluster: &Cluster,
    found: Stored,
    ask: &Ask,
    screen: &mut Screen,
) -> Result<()> {
    let namespace = cluster.namespace();
    let name = text(&found.object, "/metadata/name").to_owned();
    let title = found.title(namespace);
    let users = users::of(cluster, found.kind, namespace, &name).await?;
    if !users.is_empty() && !ask.force {
        let message = format!("{title} is used by {}", enumerated(&users));
        let hint =
            "change or delete what uses it first, or add --force: what uses it cannot be rendered then";
        return Err(Error::user(message).hint(hint).into());
    }
    if !users.is_empty() {
        screen.say(&format!("{title} is used by {}.", enumerated(&users)));
    }
    if !ask.yes {
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
    if cluster.delete(API_VERSION, kind, Some(namespace), &name).await?.is_some() {
        wait::gone(cluster, &[Awaited::of(&object)], LONGEST_WAIT, screen).await?;
    }
    Ok(())
}
