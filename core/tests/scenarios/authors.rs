//! An application does what its author could: what is asked in whose name, what is refused, and what stays then.

use serde_json::{Value, json};
use vela_core::{Options, Process};

use super::configuration::{component, configuration, named};
use super::rights::Rights;
use super::test_cluster::{TestCluster, application, until, until_or, web};

const NEW: &str = "core.oam.dev/v1beta1";
const OLD: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";
const WEB: &[&str] = &["deployments.apps", "services"];
const ALL: &[&str] = &["deployments.apps", "services", "configmaps"];

/// Controllers that act for authors; the embedded API server authorizes nothing, so a judge stands before it. On
/// a real one the scenarios of `e2e` show the same.
pub(super) async fn judged() -> Option<(TestCluster, Rights)> {
    if std::env::var_os("CORE_TEST_KUBECONFIG").is_some() {
        println!("skipped: rights are judged by the cluster itself; see the scenario `authors` of e2e");
        return None;
    }
    let mut cluster = TestCluster::without_controllers().await;
    let rights = Rights::default();
    cluster.on_behalf(&rights);
    let options = Options { authenticate_application: true, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    Some((cluster, rights))
}

pub(super) fn by(user: &str, groups: &str, mut object: Value) -> Value {
    object["metadata"]["annotations"] = stamp(user, groups);
    object
}

pub(super) fn stamp(user: &str, groups: &str) -> Value {
    let mut stamp = json!({"app.oam.dev/username": user});
    if !groups.is_empty() {
        stamp["app.oam.dev/group"] = json!(groups);
    }
    if let Some((_, name)) = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'))
    {
        stamp["app.oam.dev/service-account-name"] = json!(name);
    }
    stamp
}

fn settings(name: &str) -> Value {
    json!({"name": name, "type": "settings", "properties": {"text": "hello"}})
}

pub(super) async fn reports(cluster: &TestCluster, kind: &str, name: &str, words: &[&str]) {
    let version = if kind == AC { OLD } else { NEW };
    let conditions = || async {
        let found = cluster.get(version, kind, name).await.unwrap_or_default();
        found["status"]["conditions"].to_string().replace('\\', "")
    };
    until_or(&format!("{words:?}"), conditions, |found| words.iter().all(|word| found.contains(word))).await;
}

async fn event(cluster: &TestCluster, reason: &str, words: &str) {
    let found = || async { Value::Array(cluster.list("events.k8s.io/v1", "Event").await) };
    let says = |event: &Value| event["reason"] == reason && event["note"].to_string().contains(words);
    until_or(reason, found, |events| events.as_array().unwrap().iter().any(says)).await;
}

#[tokio::test]
pub(crate) async fn what_the_author_may_runs_and_what_not_is_refused() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", WEB);
    cluster
        .create(by(
            "alice",
            "dev,ops team",
            application("shop", &[web("front", "nginx:1"), settings("words")]),
        ))
        .await;
    until("the deployment is there", || async { cluster.deployment("front").await.is_some() }).await;
    let in_namespace = format!("in the namespace \"{}\"", cluster.namespace);
    let words = ["ConfigMap", "\"configmaps\"", &in_namespace, "User \"alice\"", "let a user who has it"];
    reports(&cluster, "Application", "shop", &words).await;
    event(&cluster, "FailedApply", "on behalf of alice").await;
    assert_eq!(cluster.get("v1", "ConfigMap", "words").await, None);
    // What was never made is not on the record, where it would hold up the deletion for those who may not look.
    let recorded = || async { cluster.tracker("shop").await.unwrap_or_default().to_string() };
    until_or("the refused object is forgotten", recorded, |record| {
        record.contains("Deployment") && !record.contains("ConfigMap")
    })
    .await;
    assert!(rights.was_asked("alice", "dev,ops team", "patch deployments.apps"));
    let passed = cluster.deployment("front").await.unwrap()["metadata"]["annotations"].to_string();
    assert!(!passed.contains("app.oam.dev/username"), "{passed}");

    let bob = format!("system:serviceaccount:{}:bob", cluster.namespace);
    rights.grant(&bob, ALL);
    let mut stamped = stamp(&bob, "");
    stamped["app.oam.dev/group"] = Value::Null;
    let patch = json!({"metadata": {"annotations": stamped},
        "spec": {"components": [web("front", "nginx:2"), settings("words")]}});
    cluster.patch(NEW, "Application", "shop", patch).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.get("v1", "ConfigMap", "words").await.is_some());
    assert!(rights.was_asked(&bob, "", "patch configmaps"));
    // Unwanted objects are deleted in his name as well.
    let patch = json!({"spec": {"components": [web("front", "nginx:2")]}});
    cluster.patch(NEW, "Application", "shop", patch).await;
    cluster.gone("v1", "ConfigMap", "words").await;
    assert!(rights.was_asked(&bob, "", "delete configmaps"));
}

#[tokio::test]
async fn without_an_author_nothing_runs_and_nothing_goes() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", WEB);
    cluster.create(application("unstamped", &[web("orphan", "nginx:1")])).await;
    let way = ["app.oam.dev/username", "not executed", "kubectl annotate application unstamped"];
    reports(&cluster, "Application", "unstamped", &way).await;
    let system = by("system:admin", "", application("systems", &[web("orphan", "nginx:1")]));
    cluster.create(system).await;
    reports(&cluster, "Application", "systems", &["system:admin", "not executed"]).await;
    assert_eq!(cluster.deployment("orphan").await, None);

    cluster
        .create(by("alice", "", application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])))
        .await;
    cluster.phase("shop", "running").await;
    let strip = json!({"metadata": {"annotations": null}, "spec": {"components": [web("front", "nginx:2")]}});
    cluster.patch(NEW, "Application", "shop", strip).await;
    reports(&cluster, "Application", "shop", &["not executed"]).await;
    cluster.delete(NEW, "Application", "shop").await;
    reports(
        &cluster,
        "Application",
        "shop",
        &["CannotDelete", "nothing of it is deleted", "kubectl annotate"],
    )
    .await;
    event(&cluster, "FailedDelete", "not executed").await;
    for name in ["front", "back"] {
        let image =
            &cluster.deployment(name).await.unwrap()["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "nginx:1", "{name}");
    }
    cluster.patch(NEW, "Application", "shop", json!({"metadata": {"annotations": stamp("alice", "")}})).await;
    cluster.gone(NEW, "Application", "shop").await;
    assert_eq!(cluster.deployment("front").await, None);
    assert!(rights.was_asked("alice", "", "delete deployments.apps"));
}

#[tokio::test]
async fn an_author_who_lost_the_right_keeps_what_runs() {
    let Some((cluster, rights)) = judged().await else { return };
    for (name, author) in [("kept", "alice"), ("emptied", "carol")] {
        rights.grant(author, WEB);
        cluster.create(by(author, "", application(name, &[web(&format!("{name}-web"), "nginx:1")]))).await;
        cluster.phase(name, "running").await;
        rights.grant(author, &["services"]);
        cluster.delete(NEW, "Application", name).await;
        reports(
            &cluster,
            "Application",
            name,
            &["CannotDelete", "cannot delete resource", &format!("give {author} that right")],
        )
        .await;
        assert!(cluster.deployment(&format!("{name}-web")).await.is_some());
    }
    // Another client deletes it, as a namespace that goes does: then nothing is left to do.
    cluster.delete("apps/v1", "Deployment", "emptied-web").await;
    cluster.gone(NEW, "Application", "emptied").await;
    // A user with the right takes it over.
    rights.grant("bob", WEB);
    cluster.patch(NEW, "Application", "kept", json!({"metadata": {"annotations": stamp("bob", "")}})).await;
    cluster.gone(NEW, "Application", "kept").await;
    assert_eq!(cluster.deployment("kept-web").await, None);
}

#[tokio::test]
async fn the_old_form_acts_for_its_author_through_its_configuration() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", WEB);
    let old =
        |image: &str| json!([{"name": "front", "type": "web", "settings": {"image": image, "replicas": 2}}]);
    let shop = json!({"apiVersion": OLD, "kind": "Application", "metadata": {"name": "shop"}, "spec": {"components": old("nginx:1")}});
    // Alice needs no right on what the application is stored as.
    cluster.create(by("alice", "", shop)).await;
    cluster.phase("shop", "running").await;
    assert!(rights.was_asked("alice", "", "patch deployments.apps"));
    assert!(!rights.was_asked("alice", "", "patch applicationconfigurations.core.oam.dev"));

    let patch =
        json!({"metadata": {"annotations": stamp("bob", "")}, "spec": {"components": old("nginx:2")}});
    cluster.patch(NEW, "Application", "shop", patch).await;
    reports(&cluster, AC, "shop", &["User \"bob\" cannot", "deployments"]).await;
    rights.grant("bob", WEB);
    let image = || async {
        let front = cluster.deployment("front").await.unwrap();
        front["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    until_or("bob's image", image, |image| image == "nginx:2").await;
    let strip = json!({"metadata": {"annotations": null}, "spec": {"components": old("nginx:3")}});
    cluster.patch(NEW, "Application", "shop", strip).await;
    reports(&cluster, "Application", "shop", &["not executed"]).await;
    cluster.delete(NEW, "Application", "shop").await;
    reports(&cluster, "Application", "shop", &["CannotDelete"]).await;
    assert_eq!(image().await, "nginx:2");
    cluster.patch(NEW, "Application", "shop", json!({"metadata": {"annotations": stamp("bob", "")}})).await;
    cluster.gone(NEW, "Application", "shop").await;
}

#[tokio::test]
async fn a_configuration_of_a_person_acts_for_that_person() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", &["deployments.apps"]);
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("unstamped", named(&["front"]))).await;
    reports(
        &cluster,
        AC,
        "unstamped",
        &["not executed", "kubectl annotate applicationconfiguration unstamped"],
    )
    .await;
    // Only the controllers' own name leads to an application, and there is none of it.
    let claims = by(super::rights::OWN, "", configuration("claims", named(&["front"])));
    cluster.create(claims).await;
    reports(&cluster, AC, "claims", &["an Application that is not there"]).await;
    assert_eq!(cluster.deployment("front").await, None);
    cluster.create(by("alice", "dev", configuration("alices", named(&["front"])))).await;
    until("the deployment is there", || async { cluster.deployment("front").await.is_some() }).await;
    assert!(rights.was_asked("alice", "dev", "patch deployments.apps"));
}

/// A user who cannot read a Secret cannot have it copied.
#[tokio::test]
async fn what_the_author_may_not_read_flows_nowhere() {
    let Some((cluster, rights)) = judged().await else { return };
    rights.grant("alice", ALL);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"key": "hidden"}});
    cluster.create(secret).await;
    for (name, kind) in [("keys", "Secret"), ("copy", "ConfigMap")] {
        let workload = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        let component = json!({"apiVersion": OLD, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}});
        cluster.create(component).await;
    }
    let source = json!([
        {"componentName": "keys", "dataOutputs": [{"name": "key", "fieldPath": "data.key"}]},
        {"componentName": "copy", "dataInputs": [{"valueFrom": {"dataOutputName": "key"}, "toFieldPaths": ["data.key"]}]},
    ]);
    cluster.create(by("alice", "", configuration("spy", source))).await;
    reports(&cluster, AC, "spy", &["cannot read", "User \"alice\" cannot get resource \"secrets\""]).await;
    assert_eq!(cluster.get("v1", "ConfigMap", "copy").await, None);
}
