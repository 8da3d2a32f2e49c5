//! Stages of traits: what goes before a component, and what is made when it is healthy, with its state at hand.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

fn definition(kind: &str, name: &str, template: &str, more: &Value) -> Value {
    let mut definition = json!({
        "apiVersion": OAM,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        definition["spec"][field] = value.clone();
    }
    definition
}

/// A component that is healthy when its parameter says so.
fn gate() -> Value {
    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tdata: open: parameter.open\n}\n\
                    parameter: open: string\n";
    let status = json!({"healthPolicy": "isHealth: context.output.data.open == \"yes\""});
    let workload = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    definition("ComponentDefinition", "gate", template, &json!({"workload": workload, "status": status}))
}

/// A trait that knows its component as it is in the cluster.
fn seen() -> Value {
    let template = "outputs: seen: {\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tmetadata: name: context.name + \"-seen\"\n\
                    \tdata: uid: context.output.metadata.uid\n\tdata: text: parameter.text\n}\nparameter: text: *\"a\" | string\n";
    definition("TraitDefinition", "seen", template, &json!({"stage": "PostDispatch"}))
}

/// A trait that its component waits for until it is done.
fn prepared() -> Value {
    let template = "outputs: prepared: {\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tmetadata: name: context.name + \"-prepared\"\n\
                    \tdata: done: parameter.done\n}\nparameter: done: string\n";
    let status = json!({"healthPolicy": "isHealth: context.outputs.prepared.data.done == \"yes\""});
    definition("TraitDefinition", "prepared", template, &json!({"stage": "PreDispatch", "status": status}))
}

fn component(open: &str, traits: &Value) -> Value {
    json!({"name": "door", "type": "gate", "properties": {"open": open}, "traits": traits})
}

async fn patch(cluster: &TestCluster, component: &Value) {
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": [component]}})).await;
}

async fn config_map(cluster: &TestCluster, name: &str) -> Option<Value> {
    cluster.get("v1", "ConfigMap", name).await
}

/// The entry of the only trait in the status, once it is as wanted.
async fn trait_of(cluster: &TestCluster, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let is_wanted = |found: &Value| wanted(&service(found)["traits"][0]);
    let found = until_or(what, || cluster.application("shop"), is_wanted).await;
    service(&found)["traits"][0].clone()
}

fn service(application: &Value) -> Value {
    application["status"]["services"][0].clone()
}

#[tokio::test]
async fn a_trait_is_made_when_its_component_is_healthy_and_stays() {
    let cluster = TestCluster::new().await;
    cluster.create(gate()).await;
    cluster.create(seen()).await;
    let traits = json!([{"type": "seen"}]);
    cluster.create(application("shop", &[component("no", &traits)])).await;
    let waiting = trait_of(&cluster, "the trait waits", |found| found["pending"] == true).await;
    assert_eq!(waiting["healthy"], false, "{waiting}");
    assert_eq!(waiting["message"], "Waiting for component to be healthy");
    assert!(config_map(&cluster, "door-seen").await.is_none());

    patch(&cluster, &component("yes", &traits)).await;
    cluster.phase("shop", "running").await;
    let door = config_map(&cluster, "door").await.unwrap();
    let made = config_map(&cluster, "door-seen").await.unwrap();
    assert_eq!(made["data"]["uid"], door["metadata"]["uid"]);
    let now = trait_of(&cluster, "the trait is there", |found| found["healthy"] == true).await;
    assert!(now["pending"].is_null(), "{now}");

    // What is not healthy any more keeps what was made of it, and what changes of the trait waits.
    let changed = json!([{"type": "seen", "properties": {"text": "b"}}]);
    patch(&cluster, &component("no", &changed)).await;
    trait_of(&cluster, "the trait waits again", |found| found["pending"] == true).await;
    assert_eq!(config_map(&cluster, "door-seen").await.unwrap()["data"]["text"], "a");
    patch(&cluster, &component("yes", &changed)).await;
    let text = || async { config_map(&cluster, "door-seen").await.unwrap()["data"]["text"].clone() };
    until_or("the trait is changed", text, |text| *text == json!("b")).await;

    // A trait that is taken out goes, whatever its component is like.
    patch(&cluster, &component("no", &json!([]))).await;
    cluster.gone("v1", "ConfigMap", "door-seen").await;
    assert!(config_map(&cluster, "door").await.is_some());
}

#[tokio::test]
async fn a_component_waits_for_what_goes_before_it() {
    let cluster = TestCluster::new().await;
    cluster.create(gate()).await;
    cluster.create(prepared()).await;
    let traits = |done: &str| json!([{"type": "prepared", "properties": {"done": done}}]);
    cluster.create(application("shop", &[component("yes", &traits("no"))])).await;
    let is_made = |found: &Option<Value>| found.is_some();
    until_or("the trait is made", || config_map(&cluster, "door-prepared"), is_made).await;
    let waits = |found: &Value| service(found)["message"] == "waiting for previous stage healthy";
    let found = until_or("the component waits", || cluster.application("shop"), waits).await;
    assert_eq!(service(&found)["healthy"], false, "{found:#}");
    assert!(config_map(&cluster, "door").await.is_none());

    patch(&cluster, &component("yes", &traits("yes"))).await;
    cluster.phase("shop", "running").await;
    let door = config_map(&cluster, "door").await.unwrap();

    // While it waits again it stays, as it was.
    patch(&cluster, &component("no", &traits("no"))).await;
    until_or("the component waits again", || cluster.application("shop"), waits).await;
    let now = config_map(&cluster, "door").await.unwrap();
    assert_eq!((&now["metadata"]["uid"], &now["data"]), (&door["metadata"]["uid"], &door["data"]));
    cluster.delete(OAM, "Application", "shop").await;
    for name in ["door", "door-prepared"] {
        cluster.gone("v1", "ConfigMap", name).await;
    }
}

#[tokio::test]
async fn a_service_that_a_late_trait_adds_to_comes_to_rest() {
    let cluster = TestCluster::new().await;
    let properties = json!({"image": "nginx", "ports": [{"port": 80, "expose": true}]});
    let expose = json!({"type": "expose", "properties": {"port": [9090]}});
    let shop = json!({"name": "web", "type": "webservice", "properties": properties, "traits": [expose]});
    cluster.create(application("shop", &[shop])).await;
    cluster.phase("shop", "running").await;
    let service = cluster.get("v1", "Service", "web").await.unwrap();
    let ports = service["spec"]["ports"].as_array().unwrap();
    assert_eq!(ports.iter().map(|port| &port["port"]).collect::<Vec<_>>(), [80, 9090], "{service:#}");
    let before = service["metadata"]["resourceVersion"].clone();
    cluster.rested(1).await;
    let after = cluster.get("v1", "Service", "web").await.unwrap();
    assert_eq!(after["metadata"]["resourceVersion"], before, "nothing is written without need");
}
