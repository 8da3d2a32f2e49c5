//! Values between components: they arrive when a watch says so, stores keep them, and a quiet world stays quiet.

use serde_json::{Value, json};
use vela_engine::manifest;
use vela_runtime::Discovery;

use super::world::{World, until, until_or};

const OLD: &str = "core.oam.dev/v1alpha2";
const EXAMPLE: &str = "example.com/v1";
const CONTROLLER: &str = "applicationconfiguration";

/// The kind of the examples: no schema, no status subresource.
async fn install_foo(world: &World) {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foo.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Foo", "listKind": "FooList", "plural": "foo", "singular": "foo"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    });
    if world.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "foo.example.com").await.is_none() {
        world.create(crd).await;
    }
    until("Foo is served", || async {
        Discovery::new(world.client.clone()).resolve(EXAMPLE, "Foo").await.is_ok()
    })
    .await;
}

async fn component(world: &World, name: &str, rest: Value) {
    let mut workload = json!({"apiVersion": EXAMPLE, "kind": "Foo", "metadata": {"name": name}});
    workload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let component = json!({"apiVersion": OLD, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}});
    world.create(component).await;
}

async fn configuration(world: &World, components: Value) {
    world
        .create(json!({"apiVersion": OLD, "kind": "ApplicationConfiguration", "metadata": {"name": "app"},
            "spec": {"components": components}}))
        .await;
}

async fn foo(world: &World, name: &str) -> Option<Value> {
    world.get(EXAMPLE, "Foo", name).await
}

async fn status(world: &World, wanted: impl Fn(&Value) -> bool) -> Value {
    let read = || async {
        world
            .get(OLD, "ApplicationConfiguration", "app")
            .await
            .map_or(Value::Null, |found| found["status"].clone())
    };
    until_or("the status of the configuration", read, wanted).await
}

async fn reason(world: &World, reason: &str) -> Value {
    status(world, |status| status["dependency"]["unsatisfied"][0]["reason"] == reason).await
}

async fn settled(world: &World) -> Value {
    status(world, |status| {
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
async fn a_value_arrives_when_its_source_is_ready_and_nobody_polls() {
    let mut world = World::without_controllers().await;
    install_foo(&world).await;
    world.start();
    for name in ["source", "sink", "other"] {
        component(&world, name, json!({"spec": {"own": name}})).await;
    }
    configuration(&world, conditional()).await;
    let waiting = reason(&world, "status.key not found in object").await;
    assert_eq!(waiting["workloads"][1]["dependencyUnsatisfied"], true, "{waiting:#}");
    assert_eq!(waiting["workloads"][1]["workloadRef"]["name"], "sink");
    assert!(foo(&world, "other").await.is_some(), "the others are applied");
    assert!(foo(&world, "sink").await.is_none());

    // Nothing happens while nothing changes: no timer reads or writes.
    world.quiet().await;
    world.requests();
    world.pass(std::time::Duration::from_secs(1)).await;
    let idle = world.requests();
    assert!(idle.is_empty(), "{idle:#?}");

    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k1", "state": "pending"}})).await;
    reason(&world, "got(pending) expected to be running").await;
    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"state": "running"}})).await;
    settled(&world).await;
    let sink = foo(&world, "sink").await.unwrap();
    assert_eq!(sink["spec"], json!({"own": "sink", "key": "k1"}));

    // A new value goes on to the sink.
    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k2"}})).await;
    until_or(
        "the new value",
        || foo(&world, "sink"),
        |sink| sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "k2"),
    )
    .await;

    // The condition flips back: the sink is there, is not touched, and waits.
    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k3", "state": "pending"}})).await;
    let waiting = reason(&world, "got(pending) expected to be running").await;
    assert_eq!(waiting["workloads"][1]["dependencyUnsatisfied"], true);
    world.quiet().await;
    let kept = foo(&world, "sink").await.unwrap();
    assert_eq!((&kept["metadata"]["uid"], &kept["spec"]["key"]), (&sink["metadata"]["uid"], &json!("k2")));

    // The source is deleted and made again without its status; the sink stays.
    world.delete(EXAMPLE, "Foo", "source").await;
    reason(&world, "status.key not found in object").await;
    assert!(foo(&world, "sink").await.is_some());

    // A new process finds it all again and, once ready, goes on.
    world.quiet().await;
    world.stop().await;
    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"key": "k4", "state": "running"}})).await;
    world.start();
    settled(&world).await;
    assert_eq!(foo(&world, "sink").await.unwrap()["spec"]["key"], "k4");
    world.quiet().await;
    world.stop().await;
    world.requests();
    world.start();
    world.rested_of(CONTROLLER, 1).await;
    let restarted = world.writes();
    assert!(restarted.is_empty(), "{restarted:#?}");
}

#[tokio::test]
async fn a_source_that_others_made_wakes_as_well() {
    let world = World::new().await;
    install_foo(&world).await;
    component(&world, "sink", json!({})).await;
    component(&world, "gate", json!({"spec": {"own": 1}})).await;
    component(&world, "first", json!({})).await;
    // `gate` may not be applied as long as `first` is not ready, so its live object is what somebody else made of it.
    world.create(json!({"apiVersion": EXAMPLE, "kind": "Foo", "metadata": {"name": "gate"}, "spec": {"theirs": 1}})).await;
    let input = |name: &str| json!([{"valueFrom": {"dataOutputName": name}, "toFieldPaths": ["spec.key"]}]);
    configuration(
        &world,
        json!([
            {"componentName": "first", "dataOutputs": [{"name": "first", "fieldPath": "status.never"}]},
            {"componentName": "gate", "dataOutputs": [{"name": "gate", "fieldPath": "status.key"}], "dataInputs": input("first")},
            {"componentName": "sink", "dataInputs": input("gate")},
        ]),
    )
    .await;
    status(&world, |status| status["dependency"]["unsatisfied"].as_array().is_some_and(|all| all.len() == 2))
        .await;
    world.patch(EXAMPLE, "Foo", "gate", json!({"status": {"key": "theirs"}})).await;
    until_or(
        "the sink",
        || foo(&world, "sink"),
        |sink| sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "theirs"),
    )
    .await;
    let gate = foo(&world, "gate").await.unwrap();
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
    let mut world = World::new().await;
    install_foo(&world).await;
    component(&world, "source", json!({"spec": {"key1": "one", "key2": "two"}})).await;
    component(&world, "sink", json!({})).await;
    let from = |path: &str| json!({"fieldPath": path});
    configuration(
        &world,
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
    settled(&world).await;
    let read = || async { world.get("v1", "ConfigMap", "store").await };
    let stored = read().await.unwrap();
    assert_eq!(stored["data"], json!({"key1": "one", "key2": "two", "list": "[\"one\"]"}));
    assert_eq!(stored["metadata"]["ownerReferences"][0]["kind"], "ApplicationConfiguration");
    assert_eq!(
        foo(&world, "sink").await.unwrap()["spec"],
        json!({"key": "{\"key1\":\"one\",\"key2\":\"two\"}"})
    );

    // Whoever changes the store wakes the configuration, which puts it right.
    world.quiet().await;
    world.patch("v1", "ConfigMap", "store", json!({"data": {"key1": "wrong"}})).await;
    until_or("the store is right again", read, |found| {
        found.as_ref().is_some_and(|found| found["data"]["key1"] == "one")
    })
    .await;

    // A changed source reaches store and sink; a reconcile without a change writes nothing.
    let workload = json!({"spec": {"workload": {"spec": {"key1": "new"}}}});
    world.patch(OLD, "Component", "source", workload).await;
    let sink = || foo(&world, "sink");
    until_or("the sink has the new value", sink, |sink| {
        sink.as_ref().is_some_and(|sink| sink["spec"]["key"] == "{\"key1\":\"new\",\"key2\":\"two\"}")
    })
    .await;
    settled(&world).await;
    world.quiet().await;
    let reconciles = world.reconciles(CONTROLLER);
    world.patch(EXAMPLE, "Foo", "source", json!({"status": {"odd": 1}})).await;
    world.rested_of(CONTROLLER, reconciles + 1).await;
    let writes = world.writes();
    assert!(writes.is_empty(), "{writes:#?}");
    world.stop().await;
    world.requests();
    world.start();
    world.rested_of(CONTROLLER, 1).await;
    let restarted = world.writes();
    assert!(restarted.is_empty(), "{restarted:#?}");

    world.delete(OLD, "ApplicationConfiguration", "app").await;
    world.gone("v1", "ConfigMap", "store").await;
}

#[tokio::test]
async fn a_store_of_somebody_else_is_left_alone_and_said_so() {
    let world = World::new().await;
    install_foo(&world).await;
    component(&world, "source", json!({"spec": {"key": "one"}})).await;
    let owner =
        world.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner"}})).await;
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "theirs"}, "metadata": {"name": "store",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner.metadata.uid, "controller": true}]}}))
        .await;
    let operations = json!([operation("data.key", "", json!({"fieldPath": "spec.key"}))]);
    configuration(
        &world,
        json!([{"componentName": "source", "dataOutputs": [{"outputStore": store(operations)}]}]),
    )
    .await;
    status(&world, |status| {
        status["conditions"][0]["message"]
            .as_str()
            .is_some_and(|message| message.contains("is controlled by Secret owner"))
    })
    .await;
    assert_eq!(world.get("v1", "ConfigMap", "store").await.unwrap()["data"]["key"], "theirs");

    // Once nobody owns it any more it is written.
    world.patch("v1", "ConfigMap", "store", json!({"metadata": {"ownerReferences": null}})).await;
    let read = || async { world.get("v1", "ConfigMap", "store").await };
    until_or("the store is written", read, |found| {
        found.as_ref().is_some_and(|found| found["data"]["key"] == "one")
    })
    .await;
}

#[tokio::test]
async fn a_circle_is_refused_and_nothing_is_made() {
    let world = World::new().await;
    install_foo(&world).await;
    let entry = |name: &str, takes: &str| {
        json!({"componentName": name, "dataOutputs": [{"name": name, "fieldPath": "status.x"}],
            "dataInputs": [{"valueFrom": {"dataOutputName": takes}, "toFieldPaths": ["spec.x"]}]})
    };
    component(&world, "a", json!({})).await;
    component(&world, "b", json!({})).await;
    configuration(&world, json!([entry("a", "b"), entry("b", "a")])).await;
    status(&world, |status| {
        let condition = &status["conditions"][0];
        condition["status"] == "False"
            && condition["message"].as_str().is_some_and(|m| m.contains("data flows in a circle: a → b → a"))
    })
    .await;
    assert!(foo(&world, "a").await.is_none() && foo(&world, "b").await.is_none());
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
        let world = World::new().await;
        install_foo(&world).await;
        for mut object in example(path) {
            if object["kind"] == "ApplicationConfiguration" {
                object["metadata"]["name"] = json!("app");
            }
            world.create(object).await;
        }
        status(&world, |status| status["dependency"]["unsatisfied"][0]["to"]["name"] == "sink").await;
        assert!(foo(&world, "sink").await.is_none());
        let state = json!({"state": "running", "key": [{"name": "a", "value": "aa"}]});
        world.patch(OLD, "Component", "source", json!({"spec": {"workload": {"status": state}}})).await;
        settled(&world).await;
        assert_eq!(foo(&world, "sink").await.unwrap()["spec"], spec, "{path}");
    }
}

#[tokio::test]
async fn growth_is_linear_in_linked_components() {
    let mut per_component = Vec::new();
    for count in [1usize, 10, 40] {
        let world = World::new().await;
        install_foo(&world).await;
        for n in 0..count {
            component(&world, &format!("c{n}"), json!({"spec": {"key": "k"}})).await;
        }
        let entry = |n: usize| {
            let mut entry = json!({"componentName": format!("c{n}"), "dataOutputs": [{"name": format!("o{n}"), "fieldPath": "spec.key"}]});
            if n > 0 {
                entry["dataInputs"] = json!([{"valueFrom": {"dataOutputName": format!("o{}", n - 1)}, "toFieldPaths": ["spec.from"]}]);
            }
            entry
        };
        let start = std::time::Instant::now();
        configuration(&world, (0..count).map(entry).collect()).await;
        let read = || async {
            world
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
        let requests = world.requests();
        let writes = requests.iter().filter(|entry| entry.writes() && !entry.is_event()).count();
        println!("data flow: chain of {count}: {took:?}, {writes} writes, {} requests", requests.len());
        per_component.push(requests.len() / count);
    }
    assert!(per_component[2] <= 12, "requests per component: {per_component:?}");
}
