//! Values between components: they arrive when a watch says so, stores keep them, and a quiet cluster stays quiet.

use serde_json::{Value, json};
use vela_engine::manifest;
use vela_runtime::Discovery;

use super::test_cluster::{TestCluster, until, until_or};

const OLD: &str = "core.oam.dev/v1alpha2";
const EXAMPLE: &str = "example.com/v1";
const CONTROLLER: &str = "applicationconfiguration";

/// The kind of the examples: no schema, no status subresource.
async fn install_foo(cluster: &TestCluster) {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foo.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Foo", "listKind": "FooList", "plural": "foo", "singular": "foo"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    if cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "foo.example.com").await.is_none() {
        cluster.create(crd).await;
    }
    until("Foo is served", || async {
        Discovery::new(cluster.client.clone()).resolve(EXAMPLE, "Foo").await.is_ok()
    })
    .await;
}

async fn component(cluster: &TestCluster, name: &str, rest: Value) {
    let mut workload = json!({"apiVersion": EXAMPLE, "kind": "Foo", "metadata": {"name": name}});
    workload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let component = json!({"apiVersion": OLD, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}});
    cluster.create(component).await;
}

async fn configuration(cluster: &TestCluster, components: Value) {
    cluster
        .create(json!({"apiVersion": OLD, "kind": "ApplicationConfiguration", "metadata": {"name": "app"},
            "spec": {"components": components}}))
        .await;
}

async fn foo(cluster: &TestCluster, name: &str) -> Option<Value> {
    cluster.get(EXAMPLE, "Foo", name).await
}

async fn status(cluster: &TestCluster, wanted: impl Fn(&Value) -> bool) -> Value {
    let read = || async {
        cluster
            .get(OLD, "ApplicationConfiguration", "app")
            .await
            .map_or(Value::Null, |found| found["status"].clone())
    };
    until_or("the status of the configuration", read, wanted).await
}

async fn reason(cluster: &TestCluster, reason: &str) -> Value {
    status(cluster, |status| status["dependency"]["unsatisfied"][0]["reason"] == reason).await
}

async fn settled(cluster: &TestCluster) -> Value {
    status(cluster, |status| {
        status["dependency"] == json!({})
            && status["conditions"][0]["status"] == "True"
            && status["workloads"]
                .as_array()
                .is_some_and(|all| all.iter().all(|one| one["dependencyUnsatisfied"].is_null()))
    })
    .await
}

/// A source that is running, and a sink that takes its key then.
fn conditional() -> Value {
    json!([
        {"componentName": "source", "dataOutputs": [{"name": "key", "fieldPath": "status.key",
            "conditions": [{"op": "eq", "value": "running", "fieldPath": "status.state"}]}]},
        {"componentName": "sink", "dataInputs": [{"valueFrom": {"dataOutputName": "key"}, "toFieldPaths": ["spec.key"]}]},
        {"componentName": "other"},
    ])
}

#[tokio::test]
async fn a_value_arrives_when_its_source_is_ready_without_polling() {
    let mut cluster = TestCluster::without_controllers().await;
    install_foo(&cluster).await;
    cluster.start();
    for name in ["source", "sink", "other"] {
        component(&cluster, name, json!({"spec": {"own": name}})).await;
    }
    configuration(&cluster, conditional()).await;
    let waiting = reason(&cluster, "status.key not found in object").await;
    assert_eq!(waiting["workloads"][1]["dependencyUnsatisfied"], true, "{waiting:#}");
    assert_eq!(waiting["workloads"][1]["workloadRef"]["name"], "sink");
    assert!(foo(&cluster, "other").await.is_some(), "the others are applied");
    assert!(foo(&cluster, "sink").await.is_none());

    // Nothing happens while nothing changes: no timer reads or writes.
    cluster.quiet().await;
    cluster.requests();
    cluster.pass(std::time::Duration::from_secs(1)).await;
    let idle = cluster.requests();
    assert!(idle.is_empty(), "{idle:#?}");

    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k1", "state": "pending"}})).await;
    reason(&cluster, "got(pending) expected to be running").await;
    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"state": "running"}})).await;
    settled(&cluster).await;
    let sink = foo(&cluster, "sink").await.unwrap();
    assert_eq!(sink["spec"], json!({"own": "sink", "key": "k1"}));

    // A new value goes on to the sink.
    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k2"}})).await;
    until_or(
        "the new value",
        || foo(&cluster, "sink"),
        |sink| sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "k2"),
    )
    .await;

    // The condition flips back: the sink is there, is not touched, and waits.
    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k3", "state": "pending"}})).await;
    let waiting = reason(&cluster, "got(pending) expected to be running").await;
    assert_eq!(waiting["workloads"][1]["dependencyUnsatisfied"], true);
    cluster.quiet().await;
    let kept = foo(&cluster, "sink").await.unwrap();
    assert_eq!((&kept["metadata"]["uid"], &kept["spec"]["key"]), (&sink["metadata"]["uid"], &json!("k2")));

    // The source is deleted and made again without its status; the sink stays.
    cluster.delete(EXAMPLE, "Foo", "source").await;
    reason(&cluster, "status.key not found in object").await;
    assert!(foo(&cluster, "sink").await.is_some());

    // A new process finds it all again and, once ready, goes on.
    cluster.quiet().await;
    cluster.stop().await;
    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k4", "state": "running"}})).await;
    cluster.start();
    settled(&cluster).await;
    assert_eq!(foo(&cluster, "sink").await.unwrap()["spec"]["key"], "k4");
    cluster.quiet().await;
    cluster.stop().await;
    cluster.requests();
    cluster.start();
    cluster.rested_of(CONTROLLER, 1).await;
    let restarted = cluster.writes();
    assert!(restarted.is_empty(), "{restarted:#?}");
}

#[tokio::test]
async fn a_source_that_others_made_wakes_as_well() {
    let cluster = TestCluster::new().await;
    install_foo(&cluster).await;
    component(&cluster, "sink", json!({})).await;
    component(&cluster, "gate", json!({"spec": {"own": 1}})).await;
    component(&cluster, "first", json!({})).await;
    // `gate` may not be applied as long as `first` is not ready, so its live object is what another client made of it.
    cluster.create(json!({"apiVersion": EXAMPLE, "kind": "Foo", "metadata": {"name": "gate"}, "spec": {"theirs": 1}})).await;
    let input = |name: &str| json!([{"valueFrom": {"dataOutputName": name}, "toFieldPaths": ["spec.key"]}]);
    configuration(
        &cluster,
        json!([
            {"componentName": "first", "dataOutputs": [{"name": "first", "fieldPath": "status.never"}]},
            {"componentName": "gate", "dataOutputs": [{"name": "gate", "fieldPath": "status.key"}], "dataInputs": input("first")},
            {"componentName": "sink", "dataInputs": input("gate")},
        ]),
    )
    .await;
    status(&cluster, |status| {
        status["dependency"]["unsatisfied"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await;
    cluster.patch(EXAMPLE, "Foo", "gate", json!({"status": {"key": "theirs"}})).await;
    until_or(
        "the sink",
        || foo(&cluster, "sink"),
        |sink| sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "theirs"),
    )
    .await;
    let gate = foo(&cluster, "gate").await.unwrap();
    assert_eq!(gate["spec"], json!({"theirs": 1}), "what waits is not touched");
}

fn operation(path: &str, data: &str, value: Value) -> Value {
    let mut operation = json!({"type": "jsonPatch", "op": "add", "toFieldPath": path, "toDataPath": data});
    match value {
        Value::String(value) => operation["value"] = json!(value),
        from => operation["valueFrom"] = from,
    }
    operation
}

fn store(operations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "store", "operations": operations})
}

#[tokio::test]
async fn stores_carry_values_and_are_written_only_when_they_differ() {
    let mut cluster = TestCluster::new().await;
    install_foo(&cluster).await;
    component(&cluster, "source", json!({"spec": {"key1": "one", "key2": "two"}})).await;
    component(&cluster, "sink", json!({})).await;
    let from = |path: &str| json!({"fieldPath": path});
    configuration(
        &cluster,
        json!([
            {"componentName": "source", "dataOutputs": [{"outputStore": store(json!([
                operation("data", "", json!("{}")),
                operation("data.key1", "", from("spec.key1")),
                operation("data.key2", "", from("spec.key2")),
                operation("data.list", "", json!("\"[]\"")),
                operation("data.list", "-", from("spec.key1"))]))}]},
            {"componentName": "sink", "dataInputs": [{"inputStore": store(json!([
                operation("spec", "", json!("{}")),
                operation("spec.key", "", json!("\"{}\"")),
                operation("spec.key", "key1", from("data.key1")),
                operation("spec.key", "key2", from("data.key2"))]))}]},
        ]),
    )
    .await;
    settled(&cluster).await;
    let read = || async { cluster.get("v1", "ConfigMap", "store").await };
    let stored = read().await.unwrap();
    assert_eq!(stored["data"], json!({"key1": "one", "key2": "two", "list": "[\"one\"]"}));
    assert_eq!(stored["metadata"]["ownerReferences"][0]["kind"], "ApplicationConfiguration");
    assert_eq!(
        foo(&cluster, "sink").await.unwrap()["spec"],
        json!({"key": "{\"key1\":\"one\",\"key2\":\"two\"}"})
    );

    // A change of the store wakes the configuration, which puts it right.
    cluster.quiet().await;
    cluster.patch("v1", "ConfigMap", "store", json!({"data": {"key1": "wrong"}})).await;
    until_or("the store is right again", read, |found| {
        found.as_ref().is_some_and(|found| found["data"]["key1"] == "one")
    })
    .await;

    // A changed source reaches store and sink; a reconcile without a change writes nothing.
    let workload = json!({"spec": {"workload": {"spec": {"key1": "new"}}}});
    cluster.patch(OLD, "Component", "source", workload).await;
    let sink = || foo(&cluster, "sink");
    until_or("the sink has the new value", sink, |sink| {
        sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "{\"key1\":\"new\",\"key2\":\"two\"}")
    })
    .await;
    settled(&cluster).await;
    cluster.quiet().await;
    let reconciles = cluster.reconciles(CONTROLLER);
    cluster.patch(EXAMPLE, "Foo", "source", json!({"status": {"odd": 1}})).await;
    cluster.rested_of(CONTROLLER, reconciles + 1).await;
    let writes = cluster.writes();
    assert!(writes.is_empty(), "{writes:#?}");
    cluster.stop().await;
    cluster.requests();
    cluster.start();
    cluster.rested_of(CONTROLLER, 1).await;
    let restarted = cluster.writes();
    assert!(restarted.is_empty(), "{restarted:#?}");

    cluster.delete(OLD, "ApplicationConfiguration", "app").await;
    cluster.gone("v1", "ConfigMap", "store").await;
}

#[tokio::test]
async fn a_foreign_store_is_left_alone_and_reported() {
    let cluster = TestCluster::new().await;
    install_foo(&cluster).await;
    component(&cluster, "source", json!({"spec": {"key": "one"}})).await;
    let owner =
        cluster.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner"}})).await;
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "theirs"}, "metadata": {"name": "store",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner.metadata.uid, "controller": true}]}}))
        .await;
    let operations = json!([operation("data.key", "", json!({"fieldPath": "spec.key"}))]);
    configuration(
        &cluster,
        json!([{"componentName": "source", "dataOutputs": [{"outputStore": store(operations)}]}]),
    )
    .await;
    status(&cluster, |status| {
        status["conditions"][0]["message"]
            .as_str()
            .is_some_and(|message| message.contains("is controlled by Secret owner"))
    })
    .await;
    assert_eq!(cluster.get("v1", "ConfigMap", "store").await.unwrap()["data"]["key"], "theirs");

    // Once it has no owner any more it is written.
    cluster.patch("v1", "ConfigMap", "store", json!({"metadata": {"ownerReferences": null}})).await;
    let read = || async { cluster.get("v1", "ConfigMap", "store").await };
    until_or("the store is written", read, |found| {
        found.as_ref().is_some_and(|found| found["data"]["key"] == "one")
    })
    .await;
}

#[tokio::test]
async fn a_circle_is_refused_and_nothing_is_made() {
    let cluster = TestCluster::new().await;
    install_foo(&cluster).await;
    let entry = |name: &str, takes: &str| {
        json!({"componentName": name, "dataOutputs": [{"name": name, "fieldPath": "status.x"}],
            "dataInputs": [{"valueFrom": {"dataOutputName": takes}, "toFieldPaths": ["spec.x"]}]})
    };
    component(&cluster, "a", json!({})).await;
    component(&cluster, "b", json!({})).await;
    configuration(&cluster, json!([entry("a", "b"), entry("b", "a")])).await;
    status(&cluster, |status| {
        let condition = &status["conditions"][0];
        condition["status"] == "False"
            && condition["message"].as_str().is_some_and(|m| m.contains("data flows in a circle: a → b → a"))
    })
    .await;
    assert!(foo(&cluster, "a").await.is_none() && foo(&cluster, "b").await.is_none());
}

/// The documents of the examples that pass data.
fn example(path: &str) -> Vec<Value> {
    let folder = vela_testkit::cases::folder("examples/v1.0/_oam-kubernetes-runtime/examples");
    let text = std::fs::read_to_string(folder.join(path)).unwrap();
    let documents =
        manifest::read("demo.yaml", &text).unwrap().into_iter().map(|document| document.into_value());
    documents.filter(|object| object["kind"] != "ClusterRole").collect()
}

#[tokio::test]
async fn the_examples_that_pass_data_end_as_they_say() {
    for (path, spec) in [
        ("dependency/demo-with-conditions.yaml", json!({"key": "test-value"})),
        ("dependency/demo-with-valuefrom.yaml", json!({"key": "test-value"})),
        (
            "dependency/demo.yaml",
            json!({"key": [{"name": "exist", "value": "existtt"}, {"name": "a", "value": "aa"}]}),
        ),
    ] {
        let cluster = TestCluster::new().await;
        install_foo(&cluster).await;
        for mut object in example(path) {
            if object["kind"] == "ApplicationConfiguration" {
                object["metadata"]["name"] = json!("app");
            }
            cluster.create(object).await;
        }
        status(&cluster, |status| status["dependency"]["unsatisfied"][0]["to"]["name"] == "sink").await;
        assert!(foo(&cluster, "sink").await.is_none());
        let state = json!({"state": "running", "key": [{"name": "a", "value": "aa"}]});
        cluster.patch(OLD, "Component", "source", json!({"spec": {"workload": {"status": state}}})).await;
        settled(&cluster).await;
        assert_eq!(foo(&cluster, "sink").await.unwrap()["spec"], spec, "{path}");
    }
}

#[tokio::test]
async fn growth_is_linear_in_linked_components() {
    let mut per_component = Vec::new();
    for count in [1usize, 10, 40] {
        let cluster = TestCluster::new().await;
        install_foo(&cluster).await;
        for n in 0..count {
            component(&cluster, &format!("c{n}"), json!({"spec": {"key": "k"}})).await;
        }
        let entry = |n: usize| {
            let mut entry = json!({"componentName": format!("c{n}"), "dataOutputs": [{"name": format!("o{n}"), "fieldPath": "spec.key"}]});
            if n > 0 {
                entry["dataInputs"] = json!([{"valueFrom": {"dataOutputName": format!("o{}", n - 1)}, "toFieldPaths": ["spec.from"]}]);
            }
            entry
        };
        let start = std::time::Instant::now();
        configuration(&cluster, (0..count).map(entry).collect()).await;
        let read = || async {
            cluster
                .get(OLD, "ApplicationConfiguration", "app")
                .await
                .map_or(Value::Null, |found| found["status"].clone())
        };
        until_or("all are applied", read, |status| {
            status["dependency"] == json!({})
                && status["workloads"].as_array().is_some_and(|all| all.len() == count)
        })
        .await;
        let took = start.elapsed();
        let requests = cluster.requests();
        let writes = requests.iter().filter(|entry| entry.writes() && !entry.is_event()).count();
        println!("data flow: chain of {count}: {took:?}, {writes} writes, {} requests", requests.len());
        per_component.push(requests.len() / count);
    }
    assert!(per_component[2] <= 12, "requests per component: {per_component:?}");
}
