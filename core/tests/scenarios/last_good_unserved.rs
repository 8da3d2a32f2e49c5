//! What runs while something else fails it: a kind that is not served any more, a budget that does not suffice.

use serde_json::{Value, json};
use vela_core::options::DefinitionUpdates;
use vela_core::{Options, Process};

use super::configuration::{complaint, component, configuration, named, synced};
use super::definitions::note;
use super::foreign::small;
use super::last_good::{comes_back, condition, redefine, reports, says};
use super::test_cluster::{TestCluster, application, until_or, web};

const CRD: &str = "CustomResourceDefinition";
const EXTENSIONS: &str = "apiextensions.k8s.io/v1";
const WIDGETS: &str = "shop.example.com/v1";

/// As much as a template may take in the small clusters here.
const SMALL: usize = 4 << 20;

/// Far more than that, and little otherwise.
const LONG: &str = "import \"list\"\n_n: list.Range(0, 30000, 1)\noutput: {apiVersion: \"v1\", kind: \"ConfigMap\", data: \
                    {text: parameter.text, last: \"\\(len(_n))\"}}\nparameter: text: string\n";

async fn widgets(cluster: &TestCluster) {
    small(cluster, "shop.example.com", "v1", "Widget", "widgets").await;
}

async fn widget(cluster: &TestCluster, name: &str) {
    let found = |found: &Option<Value>| found.is_some();
    until_or("the widget is there", || cluster.get(WIDGETS, "Widget", name), found).await;
}

fn long() -> Value {
    let mut long = note("!");
    long["spec"]["schematic"]["cue"]["template"] = json!(LONG);
    long
}

fn process(memory: usize, definition_updates: DefinitionUpdates) -> Process {
    let mut options = Options { definition_updates, ..Options::default() };
    options.rendering.memory = memory;
    Process { options, ..Process::default() }
}

#[tokio::test]
async fn a_kind_that_is_gone_does_not_stop_the_care_for_the_others() {
    let cluster = TestCluster::new().await;
    widgets(&cluster).await;
    cluster.create(note("!")).await;
    let mut definition = note("!");
    definition["metadata"]["name"] = json!("widget");
    definition["spec"]["workload"]["definition"] = json!({"apiVersion": WIDGETS, "kind": "Widget"});
    definition["spec"]["schematic"]["cue"]["template"] = json!(
        "output: {apiVersion: \"shop.example.com/v1\", kind: \"Widget\", spec: text: parameter.text}\nparameter: text: string\n"
    );
    cluster.create(definition).await;
    let first = json!({"name": "a-widget", "type": "widget", "properties": {"text": "hello"}});
    cluster.create(application("shop", &[first, says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let service = cluster.get("v1", "Service", "front").await.unwrap()["metadata"]["uid"].clone();
    cluster.delete(EXTENSIONS, CRD, "widgets.shop.example.com").await;
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    let shop = reports(&cluster, "Ready", &["Widget"]).await;
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    comes_back(&cluster, "v1", "ConfigMap", "card").await;
    assert_eq!(cluster.get("v1", "Service", "front").await.unwrap()["metadata"]["uid"], service);
    // With its kind, it comes back, too.
    widgets(&cluster).await;
    widget(&cluster, "a-widget").await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_configuration_with_a_kind_that_is_gone_is_looked_after_too() {
    let cluster = TestCluster::new().await;
    widgets(&cluster).await;
    let workload = json!({"apiVersion": WIDGETS, "kind": "Widget", "spec": {"text": "hello"}});
    cluster
        .create(json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
            "metadata": {"name": "a-widget"}, "spec": {"workload": workload}}))
        .await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", named(&["a-widget", "front"]))).await;
    synced(&cluster, "shop").await;
    cluster.delete(EXTENSIONS, CRD, "widgets.shop.example.com").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    complaint(&cluster, "shop", "cannot apply workload \"a-widget\"").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    widgets(&cluster).await;
    widget(&cluster, "a-widget").await;
    synced(&cluster, "shop").await;
}

#[tokio::test]
async fn a_too_slow_definition_does_not_stop_the_care_for_objects() {
    for (updates, type_) in
        [(DefinitionUpdates::All, "Render"), (DefinitionUpdates::Annotated, "Definitions")]
    {
        let mut cluster = TestCluster::without_controllers().await;
        cluster.start_as(process(SMALL, updates));
        cluster.create(note("!")).await;
        cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
        cluster.phase("shop", "running").await;
        redefine(&cluster, &long()).await;
        let shop = reports(&cluster, type_, &["evaluation stopped", "\"note\""]).await;
        assert_eq!(shop["status"]["status"], "running", "{type_}: {}", condition(&shop, type_));
        comes_back(&cluster, "v1", "ConfigMap", "card").await;
        comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    }
}

#[tokio::test]
async fn a_kept_revision_beyond_the_budget_loses_nothing() {
    let mut cluster = TestCluster::without_controllers().await;
    cluster.start_as(process(64 << 20, DefinitionUpdates::Annotated));
    cluster.create(long()).await;
    cluster.create(application("shop", &[says("card"), web("front", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    redefine(&cluster, &note("?")).await;
    reports(&cluster, "Definitions", &["changed after revision shop-v1"]).await;
    let card = cluster.get("v1", "ConfigMap", "card").await.unwrap()["metadata"]["uid"].clone();
    cluster.stop().await;
    cluster.requests();
    cluster.start_as(process(SMALL, DefinitionUpdates::Annotated));
    let shop = reports(&cluster, "Render", &["evaluation stopped"]).await;
    // Nothing could be looked at, so nothing is called healthy.
    let services = shop["status"]["services"].as_array().cloned().unwrap_or_default();
    assert!(services.iter().all(|service| service["healthy"] != true), "{}", shop["status"]);
    cluster.quiet().await;
    let deleted: Vec<_> = cluster.writes().into_iter().filter(|entry| entry.method == "DELETE").collect();
    assert!(deleted.is_empty(), "{deleted:#?}");
    assert_eq!(cluster.get("v1", "ConfigMap", "card").await.unwrap()["metadata"]["uid"], card);
    cluster.stop().await;
    cluster.start_as(process(64 << 20, DefinitionUpdates::Annotated));
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.get("v1", "ConfigMap", "card").await.unwrap()["metadata"]["uid"], card);
}
