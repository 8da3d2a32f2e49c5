//! A rolling update and its rollback: this release goes on with records that the next one has written, and takes none of its objects.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until, web};

const OAM: &str = "core.oam.dev/v1beta1";
/// Kinds in which releases keep their records.
const RECORDS: [&str; 2] = ["applications.core.oam.dev", "resourcetrackers.core.oam.dev"];

fn of(components: Vec<Value>) -> Value {
    json!({"spec": {"components": components}})
}

/// The kinds as a release knows them that has more fields: what is not known to this one is not dropped by the server.
async fn kinds_of_the_next_release(cluster: &TestCluster) {
    for name in RECORDS {
        let kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let crd = cluster.get(kind.0, kind.1, name).await.unwrap();
        let mut versions = crd["spec"]["versions"].clone();
        for version in versions.as_array_mut().unwrap() {
            let fields = &mut version["schema"]["openAPIV3Schema"]["properties"];
            for part in ["spec", "status"] {
                if fields[part].is_object() {
                    fields[part]["x-kubernetes-preserve-unknown-fields"] = json!(true);
                }
            }
        }
        cluster.patch(kind.0, kind.1, name, json!({"spec": {"versions": versions}})).await;
    }
}

/// What the next release has written beside what this one writes: fields of records, status and annotations.
async fn records_of_the_next_release(cluster: &TestCluster, name: &str) {
    let tracker = cluster.tracker(name).await.unwrap();
    let mut entries = tracker["spec"]["managedResources"].clone();
    for entry in entries.as_array_mut().unwrap() {
        entry["nextRelease"] = json!({"since": 2});
    }
    let record = tracker["metadata"]["name"].as_str().unwrap();
    let spec = json!({"spec": {"managedResources": entries, "nextRelease": {"format": 2}}});
    cluster.patch(OAM, "ResourceTracker", record, spec).await;
    let api = cluster.api(OAM, "Application").await;
    let status = json!({"status": {"nextRelease": {"plan": ["front", "back"]}}});
    let (params, status) = (kube::api::PatchParams::default(), kube::api::Patch::Merge(&status));
    api.patch_status(name, &params, &status).await.unwrap();
    let noted = json!({"metadata": {"annotations": {"app.oam.dev/next-release": "2"}}});
    for deployment in ["front", "back"] {
        cluster.patch("apps/v1", "Deployment", deployment, noted.clone()).await;
    }
}

async fn uids(cluster: &TestCluster) -> [Value; 2] {
    let uid = async |name: &str| cluster.deployment(name).await.unwrap()["metadata"]["uid"].clone();
    [uid("front").await, uid("back").await]
}

#[tokio::test]
async fn records_of_the_next_release_cost_nothing_of_what_runs() {
    let mut cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let before = uids(&cluster).await;
    cluster.stop().await;
    kinds_of_the_next_release(&cluster).await;
    records_of_the_next_release(&cluster, "shop").await;
    let record = cluster.tracker("shop").await.unwrap();
    assert_eq!(record["spec"]["nextRelease"]["format"], 2, "the record is of the next release: {record}");
    cluster.faults.take();
    cluster.start();
    cluster.rested(1).await;
    cluster.quiet().await;
    let workloads = |path: &str| path.contains("/deployments/") || path.contains("/services/");
    let written: Vec<_> =
        cluster.faults.take().into_iter().filter(|entry| entry.writes() && workloads(&entry.path)).collect();
    assert!(written.is_empty(), "what runs is as it was wanted: {written:?}");
    // It goes on: a change, something less, nothing more.
    cluster
        .patch(OAM, "Application", "shop", of(vec![web("front", "nginx:2"), web("back", "nginx:1")]))
        .await;
    cluster.phase("shop", "running").await;
    assert_eq!(uids(&cluster).await, before, "no Deployment was made anew");
    let noted = cluster.deployment("back").await.unwrap();
    assert_eq!(
        noted["metadata"]["annotations"]["app.oam.dev/next-release"], "2",
        "that is not ours to remove"
    );
    cluster.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:2")])).await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    until("the record is gone", || async { cluster.tracker("shop").await.is_none() }).await;
}
