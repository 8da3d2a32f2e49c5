//! `vela env`: makes, lists, chooses and deletes environments, which are namespaces with a name.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::applications::{APPLICATIONS, enumerated};
use crate::args::{Env, Format, Global, ListFormat};
use crate::cluster::Cluster;
use crate::confirm::{Question, confirm};
use crate::environment::{self, CREATED, Environment, NAME, USAGE};
use crate::error::{Error, Failure, Result};
use crate::ownership::FIELD_MANAGER;
use crate::screen::{Screen, data};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

const NAMESPACE: (&str, &str) = ("v1", "Namespace");

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
    let all = environment::all(cluster).await?;
    let there = all.iter().map(|(one, _)| one).find(|one| one.name == name);
    let namespace = namespace.or(there.map(|one| one.namespace.as_str())).unwrap_or(name);
    if let Some(other) = there.filter(|one| one.namespace != namespace) {
        return Err(Error::user(format!(
            "the environment {name:?} is the namespace {} already",
            other.namespace
        ))
        .hint(format!("`vela env set {name}` chooses it; or take another name"))
        .into());
    }
    let new = Environment { name: name.to_owned(), namespace: namespace.to_owned() };
    let found = cluster.get(NAMESPACE.0, NAMESPACE.1, None, namespace).await?;
    let word = match found {
        None => {
            let object = json!({
                "apiVersion": NAMESPACE.0,
                "kind": NAMESPACE.1,
                "metadata": {
                    "name": namespace,
                    "labels": {NAME: name, USAGE.0: USAGE.1},
                    "annotations": {CREATED: FIELD_MANAGER},
                },
            });
            cluster.apply(&object, false, false).await?;
            "created"
        }
        Some(found) => take(cluster, &found, &new).await?,
    };
    environment::choose(Some(&new))?;
    screen.say(&format!("{} ({word}). It is current now.", new.title()));
    Ok(())
}

/// Makes a namespace that is there the environment.
async fn take(cluster: &Cluster, found: &DynamicObject, new: &Environment) -> Result<&'static str> {
    let Environment { name, namespace } = new;
    if found.metadata.deletion_timestamp.is_some() {
        return Err(Error::user(format!("the namespace {namespace} is being deleted"))
            .hint("try again when it is gone, or give another by --namespace")
            .into());
    }
    match Environment::of(found) {
        Some(same) if same == *new => Ok("unchanged"),
        Some(other) => {
            Err(Error::user(format!("the namespace {namespace} is the environment {:?} already", other.name))
                .hint(format!(
                    "`vela env set {}` chooses it; or give another namespace by --namespace",
                    other.name
                ))
                .into())
        }
        None => {
            let labels = [
                (&["metadata", "labels", NAME][..], Some(json!(name))),
                (&["metadata", "labels", USAGE.0][..], Some(json!(USAGE.1))),
            ];
            cluster.change(NAMESPACE, namespace, &labels).await?;
            Ok("which was there")
        }
    }
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
    match format {
        ListFormat::Json => return screen.print(&data(Format::Json, &Value::Array(rows))?),
        ListFormat::Yaml => return screen.print(&data(Format::Yaml, &Value::Array(rows))?),
        ListFormat::Name if rows.is_empty() => return Ok(()),
        ListFormat::Name => {
            let names: Vec<String> = rows.iter().map(|row| cell(row, "name")).collect();
            return screen.print(&names.join("\n"));
        }
        ListFormat::Table | ListFormat::Wide => {}
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
    let one = environment::find(all, name)?;
    let Environment { namespace, .. } = &one;
    let Some((_, object)) = all.iter().find(|(there, _)| *there == one) else {
        return Err(Error::user(format!(
            "the environment {name:?} is there in every cluster and is not deleted"
        ))
        .into());
    };
    if environment::current()?.as_ref() == Some(&one) {
        return Err(Error::user(format!("the environment {name:?} is current"))
            .hint("choose another first: `vela env set NAME`, or `vela env set --none`")
            .into());
    }
    has_no_application(cluster, &one).await?;
    if !object.annotations().contains_key(CREATED) {
        let labels =
            [(&["metadata", "labels", NAME][..], None), (&["metadata", "labels", USAGE.0][..], None)];
        cluster.change(NAMESPACE, namespace, &labels).await?;
        screen.say(&format!(
            "{name} is no environment any more. Its namespace {namespace} stays: `vela env init` did not create it."
        ));
        return Ok(());
    }
    if !yes {
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
    cluster.delete(NAMESPACE.0, NAMESPACE.1, None, namespace).await?;
    screen
        .say(&format!("{name} is no environment any more, and its namespace {namespace} is being deleted."));
    Ok(())
}

/// Applications are deleted one by one, by a user who names them.
async fn has_no_application(cluster: &Cluster, environment: &Environment) -> Result<()> {
    let Environment { name, namespace } = environment;
    let mut found = Vec::new();
    for (api_version, kind) in APPLICATIONS {
        if cluster.knows(api_version, kind).await? {
            let applications = cluster.list(api_version, kind, Some(namespace)).await?;
            found.extend(applications.iter().map(|application| application.name_any()));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let named = enumerated(&found);
    Err(Error::user(format!("the environment {name:?} still has applications: {named}"))
        .hint(format!("`vela delete -n {namespace} NAME` deletes one, and `vela delete -n {namespace} --all` all of them"))
        .into())
}
