//! `vela components`, `traits`, `workloads` and `scopes`: the definitions that the namespace can use, or those of the centres.

use serde_json::{Value, json};
use vela_engine::DefinitionKind;

use super::cap::{self, Listed};
use super::def;
use crate::applications::API_VERSION;
use crate::args::{Global, ListFormat, TraitTypes, Types};
use crate::cluster::Cluster;
use crate::error::{Failure, Result};
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

/// A column: its heading, and the field of a row that stands in it.
type Column = (&'static str, &'static str);

const FIRST: [Column; 2] = [("NAME", "name"), ("NAMESPACE", "namespace")];
const LAST: Column = ("DESCRIPTION", "description");
const OF_TRAITS: [Column; 3] =
    [("APPLIES-TO", "appliesTo"), ("CONFLICTS-WITH", "conflictsWith"), ("POD-DISRUPTIVE", "podDisruptive")];
const OF_OTHERS: [Column; 1] = [("WORKLOAD", "workload")];

pub(crate) fn run_traits(args: &TraitTypes, global: &Global, screen: &mut Screen) -> Result<()> {
    run(DefinitionKind::Trait, &args.types, args.apply_to.as_deref(), global, screen)
}

/// Lists the definitions of a kind; where traits are for a type, only those.
pub(crate) fn run(
    kind: DefinitionKind,
    args: &Types,
    apply_to: Option<&str>,
    global: &Global,
    screen: &mut Screen,
) -> Result<()> {
    if args.discover {
        return cap::list(&Listed { center: None, kind: Some(kind), format: args.output }, global, screen);
    }
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let rows = rows(&session.cluster, kind, apply_to).await;
        let printed = rows.and_then(|rows| print(kind, &rows, args.output, screen));
        let closed = session.close().await;
        Failure::all([printed, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

async fn rows(cluster: &Cluster, kind: DefinitionKind, apply_to: Option<&str>) -> Result<Vec<Value>> {
    let meant = match apply_to {
        Some(name) => Some(meant(cluster, name).await?),
        None => None,
    };
    let mut rows: Vec<Value> = Vec::new();
    for definition in definitions(cluster, kind).await? {
        let is_meant = |meant: &Vec<String>| {
            let applies_to = def::applies_to(kind, &definition);
            applies_to.split(',').any(|one| one == "*" || meant.iter().any(|name| name == one))
        };
        if meant.as_ref().is_none_or(is_meant) {
            rows.push(row(kind, &definition));
        }
    }
    Ok(rows)
}

/// The definitions of the namespace of the command, and below them those of all namespaces that it has no own of.
async fn definitions(cluster: &Cluster, kind: DefinitionKind) -> Result<Vec<Value>> {
    let mut found: Vec<Value> = Vec::new();
    for namespace in [cluster.namespace(), cluster.system_namespace().await?] {
        let is_new = |one: &Value| {
            let name = text(one, "/metadata/name");
            !found.iter().any(|other| text(other, "/metadata/name") == name)
        };
        let listed = cluster.list(API_VERSION, kind.kind(), Some(namespace)).await?;
        let mut new: Vec<Value> = listed.iter().map(|one| json!(one)).filter(is_new).collect();
        new.sort_by_cached_key(|one| text(one, "/metadata/name").to_owned());
        found.append(&mut new);
    }
    Ok(found)
}

/// What a trait may name that is meant for this type: the type, and its workload in each way of writing it.
async fn meant(cluster: &Cluster, name: &str) -> Result<Vec<String>> {
    let mut meant = vec![name.to_owned()];
    let components = definitions(cluster, DefinitionKind::Component).await?;
    let Some(component) = components.iter().find(|one| text(one, "/metadata/name") == name) else {
        return Ok(meant);
    };
    let workload = def::workload(component);
    let part = |field: &str| text(component, &format!("/spec/workload/definition/{field}"));
    let (api_version, kind) = (part("apiVersion"), part("kind"));
    if !kind.is_empty() && cluster.knows(api_version, kind).await? {
        let (resource, _) = cluster.kind(api_version, kind).await?;
        meant.push(format!("{}.{}", resource.plural, resource.group));
        meant.push(resource.plural);
    }
    meant.push(workload);
    Ok(meant)
}

fn row(kind: DefinitionKind, definition: &Value) -> Value {
    let mut row = json!({
        "name": text(definition, "/metadata/name"),
        "namespace": text(definition, "/metadata/namespace"),
        "description": def::description(definition),
    });
    if kind == DefinitionKind::Trait {
        let conflicts = definition.pointer("/spec/conflictsWith").and_then(Value::as_array);
        let conflicts: Vec<&str> = conflicts.into_iter().flatten().filter_map(Value::as_str).collect();
        row["appliesTo"] = json!(def::applies_to(kind, definition));
        row["conflictsWith"] = json!(conflicts.join(","));
        row["podDisruptive"] = json!(definition.pointer("/spec/podDisruptive") == Some(&Value::Bool(true)));
    } else {
        row["workload"] = json!(def::workload(definition));
    }
    row
}

fn print(kind: DefinitionKind, rows: &[Value], format: ListFormat, screen: &mut Screen) -> Result<()> {
    let cell =
        |row: &Value, field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
    if print_plain(rows, |row| text(row, "/name").to_owned(), format, screen)? {
        return Ok(());
    }
    let middle: &[Column] = if kind == DefinitionKind::Trait { &OF_TRAITS } else { &OF_OTHERS };
    let columns: Vec<Column> = FIRST.iter().chain(middle).chain([&LAST]).copied().collect();
    let mut table = Table::new(&columns.iter().map(|(heading, _)| *heading).collect::<Vec<_>>());
    for row in rows {
        table.row(columns.iter().map(|(_, field)| cell(row, field)).collect());
    }
    if table.is_empty() {
        screen.say(&format!(
            "There is no {} here; --discover lists those of the capability centres.",
            kind.noun()
        ));
        return Ok(());
    }
    let width = screen.width().filter(|_| format == ListFormat::Table);
    screen.print(&table.cut_to(width, columns.len() - 1).render())
}
