//! `vela env`: makes, lists, chooses and deletes environments, which are namespaces with a name.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::args::{Env, Global, ListFormat};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::environment::{self, Deletable, Environment};
use crate::error::{Failure, Result};
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

pub(crate) fn run(args: &Env, global: &Global, screen: &mut Screen) -> Result<()> {
    if let Env::Set { none: true, .. } = args {
        environment::choose(None)?;
        screen.say("No environment is current: commands work in the namespace of the context.");
        return Ok(());
    }
    let purpose = if matches!(args, Env::Ls { .. }) { Purpose::Read } else { Purpose::Change };
    block_on(async {
        let session = Session::open_anywhere(global, purpose, screen).await?;
        let cluster = &session.cluster;
        let done = match args {
            Env::Init { name } => init(cluster, name, global.namespace.as_deref(), screen).await,
            Env::Ls { name, output } => list(cluster, name.as_deref(), *output, screen).await,
            Env::Set { name, .. } => set(cluster, name.as_deref().unwrap_or_default(), screen).await,
            Env::Delete { names, yes } => delete(cluster, names, *yes, screen).await,
        };
        let closed = session.close().await;
        Failure::all([done, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn init(cluster: &Cluster, name: &str, namespace: Option<&str>, screen: &mut Screen) -> Result<()> {
    let (new, word) = environment::init(cluster, name, namespace).await?;
    environment::choose(Some(&new))?;
    screen.say(&format!("{} ({word}). It is current now.", new.title()));
    Ok(())
}

async fn list(cluster: &Cluster, name: Option<&str>, format: ListFormat, screen: &mut Screen) -> Result<()> {
    let all = environment::all(cluster).await?;
    if let Some(name) = name {
        environment::find(&all, name)?;
    }
    let current = environment::current()?;
    let chosen = all.iter().map(|(one, _)| one).filter(|one| name.is_none_or(|name| name == one.name));
    let rows: Vec<Value> = chosen
        .map(|one| {
            json!({"name": one.name, "namespace": one.namespace, "current": current.as_ref() == Some(one)})
        })
        .collect();
    let cell = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    if print_plain(&rows, |row| text(row, "/name").to_owned(), format, screen)? {
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "NAMESPACE", "CURRENT"]);
    for row in &rows {
        let mark = if row["current"] == true { "*" } else { "" };
        table.row(vec![cell(row, "name"), cell(row, "namespace"), mark.to_owned()]);
    }
    if table.is_empty() {
        screen
            .say(&format!("There is no environment in {}; `vela env init NAME` makes one.", cluster.title()));
        return Ok(());
    }
    screen.print(&table.render())
}

async fn set(cluster: &Cluster, name: &str, screen: &mut Screen) -> Result<()> {
    let found = environment::find(&environment::all(cluster).await?, name)?;
    environment::choose(Some(&found))?;
    screen.say(&format!("{}. It is current now.", found.title()));
    Ok(())
}

async fn delete(cluster: &Cluster, names: &[String], yes: bool, screen: &mut Screen) -> Result<()> {
    let all = environment::all(cluster).await?;
    let mut failures = Vec::new();
    for name in names {
        if let Err(failure) = delete_one(cluster, &all, name, yes, screen).await {
            failures.push(failure);
        }
    }
    Failure::all(failures).map_or(Ok(()), Err)
}

async fn delete_one(
    cluster: &Cluster,
    all: &[(Environment, DynamicObject)],
    name: &str,
    yes: bool,
    screen: &mut Screen,
) -> Result<()> {
    let current = environment::current()?;
    let found = Deletable::find(cluster, all, name, current.as_ref()).await?;
    if found.with_namespace && !yes {
        let namespace = found.namespace();
        confirm(
            &Question {
                question: &format!(
                    "Delete the namespace {namespace} of the environment {name}, with everything in it"
                ),
                unasked: &format!("the namespace {namespace} would be deleted with everything in it"),
                declined: "nothing was deleted",
            },
            screen,
        )?;
    }
    screen.say(&found.delete(cluster).await?);
    Ok(())
}
