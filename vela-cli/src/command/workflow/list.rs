//! Lists the workflows of applications: how far each is.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::found::run_of;
use crate::applications::{API_VERSION, KIND};
use crate::args::ListFormat;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::screen::{Screen, styled};
use crate::steps::{self, Progress};
use crate::table::Table;

pub(super) async fn print(
    cluster: &Cluster,
    all_namespaces: bool,
    format: ListFormat,
    screen: &mut Screen,
) -> Result<()> {
    let namespace = (!all_namespaces).then(|| cluster.namespace());
    let mut applications = cluster.list(API_VERSION, KIND, namespace).await?;
    applications.sort_by_key(|application| (application.namespace(), application.name_any()));
    let rows: Vec<Row> = applications.iter().filter_map(Row::of).collect();
    if format == ListFormat::Name {
        let names: Vec<&str> = rows.iter().map(|row| row.application.as_str()).collect();
        return if names.is_empty() { Ok(()) } else { screen.print(&names.join("\n")) };
    }
    if let Some(format) = format.data() {
        return screen.data(format, &rows.iter().map(Row::data).collect());
    }
    if rows.is_empty() {
        let place = namespace.map_or("any namespace".to_owned(), |name| format!("namespace {name}"));
        screen.say(&format!("No workflow has begun in {place}."));
        return Ok(());
    }
    let mut heading = vec!["APP", "REVISION", "PHASE", "STEPS", "BEGAN", "ENDED", "WHY"];
    if all_namespaces {
        heading.insert(0, "NAMESPACE");
    }
    let why = heading.len() - 1;
    let mut table = Table::new(&heading);
    for row in rows {
        let mut cells = row.cells();
        if all_namespaces {
            cells.insert(0, row.namespace);
        }
        table.row(cells);
    }
    screen.print(&table.cut_to(screen.width(), why).render())
}

/// One workflow.
struct Row {
    namespace: String,
    application: String,
    progress: Progress,
}

impl Row {
    /// Nothing of an application whose workflow has not begun.
    fn of(application: &DynamicObject) -> Option<Self> {
        let run = run_of(application).ok()?;
        Some(Self {
            namespace: application.namespace().unwrap_or_default(),
            application: application.name_any(),
            progress: steps::progress(&run, &application.data),
        })
    }

    fn cells(&self) -> Vec<String> {
        let Progress { revision, phase, done, count, began, ended, why } = &self.progress;
        vec![
            self.application.clone(),
            revision.clone(),
            styled(steps::style_of_run(*phase), phase.as_str()),
            format!("{done} of {count}"),
            began.clone(),
            ended.clone(),
            why.clone(),
        ]
    }

    fn data(&self) -> Value {
        let Progress { revision, phase, done, count, began, ended, why } = &self.progress;
        json!({
            "namespace": self.namespace,
            "application": self.application,
            "revision": revision,
            "phase": phase.as_str(),
            "stepsDone": done,
            "steps": count,
            "began": began,
            "ended": ended,
            "why": why,
        })
    }
}
