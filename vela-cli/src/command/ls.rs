//! `vela ls`: the applications of a namespace, one row per component.

use serde_json::{Value, json};

use crate::applications::APPLICATIONS;
use crate::args::{Format, Global, ListFormat, Ls};
use crate::cluster::Cluster;
use crate::command::delete::is_part_of_application;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::{BAD, GOOD, Screen, data, styled};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

pub(crate) fn run(args: &Ls, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let shown = list(&session.cluster, args, screen).await;
        session.close().await?;
        shown
    })
}

async fn list(cluster: &Cluster, args: &Ls, screen: &mut Screen) -> Result<()> {
    let mut applications = read(cluster, (!args.all_namespaces).then(|| cluster.namespace())).await?;
    named(&mut applications, args, cluster)?;
    if args.output == ListFormat::Name {
        let names: Vec<String> = applications.iter().map(name_of).collect();
        return if names.is_empty() { Ok(()) } else { screen.print(&names.join("\n")) };
    }
    let format = match args.output {
        ListFormat::Json => Some(Format::Json),
        ListFormat::Yaml => Some(Format::Yaml),
        ListFormat::Table | ListFormat::Wide | ListFormat::Name => None,
    };
    if let Some(format) = format {
        return screen.print(&data(format, &Value::Array(applications))?);
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
        screen.say(&format!("There is no application in {}.", searched(args, cluster)));
        return Ok(());
    }
    let width = screen.width().filter(|_| args.output == ListFormat::Table);
    // A terminal that is too narrow shows no times: what is the matter is more important.
    let table = match width {
        Some(width) if table.least(message) > width => table.without_last(),
        _ => table,
    };
    screen.print(&table.cut_to(width, message).render())
}

/// The applications of a namespace or of all, by namespace and name.
pub(super) async fn read(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Value>> {
    let mut applications: Vec<Value> = Vec::new();
    for (api_version, kind) in APPLICATIONS {
        let found = cluster.list(api_version, kind, namespace).await?;
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

/// How far an application is, in the word of its status.
pub(super) fn phase(application: &Value) -> &str {
    if text(application, "/kind") != "ApplicationConfiguration" {
        return text(application, "/status/status");
    }
    let conditions = application.pointer("/status/conditions").and_then(Value::as_array);
    let mut all = conditions.into_iter().flatten();
    all.find(|condition| text(condition, "/type") == "Synced").map_or("", |synced| text(synced, "/reason"))
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

/// As `kubectl -o name` writes it, so that the line can be given back to it.
fn name_of(application: &Value) -> String {
    let kind = text(application, "/kind").to_lowercase();
    format!("{kind}.core.oam.dev/{}", text(application, "/metadata/name"))
}

fn rows(application: &Value) -> Vec<Vec<String>> {
    let none = Vec::new();
    let list = |value: &Value, path: &str| {
        value.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let components = application.pointer("/spec/components").and_then(Value::as_array).unwrap_or(&none);
    let services = list(application, "/status/services");
    let phase = phase(application).to_owned();
    let created = text(application, "/metadata/creationTimestamp").to_owned();
    let row = |(index, component): (usize, &Value)| {
        let name = [text(component, "/name"), text(component, "/componentName")].concat();
        let traits: Vec<String> = list(component, "/traits")
            .iter()
            .map(|entry| [text(entry, "/type"), text(entry, "/name"), text(entry, "/trait/kind")].concat())
            .collect();
        let service = services.iter().find(|service| text(service, "/name") == name);
        let healthy = match service.and_then(|service| service.get("healthy")).and_then(Value::as_bool) {
            Some(true) => styled(GOOD, "healthy"),
            Some(false) => styled(BAD, "unhealthy"),
            None => String::new(),
        };
        let app = match index {
            0 => text(application, "/metadata/name").to_owned(),
            last if last + 1 == components.len() => "└─".to_owned(),
            _ => "├─".to_owned(),
        };
        let message = service.map_or("", |service| text(service, "/message")).trim().replace('\n', " ");
        let kind = text(component, "/type").to_owned();
        vec![app, name, kind, traits.join(","), phase.clone(), healthy, message, created.clone()]
    };
    components.iter().enumerate().map(row).collect()
}
