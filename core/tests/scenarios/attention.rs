//! When an application is looked at: by which controller, how often, and while its workflow is suspended.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";
const REQUIREMENT: &str = "app.oam.dev/controller-version-require";
const INTERVAL: &str = "app.oam.dev/reconcile-interval";

fn annotate(name: &str, value: &Value) -> Value {
    json!({"metadata": {"annotations": {(name): value}}})
}

#[tokio::test]
async fn an_application_of_another_controller_is_left_alone() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["metadata"]["annotations"] = json!({(REQUIREMENT): "Disabled"});
    cluster.create(shop).await;
    cluster.create(application("other", &[web("back", "nginx:1")])).await;
    cluster.phase("other", "running").await;
    cluster.quiet().await;
    assert!(
        cluster.application("shop").await["status"].is_null() && cluster.deployment("front").await.is_none()
    );
    cluster.patch(OAM, "Application", "shop", annotate(REQUIREMENT, &Value::Null)).await;
    cluster.phase("shop", "running").await;

    // It is held again, and so is its end.
    cluster.patch(OAM, "Application", "shop", annotate(REQUIREMENT, &json!("v0.0.0-none"))).await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.quiet().await;
    assert!(cluster.deployment("front").await.is_some());
    cluster.patch(OAM, "Application", "shop", annotate(REQUIREMENT, &Value::Null)).await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
}

#[tokio::test]
async fn an_application_is_looked_at_as_often_as_it_asks_for() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["metadata"]["annotations"] = json!({(INTERVAL): "10s"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
    let before = cluster.reconciles("application");
    until("it is looked at again", || async { cluster.reconciles("application") >= before + 2 }).await;
    let writes = cluster.writes();
    assert!(writes.is_empty(), "a look is not a change: {writes:#?}");
}

#[tokio::test]
async fn what_a_suspended_workflow_applied_is_looked_after() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("back", "nginx:1"), web("front", "nginx:1")]);
    let applies =
        |name: &str| json!({"name": name, "type": "apply-component", "properties": {"component": name}});
    shop["spec"]["workflow"] =
        json!({"steps": [applies("back"), {"name": "hold", "type": "suspend"}, applies("front")]});
    cluster.create(shop).await;
    cluster.phase("shop", "workflowSuspending").await;

    // A user changes one of its objects and deletes another one.
    cluster.patch("apps/v1", "Deployment", "back", json!({"spec": {"replicas": 7}})).await;
    cluster.delete("v1", "Service", "back").await;
    let replicas = || async { cluster.deployment("back").await.unwrap()["spec"]["replicas"].clone() };
    until_or("it is as the application says", replicas, |replicas| *replicas == 2).await;
    until("it is made again", || async { cluster.get("v1", "Service", "back").await.is_some() }).await;
    assert!(cluster.deployment("front").await.is_none(), "its turn has not come");
    let workflow = cluster.application("shop").await["status"]["workflow"].clone();
    assert_eq!((&workflow["suspend"], &workflow["status"]), (&json!(true), &json!("suspending")));
}
