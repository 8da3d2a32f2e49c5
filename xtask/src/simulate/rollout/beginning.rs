//! The prepared server → what schedules of rollouts begin with: recorded revisions, pods that run, rollouts half-way.
//!
//! A rollout without faults is taken apart: after each of its writes the world is kept, and schedules begin there.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::super::model::{Form, NAMESPACE};
use super::super::user::path;
use super::super::world::{Beginning, SimulatedCluster};
use super::plan::{Batch, Number, Plan};
use super::{APPLICATIONS, COMPONENT, Kind, REVISIONS, ROLLOUTS, SIZE};

/// Steps of a calm run at most.
const STEPS_AT_MOST: usize = 4000;
/// Pods of the third revision come this late.
const LATE_SECONDS: i64 = 20;

/// Where schedules begin.
pub(crate) struct Scene {
    pub(crate) beginning: Beginning,
    pub(crate) kind: Kind,
    /// Is a rollout under way?
    pub(crate) rolls: bool,
}

/// All scenes. Those without a rollout under way stand first of their kind.
pub(crate) fn scenes(known: &Beginning) -> Result<Vec<Scene>, String> {
    let mut all = Vec::new();
    for kind in [Kind::Deployment, Kind::StatefulSet] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let made = runtime.map_err(|error| error.to_string())?.block_on(of_kind(known, kind));
        all.extend(made.map_err(|error| format!("cannot prepare rollouts of {kind:?}: {error}"))?);
    }
    Ok(all)
}

async fn of_kind(known: &Beginning, kind: Kind) -> Result<Vec<Scene>, String> {
    let mut world = SimulatedCluster::new(known, Form::Rollout, 1, None);
    world.start_all();
    world.make(&definition(kind))?;
    world.make(&application(kind, 1))?;
    for value in 1..=4 {
        let body = json!({"spec": {"components": [component(kind, value)]}});
        world.user(Method::PATCH, &path(APPLICATIONS, "shop"), Some(&body));
        let name = format!("shop-v{value}");
        calmly(&mut world, |_| (), |world| exists(world, REVISIONS, &name)).await?;
    }
    let scene = |world: &SimulatedCluster, rolls: bool| Scene { beginning: world.beginning(), kind, rolls };
    let recorded = scene(&world, false);
    let scale = Plan {
        size: Some(SIZE),
        batches: vec![Batch { pods: Number::Percent(100), ..Batch::default() }],
        ..Plan::default()
    };
    let first = object("release", "shop-v1", None, &scale);
    world.user(Method::POST, &path(ROLLOUTS, ""), Some(&first));
    calmly(&mut world, |_| (), |world| state(world) == "rolloutSucceed").await?;
    world.user(Method::DELETE, &path(ROLLOUTS, "release"), None);
    calmly(&mut world, |_| (), |world| !exists(world, ROLLOUTS, "release") && is_settled(world, kind))
        .await?;
    let running = scene(&world, false);
    let mut all = Vec::new();
    for plan in plans(kind) {
        let mut world = SimulatedCluster::new(&running.beginning, Form::Rollout, 1, None);
        world.start_all();
        let rollout = object("release", "shop-v2", Some("shop-v1"), &plan);
        world.user(Method::POST, &path(ROLLOUTS, ""), Some(&rollout));
        let keep = |world: &SimulatedCluster| all.push(scene(world, true));
        calmly(&mut world, keep, |world| state(world) == "rolloutSucceed").await?;
        world.kill(0);
    }
    world.kill(0);
    all.insert(0, running);
    all.insert(1, recorded);
    Ok(all)
}

/// What is taken apart.
fn plans(kind: Kind) -> Vec<Plan> {
    let batches = |unavailable: i64| {
        let batch =
            |percent: i64| Batch { pods: Number::Percent(percent), unavailable: Number::Pods(unavailable) };
        [25, 25, 50].into_iter().map(batch).collect()
    };
    let increase = Plan { size: Some(SIZE), batches: batches(0), ..Plan::default() };
    let decrease = Plan { decreases_first: true, batches: batches(1), ..Plan::default() };
    match kind {
        Kind::Deployment => vec![increase, decrease],
        Kind::StatefulSet => vec![Plan { size: None, ..increase }],
    }
}

/// An AppRollout.
pub(super) fn object(name: &str, target: &str, source: Option<&str>, plan: &Plan) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "targetAppRevisionName": target, "sourceAppRevisionName": source.unwrap_or_default(),
            "rolloutPlan": plan.write(),
        },
    })
}

/// The application whose revisions are recorded only.
pub(super) fn application(kind: Kind, value: i64) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {
            "name": "shop", "namespace": NAMESPACE,
            "annotations": {"app.oam.dev/rollout-template": "true"},
        },
        "spec": {"components": [component(kind, value)]},
    })
}

/// The first two revisions are well, pods of the third come late, and those of the fourth are never ready.
pub(super) fn component(kind: Kind, value: i64) -> Value {
    let fails = if value == 4 { "simulate-fail-not-ready" } else { "well" };
    let late = if value == 3 { LATE_SECONDS } else { 0 };
    json!({
        "name": COMPONENT, "type": kind.type_name(),
        "properties": {"image": format!("serve:{value}-{fails}"), "late": late.to_string()},
    })
}

fn definition(kind: Kind) -> Value {
    let (name, version, workload, template) = match kind {
        Kind::Deployment => (kind.type_name(), "apps/v1", "Deployment", SERVE),
        Kind::StatefulSet => (kind.type_name(), "apps/v1", "StatefulSet", KEEP),
    };
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "workload": {"definition": {"apiVersion": version, "kind": workload}},
            "schematic": {"handlebars": {"template": template}},
        },
    })
}

/// Everything goes on, one request or line at a time, until the condition holds; after each write the world is shown.
async fn calmly(
    world: &mut SimulatedCluster,
    mut written: impl FnMut(&SimulatedCluster),
    until: impl Fn(&SimulatedCluster) -> bool,
) -> Result<(), String> {
    for _ in 0..STEPS_AT_MOST {
        world.settle_step().await;
        if until(world) {
            return Ok(());
        }
        let asked = world.gate.lock().pending.iter().map(|(id, asked)| (*id, asked.writes())).next();
        if let Some((id, writes)) = asked {
            world.gate.pass(id);
            world.gate.lock().performed.clear();
            if writes {
                written(world);
            }
            continue;
        }
        if !world.deliver_all() {
            world.turn();
            world.pass(Duration::from_millis(50)).await;
        }
    }
    Err("the calm run does not end".to_owned())
}

fn exists(world: &SimulatedCluster, resource: &str, name: &str) -> bool {
    world.server.store().find(resource, NAMESPACE, name).is_some()
}

fn state(world: &SimulatedCluster) -> String {
    let found = world.server.store().find(ROLLOUTS, NAMESPACE, "release");
    found.and_then(|found| found["status"]["rollingState"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn is_settled(world: &SimulatedCluster, kind: Kind) -> bool {
    let name = kind.workload("shop-v1");
    let found = world.server.store().find(kind.resource(), NAMESPACE, &name);
    found.is_some_and(|found| found["status"]["readyReplicas"] == SIZE)
}

const SERVE: &str = r#"apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 2
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
      annotations:
        simulate.vela.dev/start-seconds: "{{parameter.late}}"
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{context.name}}-settings
data:
  image: {{parameter.image}}
"#;

const KEEP: &str = r#"apiVersion: apps/v1
kind: StatefulSet
spec:
  replicas: 2
  serviceName: {{context.name}}
  selector:
    matchLabels:
      component: {{context.name}}
  template:
    metadata:
      labels:
        component: {{context.name}}
      annotations:
        simulate.vela.dev/start-seconds: "{{parameter.late}}"
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
"#;
