//! The reconcile of a configuration, rule by rule: rollouts, typed objects, names of traits, history, records, revisions.

use serde_json::{Value, json};
use vela_core::{Options, Process};

use super::configuration::{complaint, component, configuration, deployed, image, synced, uid};
use super::test_cluster::{TestCluster, until, until_or};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";
const SCALER: &str = "ManualScalerTrait";

async fn application(cluster: &TestCluster) -> Value {
    // Paused: it is only there to control the configuration.
    let shop = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "labels": {"controller.core.oam.dev/pause": "true"}}, "spec": {"components": []}});
    let shop = cluster.create(shop).await;
    json!([{"apiVersion": "core.oam.dev/v1alpha2", "kind": "Application", "name": "shop", "uid": shop.metadata.uid,
        "controller": true, "blockOwnerDeletion": true}])
}

#[tokio::test]
async fn a_rolling_component_is_paused_once_and_left_to_its_rollout() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component("back", "nginx:1")).await;
    let mut shop = configuration("shop", json!([{"componentName": "front"}, {"componentName": "back"}]));
    shop["metadata"]["ownerReferences"] = application(&cluster).await;
    shop["metadata"]["annotations"] =
        json!({"app.oam.dev/rollout-template": "true", "app.oam.dev/rolling-components": "front"});
    cluster.create(shop).await;
    let status = synced(&cluster, "shop").await;
    assert_eq!(status["rollingStatus"], "RollingTemplated");
    let rolling = deployed(&cluster, "front-v1", "nginx:1").await;
    assert_eq!(rolling["spec"]["paused"], true);
    assert!(rolling["metadata"]["annotations"]["app.oam.dev/rollout-template"].is_null());
    assert!(deployed(&cluster, "back-v1", "nginx:1").await["spec"]["paused"].is_null());
    // From now on it is the rollout's.
    cluster
        .patch("apps/v1", "Deployment", "front-v1", json!({"spec": {"paused": false, "replicas": 5}}))
        .await;
    cluster.quiet().await;
    let rolling = deployed(&cluster, "front-v1", "nginx:1").await;
    assert_ne!(rolling["spec"]["paused"], true);
    assert_eq!(rolling["spec"]["replicas"], 5);
    // The rollout is over: the component is applied as any other.
    let over = json!({"app.oam.dev/rollout-template": null, "app.oam.dev/rolling-components": null});
    cluster.patch(OAM, AC, "shop", json!({"metadata": {"annotations": over}})).await;
    until_or(
        "it is complete",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["rollingStatus"] == "RollingComplete",
    )
    .await;
    let front = deployed(&cluster, "front", "nginx:1").await;
    assert_ne!(front["spec"]["paused"], true);
}

#[tokio::test]
async fn what_cannot_be_paused_is_refused_by_name() {
    let cluster = TestCluster::new().await;
    let workload = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    cluster
        .create(json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": "front"}, "spec": {"workload": workload}}))
        .await;
    let mut shop = configuration("shop", json!([{"componentName": "front"}]));
    shop["metadata"]["ownerReferences"] = application(&cluster).await;
    shop["metadata"]["annotations"] =
        json!({"app.oam.dev/rollout-template": "true", "app.oam.dev/rolling-components": "front"});
    cluster.create(shop).await;
    complaint(&cluster, "shop", "do not know how to prepare ConfigMap of v1 for a rollout").await;
    assert!(cluster.get("v1", "ConfigMap", "front-v1").await.is_none());
}

#[tokio::test]
async fn workloads_and_traits_may_be_written_by_their_definitions() {
    let cluster = TestCluster::new().await;
    let definition = |kind: &str, name: &str, resource: &str, path: Value| {
        json!({"apiVersion": OAM, "kind": kind, "metadata": {"name": name},
            "spec": {"definitionRef": {"name": resource}, "workloadRefPath": path}})
    };
    let mut server = definition("WorkloadDefinition", "server", "deployments.apps", Value::Null);
    server["spec"].as_object_mut().unwrap().remove("workloadRefPath");
    cluster.create(server).await;
    cluster
        .create(definition(
            "TraitDefinition",
            "size",
            "manualscalertraits.core.oam.dev",
            json!("spec.workloadRef"),
        ))
        .await;
    let mut front = component("front", "nginx:1");
    // The schema wants a kind where no webhook fills it in; the definition decides nevertheless.
    front["spec"]["workload"]["type"] = json!("server");
    front["metadata"]["labels"] = json!({"tier": "web"});
    cluster.create(front).await;
    let size = json!({"trait": {"apiVersion": OAM, "kind": SCALER, "name": "size", "properties": {"replicaCount": 3}}});
    cluster.create(configuration("shop", json!([{"componentName": "front", "traits": [size]}]))).await;
    let status = synced(&cluster, "shop").await;
    let live = deployed(&cluster, "front", "nginx:1").await;
    assert_eq!(live["metadata"]["labels"]["workload.oam.dev/type"], "server");
    assert_eq!(live["metadata"]["labels"]["tier"], "web");
    let name = status["workloads"][0]["traits"][0]["traitRef"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("front-size-"), "{name}");
    let made = cluster.get(OAM, SCALER, &name).await.unwrap();
    assert_eq!(made["metadata"]["labels"]["trait.oam.dev/type"], "size");
    assert_eq!(made["spec"]["workloadRef"]["name"], "front");
    until_or(
        "it is scaled",
        || cluster.deployment("front"),
        |found| found.as_ref().unwrap()["spec"]["replicas"] == 3,
    )
    .await;
}

#[tokio::test]
async fn traits_of_one_kind_have_names_of_their_own_and_keep_them() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    let words =
        |data: &str| json!({"trait": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"word": data}}});
    let entry = |traits: Value| json!([{"componentName": "front", "traits": traits}]);
    cluster.create(configuration("shop", entry(json!([words("a"), words("b")])))).await;
    let names = |status: &Value| -> Vec<String> {
        let traits = status["workloads"][0]["traits"].as_array().unwrap();
        traits.iter().map(|entry| entry["traitRef"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let first = names(&synced(&cluster, "shop").await);
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1]);
    // An edit of one changes its object, not its name; the other is not touched.
    let other = uid(&cluster.get("v1", "ConfigMap", &first[0]).await.unwrap());
    let edited = uid(&cluster.get("v1", "ConfigMap", &first[1]).await.unwrap());
    cluster
        .patch(OAM, AC, "shop", json!({"spec": {"components": entry(json!([words("a"), words("c")]))}}))
        .await;
    until_or(
        "the edit arrives",
        || cluster.get("v1", "ConfigMap", &first[1]),
        |found| found.as_ref().unwrap()["data"]["word"] == "c",
    )
    .await;
    assert_eq!(names(&synced(&cluster, "shop").await), first);
    assert_eq!(uid(&cluster.get("v1", "ConfigMap", &first[0]).await.unwrap()), other);
    assert_eq!(uid(&cluster.get("v1", "ConfigMap", &first[1]).await.unwrap()), edited);
    // The first one goes: the other keeps its object.
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": entry(json!([words("c")]))}})).await;
    until("one of the two is gone", || async {
        let mut there = 0;
        for name in &first {
            there += usize::from(cluster.get("v1", "ConfigMap", name).await.is_some());
        }
        there == 1
    })
    .await;
    synced(&cluster, "shop").await;
    cluster.quiet().await;
}

/// A trait that [`aware_of_revisions`] defines.
fn noted() -> Value {
    json!({"trait": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {"labels": {"trait.oam.dev/type": "configmaps"}}}})
}

/// A definition whose traits give each revision a workload of its own, known to the controllers when this returns: a
/// workload that was made before keeps its name.
async fn aware_of_revisions(cluster: &TestCluster) {
    cluster
        .create(json!({"apiVersion": OAM, "kind": "TraitDefinition", "metadata": {"name": "configmaps"},
            "spec": {"definitionRef": {"name": "configmaps"}, "revisionEnabled": true}}))
        .await;
    until_or(
        "the definition is recorded",
        || cluster.get(OAM, "TraitDefinition", "configmaps"),
        |found| found.as_ref().unwrap()["status"]["latestRevision"]["name"] == "configmaps-v1",
    )
    .await;
}

#[tokio::test]
async fn a_revision_aware_trait_keeps_a_workload_for_each_revision() {
    let cluster = TestCluster::new().await;
    aware_of_revisions(&cluster).await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", json!([{"componentName": "front", "traits": [noted()]}]))).await;
    let first = uid(&deployed(&cluster, "front-v1", "nginx:1").await);
    cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
    deployed(&cluster, "front-v2", "nginx:2").await;
    let status = until_or(
        "the history names the first",
        || cluster.get(OAM, AC, "shop"),
        |found| {
            found.as_ref().unwrap()["status"]["historyWorkloads"].as_array().is_some_and(|all| all.len() == 1)
        },
    )
    .await
    .unwrap()["status"]
        .clone();
    assert_eq!(status["historyWorkloads"][0]["revision"], "front-v1");
    assert_eq!(status["historyWorkloads"][0]["workloadRef"]["uid"], json!(first));
    assert_eq!(status["workloads"][0]["workloadRef"]["name"], "front-v2");
    // Longer than what is unwanted is left alone: a revision's workload is its trait's business.
    cluster.pass(std::time::Duration::from_secs(3)).await;
    cluster.quiet().await;
    assert_eq!(uid(&deployed(&cluster, "front-v1", "nginx:1").await), first);
    cluster.delete("apps/v1", "Deployment", "front-v1").await;
    until_or(
        "the history forgets it",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["historyWorkloads"].is_null(),
    )
    .await;
}

#[tokio::test]
async fn a_late_definition_renames_only_the_next_revisions_workload() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", json!([{"componentName": "front", "traits": [noted()]}]))).await;
    let before = uid(&deployed(&cluster, "front", "nginx:1").await);
    aware_of_revisions(&cluster).await;
    cluster.quiet().await;
    assert_eq!(uid(&deployed(&cluster, "front", "nginx:1").await), before);
    cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
    deployed(&cluster, "front-v2", "nginx:2").await;
}

#[tokio::test]
async fn a_passive_record_makes_and_deletes_nothing() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    let mut shop = configuration("shop", json!([{"componentName": "front"}]));
    shop["metadata"]["ownerReferences"] = application(&cluster).await;
    cluster.create(shop).await;
    synced(&cluster, "shop").await;
    let before = uid(&deployed(&cluster, "front", "nginx:1").await);
    let passive = json!({"metadata": {"annotations": {"app.oam.dev/app-revision": "true"}}});
    cluster.patch(OAM, AC, "shop", passive).await;
    until_or(
        "it says that it is a record",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["rollingStatus"] == "InactiveAfterRollingCompleted",
    )
    .await;
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
    cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
    cluster.pass(std::time::Duration::from_secs(3)).await;
    cluster.quiet().await;
    assert_eq!(uid(&deployed(&cluster, "front", "nginx:1").await), before);
    // Active again, it does what it is asked.
    let active = json!({"metadata": {"annotations": {"app.oam.dev/app-revision": null}},
        "spec": {"components": [{"componentName": "front"}]}});
    cluster.patch(OAM, AC, "shop", active).await;
    assert_eq!(uid(&deployed(&cluster, "front", "nginx:2").await), before);
    until_or(
        "and says so",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["rollingStatus"].is_null(),
    )
    .await;
}

#[tokio::test]
async fn a_small_limit_keeps_pinned_revisions_and_the_latest() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { component_revision_limit: 1, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(component("front", "nginx:1")).await;
    let cut = |name: String| {
        let cluster = &cluster;
        async move {
            until(&format!("{name} is cut"), || async {
                cluster.get("apps/v1", "ControllerRevision", &name).await.is_some()
            })
            .await;
        }
    };
    cut("front-v1".to_owned()).await;
    cluster.create(configuration("shop", json!([{"revisionName": "front-v1"}]))).await;
    synced(&cluster, "shop").await;
    for number in 2..=4 {
        cluster.patch(OAM, "Component", "front", image(&format!("nginx:{number}"))).await;
        cut(format!("front-v{number}")).await;
    }
    let names = || async {
        let all = cluster.list("apps/v1", "ControllerRevision").await;
        let mut names: Vec<String> =
            all.iter().map(|revision| revision["metadata"]["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    until_or("the pinned one and the latest are left", names, |names| *names == ["front-v1", "front-v4"])
        .await;
    deployed(&cluster, "front", "nginx:1").await;
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": [{"revisionName": "front-v4"}]}})).await;
    deployed(&cluster, "front", "nginx:4").await;
}

#[tokio::test]
async fn a_capability_that_is_switched_off_leaves_its_kind_to_others() {
    use vela_core::options::Capability;
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { disabled: [Capability::PodSpecWorkload].into(), ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    let pods = json!({"containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": 80}]}]});
    let standard = "standard.oam.dev/v1alpha1";
    let workload = json!({"apiVersion": standard, "kind": "PodSpecWorkload", "spec": {"podSpec": pods}});
    cluster
        .create(json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": "front"}, "spec": {"workload": workload}}))
        .await;
    cluster.create(configuration("shop", json!([{"componentName": "front"}]))).await;
    synced(&cluster, "shop").await;
    assert!(cluster.get(standard, "PodSpecWorkload", "front").await.is_some());
    cluster.quiet().await;
    assert!(cluster.deployment("front").await.is_none(), "no controller runs it");
    let made = cluster.get(standard, "PodSpecWorkload", "front").await.unwrap();
    assert!(made["status"].is_null(), "no controller reports on it");
    // The next start has it switched on.
    cluster.stop().await;
    cluster.start();
    until("it runs", || async { cluster.deployment("front").await.is_some() }).await;
}
