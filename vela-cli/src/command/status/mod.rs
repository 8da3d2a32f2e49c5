//! `vela status`: prints conditions, components, objects and the steps of the workflow of an application.

mod endpoints;
mod look;
mod watch;

use serde_json::Value;
use vela_crds::condition::types;
use vela_runtime::clock;

pub(super) use self::look::pod_row;
use self::look::{Look, document_of, look, pod_cells};
use crate::applications::find_any;
use crate::args::{Format, Global, Graph, Status};
use crate::cluster::Cluster;
use crate::command::watch::{document, until_stopped};
use crate::error::Result;
use crate::graph;
use crate::pointer::text;
use crate::screen::{BAD, BOLD, Screen, styled, wrapped};
use crate::session::{Purpose, Session, block_on, block_on_threads};
use crate::steps;
use crate::table::Table;
use crate::tree::Node;

/// Columns of the names of what is told.
const LABEL: usize = 11;

pub(crate) fn run(args: &Status, global: &Global, screen: &mut Screen) -> Result<()> {
    if !args.watch {
        return block_on(async {
            let session = Session::open(global, Purpose::Read, screen).await?;
            let shown = show(&session.cluster, args, screen).await;
            session.close().await?;
            shown.map(drop)
        });
    }
    // In the sandbox its controllers run, so that the application goes on while this command looks at it.
    block_on_threads(async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let shown = until_stopped(args.timeout, show_and_follow(&session, args, screen)).await;
        session.close().await.and(shown)
    })
}

async fn show_and_follow(session: &Session, args: &Status, screen: &mut Screen) -> Result<()> {
    session.share().await?;
    let (application, look) = show(&session.cluster, args, screen).await?;
    watch::follow(&session.cluster, args, &application, &look, screen).await
}

/// Prints the application, and gives what was printed.
async fn show(cluster: &Cluster, args: &Status, screen: &mut Screen) -> Result<(Value, Look)> {
    let application = find_any(cluster, &args.name).await?;
    let look = look(cluster, args, &application).await?;
    match &look {
        Look::Tree(tree) if args.graph == Some(Graph::Svg) => screen.print(&graph::svg(tree))?,
        _ if args.output != Format::Table => {
            let value = document_of(&application, &look);
            // What a watch prints is one document for each change, and so is the first.
            match args.watch {
                true => screen.print(&document(args.output, &value)?)?,
                false => screen.data(args.output, &value)?,
            }
        }
        Look::Pods(pods) => show_pods(pods, args, screen)?,
        Look::Endpoints(rows) => show_endpoints(rows, args, screen)?,
        Look::Tree(tree) => show_tree(&application, tree, screen)?,
    }
    Ok((application, look))
}

fn show_tree(application: &Value, tree: &Node, screen: &mut Screen) -> Result<()> {
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{}{value}\n", styled(BOLD, &format!("{name:<LABEL$}"))));
        }
    };
    say("Name", text(application, "/metadata/name"));
    say("Namespace", text(application, "/metadata/namespace"));
    say("Created", text(application, "/metadata/creationTimestamp"));
    say("Phase", text(application, "/status/status"));
    say("Revision", text(application, "/status/latestRevision/name"));
    let shown = problems(application);
    for problem in &shown {
        let width = screen.width().unwrap_or(usize::MAX).saturating_sub(LABEL);
        let lines: Vec<String> = wrapped(problem, width).lines().map(|line| styled(BAD, line)).collect();
        say("Problem", &lines.join(&format!("\n{}", " ".repeat(LABEL))));
    }
    out.push('\n');
    out.push_str(&tree.clone().without(&shown.join("\n")).render());
    if let Some(workflow) = steps::render(application, clock::now(), screen.width()) {
        out.push_str(&format!("\n{workflow}"));
    }
    screen.print(&out)
}

/// Its pods, one row each.
fn show_pods(rows: &[Value], args: &Status, screen: &mut Screen) -> Result<()> {
    if rows.is_empty() {
        screen.say(&format!("{} has no pod.", args.name));
        return Ok(());
    }
    let mut table = Table::new(&["COMPONENT", "POD", "READY", "PHASE", "RESTARTS", "NODE", "CREATED"]);
    rows.iter().for_each(|row| table.row(pod_cells(row)));
    screen.print(&table.render())
}

/// Its addresses, one row each.
fn show_endpoints(rows: &[Value], args: &Status, screen: &mut Screen) -> Result<()> {
    if rows.is_empty() {
        screen.say(&format!(
            "{} has no address: nothing of it that was looked at is a Service or an Ingress.",
            args.name
        ));
        return Ok(());
    }
    let mut table = Table::new(&["COMPONENT", "OBJECT", "ENDPOINT", "REACHED"]);
    rows.iter().for_each(|row| table.row(endpoints::cells(row)));
    screen.print(&table.render())
}

/// What its conditions say against it. `Ready`, which is `HealthCheck` in the v1alpha2 form, mostly repeats another one and is
/// told only where it does not.
pub(super) fn problems(application: &Value) -> Vec<String> {
    let none = Vec::new();
    let conditions = application.pointer("/status/conditions").and_then(Value::as_array).unwrap_or(&none);
    let bad = conditions.iter().filter(|condition| text(condition, "/status") == "False");
    let mut problems: Vec<String> = Vec::new();
    for condition in bad {
        let message = text(condition, "/message");
        let is_shown = problems.iter().any(|shown| shown.contains(message));
        let is_health = [types::READY, types::HEALTH_CHECK].contains(&text(condition, "/type"));
        let repeats = is_health && !problems.is_empty();
        if !repeats && (message.is_empty() || !is_shown) {
            problems.push(format!("{}: {message}", text(condition, "/type")));
        }
    }
    problems
}
