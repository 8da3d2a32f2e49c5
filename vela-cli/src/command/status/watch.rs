//! `vela status NAME --watch`: prints what changes of one application, one line for each part that does.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::endpoints;
use super::look::{Look, POD_PHASE, document_of, look, pod_cells};
use crate::args::{Format, Status};
use crate::changes::{Change, Changes, Key};
use crate::cluster::Cluster;
use crate::command::watch::{LEAST_PAUSE, document};
use crate::error::Result;
use crate::pointer::text;
use crate::screen::{Screen, cut};
use crate::table::Columns;
use crate::tree::Node;

/// How often its objects are looked at again, which no watch tells; never more than half of the time is spent on it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The words for a part that is gone.
const GONE: &str = "gone";

/// A part of an application: by what it is known, and the row that shows it.
type Part = (String, Vec<String>);

/// What was printed last.
enum Shown {
    Document(String),
    Rows(Columns, BTreeMap<String, Vec<String>>),
}

/// Prints what changes after `first`, which was printed, until the application is gone.
pub(super) async fn follow(
    cluster: &Cluster,
    args: &Status,
    application: &Value,
    first: &Look,
    screen: &mut Screen,
) -> Result<()> {
    let (api_version, kind) = (text(application, "/apiVersion"), text(application, "/kind"));
    let name = text(application, "/metadata/name");
    let namespace = text(application, "/metadata/namespace");
    let (kinds, known) = ([(api_version, kind)], [Key::of(application)]);
    let mut changes = Changes::of(cluster, &kinds, Some(namespace), Some(name), &known).await?;
    let mut shown = begin(args, application, first)?;
    let mut current = application.clone();
    let (mut last, mut due) = (Instant::now(), Instant::now() + LOOK_EVERY);
    let mut is_told = false;
    loop {
        tokio::select! {
            change = changes.next() => match change? {
                // A server that does not select by name tells others, too.
                Change::There(key, value) if key.name == name => {
                    current = value;
                    due = due.min(last + LEAST_PAUSE);
                }
                Change::Gone(key) if key.name == name => {
                    screen.say(&format!("{kind} {name} was deleted."));
                    return Ok(());
                }
                Change::There(..) | Change::Gone(_) | Change::Listed => {}
                Change::Lost(why) => screen.say(&format!("The watch is lost and begins again: {why}")),
            },
            () = sleep_until(due) => {
                let began = Instant::now();
                match look(cluster, args, &current).await {
                    Ok(look) => {
                        is_told = false;
                        if !print(args, &current, &look, &mut shown, screen)? {
                            return Ok(());
                        }
                    }
                    // The cluster may come back; its absence is told once.
                    Err(failure) if !std::mem::replace(&mut is_told, true) => screen.failure(&failure),
                    Err(_) => {}
                }
                last = Instant::now();
                due = last + LOOK_EVERY.max(last - began);
            }
        }
    }
}

fn begin(args: &Status, application: &Value, look: &Look) -> Result<Shown> {
    if args.output != Format::Table {
        return Ok(Shown::Document(document(args.output, &document_of(application, look))?));
    }
    let parts = parts(application, look);
    let columns = Columns::of(parts.iter().map(|(_, row)| row.as_slice()));
    Ok(Shown::Rows(columns, parts.into_iter().collect()))
}

/// Prints what is other than it was shown; says whether there is a reader yet.
fn print(
    args: &Status,
    application: &Value,
    look: &Look,
    shown: &mut Shown,
    screen: &mut Screen,
) -> Result<bool> {
    let (columns, before) = match shown {
        Shown::Document(before) => {
            let now = document(args.output, &document_of(application, look))?;
            return if now == *before {
                Ok(true)
            } else {
                *before = now;
                screen.line(before)
            };
        }
        Shown::Rows(columns, before) => (columns, before),
    };
    let parts = parts(application, look);
    let mut lines: Vec<String> = Vec::new();
    for (part, row) in &parts {
        if before.remove(part).as_ref() != Some(row) {
            lines.push(columns.row(row));
        }
    }
    for (part, mut row) in std::mem::take(before) {
        // What it is called stands first, and how it is behind it; nothing else is true any more.
        let at = if args.pod { POD_PHASE } else { 1 };
        row.truncate(at + 1);
        row.iter_mut().filter(|cell| **cell != part).for_each(String::clear);
        if let Some(cell) = row.get_mut(at) {
            GONE.clone_into(cell);
        }
        lines.push(columns.row(&row));
    }
    before.extend(parts);
    let width = screen.width();
    for line in lines {
        let line = width.map_or(line.clone(), |width| cut(&line, width));
        if !screen.line(&line)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Everything about an application that is shown by a line.
fn parts(application: &Value, look: &Look) -> Vec<Part> {
    let tree = match look {
        Look::Pods(pods) => {
            let part = |pod: &Value| (text(pod, "/pod").to_owned(), pod_cells(pod));
            return pods.iter().map(part).collect();
        }
        Look::Endpoints(rows) => {
            let part = |row: &Value| {
                let cells = endpoints::cells(row);
                (format!("{} {}", cells[1], cells[2]), cells)
            };
            return rows.iter().map(part).collect();
        }
        Look::Tree(tree) => tree,
    };
    let mut parts = Vec::new();
    let mut part = |what: String, state: &str, message: &str| {
        let message = message.trim().replace('\n', " ");
        parts.push((what.clone(), vec![what, state.to_owned(), message]));
    };
    part("Phase".to_owned(), text(application, "/status/status"), "");
    part("Revision".to_owned(), text(application, "/status/latestRevision/name"), "");
    for condition in list(application, "/status/conditions") {
        let status = text(condition, "/status");
        let message = if status == "True" { "" } else { text(condition, "/message") };
        part(format!("condition {}", text(condition, "/type")), status, message);
    }
    nodes(&tree.children, text(application, "/metadata/namespace"), &mut part);
    for step in list(application, "/status/workflow/steps") {
        let name = text(step, "/name");
        part(format!("step {name}"), text(step, "/phase"), text(step, "/message"));
        for below in list(step, "/subSteps") {
            let what = format!("step {name}/{}", text(below, "/name"));
            part(what, text(below, "/phase"), text(below, "/message"));
        }
    }
    parts
}

fn nodes(all: &[Node], namespace: &str, part: &mut impl FnMut(String, &str, &str)) {
    for node in all {
        let place = match node.namespace.is_empty() || node.namespace == namespace {
            true => String::new(),
            false => format!("{}/", node.namespace),
        };
        part(format!("{} {place}{}", node.kind, node.name), node.health.word(), &node.message);
        nodes(&node.children, namespace, part);
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}
