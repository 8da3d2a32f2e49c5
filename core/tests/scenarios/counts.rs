//! How many requests an application costs; printed, so that the figures can be recorded.

use std::time::Duration;

use serde_json::{Value, json};
use vela_runtime::fault::Entry;

use super::test_cluster::{TestCluster, application, web};

/// What the controllers ask for until they ask for nothing any more.
async fn all_requests(cluster: &TestCluster) -> Vec<Entry> {
    cluster.requests_until_quiet(Duration::from_millis(400), |_| true).await
}

const OAM: &str = "core.oam.dev/v1beta1";

/// Writes without events, and events.
fn writes_and_events(requests: &[Entry]) -> (usize, usize) {
    let events = requests.iter().filter(|entry| entry.is_event()).count();
    (requests.iter().filter(|entry| entry.writes()).count() - events, events)
}

/// No more writes and events than these.
#[track_caller]
fn assert_at_most(writes: usize, events: usize, requests: &[Entry]) {
    let (written, published) = writes_and_events(requests);
    assert!(written <= writes && published <= events, "{written} writes, {published} events: {requests:#?}");
}

fn print(what: &str, requests: &[Entry]) {
    let (writes, events) = writes_and_events(requests);
    let reads = requests.iter().filter(|entry| !entry.writes()).count();
    println!("requests: {what}: {writes} writes, {reads} reads, {events} events");
    for entry in requests {
        println!("    {} {}", entry.method, entry.path);
    }
}

#[tokio::test]
async fn an_application_costs_few_requests_and_unchanged_no_write() {
    let mut cluster = TestCluster::new().await;
    // One application before, so that discovery and watches of its kinds are there already.
    cluster.create(application("warm", &[web("warm", "nginx:1")])).await;
    cluster.phase("warm", "running").await;
    cluster.rested(1).await;
    cluster.requests();

    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    let created = all_requests(&cluster).await;
    print("create (2 objects)", &created);
    // The finalizer, the revision, the record before and after the objects, the two objects, and the status while they
    // start and when they run.
    assert_at_most(8, 2, &created);

    cluster.quiet().await;
    cluster.resync("web").await;
    let touched = cluster.requests();
    print("no-change resync", &touched);
    assert_eq!(touched.iter().filter(|entry| entry.writes()).count(), 0, "{touched:#?}");

    cluster
        .patch(OAM, "Application", "shop", json!({"spec": {"components": [web("front", "nginx:2")]}}))
        .await;
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    let updated = all_requests(&cluster).await;
    print("one-field update", &updated);
    assert_at_most(7, 2, &updated);
    let writes =
        |object: &str| updated.iter().filter(|entry| entry.writes() && entry.path.contains(object)).count();
    assert_eq!(writes("/deployments/front"), 1, "{updated:#?}");
    // Only the label with the name of the revision would change: it says which revision last changed the object.
    assert_eq!(writes("/services/front"), 0, "{updated:#?}");

    cluster.quiet().await;
    cluster.stop().await;
    cluster.requests();
    cluster.start();
    cluster.rested(2).await;
    let restarted = cluster.writes();
    assert!(restarted.is_empty(), "a restart writes nothing: {restarted:#?}");

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.rested(1).await;
    print("delete (2 objects)", &cluster.requests());
}

/// What the peer was measured with.
#[tokio::test]
async fn a_webservice_with_a_scaler_costs_seven_writes_and_two_events() {
    let cluster = TestCluster::new().await;
    let service = |name: &str| {
        let scaler = json!({"type": "scaler", "properties": {"replicas": 1}});
        let service = json!({
            "name": name, "type": "webservice", "properties": {"image": "nginx:1.27"}, "traits": [scaler],
        });
        application(name, &[service])
    };
    for name in ["warm", "shop"] {
        cluster.requests();
        cluster.create(service(name)).await;
        cluster.phase(name, "running").await;
        let requests = all_requests(&cluster).await;
        if name == "shop" {
            print("webservice and scaler, create", &requests);
            assert_at_most(7, 2, &requests);
            let reads = requests.iter().filter(|entry| !entry.writes()).count();
            assert!(reads <= 1, "definitions are not read anew where nothing is deleted: {requests:#?}");
        }
    }
}

/// An apply that is done again after a crash does no harm, so that no step of these is stored by itself.
#[tokio::test]
async fn steps_that_apply_are_stored_together() {
    let cluster = TestCluster::new().await;
    let names = ["a", "b", "c", "d", "e"];
    let settings = |name: &&str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        json!({"name": name, "type": "k8s-objects", "properties": {"objects": [object]}})
    };
    let applies =
        |name: &&str| json!({"name": name, "type": "apply-component", "properties": {"component": name}});
    let mut steps: Vec<Value> = names.iter().map(applies).collect();
    steps.push(json!({"name": "hold", "type": "suspend"}));
    let mut shop = application("shop", &names.iter().map(settings).collect::<Vec<_>>());
    shop["spec"]["workflow"] = json!({"steps": steps});
    cluster.requests();
    cluster.create(shop).await;
    cluster.phase("shop", "workflowSuspending").await;
    let requests = all_requests(&cluster).await;
    print("workflow of five steps that apply, and a suspension", &requests);
    let is_status = |entry: &&Entry| entry.writes() && entry.path.contains("/applications/shop/status");
    let statuses = requests.iter().filter(is_status).count();
    // After the steps, with the suspension before its values are stored, and the whole.
    assert!((1..=3).contains(&statuses), "{statuses}: {requests:#?}");
}

const ALPHA: &str = "core.oam.dev/v1alpha2";

fn component(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": ALPHA, "kind": "Component", "metadata": {"name": name},
        "spec": {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        }}},
    })
}

fn configuration(name: &str) -> Value {
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    json!({
        "apiVersion": ALPHA, "kind": "ApplicationConfiguration", "metadata": {"name": name},
        "spec": {"components": [{"componentName": name, "traits": [{"trait": settings}]}]},
    })
}

#[tokio::test]
async fn a_configuration_costs_few_requests_and_unchanged_no_write() {
    let mut cluster = TestCluster::new().await;
    for name in ["warm", "shop"] {
        cluster.requests();
        cluster.create(component(name, "nginx:1")).await;
        cluster.create(configuration(name)).await;
        let requests = all_requests(&cluster).await;
        assert!(cluster.deployment(name).await.is_some());
        if name == "shop" {
            print("ApplicationConfiguration, create (workload and trait)", &requests);
        }
    }
    let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
    cluster.patch(ALPHA, "Component", "shop", touched).await;
    let requests = all_requests(&cluster).await;
    print("ApplicationConfiguration, no-change resync", &requests);
    assert_eq!(requests.iter().filter(|entry| entry.writes()).count(), 0, "{requests:#?}");

    cluster.patch(ALPHA, "Component", "shop", json!({"spec": component("shop", "nginx:2")["spec"]})).await;
    let requests = all_requests(&cluster).await;
    print("ApplicationConfiguration, one-field update", &requests);
    let writes = requests.iter().filter(|entry| entry.writes() && entry.path.contains("/deployments/shop"));
    assert_eq!(writes.count(), 1, "{requests:#?}");

    cluster.stop().await;
    cluster.requests();
    cluster.start();
    let restarted: Vec<_> = all_requests(&cluster).await.into_iter().filter(Entry::writes).collect();
    assert!(restarted.is_empty(), "a restart writes nothing: {restarted:#?}");

    cluster.delete(ALPHA, "ApplicationConfiguration", "shop").await;
    let requests = all_requests(&cluster).await;
    print("ApplicationConfiguration, delete", &requests);
}

#[tokio::test]
async fn an_application_of_the_first_form_costs_few_requests() {
    let cluster = TestCluster::new().await;
    let application = |name: &str, image: &str| {
        json!({
            "apiVersion": ALPHA, "kind": "Application", "metadata": {"name": name},
            "spec": {"components": [
                {"name": name, "type": "web", "settings": {"image": image, "replicas": 2}, "traits": []},
            ]},
        })
    };
    for name in ["warm", "shop"] {
        cluster.requests();
        cluster.create(application(name, "nginx:1")).await;
        cluster.phase(name, "running").await;
        let requests = all_requests(&cluster).await;
        if name == "shop" {
            print("Application v1alpha2, create (2 objects)", &requests);
        }
    }
    let touched = json!({"metadata": {"annotations": {"touched": "yes"}}});
    cluster.patch(OAM, "ComponentDefinition", "web", touched).await;
    let requests = all_requests(&cluster).await;
    print("Application v1alpha2, no-change resync of two", &requests);
    assert_eq!(requests.iter().filter(|entry| entry.writes()).count(), 0, "{requests:#?}");
    cluster
        .patch(ALPHA, "Application", "shop", json!({"spec": application("shop", "nginx:2")["spec"]}))
        .await;
    print("Application v1alpha2, one-field update", &all_requests(&cluster).await);
    cluster.delete(ALPHA, "Application", "shop").await;
    print("Application v1alpha2, delete", &all_requests(&cluster).await);
}

/// A thousand workflows that wait for people must not be written anew by each process that starts.
#[tokio::test]
async fn a_restart_changes_nothing_of_suspended_workflows() {
    let mut cluster = TestCluster::new().await;
    let settings = |name: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        json!({"name": name, "type": "k8s-objects", "properties": {"objects": [object]}})
    };
    let mut shop = application("shop", &[settings("front"), settings("back")]);
    let apply =
        |name: &str| json!({"name": name, "type": "apply-component", "properties": {"component": name}});
    let hold = json!({"name": "hold", "type": "suspend"});
    shop["spec"]["workflow"] = json!({"steps": [apply("front"), hold, apply("back")]});
    cluster.create(shop).await;
    cluster.phase("shop", "workflowSuspending").await;
    cluster.quiet().await;
    let versions = async |cluster: &TestCluster| {
        let settings = cluster.get("v1", "ConfigMap", "front").await.unwrap();
        let shop = cluster.application("shop").await;
        [settings, shop].map(|object| object["metadata"]["resourceVersion"].clone())
    };
    let before = versions(&cluster).await;
    cluster.kill().await;
    cluster.requests();
    cluster.start();
    cluster.rested(1).await;
    let written = cluster.writes();
    // The record of a set that is not complete does not say whether the object was written, so it is applied once more.
    assert!(written.iter().all(|entry| entry.path.contains("/configmaps/front")), "{written:#?}");
    assert!(written.len() <= 1, "{written:#?}");
    assert_eq!(versions(&cluster).await, before);
}
