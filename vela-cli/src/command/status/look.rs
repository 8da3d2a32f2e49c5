//! A look at an application: the tree of its objects, or its pods.

use serde_json::{Value, json};

use crate::args::Status;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pods::{self, Pod};
use crate::pointer::text;
use crate::tree::{self, Node};

/// What a look at an application has found.
pub(super) enum Look {
    /// Its pods, one row each.
    Pods(Vec<Value>),
    Tree(Node),
}

/// Looks at an application.
pub(super) async fn look(cluster: &Cluster, args: &Status, application: &Value) -> Result<Look> {
    Ok(match args.pod {
        true => Look::Pods(pods::of(cluster, application).await?.iter().map(pod_row).collect()),
        false => Look::Tree(tree::read(cluster, application).await?),
    })
}

/// The same for programs.
pub(super) fn document_of(application: &Value, look: &Look) -> Value {
    match look {
        Look::Pods(pods) => json!(pods),
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
