//! `vela rollout history`: lists the revisions of an application, newest first, with the rollouts between them.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::labels;
use vela_engine::rollout::Spelling;

use super::found::{API_VERSION, KIND};
use crate::args::Format;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::screen::Screen;
use crate::table::Table;

pub(super) async fn show(
    cluster: &Cluster,
    application: &str,
    format: Format,
    screen: &mut Screen,
) -> Result<()> {
    let namespace = Some(cluster.namespace());
    let mut revisions = cluster.list(API_VERSION, "ApplicationRevision", namespace).await?;
    revisions
        .retain(|revision| revision.labels().get(labels::APP_NAME).is_some_and(|name| name == application));
    if revisions.is_empty() {
        let message = format!("there is no revision of application {application:?} in {}", cluster.place());
        return Err(Error::user(message)
            .hint("`vela ls -A` lists the applications of every namespace")
            .into());
    }
    revisions.sort_by_key(|revision| std::cmp::Reverse(number(revision)));
    let rollouts = cluster.list(API_VERSION, KIND, namespace).await?;
    if format != Format::Table {
        let rows = revisions.iter().map(|revision| {
            let ends = ends(&rollouts, &revision.name_any());
            json!({"name": revision.name_any(), "created": revision.creation_timestamp(), "rollouts": ends})
        });
        return screen.data(format, &Value::Array(rows.collect()));
    }
    let mut table = Table::new(&["REVISION", "CREATED", "ROLLOUTS"]);
    for revision in &revisions {
        let created = revision.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default();
        table.row(vec![revision.name_any(), created, ends(&rollouts, &revision.name_any()).join(", ")]);
    }
    screen.print(&table.render())
}

/// The number behind the name, by which revisions are counted.
fn number(revision: &DynamicObject) -> u64 {
    let name = revision.name_any();
    name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// Which rollouts go to this revision or come from it, and where they are.
fn ends(rollouts: &[DynamicObject], revision: &str) -> Vec<String> {
    let end = |rollout: &DynamicObject| {
        let spec = |field: &str| rollout.data["spec"][field] == revision;
        let state = rollout.data["status"]["rollingState"].as_str().unwrap_or("new");
        let [to, from] = [0, 1].map(|at| {
            let spellings = [Spelling::Revisions, Spelling::Configurations];
            spellings.iter().any(|spelling| spec(spelling.fields()[at]))
        });
        match (to, from) {
            (true, _) => Some(format!("to it: {} ({state})", rollout.name_any())),
            (false, true) => Some(format!("from it: {} ({state})", rollout.name_any())),
            (false, false) => None,
        }
    };
    rollouts.iter().filter_map(end).collect()
}
