//! `vela ls`: the applications of a namespace, one row per component.

mod rows;
mod watch;

use serde_json::{Value, json};

pub(super) use self::rows::phase;
use self::rows::{name_of, rows};
use crate::applications::APPLICATIONS;
use crate::args::{Global, ListFormat, Ls};
use crate::cluster::Cluster;
use crate::command::delete::is_part_of_application;
use crate::command::watch::{document, until_stopped};
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on, block_on_threads};
use crate::table::{Columns, Table};

pub(crate) fn run(args: &Ls, global: &Global, screen: &mut Screen) -> Result<()> {
    if !args.watch {
        return block_on(async {
            let session = Session::open(global, Purpose::Read, screen).await?;
            let shown = list(&session.cluster, args, screen).await.map(drop);
            session.close().await?;
            shown
        });
    }
    // In the sandbox its controllers run, so that what other commands write there lives while this one looks at it.
    block_on_threads(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let shown = until_stopped(None, list_and_follow(&session, args, screen)).await;
        session.close().await.and(shown)
    })
}

async fn list_and_follow(session: &Session, args: &Ls, screen: &mut Screen) -> Result<()> {
    session.share().await?;
    let (applications, columns) = list(&session.cluster, args, screen).await?;
    let width = screen.width().filter(|_| args.output == ListFormat::Table);
    watch::follow(&session.cluster, &watch::View { args, columns, width }, &applications, screen).await
}

/// Prints the applications, and gives them with the columns of their table.
async fn list(cluster: &Cluster, args: &Ls, screen: &mut Screen) -> Result<(Vec<Value>, Option<Columns>)> {
    let namespace = (!args.all_namespaces).then(|| cluster.namespace());
    let selector = args.selector.as_deref().unwrap_or_default();
    let mut applications = read(cluster, namespace, selector).await?;
    named(&mut applications, args, cluster)?;
    if args.output == ListFormat::Name {
        let names: Vec<String> = applications.iter().map(name_of).collect();
        if !names.is_empty() {
            screen.print(&names.join("\n"))?;
        }
        return Ok((applications, None));
    }
    if let Some(format) = args.output.data() {
        match args.watch {
            // What follows is one document for each change, and so is this.
            true => applications.iter().try_for_each(|one| screen.print(&document(format, one)?))?,
            false => screen.data(format, &Value::Array(applications.clone()))?,
        }
        return Ok((applications, None));
    }
    let mut heading =
        vec!["APP", "COMPONENT", "TYPE", "TRAITS", "PHASE", "HEALTHY", "STATUS", "CREATED-TIME"];
    if args.all_namespaces {
        heading.insert(0, "NAMESPACE");
    }
    let message = heading.iter().position(|name| *name == "STATUS").unwrap_or_default();
    let mut table = Table::new(&heading);
    for application in &applications {
        for mut row in rows(application) {
            if args.all_namespaces {
                row.insert(0, text(application, "/metadata/namespace").to_owned());
            }
            table.row(row);
        }
    }
    if table.is_empty() {
        let chosen =
            args.selector.as_ref().map_or_else(String::new, |labels| format!(" with labels {labels:?}"));
        screen.say(&format!("There is no application{chosen} in {}.", searched(args, cluster)));
        if !args.watch {
            return Ok((applications, None));
        }
    }
    let width = screen.width().filter(|_| args.output == ListFormat::Table);
    // A terminal that is too narrow shows no times: what is the matter is more important.
    let table = match width {
        Some(width) if table.least(message) > width => table.without_last(),
        _ => table,
    };
    let table = table.cut_to(width, message);
    screen.print(&table.render())?;
    Ok((applications, Some(table.columns_as_they_are())))
}

/// The applications of a namespace or of all that a label selector chooses, by namespace and name.
pub(super) async fn read(cluster: &Cluster, namespace: Option<&str>, selector: &str) -> Result<Vec<Value>> {
    let mut applications: Vec<Value> = Vec::new();
    for (api_version, kind) in APPLICATIONS {
        let found = cluster.list_labelled(api_version, kind, namespace, selector).await?;
        // Lists leave out what their items have in common.
        applications.extend(found.into_iter().map(|object| {
            let mut value = json!(object);
            value["apiVersion"] = json!(api_version);
            value["kind"] = json!(kind);
            value
        }));
    }
    // An ApplicationConfiguration that an Application became is shown with that Application.
    applications.retain(|value| !is_part_of_application(value));
    applications.sort_by_cached_key(|value| {
        (text(value, "/metadata/namespace").to_owned(), text(value, "/metadata/name").to_owned())
    });
    Ok(applications)
}

/// Where the command looked for applications.
fn searched(args: &Ls, cluster: &Cluster) -> String {
    match args.all_namespaces {
        true => format!("any namespace of {}", cluster.title()),
        false => cluster.place(),
    }
}

/// Only those that are asked for by name; all of them must be there.
fn named(applications: &mut Vec<Value>, args: &Ls, cluster: &Cluster) -> Result<()> {
    if args.names.is_empty() {
        return Ok(());
    }
    let is_there = |name: &&String| applications.iter().any(|value| text(value, "/metadata/name") == **name);
    let missing = args.names.iter().filter(|name| !is_there(name)).map(|name| {
        let place = searched(args, cluster);
        let error = Error::user(format!("there is no application {name:?} in {place}"));
        Failure::from(error.hint("`vela ls -A` lists the applications of every namespace"))
    });
    let missing = Failure::all(missing.collect());
    applications.retain(|value| args.names.iter().any(|name| name == text(value, "/metadata/name")));
    missing.map_or(Ok(()), Err)
}
