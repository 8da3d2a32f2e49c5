//! Topology policies: components go to the namespace they are placed in, are looked after there, and move.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// `back`, and `front` that waits for it, with a topology policy for each namespace.
fn placed(namespaces: &[&str]) -> Value {
    let mut front = web("front", "nginx:1");
    front["dependsOn"] = json!(["back"]);
    let mut application = application("shop", &[front, web("back", "nginx:1")]);
    let policy = |(at, namespace): (usize, &&str)| json!({"name": format!("place-{at}"), "type": "topology", "properties": {"namespace": namespace}});
    application["spec"]["policies"] = namespaces.iter().enumerate().map(policy).collect();
    application
}

async fn another(cluster: &TestCluster, name: &str) -> TestCluster {
    let another = TestCluster::in_namespace(cluster, &format!("{}-{name}", cluster.namespace));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": another.namespace}});
    another.create(namespace).await;
    another
}

#[tokio::test]
async fn components_are_placed_looked_after_moved_and_removed() {
    let cluster = TestCluster::unbounded().await;
    let (blue, green) = (another(&cluster, "blue").await, another(&cluster, "green").await);
    cluster.create(placed(&[&blue.namespace])).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("front").await.is_none(), "it is where the policy says");
    let made = blue.deployment("front").await.unwrap();
    assert_eq!(made["metadata"]["labels"]["app.oam.dev/namespace"], cluster.namespace.as_str());
    let status = cluster.application("shop").await["status"].clone();
    assert_eq!(status["services"][0]["namespace"], blue.namespace.as_str(), "{status}");
    let step = &status["workflow"]["steps"][0];
    assert_eq!(
        (&step["name"], &step["type"], &step["phase"]),
        (&json!("deploy-place-0"), &json!("deploy"), &json!("succeeded")),
        "{status}"
    );
    let tracker = cluster.tracker("shop").await.unwrap();
    let recorded = tracker["spec"]["managedResources"].as_array().unwrap().clone();
    assert!(recorded.iter().all(|one| one["namespace"] == blue.namespace.as_str()), "{tracker}");
    assert!(
        recorded.iter().all(|one| one["cluster"].is_null()),
        "the local cluster needs no name: {tracker}"
    );

    // Deleted by hand there: it comes back.
    blue.delete("apps/v1", "Deployment", "front").await;
    let is_new = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["metadata"]["uid"] != made["metadata"]["uid"])
    };
    until_or("the Deployment is made again", || blue.deployment("front"), is_new).await;
    cluster.phase("shop", "running").await;

    // Placed elsewhere: it runs there, and is gone here.
    let policies = placed(&[&green.namespace])["spec"]["policies"].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": policies}})).await;
    cluster.phase("shop", "running").await;
    assert!(green.deployment("front").await.is_some());
    blue.gone("apps/v1", "Deployment", "front").await;
    blue.gone("apps/v1", "Deployment", "back").await;

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    green.gone("apps/v1", "Deployment", "front").await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn two_topologies_place_every_component_twice() {
    let cluster = TestCluster::unbounded().await;
    let (blue, green) = (another(&cluster, "blue").await, another(&cluster, "green").await);
    cluster.create(placed(&[&blue.namespace, &green.namespace])).await;
    cluster.phase("shop", "running").await;
    for place in [&blue, &green] {
        assert!(place.deployment("front").await.is_some() && place.deployment("back").await.is_some());
    }
    let status = cluster.application("shop").await["status"].clone();
    assert_eq!(status["services"].as_array().unwrap().len(), 4, "{status}");
    assert_eq!(status["appliedResources"].as_array().unwrap().len(), 8, "Deployments and Services: {status}");
    let steps = status["workflow"]["steps"].as_array().unwrap();
    let names: Vec<&Value> = steps.iter().map(|step| &step["name"]).collect();
    assert_eq!(names, ["deploy-place-0", "deploy-place-1"]);

    // One of the two goes, the other stays as it is.
    let kept = blue.deployment("front").await.unwrap();
    let policies = placed(&[&blue.namespace])["spec"]["policies"].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": policies}})).await;
    green.gone("apps/v1", "Deployment", "front").await;
    green.gone("apps/v1", "Deployment", "back").await;
    assert_eq!(blue.deployment("front").await.unwrap()["metadata"]["uid"], kept["metadata"]["uid"]);
}

#[tokio::test]
async fn a_topology_leaves_the_namespace_only_by_the_operators_leave() {
    let cluster = TestCluster::new().await;
    cluster.create(placed(&["kube-system"])).await;
    let conditions = || async { cluster.application("shop").await["status"]["conditions"].to_string() };
    let is_refused = |said: &String| {
        ["Policy", "policies[0]", "--allow-cross-namespace"].iter().all(|word| said.contains(word))
    };
    until_or("the placement is refused", conditions, is_refused).await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn what_a_record_says_of_another_cluster_is_not_done_here() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    // An object of the name that the record says is in another cluster: ours by its labels, and another one.
    let labels = json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": cluster.namespace});
    let stray =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray", "labels": labels}});
    cluster.create(stray).await;
    let tracker = cluster.tracker("shop").await.unwrap();
    let record = tracker["metadata"]["name"].as_str().unwrap().to_owned();
    let mut resources = tracker["spec"]["managedResources"].clone();
    resources.as_array_mut().unwrap().push(json!({
        "cluster": "far", "apiVersion": "v1", "kind": "ConfigMap", "name": "stray", "namespace": cluster.namespace,
    }));
    cluster.patch(OAM, "ResourceTracker", &record, json!({"spec": {"managedResources": resources}})).await;

    let components = [web("front", "nginx:1")];
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    cluster.phase("shop", "running").await;
    assert!(cluster.get("v1", "ConfigMap", "stray").await.is_some());
    let kept = cluster.tracker("shop").await.unwrap();
    let kept = kept["spec"]["managedResources"].as_array().unwrap();
    assert!(kept.iter().any(|one| one["cluster"] == "far"), "nothing forgets it: {kept:?}");

    cluster.delete(OAM, "Application", "shop").await;
    let status = || async { cluster.application("shop").await["status"]["conditions"].to_string() };
    let is_reported = |said: &String| said.contains("stray in cluster far is out of reach");
    until_or("it is told why the application stays", status, is_reported).await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    assert!(cluster.get("v1", "ConfigMap", "stray").await.is_some());
    let resources = kept.iter().filter(|one| one["cluster"].is_null()).cloned().collect::<Vec<_>>();
    cluster.patch(OAM, "ResourceTracker", &record, json!({"spec": {"managedResources": resources}})).await;
    cluster.gone(OAM, "Application", "shop").await;
}
