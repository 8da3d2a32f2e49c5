//! Workflows with `deploy` steps: each deploys what its policies make to where they say, and a person may be asked first.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

async fn another(cluster: &TestCluster, name: &str) -> TestCluster {
    let another = TestCluster::in_namespace(cluster, &format!("{}-{name}", cluster.namespace));
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": another.namespace}});
    another.create(namespace).await;
    another
}

/// What a person writes who lets the suspended step go on.
async fn resume(cluster: &TestCluster) {
    let mut workflow = cluster.application("shop").await["status"]["workflow"].clone();
    workflow["suspend"] = json!(false);
    for step in workflow["steps"].as_array_mut().unwrap() {
        if step["phase"] == "suspending" {
            step["phase"] = json!("running");
        }
    }
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    let api = cluster.api(OAM, "Application").await;
    api.patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
}

fn image(deployment: Option<Value>) -> Value {
    deployment.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
}

#[tokio::test]
async fn an_approved_trial_goes_on_to_production() {
    let cluster = TestCluster::unbounded().await;
    let (test, production) = (another(&cluster, "test").await, another(&cluster, "production").await);
    let mut front = web("front", "nginx:1");
    front["dependsOn"] = json!(["back"]);
    let mut shop = application("shop", &[front, web("back", "nginx:1")]);
    let topology = |name: &str, at: &TestCluster| json!({"name": name, "type": "topology", "properties": {"namespace": at.namespace}});
    let newer = json!({"components": [{"name": "front", "properties": {"image": "nginx:2"}}]});
    shop["spec"]["policies"] = json!([
        topology("test", &test),
        topology("production", &production),
        {"name": "newer", "type": "override", "properties": newer},
    ]);
    shop["spec"]["workflow"] = json!({"steps": [
        {"name": "try", "type": "deploy", "properties": {"policies": ["test", "newer"]}},
        {"name": "release", "type": "deploy", "properties": {"policies": ["production"], "auto": false}},
    ]});
    cluster.create(shop).await;
    cluster.phase("shop", "workflowSuspending").await;
    assert_eq!(image(test.deployment("front").await), "nginx:2");
    assert_eq!(image(test.deployment("back").await), "nginx:1");
    assert!(production.deployment("back").await.is_none(), "no user approved it");
    let workflow = cluster.application("shop").await["status"]["workflow"].clone();
    let step = &workflow["steps"][1];
    assert_eq!((&step["type"], &step["phase"]), (&json!("deploy"), &json!("suspending")), "{workflow}");
    assert_eq!(step["message"], "Waiting approval to the deploy step \"release\"");

    resume(&cluster).await;
    cluster.phase("shop", "running").await;
    assert_eq!(image(production.deployment("front").await), "nginx:1");
    let status = cluster.application("shop").await["status"].clone();
    assert_eq!(status["services"].as_array().unwrap().len(), 4, "{status}");
    assert_eq!(status["workflow"]["steps"][1]["phase"], "succeeded");

    let first = cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap();
    assert_eq!(first["status"]["succeeded"], true, "{}", first["status"]);
    assert_eq!(first["status"]["workflow"]["steps"][1]["phase"], "succeeded");

    // What a step does not deploy any more goes, and nothing else.
    let selector = json!({"selector": ["back"]});
    let policies = json!([
        topology("test", &test),
        topology("production", &production),
        {"name": "newer", "type": "override", "properties": selector},
    ]);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": policies}})).await;
    cluster.phase("shop", "workflowSuspending").await;
    assert!(test.deployment("front").await.is_some(), "nothing goes before all is applied");
    resume(&cluster).await;
    test.gone("apps/v1", "Deployment", "front").await;
    cluster.phase("shop", "running").await;
    assert!(test.deployment("back").await.is_some() && production.deployment("front").await.is_some());

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    for at in [&test, &production] {
        at.gone("apps/v1", "Deployment", "back").await;
        at.gone("apps/v1", "Deployment", "front").await;
    }
}

#[tokio::test]
async fn a_revision_says_once_how_its_workflow_ended() {
    let mut cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["spec"]["workflow"] = json!({"steps": [{"name": "go", "type": "deploy"}]});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let step = || async { cluster.application("shop").await["status"]["workflow"]["steps"][0].clone() };
    until_or("it is done", step, |step| step["phase"] == "succeeded" && step["type"] == "deploy").await;
    assert!(cluster.get("v1", "Service", "front").await.is_some());
    let first = || async { cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap_or_default() };
    until_or("it is told", first, |first| first["status"]["succeeded"] == true).await;
    cluster.quiet().await;
    cluster.stop().await;
    cluster.requests();
    cluster.start();
    cluster.rested(1).await;
    let writes = cluster.writes();
    assert!(writes.is_empty(), "another process has nothing to add: {writes:#?}");
}

#[tokio::test]
pub(super) async fn a_policy_in_an_object_of_its_own_is_gone_by() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["spec"]["workflow"] =
        json!({"steps": [{"name": "go", "type": "deploy", "properties": {"policies": ["newer"]}}]});
    cluster.create(shop).await;
    let status = || async { cluster.application("shop").await["status"].to_string() };
    until_or("it is missed", status, |said| said.contains("policy \\\"newer\\\" not found")).await;
    assert!(cluster.deployment("front").await.is_none());

    let newer = |image: &str| {
        let component = json!({"name": "front", "properties": {"image": image}});
        json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Policy", "metadata": {"name": "newer"},
            "type": "override", "properties": {"components": [component]}})
    };
    cluster.create(newer("nginx:2")).await;
    cluster.phase("shop", "running").await;
    assert_eq!(image(cluster.deployment("front").await), "nginx:2");
    let first = cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap();
    let recorded = &first["spec"]["application"]["spec"]["policies"][0];
    assert_eq!((&recorded["name"], &recorded["type"]), (&json!("newer"), &json!("override")), "{first}");

    // A change of it is a change of the application.
    let properties = newer("nginx:3")["properties"].clone();
    cluster.patch("core.oam.dev/v1alpha1", "Policy", "newer", json!({"properties": properties})).await;
    let deployed = || async { image(cluster.deployment("front").await) };
    until_or("the change is deployed", deployed, |image| image == "nginx:3").await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.application("shop").await["status"]["latestRevision"]["name"], "shop-v2");
}

#[tokio::test]
async fn components_that_a_step_deploys_give_each_other_values() {
    let cluster = TestCluster::new().await;
    let settings =
        |name: &str, text: &str| json!({"name": name, "type": "settings", "properties": {"text": text}});
    let (mut back, mut front) = (settings("back", "from back"), settings("front", "nothing"));
    back["outputs"] = json!([{"name": "said", "valueFrom": "output.data.text"}]);
    front["inputs"] = json!([{"from": "said", "parameterKey": "text"}]);
    let mut shop = application("shop", &[front, back]);
    shop["spec"]["workflow"] = json!({"steps": [{"name": "go", "type": "deploy"}]});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let front = cluster.get("v1", "ConfigMap", "front").await.unwrap();
    assert_eq!(front["data"]["text"], "from back", "it waited for what it takes");
}

/// A component that never becomes healthy.
fn never() -> Value {
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: \"b\"}\nparameter: {}";
    json!({"apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "never"}, "spec": {
        "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
        "schematic": {"cue": {"template": template}},
        "status": {"healthPolicy": "isHealth: false"},
    }})
}

#[tokio::test]
async fn a_step_for_all_components_waits_or_waits_for_none() {
    let cluster = TestCluster::new().await;
    cluster.create(never()).await;
    let shop = |type_: &str| {
        let sick = json!({"name": "sick", "type": "never"});
        let settings = json!({"name": "settings", "type": "settings", "properties": {"text": "a"}, "dependsOn": ["sick"]});
        let mut shop = application("shop", &[settings, sick]);
        shop["spec"]["workflow"] =
            json!({"steps": [{"name": "all", "type": type_}, {"name": "hold", "type": "suspend"}]});
        shop
    };
    cluster.create(shop("apply-application")).await;
    cluster.phase("shop", "runningWorkflow").await;
    let step = || async { cluster.application("shop").await["status"]["workflow"]["steps"][0].clone() };
    until_or("the step waits for its component", step, |step| step["phase"] == "running").await;
    assert!(cluster.get("v1", "ConfigMap", "sick").await.is_some());
    assert!(cluster.get("v1", "ConfigMap", "settings").await.is_none(), "what it depends on is not healthy");

    let steps = shop("apply-application-in-parallel")["spec"].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": steps})).await;
    cluster.phase("shop", "workflowSuspending").await;
    let step = step().await;
    assert_eq!(
        (&step["phase"], &step["type"]),
        (&json!("succeeded"), &json!("apply-application-in-parallel")),
        "{step}"
    );
    assert!(cluster.get("v1", "ConfigMap", "settings").await.is_some(), "nothing is waited for");
}

#[tokio::test]
async fn environments_are_deployed_with_their_changes() {
    let cluster = TestCluster::unbounded().await;
    let (test, production) = (another(&cluster, "test").await, another(&cluster, "production").await);
    let env = |name: &str, at: &TestCluster, image: &str| {
        json!({"name": name, "placement": {"namespaceSelector": {"name": at.namespace}},
            "patch": {"components": [{"name": "front", "type": "web", "properties": {"image": image}}]}})
    };
    let binding =
        |envs: Value| json!([{"name": "envs", "type": "env-binding", "properties": {"envs": envs}}]);
    let mut shop = application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")]);
    shop["spec"]["policies"] =
        binding(json!([env("test", &test, "nginx:2"), env("production", &production, "nginx:3")]));
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    for (at, wanted) in [(&test, "nginx:2"), (&production, "nginx:3")] {
        assert_eq!(image(at.deployment("front").await), wanted);
        assert_eq!(image(at.deployment("back").await), "nginx:1");
    }
    assert!(cluster.deployment("front").await.is_none(), "it goes to environments only");
    let workflow = cluster.application("shop").await["status"]["workflow"].clone();
    assert_eq!(workflow["mode"], "DAG-DAG");
    let step = |index: usize| workflow["steps"][index].clone();
    assert_eq!((&step(0)["name"], &step(0)["type"]), (&json!("deploy-envs-test"), &json!("deploy2env")));
    assert_eq!(
        (&step(1)["name"], &step(1)["phase"]),
        (&json!("deploy-envs-production"), &json!("succeeded"))
    );

    // An environment that goes takes its objects along.
    let policies = binding(json!([env("test", &test, "nginx:2")]));
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": policies}})).await;
    production.gone("apps/v1", "Deployment", "front").await;
    production.gone("apps/v1", "Deployment", "back").await;
    assert_eq!(image(test.deployment("front").await), "nginx:2");
}
