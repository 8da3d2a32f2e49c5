//! Applications whose workflow stands in an object of its own.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};
use super::workflows::{applies, phases};

const OAM: &str = "core.oam.dev/v1beta1";

fn workflow(steps: &Value) -> Value {
    json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "release"}, "steps": steps})
}

#[tokio::test]
pub(crate) async fn a_workflow_object_is_run_and_its_change_makes_a_revision() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("back", "nginx:1"), web("front", "nginx:1")]);
    shop["spec"]["workflow"] = json!({"ref": "release"});
    cluster.create(shop).await;
    let status = || async { cluster.application("shop").await["status"].to_string() };
    let is_missed = |said: &String| said.contains("there is no Workflow");
    until_or("the workflow is missed", status, is_missed).await;
    assert!(cluster.deployment("back").await.is_none());

    // It comes, and no user has to touch the application.
    let group =
        |name: &str| json!({"name": name, "type": "step-group", "subSteps": [applies("front", &json!({}))]});
    cluster.create(workflow(&json!([applies("back", &json!({})), group("rest")]))).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    assert_eq!(phases(&shop), ["back succeeded", "rest succeeded", "front succeeded"], "{}", shop["status"]);
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    let revision = cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap();
    let recorded = &revision["spec"]["application"]["spec"]["workflow"]["steps"];
    assert_eq!(recorded.as_array().map(Vec::len), Some(2), "{revision}");

    let steps = json!({"steps": [applies("back", &json!({})), group("others")]});
    cluster.patch("core.oam.dev/v1alpha1", "Workflow", "release", steps).await;
    let is_new = |shop: &Value| {
        phases(shop) == ["back succeeded", "others succeeded", "front succeeded"]
            && shop["status"]["latestRevision"]["name"] == "shop-v2"
    };
    until_or("the changed workflow ran", || cluster.application("shop"), is_new).await;
}

#[tokio::test]
async fn steps_and_a_reference_at_the_same_time_are_refused() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("back", "nginx:1")]);
    shop["spec"]["workflow"] = json!({"ref": "release", "steps": [applies("back", &json!({}))]});
    cluster.create(shop).await;
    let status = || async { cluster.application("shop").await["status"].to_string() };
    let is_refused = |said: &String| said.contains("cannot set steps and ref in workflow at the same time");
    until_or("both are refused", status, is_refused).await;
}
