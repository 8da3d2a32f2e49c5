//! Applications that upstream or an earlier release deployed: what they recorded is taken over, nothing is made anew, and nothing
//! is forgotten; and what is recorded here has the shape that upstream takes over.

use std::io::Write as _;

use base64::Engine as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::manifest;

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";
const FINALIZER: &str = "resourcetracker.core.oam.dev/finalizer";

fn settings(name: &str, text: &str) -> Value {
    json!({"name": name, "type": "settings", "properties": {"text": text}})
}

/// The objects of a run that was recorded of upstream, in our namespace.
fn recorded(case: &str, namespace: &str) -> Vec<Value> {
    let file = vela_testkit::cases::folder("conformance/runs-today").join(case).join("objects.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let documents = manifest::read("objects.yaml", &text).unwrap();
    let objects: Vec<Value> = documents.into_iter().map(|document| document.into_value()).collect();
    let application = objects.iter().find(|object| object["kind"] == "Application").unwrap();
    let theirs = application["metadata"]["namespace"].as_str().unwrap();
    let moved = |object: &Value| object.to_string().replace(theirs, namespace);
    objects.iter().map(|object| serde_json::from_str(&moved(object)).unwrap()).collect()
}

/// Stores an object with its status, without what only the server knew that it is from.
async fn store(cluster: &TestCluster, mut object: Value) {
    let status = object["status"].take();
    object.as_object_mut().unwrap().remove("status");
    for field in ["ownerReferences", "generation"] {
        object["metadata"].as_object_mut().unwrap().remove(field);
    }
    for field in ["clusterIP", "clusterIPs"] {
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.remove(field);
        }
    }
    let stored = cluster.create(object.clone()).await;
    if object["kind"] == "Application" {
        let api = cluster.api(OAM, "Application").await;
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&stored.metadata.name.unwrap(), &PatchParams::default(), &patch).await.unwrap();
    }
}

async fn pods(cluster: &TestCluster) -> Vec<String> {
    let pods = cluster.list("v1", "Pod").await;
    let mut uids: Vec<String> =
        pods.iter().filter_map(|pod| pod["metadata"]["uid"].as_str().map(str::to_owned)).collect();
    uids.sort();
    uids
}

/// The record says that everything of the present revision was applied.
async fn complete(cluster: &TestCluster, application: &str) -> Value {
    let tracker = || cluster.tracker(application);
    let is_complete = |found: &Option<Value>| {
        found
            .as_ref()
            .is_some_and(|found| found["spec"]["complete"] == true && found["spec"]["identity"].is_string())
    };
    until_or("everything is applied and recorded", tracker, is_complete).await.unwrap()
}

fn names(trackers: &[Value]) -> Vec<&str> {
    trackers.iter().filter_map(|tracker| tracker["metadata"]["name"].as_str()).collect()
}

#[tokio::test]
async fn an_application_of_upstream_goes_on_with_the_same_pods() {
    const APPLICATION: &str = "garbage-collect-app";
    let mut cluster = TestCluster::without_controllers().await;
    let kinds = ["Deployment", "Service", "ResourceTracker", "ApplicationRevision", "Application"];
    let objects = recorded("test__e2e-test__testdata__app__app_garbage_collect", &cluster.namespace);
    for object in objects.into_iter().filter(|object| kinds.iter().any(|kind| object["kind"] == *kind)) {
        store(&cluster, object).await;
    }
    let before = until_or("a pod runs", || pods(&cluster), |pods| pods.len() == 1).await;
    let (deployment, service) = (
        cluster.deployment("hello-world").await.unwrap(),
        cluster.get("v1", "Service", "hello-world").await.unwrap(),
    );

    cluster.start();
    complete(&cluster, APPLICATION).await;
    cluster.quiet().await;
    let now = cluster.deployment("hello-world").await.unwrap();
    assert_eq!(now["spec"]["template"], deployment["spec"]["template"]);
    assert_eq!(now["metadata"]["uid"], deployment["metadata"]["uid"]);
    assert_eq!(pods(&cluster).await, before, "no pod is another one");
    let trackers = cluster.trackers(APPLICATION).await;
    let ours =
        [format!("{APPLICATION}-{}", cluster.namespace), format!("{APPLICATION}-v1-{}", cluster.namespace)];
    assert_eq!(names(&trackers), ours, "the trackers go on, too");
    let of = |tracker: &Value| {
        let one = &tracker["spec"]["managedResources"][0];
        (one["kind"].clone(), one["name"].clone(), one["retained"].clone())
    };
    assert_eq!(of(&trackers[0]), (json!("Service"), json!("hello-world"), json!(true)));
    assert_eq!(of(&trackers[1]), (json!("Deployment"), json!("hello-world"), Value::Null));

    // What its policy has stay until the application goes stays, although nothing names it any more.
    let components = json!([
        {"name": "hello-world", "type": "webservice", "properties": {"image": "crccheck/hello-world"}},
    ]);
    cluster.patch(OAM, "Application", APPLICATION, json!({"spec": {"components": components}})).await;
    cluster.phase(APPLICATION, "running").await;
    cluster.quiet().await;
    let found = cluster.get("v1", "Service", "hello-world").await.unwrap();
    assert_eq!(found["metadata"]["uid"], service["metadata"]["uid"]);
    cluster.delete(OAM, "Application", APPLICATION).await;
    cluster.gone(OAM, "Application", APPLICATION).await;
    cluster.gone("v1", "Service", "hello-world").await;
    cluster.gone("apps/v1", "Deployment", "hello-world").await;
    assert!(cluster.trackers(APPLICATION).await.is_empty());
}

/// Runs of upstream with traits that change pods.
const CASES: [&str; 3] =
    ["ex__traits__affinity__example", "usage__application-with-labels", "usage__application-with-lifecycle"];

#[tokio::test]
async fn upstream_applications_keep_their_pods_and_leave_nothing() {
    for case in CASES {
        let mut cluster = TestCluster::without_controllers().await;
        let kinds = ["Deployment", "ResourceTracker", "Application"];
        let objects = recorded(case, &cluster.namespace);
        let of = |kind: &str| {
            let found = objects.iter().find(|object| object["kind"] == kind).unwrap();
            found["metadata"]["name"].as_str().unwrap().to_owned()
        };
        let (name, workload) = (of("Application"), of("Deployment"));
        for object in objects.into_iter().filter(|object| kinds.iter().any(|kind| object["kind"] == *kind)) {
            store(&cluster, object).await;
        }
        let before = until_or("a pod runs", || pods(&cluster), |pods| !pods.is_empty()).await;
        let template = cluster.deployment(&workload).await.unwrap()["spec"]["template"].clone();
        cluster.start();
        complete(&cluster, &name).await;
        cluster.quiet().await;
        let now = cluster.deployment(&workload).await.unwrap();
        assert_eq!(now["spec"]["template"], template, "{case}");
        assert_eq!(pods(&cluster).await, before, "{case}: no pod is another one");
        cluster.delete(OAM, "Application", &name).await;
        cluster.gone(OAM, "Application", &name).await;
        cluster.gone("apps/v1", "Deployment", &workload).await;
        assert!(cluster.trackers(&name).await.is_empty(), "{case}");
        cluster.stop().await;
    }
}

/// What upstream leaves of an application `shop` with these ConfigMaps.
async fn upstream(cluster: &TestCluster, name: &str, spec: Value) {
    let labels = json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": cluster.namespace});
    let named = format!("{name}-{}", cluster.namespace);
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "ResourceTracker", "spec": spec,
            "metadata": {"name": named, "labels": labels, "finalizers": [FINALIZER]},
        }))
        .await;
}

fn managed(cluster: &TestCluster, name: &str, component: Option<&str>) -> Value {
    let mut managed =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": cluster.namespace, "name": name});
    if let Some(component) = component {
        managed["component"] = json!(component);
    }
    managed
}

async fn config_maps(cluster: &TestCluster, names: &[&str]) {
    for name in names {
        let labels = json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": cluster.namespace});
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "a"},
            "metadata": {"name": name, "labels": labels},
        });
        cluster.create(object).await;
    }
}

fn packed(resources: &Value) -> Value {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(resources.to_string().as_bytes()).unwrap();
    let data = base64::engine::general_purpose::STANDARD.encode(packer.finish().unwrap());
    json!({"type": "gzip", "data": data})
}

#[tokio::test]
async fn what_former_generations_left_goes_and_what_stays_stays() {
    let mut cluster = TestCluster::without_controllers().await;
    config_maps(&cluster, &["rest", "old", "stays", "note"]).await;
    let all = |names: &[(&str, Option<&str>)]| -> Value {
        names.iter().map(|(name, component)| managed(&cluster, name, *component)).collect()
    };
    let former = all(&[("old", Some("old")), ("rest", Some("rest"))]);
    let spec = json!({"type": "versioned", "applicationGeneration": 1, "managedResources": former});
    upstream(&cluster, "shop-v1", spec).await;
    // A step made `note`.
    let present = packed(&all(&[("rest", Some("rest")), ("note", None)]));
    let spec = json!({"type": "versioned", "applicationGeneration": 2, "compression": present});
    upstream(&cluster, "shop-v2", spec).await;
    let root = all(&[("stays", Some("rest"))]);
    upstream(&cluster, "shop", json!({"type": "root", "applicationGeneration": 0, "managedResources": root}))
        .await;
    cluster.create(application("shop", &[settings("rest", "a")])).await;
    let rest = cluster.get("v1", "ConfigMap", "rest").await.unwrap();

    cluster.start();
    cluster.gone("v1", "ConfigMap", "old").await;
    complete(&cluster, "shop").await;
    cluster.quiet().await;
    let trackers = cluster.trackers("shop").await;
    let ours = [format!("shop-{}", cluster.namespace), format!("shop-v2-{}", cluster.namespace)];
    assert_eq!(names(&trackers), ours, "the former one is part of the record by now");
    assert!(trackers[1]["spec"]["compression"].is_null(), "{}", trackers[1]);
    for name in ["stays", "note"] {
        assert!(cluster.get("v1", "ConfigMap", name).await.is_some(), "{name}");
    }
    let now = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    assert_eq!(now["metadata"]["uid"], rest["metadata"]["uid"]);

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    for name in ["rest", "stays", "note"] {
        cluster.gone("v1", "ConfigMap", name).await;
    }
    assert!(cluster.trackers("shop").await.is_empty());
}

#[tokio::test]
async fn a_record_that_cannot_be_read_lets_nothing_be_done() {
    let mut cluster = TestCluster::without_controllers().await;
    config_maps(&cluster, &["rest", "old"]).await;
    let compression = json!({"type": "zstd", "data": "bm8genN0ZA=="});
    let spec = json!({"type": "versioned", "applicationGeneration": 1, "compression": compression});
    upstream(&cluster, "shop-v1", spec).await;
    cluster.create(application("shop", &[settings("rest", "b")])).await;
    cluster.start();
    let status = || async { cluster.application("shop").await["status"].to_string() };
    until_or("it is said why", status, |said| said.contains("spec.compression: zstd")).await;
    let rest = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    assert_eq!(rest["data"]["text"], "a", "nothing is written");
    assert!(cluster.get("v1", "ConfigMap", "old").await.is_some());
    assert_eq!(cluster.trackers("shop").await.len(), 1);
}

#[tokio::test]
async fn a_record_of_the_former_release_goes_on_under_its_name() {
    let mut cluster = TestCluster::new().await;
    cluster.create(application("shop", &[settings("rest", "a"), settings("old", "a")])).await;
    cluster.phase("shop", "running").await;
    let written = complete(&cluster, "shop").await;
    cluster.quiet().await;
    cluster.stop().await;
    // As the release before this one wrote it: one tracker of type root, with this name and without a finalizer.
    let name = written["metadata"]["name"].as_str().unwrap();
    cluster.patch(OAM, "ResourceTracker", name, json!({"metadata": {"finalizers": null}})).await;
    cluster.delete(OAM, "ResourceTracker", name).await;
    let mut spec = written["spec"].clone();
    spec["type"] = json!("root");
    let former = format!("shop.{}", cluster.namespace);
    let labels = json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": cluster.namespace});
    let tracker = json!({
        "apiVersion": OAM, "kind": "ResourceTracker", "metadata": {"name": former, "labels": labels}, "spec": spec,
    });
    cluster.create(tracker).await;
    let before = cluster.get("v1", "ConfigMap", "rest").await.unwrap();

    cluster.faults.take();
    cluster.start();
    cluster.rested(1).await;
    let writes = cluster.writes();
    assert!(writes.is_empty(), "nothing has changed: {writes:#?}");
    let components = json!([settings("rest", "b")]);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    cluster.gone("v1", "ConfigMap", "old").await;
    cluster.phase("shop", "running").await;
    let rest = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    assert_eq!(rest["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(names(&cluster.trackers("shop").await), [former]);
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "rest").await;
    assert!(cluster.trackers("shop").await.is_empty());
}

#[tokio::test]
async fn a_record_has_the_shape_that_upstream_takes_over() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[settings("rest", "a"), settings("stays", "a")]);
    let rule = json!({"selector": {"componentNames": ["stays"]}, "strategy": "onAppDelete"});
    shop["spec"]["policies"] =
        json!([{"name": "p", "type": "garbage-collect", "properties": {"rules": [rule]}}]);
    let uid = cluster.create(shop).await.metadata.uid.unwrap();
    cluster.phase("shop", "running").await;
    complete(&cluster, "shop").await;
    let trackers = cluster.trackers("shop").await;
    let ours = [format!("shop-{}", cluster.namespace), format!("shop-v1-{}", cluster.namespace)];
    assert_eq!(names(&trackers), ours);
    for (tracker, (type_, generation, named)) in
        trackers.iter().zip([("root", 0, "stays"), ("versioned", 1, "rest")])
    {
        let (metadata, spec) = (&tracker["metadata"], &tracker["spec"]);
        assert_eq!(metadata["finalizers"], json!([FINALIZER]), "{tracker}");
        assert_eq!(metadata["labels"]["app.oam.dev/uid"], uid.as_str(), "{tracker}");
        assert_eq!(metadata["labels"]["app.oam.dev/appRevision"], "shop-v1", "{tracker}");
        assert_eq!((&spec["type"], &spec["applicationGeneration"]), (&json!(type_), &json!(generation)));
        let resources = spec["managedResources"].as_array().unwrap();
        assert_eq!(resources.len(), 1, "{tracker}");
        assert_eq!((&resources[0]["name"], &resources[0]["component"]), (&json!(named), &json!(named)));
    }

    // Without the policy it is named by the other tracker, and goes when nothing names it.
    let changed =
        json!({"spec": {"policies": [], "components": [settings("rest", "a"), settings("stays", "b")]}});
    cluster.patch(OAM, "Application", "shop", changed).await;
    let is_moved = |all: &Vec<Value>| {
        let empty = all[0]["spec"]["managedResources"].as_array().is_none_or(Vec::is_empty);
        empty && all[1]["spec"]["managedResources"].as_array().is_some_and(|named| named.len() == 2)
    };
    until_or("it is named by the other one", || cluster.trackers("shop"), is_moved).await;
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": [settings("rest", "a")]}})).await;
    cluster.gone("v1", "ConfigMap", "stays").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.trackers("shop").await.is_empty());
}
