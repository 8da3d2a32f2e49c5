//! Values that workflow steps give to the components that other steps apply.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};
use super::workflows::phases;

const OAM: &str = "core.oam.dev/v1beta1";

/// A type of steps that choose this image.
fn choice(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": OAM, "kind": "WorkflowStepDefinition", "metadata": {"name": name},
        "spec": {"schematic": {"cue": {"template": template}}},
    })
}

/// An application whose image is chosen by a step of this type, and which names none.
fn late(choice: &str, key: &str) -> Value {
    let mut front = web("front", "nginx:1");
    front["properties"].as_object_mut().unwrap().remove("image");
    let mut late = application("shop", &[front]);
    late["spec"]["workflow"] = json!({"steps": [
        {"name": "pick", "type": choice, "outputs": [{"name": "chosen", "valueFrom": "chosen.image"}]},
        {"name": "roll", "type": "apply-component", "properties": {"component": "front"},
         "inputs": [{"from": "chosen", "parameterKey": key}]},
    ]});
    late
}

fn image(deployment: Option<Value>) -> Value {
    deployment.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
}

#[tokio::test]
async fn a_required_parameter_comes_from_a_step() {
    let mut cluster = TestCluster::new().await;
    cluster.create(choice("pick-image", "chosen: {image: \"nginx:1.27\"}\nparameter: {}")).await;
    cluster.create(late("pick-image", "image")).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    assert_eq!(phases(&shop), ["pick succeeded", "roll succeeded"], "{}", shop["status"]);
    assert_eq!(image(cluster.deployment("front").await), "nginx:1.27");
    let uid = cluster.deployment("front").await.unwrap()["metadata"]["uid"].clone();

    // Another process knows the value, and mends what a person changed.
    cluster.kill().await;
    let other =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:9"}]}}}});
    cluster.patch("apps/v1", "Deployment", "front", other).await;
    cluster.start();
    let found = async || image(cluster.deployment("front").await);
    until_or("the image is that of the step", found, |image| image == "nginx:1.27").await;
    assert_eq!(cluster.deployment("front").await.unwrap()["metadata"]["uid"], uid);

    // A new revision runs its steps again; until they gave the value, what runs stays.
    let patch = json!({"spec": {"workflow": {"steps": [
        {"name": "hold", "type": "suspend"},
        {"name": "pick", "type": "pick-image", "outputs": [{"name": "chosen", "valueFrom": "chosen.image"}]},
        {"name": "roll", "type": "apply-component", "properties": {"component": "front"},
         "inputs": [{"from": "chosen", "parameterKey": "properties.image"}]},
    ]}}});
    cluster.patch(OAM, "Application", "shop", patch).await;
    cluster.phase("shop", "workflowSuspending").await;
    cluster.quiet().await;
    let kept = cluster.deployment("front").await.unwrap();
    assert_eq!((&kept["metadata"]["uid"], image(Some(kept.clone()))), (&uid, json!("nginx:1.27")));
    super::workflows::resume(&cluster).await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.deployment("front").await.unwrap()["metadata"]["uid"], uid);
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_told_at_its_field() {
    let cluster = TestCluster::new().await;
    cluster.create(choice("pick-number", "chosen: {image: 7}\nparameter: {}")).await;
    cluster.create(late("pick-number", "image")).await;
    let status = async || cluster.application("shop").await["status"].to_string();
    let is_told = |status: &String| status.contains("image: expected string, got number");
    until_or("the value is refused", status, is_told).await;
    assert!(cluster.deployment("front").await.is_none());
}
