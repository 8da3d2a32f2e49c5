//! `vela policy`: what became of the policies of an application, and what they would change.

mod dry_run;
mod words;

use serde_json::{Value, json};

use self::words::{absent, changes};
use crate::applications::{API_VERSION, KIND};
use crate::args::{Global, ListFormat, Policy, PolicyView};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::listing::print_plain;
use crate::pointer::text;
use crate::screen::{BAD, GOOD, Screen, styled};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;

pub(crate) fn run(args: &Policy, global: &Global, screen: &mut Screen) -> Result<()> {
    match args {
        Policy::View(args) => block_on(async {
            let session = Session::open(global, Purpose::Read, screen).await?;
            let shown = view(&session.cluster, args, screen).await;
            session.close().await?;
            shown
        }),
        Policy::DryRun(args) => dry_run::run(args, global, screen),
    }
}

async fn view(cluster: &Cluster, args: &PolicyView, screen: &mut Screen) -> Result<()> {
    let name = &args.application;
    let Some(application) = cluster.get(API_VERSION, KIND, None, name).await? else {
        return Err(absent(cluster, name).into());
    };
    let rows = policies(&json!(application));
    if print_plain(&rows, |row| text(row, "/name").to_owned(), args.output, screen)? {
        return Ok(());
    }
    if rows.is_empty() {
        screen.say(&format!("Application {name} has no policies, and no global one acts on it."));
        return Ok(());
    }
    let is_wide = args.output == ListFormat::Wide;
    let mut heading = vec!["POLICY", "TYPE", "SOURCE", "APPLIED", "CHANGES", "MESSAGE"];
    if is_wide {
        heading.extend(["NAMESPACE", "REVISION"]);
    }
    let mut table = Table::new(&heading);
    for row in &rows {
        let applied = match (row["applied"].as_bool(), row["error"] == true) {
            (Some(true), _) => styled(GOOD, "yes"),
            (Some(false), true) => styled(BAD, "failed"),
            (Some(false), false) => "no".to_owned(),
            (None, _) => String::new(),
        };
        let cell = |path: &str| text(row, path).to_owned();
        let mut cells =
            vec![cell("/name"), cell("/type"), cell("/source"), applied, changes(row), cell("/message")];
        if is_wide {
            cells.extend([cell("/namespace"), cell("/revisionHash")]);
        }
        table.row(cells);
    }
    screen.print(&table.render())
}

/// Those that changed the application, as its status tells it, and the others that its spec names.
fn policies(application: &Value) -> Vec<Value> {
    let list = |path: &str| application.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let report = || list("/status/appliedApplicationPolicies");
    let is_told = |policy: &Value| {
        report().any(|report| {
            report["source"] != "global" && report["type"] == policy["type"] && is_named(report, policy)
        })
    };
    let others = list("/spec/policies").filter(|policy| !is_told(policy)).map(|policy| {
        let type_ = text(policy, "/type");
        let name = Some(text(policy, "/name")).filter(|name| !name.is_empty()).unwrap_or(type_);
        json!({"name": name, "type": type_, "source": "explicit"})
    });
    report().cloned().chain(others).collect()
}

/// A policy without a name is told under its type.
fn is_named(report: &Value, policy: &Value) -> bool {
    let name = Some(text(policy, "/name")).filter(|name| !name.is_empty());
    report["name"] == name.unwrap_or_else(|| text(policy, "/type"))
}
