//! Trackers of one record and processes that end between two writes: what goes from one tracker to the other is named at all
//! times, and never deleted for being in both.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

fn settings(name: &str) -> Value {
    json!({"name": name, "type": "settings", "properties": {"text": "a"}})
}

/// What a spec is changed to: these components, and whether a policy has `stays` stay as long as the application.
fn spec(components: &[&str], stays: bool) -> Value {
    let rule = json!({"selector": {"componentNames": ["stays"]}, "strategy": "onAppDelete"});
    let policy = json!({"name": "p", "type": "garbage-collect", "properties": {"rules": [rule]}});
    let components: Vec<Value> = components.iter().map(|name| settings(name)).collect();
    json!({"spec": {"components": components, "policies": if stays { vec![policy] } else { Vec::new() }}})
}

async fn running(stays: bool) -> TestCluster {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[]);
    shop["spec"] = spec(&["rest", "stays"], stays)["spec"].clone();
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
    cluster
}

/// Which trackers name `stays`, by their types.
async fn naming(cluster: &TestCluster) -> Vec<String> {
    let mut types = Vec::new();
    for tracker in cluster.trackers("shop").await {
        let named = tracker["spec"]["managedResources"].as_array().into_iter().flatten();
        if named.into_iter().any(|one| one["name"] == "stays") {
            types.push(tracker["spec"]["type"].as_str().unwrap().to_owned());
        }
    }
    types
}

/// The application is changed, and its process ends right after the first write of a tracker arrived.
async fn killed_after_one_write(cluster: &mut TestCluster, changed: Value) {
    let arrived = Arc::new(AtomicBool::new(false));
    cluster.faults.inject(move |entry| {
        let is_first = entry.writes() && entry.path.contains("/resourcetrackers");
        match (entry.writes(), arrived.load(Ordering::SeqCst)) {
            (true, true) => Injection::DropRequest,
            _ if is_first => {
                arrived.store(true, Ordering::SeqCst);
                Injection::DropAnswer
            }
            _ => Injection::Pass,
        }
    });
    cluster.patch(OAM, "Application", "shop", changed).await;
    until_or("both trackers name it", || naming(cluster), |types| types.len() == 2).await;
    cluster.kill().await;
    cluster.faults.heal();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_stay_stays_whatever_a_process_came_to() {
    let mut cluster = running(false).await;
    assert_eq!(naming(&cluster).await, ["versioned"]);
    killed_after_one_write(&mut cluster, spec(&["rest", "stays"], true)).await;
    // Meanwhile nothing names the object any more.
    cluster.patch(OAM, "Application", "shop", spec(&["rest"], true)).await;
    cluster.start();
    cluster.phase("shop", "running").await;
    until_or("one tracker names it", || naming(&cluster), |types| *types == ["root"]).await;
    cluster.quiet().await;
    assert!(cluster.get("v1", "ConfigMap", "stays").await.is_some(), "it stays as long as the application");
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "stays").await;
    assert!(cluster.trackers("shop").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_stay_no_longer_goes_when_nothing_names_it() {
    let mut cluster = running(true).await;
    assert_eq!(naming(&cluster).await, ["root"]);
    killed_after_one_write(&mut cluster, spec(&["rest", "stays"], false)).await;
    cluster.start();
    cluster.phase("shop", "running").await;
    until_or("one tracker names it", || naming(&cluster), |types| *types == ["versioned"]).await;
    assert!(cluster.get("v1", "ConfigMap", "stays").await.is_some());
    cluster.patch(OAM, "Application", "shop", spec(&["rest"], false)).await;
    cluster.gone("v1", "ConfigMap", "stays").await;
    cluster.phase("shop", "running").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.trackers("shop").await.is_empty());
}
