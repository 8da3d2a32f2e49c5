//! `vela rollback`: shows what an earlier revision of an application would change back, and gives the application its content.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::applications::find;
use crate::args::{Global, RollbackApplication};
use crate::cluster::Cluster;
use crate::command::up::follow;
use crate::confirm::{Question, confirm};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::{BOLD, Screen, styled};
use crate::session::{Purpose, Session, block_on};
use crate::wait::Awaited;
use crate::{differences, revisions};

pub(crate) fn run(args: &RollbackApplication, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let outcome = rollback(&session, args, screen).await;
        let closed = session.close().await;
        Failure::all([outcome, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn rollback(session: &Session, args: &RollbackApplication, screen: &mut Screen) -> Result<()> {
    let (cluster, name) = (&session.cluster, &args.application);
    let before = find(cluster, name).await?;
    revisions::may_be_restored(&before)?;
    let current = text(&before.data, "/status/latestRevision/name");
    let all = revisions::of(cluster, name).await?;
    let target = match &args.to_revision {
        Some(wanted) => revisions::meant(&all, name, wanted)?,
        None => revisions::earlier(&all, current).ok_or_else(|| no_earlier(&all, name, current))?,
    };
    let revision = target.name_any();
    let plan = differences::between(&content(&before), &restored(&before, target)?);
    if plan.is_empty() {
        return Err(nothing_to_do(name, &revision, current));
    }
    let from = if current.is_empty() { "its present content" } else { current };
    let head = format!("Application {}/{name}: {from} → the content of {revision}", cluster.namespace());
    screen.print(&format!("{}\n{}", styled(BOLD, &head), differences::render(&plan)))?;
    if !args.yes {
        let question = Question {
            question: &format!("Give {name} the content of {revision}"),
            unasked: &format!("{name} would get the content of {revision}, which changes the fields above"),
            declined: "nothing was changed",
        };
        confirm(&question, screen)?;
        is_as_shown(cluster, &before).await?;
    }
    revisions::restore(cluster, &before, target, None).await?;
    screen.say(&format!("{name} goes back to the content of {revision}."));
    let awaited = Awaited::published(&find(cluster, name).await?, Some(&before));
    let timeout = (!args.followed.no_wait).then_some(args.followed.timeout);
    follow(session, &[awaited], timeout, screen).await
}

/// What a rollback gives back, as it is now: the spec, and the version that it is published as.
fn content(application: &DynamicObject) -> Value {
    shown(&application.data["spec"], revisions::published(application))
}

/// The same of a revision. An application that is published as no version keeps its own.
fn restored(application: &DynamicObject, revision: &DynamicObject) -> Result<Value> {
    let version = revisions::published(revision).or_else(|| revisions::published(application));
    Ok(shown(&revisions::content(revision)?, version))
}

fn shown(spec: &Value, version: Option<String>) -> Value {
    let mut shown = json!({ "spec": differences::concealed(spec) });
    if let Some(version) = version {
        shown["publishVersion"] = json!(version);
    }
    shown
}

/// A person may take long to answer, and others write meanwhile.
async fn is_as_shown(cluster: &Cluster, before: &DynamicObject) -> Result<()> {
    let name = before.name_any();
    let now = find(cluster, &name).await?;
    if now.uid() == before.uid() && content(&now) == content(before) {
        return Ok(());
    }
    let error = Error::user(format!("{name} was changed while the plan was shown, so nothing was changed"));
    Err(error.hint("run the command again to see what it would do now").into())
}

fn nothing_to_do(name: &str, revision: &str, current: &str) -> Failure {
    let error = Error::user(format!("{name} has the content of revision {revision} already"));
    let hint = match revision == current || current.is_empty() {
        true => format!("`vela revision list {name}` lists its revisions, --to-revision chooses one"),
        false => format!(
            "`vela revision get --diff {revision} {current}` shows what differs in definitions; `vela revision list {name}` lists its revisions"
        ),
    };
    error.hint(hint).into()
}

fn no_earlier(all: &[DynamicObject], name: &str, current: &str) -> Failure {
    if current.is_empty() {
        let error = Error::user(format!("no revision of {name} is its current one yet"));
        return error
            .hint(format!("`vela status {name}` says what it waits for, --to-revision chooses a revision"))
            .into();
    }
    let names: Vec<String> = all.iter().map(|one| one.name_any()).filter(|one| one != current).collect();
    let error = Error::user(format!("no revision of {name} before {current} is known to have succeeded"));
    let hint = match names.is_empty() {
        true => format!("{current} is the only one that is stored; apply a former manifest with `vela up`"),
        false => format!("--to-revision chooses one of {}", names.join(", ")),
    };
    error.hint(hint).into()
}
