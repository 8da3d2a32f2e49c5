//! `vela cap ls`, and the lists of types with `--discover`: what the centres have, and what of it is installed.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use serde_json::{Value, json};
use vela_crds::labels::CAPABILITY_CENTER;
use vela_engine::DefinitionKind;

use super::store::{self, Center};
use crate::applications::API_VERSION;
use crate::args::{Global, ListFormat};
use crate::cluster::Cluster;
use crate::command::def;
use crate::error::{Failure, Result};
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::Screen;
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

/// What is listed, and how.
pub(in crate::command) struct Listed<'a> {
    pub(in crate::command) center: Option<&'a str>,
    /// What the definitions are for; every one where none is named.
    pub(in crate::command) kind: Option<DefinitionKind>,
    pub(in crate::command) format: ListFormat,
}

pub(in crate::command) fn run(listed: &Listed<'_>, global: &Global, screen: &mut Screen) -> Result<()> {
    let all = store::all()?;
    let centers: Vec<&Center> = match listed.center {
        Some(name) => vec![store::find(&all, name)?],
        None => all.iter().collect(),
    };
    if centers.is_empty() {
        return Err(store::none_configured().into());
    }
    block_on(async {
        let session = Session::open_for_all(global, Purpose::Read, screen).await?;
        let there = there(&session.cluster).await;
        let listed = there.and_then(|there| print(&centers, listed, &there, screen));
        let closed = session.close().await;
        Failure::all([listed, closed].into_iter().filter_map(Result::err).collect()).map_or(Ok(()), Err)
    })
}

/// The centre that each definition of the namespace came from, by kind and name; none where it came from elsewhere.
type There = BTreeMap<(&'static str, String), Option<String>>;

async fn there(cluster: &Cluster) -> Result<There> {
    let mut there = There::new();
    for kind in def::KINDS {
        if !cluster.knows(API_VERSION, kind.kind()).await? {
            continue;
        }
        for object in cluster.list(API_VERSION, kind.kind(), Some(cluster.namespace())).await? {
            let center = object.labels().get(CAPABILITY_CENTER).cloned();
            there.insert((kind.kind(), object.name_any()), center);
        }
    }
    Ok(there)
}

fn print(centers: &[&Center], listed: &Listed<'_>, there: &There, screen: &mut Screen) -> Result<()> {
    let mut rows = Vec::new();
    for center in centers {
        for definition in &center.definitions {
            let kind =
                store::kind(definition).filter(|kind| listed.kind.is_none_or(|wanted| *kind == wanted));
            rows.extend(kind.map(|kind| row(center, kind, definition, there)));
        }
    }
    let cell = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    if print_plain(
        &rows,
        |row| format!("{}/{}", cell(row, "center"), cell(row, "name")),
        listed.format,
        screen,
    )? {
        return Ok(());
    }
    let mut table =
        Table::new(&["NAME", "CENTER", "TYPE", "DEFINITION", "STATUS", "APPLIES-TO", "DESCRIPTION"]);
    let fields = ["name", "center", "type", "definition", "status", "appliesTo", "description"];
    for row in &rows {
        table.row(fields.map(|field| cell(row, field)).to_vec());
    }
    if table.is_empty() {
        screen.say("The capability centres have none of this type; `vela cap ls` lists all.");
        return Ok(());
    }
    let width = screen.width().filter(|_| listed.format == ListFormat::Table);
    screen.print(&table.cut_to(width, fields.len() - 1).render())
}

fn row(center: &Center, kind: DefinitionKind, definition: &Value, there: &There) -> Value {
    let name = text(definition, "/metadata/name");
    let status = match there.get(&(kind.kind(), name.to_owned())) {
        None => "uninstalled",
        Some(Some(from)) if *from == center.name => "installed",
        // Installing it would replace what has the name.
        Some(_) => "name taken",
    };
    json!({
        "name": name,
        "center": center.name,
        "type": kind.noun(),
        "definition": def::workload(definition),
        "status": status,
        "appliesTo": def::applies_to(kind, definition),
        "description": def::description(definition),
    })
}
