//! What a workflow of ten steps costs, and a restart among many workflows that are suspended; printed, and asserted not to grow
//! with their number.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use vela_runtime::limiter::REQUESTS_IN_FLIGHT;

use super::scale::{memory, processor};
use super::test_cluster::{TestCluster, application};

const OAM: &str = "core.oam.dev/v1beta1";
/// All workflows are where they should be before this, or the figure is given up.
const DEADLINE: Duration = Duration::from_secs(240);
/// How often the workflow of ten steps is run.
const RUNS: usize = 20;

/// A ConfigMap as a component, which is healthy once it is there: only the workflow costs time.
fn settings(name: &str) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    json!({"name": name, "type": "k8s-objects", "properties": {"objects": [object]}})
}

fn apply_component(component: &str) -> Value {
    json!({"name": component, "type": "apply-component", "properties": {"component": component}})
}

/// A step of a definition, which is stored before and after it acts.
fn apply_object(name: &str) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    json!({"name": name, "type": "apply-object", "properties": {"value": object}})
}

fn workflow(name: &str, components: &[Value], steps: &[Value]) -> Value {
    let mut application = application(name, components);
    application["spec"]["workflow"] = json!({"steps": steps});
    application
}

/// Waits until that many applications have this phase; a watch tells, so that waiting costs next to nothing.
async fn are(api: &Api<DynamicObject>, which: watcher::Config, phase: &str, count: usize) {
    let (mut names, mut last) = (BTreeSet::new(), Value::Null);
    let mut events = watcher(api.clone(), which).applied_objects().boxed();
    let wait = async {
        while names.len() < count {
            let Ok(object) = events.next().await.unwrap() else { continue };
            if object.data["status"]["status"] == phase {
                names.insert(object.metadata.name.unwrap());
            }
            last = object.data["status"].clone();
        }
    };
    let waited = tokio::time::timeout(DEADLINE, wait).await;
    assert!(waited.is_ok(), "{} of {count} are {phase} after {DEADLINE:?}: {last}", names.len());
}

/// Runs a workflow of `count` steps [`RUNS`] times, one after the other, and tells the price of one step.
async fn ten_steps(cluster: &TestCluster, kind: &str, count: usize, step: fn(&str) -> Value) -> f64 {
    let name = |run: usize, number: usize| format!("{kind}-{count}-{run}-{number}");
    let api = cluster.api(OAM, "Application").await;
    let mut requests = 0;
    let (before, began) = (processor(), Instant::now());
    for run in 0..RUNS {
        cluster.requests();
        let names: Vec<String> = (0..count).map(|number| name(run, number)).collect();
        let steps: Vec<Value> = names.iter().map(|name| step(name)).collect();
        let components: Vec<Value> = match kind {
            "apply-component" => names.iter().map(|name| settings(name)).collect(),
            _ => Vec::new(),
        };
        let application_name = format!("{kind}-{count}-{run}");
        cluster.create(workflow(&application_name, &components, &steps)).await;
        let this = watcher::Config::default().fields(&format!("metadata.name={application_name}"));
        are(&api, this, "running", 1).await;
        requests += cluster.requests().len();
    }
    let each = |sum: f64| sum / RUNS as f64;
    let processor = each(processor() - before) * 1e3;
    println!(
        "workflow: {count} steps {kind}: {:.1} requests, {processor:.1} ms processor time, {:.1} ms until it runs",
        each(requests as f64),
        each(began.elapsed().as_secs_f64()) * 1e3,
    );
    processor / count as f64
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench"]
async fn the_price_of_a_workflow_step_does_not_grow() {
    let cluster = TestCluster::new().await;
    for (kind, step) in
        [("apply-component", apply_component as fn(&str) -> Value), ("apply-object", apply_object)]
    {
        ten_steps(&cluster, kind, 1, step).await;
        let ten = ten_steps(&cluster, kind, 10, step).await;
        let forty = ten_steps(&cluster, kind, 40, step).await;
        assert!(forty < ten * 3.0, "{kind}: a step of forty costs {forty:.1} ms, of ten {ten:.1} ms");
    }
}

/// What `vela workflow resume` writes.
async fn resume(api: &Api<DynamicObject>, name: &str) -> kube::Result<()> {
    let mut workflow = api.get(name).await?.data["status"]["workflow"].clone();
    workflow["suspend"] = json!(false);
    for step in workflow["steps"].as_array_mut().into_iter().flatten() {
        if step["phase"] == "suspending" {
            step["phase"] = json!("running");
        }
    }
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    api.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
}

async fn create(api: &Api<DynamicObject>, applications: impl Iterator<Item = Value>) {
    let created = applications.map(|application| {
        let (api, object) = (api.clone(), serde_json::from_value::<DynamicObject>(application).unwrap());
        async move { api.create(&PostParams::default(), &object).await.map(drop) }
    });
    stream::iter(created).buffer_unordered(REQUESTS_IN_FLIGHT).try_collect::<()>().await.unwrap();
}

/// What one suspended workflow costs among `count`, and what their controllers do when they start again.
async fn suspended(count: usize) -> f64 {
    let mut cluster = TestCluster::without_controllers().await;
    cluster.limit_requests(REQUESTS_IN_FLIGHT);
    cluster.start();
    let api = cluster.api(OAM, "Application").await;
    let names: Vec<String> = (0..count).map(|number| format!("app-{number:05}")).collect();
    let held = |name: &String| {
        let hold = json!({"name": "hold", "type": "suspend"});
        let after = format!("{name}-after");
        let steps = [apply_component(name), hold, apply_component(&after)];
        workflow(name, &[settings(name), settings(&after)], &steps)
    };
    let began = Instant::now();
    // What the first ones bring into memory is there once for all.
    let (first, others) = names.split_at(count / 4);
    create(&api, first.iter().map(held)).await;
    are(&api, watcher::Config::default(), "workflowSuspending", first.len()).await;
    let memory_before = memory();
    create(&api, others.iter().map(held)).await;
    are(&api, watcher::Config::default(), "workflowSuspending", count).await;
    let memory_each = (memory() - memory_before) * 1024.0 / others.len() as f64;
    let suspended_after = began.elapsed();
    cluster.kill().await;
    cluster.writes();
    let (processor_before, began) = (processor(), Instant::now());
    cluster.start();
    cluster.rested(count as u64).await;
    let (rested, writes) = (began.elapsed(), cluster.writes().len());
    let restart = (processor() - processor_before) * 1e3 / count as f64;
    let began = Instant::now();
    let resumed = stream::iter(&names).map(|name| resume(&api, name));
    resumed.buffer_unordered(REQUESTS_IN_FLIGHT).try_collect::<()>().await.unwrap();
    are(&api, watcher::Config::default(), "running", count).await;
    println!(
        "workflow: {count} suspended after {suspended_after:.1?}, {memory_each:.0} KiB each with what is stored; a restart: \
         {rested:.1?}, {restart:.2} ms processor time each, {writes} writes; all resumed run after {:.1?}",
        began.elapsed()
    );
    restart
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench"]
async fn the_price_of_a_restart_among_suspended_workflows() {
    let few = suspended(250).await;
    let many = suspended(1000).await;
    assert!(many < few * 2.5, "one among 1,000 costs {many:.2} ms at a restart, among 250 {few:.2} ms");
}
