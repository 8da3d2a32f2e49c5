//! A look at an application: the tree of its objects, its pods, or its addresses.

use serde_json::{Value, json};
use vela_engine::nearest::advice;

use super::endpoints;
use crate::args::Status;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pods::{self, Pod};
use crate::pointer::text;
use crate::tree::{self, Node};

/// What a look at an application has found.
pub(super) enum Look {
    /// Its pods, one row each.
    Pods(Vec<Value>),
    /// Its addresses, one row each.
    Endpoints(Vec<Value>),
    Tree(Node),
}

/// Looks at an application.
pub(super) async fn look(cluster: &Cluster, args: &Status, application: &Value) -> Result<Look> {
    let wanted = Wanted::of(args, application)?;
    if args.pod {
        let rows = pods::of(cluster, application).await?.iter().map(pod_row).collect();
        return Ok(Look::Pods(wanted.rows(rows)));
    }
    if args.endpoint {
        return Ok(Look::Endpoints(wanted.rows(endpoints::of(cluster, application).await?)));
    }
    let mut tree = tree::read(cluster, application).await?;
    if !wanted.is_all() {
        tree.children.retain(|node| node.kind == tree::COMPONENT && wanted.has(&node.name));
    }
    Ok(Look::Tree(tree))
}

/// The components that are asked for.
struct Wanted<'a>(&'a [String]);

impl<'a> Wanted<'a> {
    fn of(args: &'a Status, application: &Value) -> Result<Self> {
        let components = application.pointer("/spec/components").and_then(Value::as_array);
        // A component of an ApplicationConfiguration is an object, and one of an Application an entry.
        let known: Vec<&str> = components
            .into_iter()
            .flatten()
            .filter_map(|one| {
                ["name", "componentName", "revisionName"].iter().find_map(|field| one[*field].as_str())
            })
            .collect();
        match args.component.iter().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self(&args.component)),
            Some(name) => {
                let error = Error::user(format!("{} has no component {name:?}", args.name));
                let hint = advice(name, "component", known.iter().copied());
                Err(error.hint(hint.unwrap_or_else(|| format!("it has {}", known.join(", ")))).into())
            }
        }
    }

    fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, component: &str) -> bool {
        self.is_all() || self.0.iter().any(|name| name == component)
    }

    fn rows(&self, mut rows: Vec<Value>) -> Vec<Value> {
        rows.retain(|row| self.has(text(row, "/component")));
        rows
    }
}

/// The same for programs.
pub(super) fn document_of(application: &Value, look: &Look) -> Value {
    match look {
        Look::Pods(rows) | Look::Endpoints(rows) => json!(rows),
        Look::Tree(tree) => {
            let status = application.get("status").cloned().unwrap_or_default();
            json!({ "tree": tree.data(), "status": status })
        }
    }
}

/// A pod as rows of pods show it.
pub(in crate::command) fn pod_row(pod: &Pod) -> Value {
    let statuses = pod.object.pointer("/status/containerStatuses").and_then(Value::as_array);
    let count = |ready: bool| {
        statuses.into_iter().flatten().filter(|status| !ready || status["ready"] == true).count()
    };
    let restarts = statuses.into_iter().flatten().filter_map(|status| status["restartCount"].as_u64());
    json!({
        "component": pod.component,
        "pod": pod.name(),
        "namespace": pod.namespace(),
        "ready": format!("{}/{}", count(true), count(false)),
        "phase": text(&pod.object, "/status/phase"),
        "restarts": restarts.sum::<u64>(),
        "node": text(&pod.object, "/spec/nodeName"),
        "created": text(&pod.object, "/metadata/creationTimestamp"),
    })
}

/// Where the phase of a pod stands in its row.
pub(super) const POD_PHASE: usize = 3;

/// The cells of a row of [`pod_row`].
pub(super) fn pod_cells(row: &Value) -> Vec<String> {
    let cell = |field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
    ["component", "pod", "ready", "phase", "restarts", "node", "created"].map(cell).to_vec()
}
