//! `vela status`: prints conditions, components, objects and the steps of the workflow of an application.

use serde_json::{Value, json};
use vela_crds::condition::types;
use vela_runtime::clock;

use crate::applications::find_any;
use crate::args::{Format, Global, Status};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pods::Pod;
use crate::pointer::text;
use crate::screen::{BAD, BOLD, Screen, data, styled, wrapped};
use crate::session::{Purpose, Session, block_on};
use crate::table::Table;
use crate::{pods, steps, tree};

/// Columns of the names of what is told.
const LABEL: usize = 11;

pub(crate) fn run(args: &Status, global: &Global, screen: &mut Screen) -> Result<()> {
    block_on(async {
        let session = Session::open(global, Purpose::Read, screen).await?;
        let shown = show(&session.cluster, args, screen).await;
        session.close().await?;
        shown
    })
}

async fn show(cluster: &Cluster, args: &Status, screen: &mut Screen) -> Result<()> {
    let application = find_any(cluster, &args.name).await?;
    if args.pod {
        return show_pods(&pods::of(cluster, &application).await?, args, screen);
    }
    let tree = tree::read(cluster, &application).await?;
    if args.output != Format::Table {
        let status = application.get("status").cloned().unwrap_or_default();
        return screen.print(&data(args.output, &json!({ "tree": tree.data(), "status": status }))?);
    }
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&format!("{}{value}\n", styled(BOLD, &format!("{name:<LABEL$}"))));
        }
    };
    say("Name", text(&application, "/metadata/name"));
    say("Namespace", text(&application, "/metadata/namespace"));
    say("Created", text(&application, "/metadata/creationTimestamp"));
    say("Phase", text(&application, "/status/status"));
    say("Revision", text(&application, "/status/latestRevision/name"));
    let shown = problems(&application);
    for problem in &shown {
        let width = screen.width().unwrap_or(usize::MAX).saturating_sub(LABEL);
        let lines: Vec<String> = wrapped(problem, width).lines().map(|line| styled(BAD, line)).collect();
        say("Problem", &lines.join(&format!("\n{}", " ".repeat(LABEL))));
    }
    out.push('\n');
    out.push_str(&tree.without(&shown.join("\n")).render());
    if let Some(workflow) = steps::render(&application, clock::now(), screen.width()) {
        out.push_str(&format!("\n{workflow}"));
    }
    screen.print(&out)
}

/// A pod as rows of pods show it.
pub(super) fn pod_row(pod: &Pod) -> Value {
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

/// Its pods, one row each.
fn show_pods(pods: &[Pod], args: &Status, screen: &mut Screen) -> Result<()> {
    let rows: Vec<Value> = pods.iter().map(pod_row).collect();
    if args.output != Format::Table {
        return screen.print(&data(args.output, &Value::Array(rows))?);
    }
    if rows.is_empty() {
        screen.say(&format!("{} has no pod.", args.name));
        return Ok(());
    }
    let mut table = Table::new(&["COMPONENT", "POD", "READY", "PHASE", "RESTARTS", "NODE", "CREATED"]);
    for row in &rows {
        let cell = |field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
        let fields = ["component", "pod", "ready", "phase", "restarts", "node", "created"];
        table.row(fields.map(cell).to_vec());
    }
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
