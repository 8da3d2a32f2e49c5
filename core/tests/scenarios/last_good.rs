//! Definitions that break, change or go, and specs that are wrong: what runs is kept by the last good revision, changes
//! arrive by rule, and so many applications at a time take them up.

use serde_json::{Value, json};
use vela_core::Process;
use vela_core::options::{DefinitionUpdates, Options};

use super::definitions::note;
use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// A cluster in which every application takes up what changes, so many at a time.
async fn following(at_once: usize) -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options {
        definition_updates: DefinitionUpdates::All,
        definition_updates_at_once: at_once,
        ..Options::default()
    };
    cluster.start_as(Process { options, ..Process::default() });
    cluster
}

pub(super) fn says(name: &str) -> Value {
    json!({"name": name, "type": "note", "properties": {"text": "hello"}})
}

pub(super) async fn redefine(cluster: &TestCluster, definition: &Value) {
    let spec = &definition["spec"];
    cluster.patch(OAM, "ComponentDefinition", "note", json!({"spec": spec})).await;
}

fn broken() -> Value {
    let mut broken = note("!");
    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: missing\n}\nparameter: text: string\n";
    broken["spec"]["schematic"]["cue"]["template"] = json!(template);
    broken
}

pub(super) fn condition<'a>(application: &'a Value, type_: &str) -> &'a Value {
    let conditions = application["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.unwrap_or(&Value::Null)
}

/// Wait until the application's condition says this.
pub(super) async fn reports(cluster: &TestCluster, type_: &str, words: &[&str]) -> Value {
    let says = |application: &Value| {
        let message = condition(application, type_)["message"].as_str().unwrap_or_default().to_owned();
        words.iter().all(|word| message.contains(word))
    };
    until_or(&format!("{type_} tells {words:?}"), || cluster.application("shop"), says).await
}

async fn text_is(cluster: &TestCluster, name: &str, text: &str) {
    let is = |found: &Option<Value>| found.as_ref().is_some_and(|found| found["data"]["text"] == text);
    until_or(&format!("{name} says {text}"), || cluster.get("v1", "ConfigMap", name), is).await;
}

pub(super) async fn comes_back(cluster: &TestCluster, api_version: &str, kind: &str, name: &str) {
    let before = cluster.get(api_version, kind, name).await.unwrap()["metadata"]["uid"].clone();
    cluster.delete(api_version, kind, name).await;
    let another = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| {
            found["metadata"]["uid"] != before && found["metadata"]["deletionTimestamp"].is_null()
        })
    };
    until_or(&format!("{kind} {name} is made again"), || cluster.get(api_version, kind, name), another).await;
}

#[tokio::test]
async fn a_broken_definition_does_not_stop_the_care_for_what_runs() {
    let cluster = following(10).await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    redefine(&cluster, &broken()).await;
    let shop = reports(&cluster, "Render", &["component definition \"note\" at 3:8", "missing"]).await;
    assert_eq!(shop["status"]["status"], "running", "{}", shop["status"]);
    assert!(condition(&shop, "Ready")["message"].as_str().unwrap().contains("shop-v1 is kept running"));
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    text_is(&cluster, "card", "hello!").await;
    // What is changed by hand is changed back, and the truth is told of what is not well.
    cluster.patch("v1", "ConfigMap", "card", json!({"data": {"text": "mine"}})).await;
    text_is(&cluster, "card", "hello!").await;
    redefine(&cluster, &note("?")).await;
    text_is(&cluster, "card", "hello?").await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_deleted_definition_does_not_stop_the_care_for_objects() {
    let cluster = following(10).await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.delete(OAM, "ComponentDefinition", "note").await;
    let unknown = |shop: &Value| condition(shop, "Parsed")["status"] == "False";
    let shop = until_or("it is told", || cluster.application("shop"), unknown).await;
    assert!(condition(&shop, "Parsed")["message"].as_str().unwrap().contains("note"), "{}", shop["status"]);
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_wrong_spec_does_not_stop_the_care_and_prunes_nothing() {
    let cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let wrong = json!({"name": "card", "type": "note", "properties": {"text": 7}});
    let spec = json!({"components": [wrong]});
    cluster.patch(OAM, "Application", "shop", json!({"spec": spec})).await;
    let shop = reports(&cluster, "Render", &["text"]).await;
    assert_eq!(shop["status"]["status"], "rendering");
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    // Health is what was seen, not what once was.
    cluster
        .patch("apps/v1", "Deployment", "front", json!({"metadata": {"annotations": {"touched": "1"}}}))
        .await;
    let healthy = |shop: &Value| {
        let services = shop["status"]["services"].as_array().cloned().unwrap_or_default();
        services.len() == 2 && services.iter().all(|service| service["healthy"] == true)
    };
    until_or("both are well", || cluster.application("shop"), healthy).await;
    let spec = json!({"components": [says("card")]});
    cluster.patch(OAM, "Application", "shop", json!({"spec": spec})).await;
    cluster.phase("shop", "running").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
}

#[tokio::test]
async fn health_is_told_as_it_is_while_a_definition_is_broken() {
    let cluster = following(10).await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    redefine(&cluster, &broken()).await;
    reports(&cluster, "Render", &["note"]).await;
    // Another owner takes the Service over: it is not ours to change any more, and the status says so.
    let owner =
        cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})).await;
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner.metadata.uid, "controller": true});
    let taken = json!({"metadata": {"ownerReferences": [reference]}, "spec": {"replicas": 7}});
    cluster.patch("apps/v1", "Deployment", "front", taken).await;
    let ill = |shop: &Value| {
        let services = shop["status"]["services"].as_array().cloned().unwrap_or_default();
        services.iter().any(|service| service["name"] == "front" && service["healthy"] == false)
    };
    let shop = until_or("it is not called healthy", || cluster.application("shop"), ill).await;
    assert_eq!(shop["status"]["status"], "unhealthy");
}

#[tokio::test]
async fn an_application_keeps_its_definitions_until_it_asks() {
    let mut cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card")])).await;
    cluster.phase("shop", "running").await;
    redefine(&cluster, &note("?")).await;
    let shop =
        reports(&cluster, "Definitions", &["component definition \"note\" changed after revision shop-v1"])
            .await;
    assert_eq!(condition(&shop, "Definitions")["status"], "True", "nothing is wrong");
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    text_is(&cluster, "card", "hello!").await;
    // A restart finds the same.
    cluster.settled().await;
    cluster.quiet().await;
    cluster.stop().await;
    cluster.start();
    cluster.rested(1).await;
    cluster.settled().await;
    text_is(&cluster, "card", "hello!").await;
    let writes: Vec<_> = cluster.all_writes();
    assert!(writes.is_empty(), "nothing changed: {writes:#?}");
    // One that is broken now is told, and hurts no other.
    redefine(&cluster, &broken()).await;
    let shop = reports(&cluster, "Definitions", &["shop-v1", "\"note\" at 3:8"]).await;
    assert_eq!(shop["status"]["status"], "running");
    assert_eq!(condition(&shop, "Ready")["status"], "True");
    redefine(&cluster, &note("?")).await;
    reports(&cluster, "Definitions", &["changed after"]).await;
    // To publish anew is to ask.
    let annotations = json!({"metadata": {"annotations": {"app.oam.dev/publishVersion": "two"}}});
    cluster.patch(OAM, "Application", "shop", annotations).await;
    text_is(&cluster, "card", "hello?").await;
    redefine(&cluster, &note(".")).await;
    reports(&cluster, "Definitions", &["changed after revision shop-v2"]).await;
    text_is(&cluster, "card", "hello?").await;
    let annotations = json!({"metadata": {"annotations": {"app.oam.dev/autoUpdate": "true", "app.oam.dev/publishVersion": null}}});
    cluster.patch(OAM, "Application", "shop", annotations).await;
    text_is(&cluster, "card", "hello.").await;
    redefine(&cluster, &note("!")).await;
    text_is(&cluster, "card", "hello!").await;
    let nothing = |shop: &Value| condition(shop, "Definitions").is_null();
    until_or("there is nothing to tell", || cluster.application("shop"), nothing).await;
}

#[tokio::test]
async fn a_spec_that_changes_takes_the_definitions_of_now() {
    let cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card")])).await;
    cluster.phase("shop", "running").await;
    redefine(&cluster, &note("?")).await;
    reports(&cluster, "Definitions", &["changed after"]).await;
    cluster
        .patch(OAM, "Application", "shop", json!({"spec": {"components": [says("card"), says("more")]}}))
        .await;
    text_is(&cluster, "more", "hello?").await;
    text_is(&cluster, "card", "hello?").await;
}

#[tokio::test]
async fn what_never_ran_is_healed_by_a_definition_that_is_mended() {
    let cluster = TestCluster::new().await;
    let mut refused = note("!");
    let template =
        "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: text: 7}\nparameter: text: string\n";
    refused["spec"]["schematic"]["cue"]["template"] = json!(template);
    cluster.create(refused).await;
    cluster.create(application("shop", &[says("card")])).await;
    reports(&cluster, "Workflow", &["card"]).await;
    redefine(&cluster, &note("!")).await;
    text_is(&cluster, "card", "hello!").await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_rewritten_revision_is_not_believed() {
    let mut cluster = TestCluster::new().await;
    cluster.create(note("!")).await;
    cluster.create(application("shop", &[says("card")])).await;
    cluster.phase("shop", "running").await;
    cluster.stop().await;
    let mut forged = note("forged");
    forged["metadata"]["namespace"] = json!(cluster.namespace);
    let forged = json!({"spec": {"componentDefinitions": {"note": {"spec": forged["spec"]}}}});
    cluster.patch(OAM, "ApplicationRevision", "shop-v1", forged).await;
    redefine(&cluster, &note("?")).await;
    cluster.start();
    // What is believed is what the cluster has.
    text_is(&cluster, "card", "hello?").await;
    let second = |shop: &Value| shop["status"]["latestRevision"]["name"] == "shop-v2";
    until_or("it is a revision of its own", || cluster.application("shop"), second).await;
}

#[tokio::test]
async fn so_many_applications_take_up_a_definition_at_a_time() {
    let cluster = following(2).await;
    cluster.create(note("!")).await;
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        cluster.create(application(name, &[says(&format!("card-{name}"))])).await;
    }
    for name in names {
        cluster.phase(name, "running").await;
    }
    // It is valid, and nothing made by it ever gets well.
    let mut ill = note("?");
    ill["spec"]["status"] = json!({"healthPolicy": "isHealth: context.output.data.text != \"hello?\""});
    redefine(&cluster, &ill).await;
    let waits = |shops: &Vec<Value>| {
        shops.iter().filter(|shop| condition(shop, "Definitions")["reason"] == "WaitsForOthers").count() == 3
    };
    let all = || async {
        let mut all = Vec::new();
        for name in names {
            all.push(cluster.application(name).await);
        }
        all
    };
    let shops = until_or("three wait", all, waits).await;
    let ill: Vec<&Value> = shops.iter().filter(|shop| shop["status"]["status"] != "running").collect();
    assert!(ill.len() <= 2, "{ill:#?}");
    cluster.quiet().await;
    let mut changed = 0;
    for name in names {
        let card = cluster.get("v1", "ConfigMap", &format!("card-{name}")).await.unwrap();
        changed += usize::from(card["data"]["text"] == "hello?");
    }
    assert_eq!(changed, 2);
    // Mended, it reaches all, two at a time.
    redefine(&cluster, &note(".")).await;
    for name in names {
        text_is(&cluster, &format!("card-{name}"), "hello.").await;
    }
}
