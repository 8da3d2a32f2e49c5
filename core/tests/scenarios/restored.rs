//! The store is set back to an earlier state under running controllers: they go on with the cluster as it is now, without a restart, and
//! delete nothing of it.

use serde_json::{Value, json};
use vela_runtime::fault::Entry;

use super::test_cluster::{TestCluster, application, until, web};

const OAM: &str = "core.oam.dev/v1beta1";

async fn uid(cluster: &TestCluster, name: &str) -> Value {
    cluster.deployment(name).await.unwrap()["metadata"]["uid"].clone()
}

async fn image_is(cluster: &TestCluster, name: &str, image: &str) {
    until(&format!("{name} has {image}"), || async {
        let found = cluster.deployment(name).await.unwrap_or_default();
        found["spec"]["template"]["spec"]["containers"][0]["image"] == image
    })
    .await;
}

fn of(components: Vec<Value>) -> Value {
    json!({"spec": {"components": components}})
}

/// The version that the server is at.
async fn version(cluster: &TestCluster) -> u64 {
    let number = cluster.list("v1", "ConfigMap").await.len();
    let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("at-{number}")}});
    let written = cluster.create(note).await;
    written.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_set_back_is_served_on() {
    let mut cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.create(application("goes", &[web("gone", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.phase("goes", "running").await;
    let uids = [uid(&cluster, "front").await, uid(&cluster, "back").await, uid(&cluster, "gone").await];
    let Some(backup) = cluster.back_up() else {
        println!("skipped: e2e has this scenario for real clusters");
        return;
    };
    // What the controllers believe in the end: that "back" and "gone" must not be there.
    cluster.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:2")])).await;
    cluster.delete(OAM, "Application", "goes").await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    cluster.gone("apps/v1", "Deployment", "gone").await;
    cluster.create(application("late", &[web("late", "nginx:1")])).await;
    cluster.phase("late", "running").await;
    for number in 3..40 {
        cluster.patch(OAM, "Application", "shop", of(vec![web("front", &format!("nginx:{number}"))])).await;
    }
    image_is(&cluster, "front", "nginx:39").await;
    cluster.phase("shop", "running").await;
    let reached = version(&cluster).await;
    cluster.faults.take();
    cluster.restore(backup).await;
    // The generation is that of the first change after the backup, and the content another one.
    cluster
        .patch(OAM, "Application", "shop", of(vec![web("front", "nginx:1"), web("back", "nginx:5")]))
        .await;
    image_is(&cluster, "back", "nginx:5").await;
    let now = version(&cluster).await;
    assert!(now < reached, "version {now} has passed {reached} already: nothing is shown");
    cluster.phase("shop", "running").await;
    cluster.phase("goes", "running").await;
    cluster.quiet().await;
    let deleted: Vec<Entry> =
        cluster.faults.take().into_iter().filter(|entry| entry.method == http::Method::DELETE).collect();
    assert!(deleted.is_empty(), "{deleted:?}");
    assert_eq!(
        [uid(&cluster, "front").await, uid(&cluster, "back").await, uid(&cluster, "gone").await],
        uids
    );
    assert!(cluster.deployment("late").await.is_none() && cluster.application("late").await.is_null());
    // What they are told from now on they do, also deleting.
    cluster.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:6")])).await;
    cluster.delete(OAM, "Application", "goes").await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    cluster.gone("apps/v1", "Deployment", "gone").await;
    image_is(&cluster, "front", "nginx:6").await;
}
