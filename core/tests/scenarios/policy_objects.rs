//! PolicyDefinitions that make objects: these come before components, are maintained, and go with the policy.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// A policy type that makes a ConfigMap of this name, and one beside it.
fn fence(text: &str) -> Value {
    let template = format!(
        "output: {{\n\tapiVersion: \"v1\", kind: \"ConfigMap\"\n\tdata: {{text: \"{text}\", app: context.appName, \
         revision: context.appRevision, width: parameter.width}}\n}}\n\
         outputs: log: {{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name + \"-log\"}}\n\
         parameter: width: *\"1\" | string\n"
    );
    json!({
        "apiVersion": OAM, "kind": "PolicyDefinition", "metadata": {"name": "fence"},
        "spec": {"schematic": {"cue": {"template": template}}},
    })
}

/// An application with a fence around its component.
fn shop(more: &Value) -> Value {
    let mut shop = application("shop", &[web("shop-web", "nginx:1")]);
    shop["spec"]["policies"] = json!([{"name": "limits", "type": "fence", "properties": {"width": "2"}}]);
    for (field, value) in more.as_object().into_iter().flatten() {
        shop["spec"][field] = value.clone();
    }
    shop
}

/// Two steps, of which the first one waits for a person.
fn steps() -> Value {
    json!({"workflow": {"steps": [
        {"name": "hold", "type": "suspend"},
        {"name": "web", "type": "apply-component", "properties": {"component": "shop-web"}},
    ]}})
}

fn width(found: Option<&Value>) -> Option<&str> {
    found?["data"]["width"].as_str()
}

/// The object of the policy once it has this width.
async fn limits(cluster: &TestCluster, wanted: &str) -> Value {
    let is_so = |found: &Option<Value>| width(found.as_ref()) == Some(wanted);
    let what = format!("the fence is {wanted} wide");
    until_or(&what, || cluster.get("v1", "ConfigMap", "limits"), is_so).await.unwrap()
}

fn condition<'a>(application: &'a Value, type_: &str) -> &'a Value {
    let all = application["status"]["conditions"].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["type"] == type_).unwrap_or(&Value::Null)
}

/// An object of the name that the policy wants, which is no application's.
fn foreign() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"mine": "yes"}})
}

#[tokio::test]
async fn objects_of_policies_are_made_kept_and_taken_away() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    cluster.create(shop(&Value::Null)).await;
    cluster.phase("shop", "running").await;
    let object = limits(&cluster, "2").await;
    let data = json!({"text": "a", "app": "shop", "revision": "shop-v1", "width": "2"});
    assert_eq!(object["data"], data);
    let labels = &object["metadata"]["labels"];
    assert_eq!(
        (&labels["app.oam.dev/name"], &labels["app.oam.dev/component"]),
        (&json!("shop"), &Value::Null)
    );
    let recorded = cluster.tracker("shop").await.unwrap()["spec"]["managedResources"].clone();
    let of =
        |name: &str| recorded.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    for (name, creator) in [("limits", "policy"), ("limits-log", "policy"), ("shop-web", "workflow")] {
        assert_eq!(of(name)["creator"], creator, "{recorded:#}");
    }
    assert_eq!(of("limits")["component"], Value::Null);
    let status = cluster.application("shop").await["status"].clone();
    let reported = json!([{"name": "limits", "type": "fence", "status": {"healthy": true}}]);
    assert_eq!(status["policy"], reported);

    // Objects that someone changed or deleted are restored.
    cluster.patch("v1", "ConfigMap", "limits", json!({"data": {"width": "9"}})).await;
    limits(&cluster, "2").await;
    cluster.delete("v1", "ConfigMap", "limits-log").await;
    let is_there = |found: &Option<Value>| found.is_some();
    until_or("the log is made again", || cluster.get("v1", "ConfigMap", "limits-log"), is_there).await;
    cluster.quiet().await;

    // An update changes them, and an application without the policy has none.
    let narrower = json!([{"name": "limits", "type": "fence", "properties": {"width": "0"}}]);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": narrower}})).await;
    limits(&cluster, "0").await;
    cluster.phase("shop", "running").await;
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": null}})).await;
    cluster.gone("v1", "ConfigMap", "limits").await;
    cluster.gone("v1", "ConfigMap", "limits-log").await;
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("shop-web").await.is_some());
    assert_eq!(cluster.application("shop").await["status"]["policy"], Value::Null);

    cluster.patch(OAM, "Application", "shop", json!({"spec": shop(&Value::Null)["spec"]})).await;
    limits(&cluster, "2").await;
    cluster.phase("shop", "running").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "limits").await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn objects_of_policies_are_there_before_the_first_step() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    cluster.create(shop(&steps())).await;
    cluster.phase("shop", "workflowSuspending").await;
    limits(&cluster, "2").await;
    assert!(cluster.deployment("shop-web").await.is_none(), "its step is not reached");
    cluster.patch("v1", "ConfigMap", "limits", json!({"data": {"width": "9"}})).await;
    limits(&cluster, "2").await;

    let mut workflow = cluster.application("shop").await["status"]["workflow"].clone();
    workflow["suspend"] = json!(false);
    workflow["steps"][0]["phase"] = json!("running");
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    let api = cluster.api(OAM, "Application").await;
    api.patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("shop-web").await.is_some());
    limits(&cluster, "2").await;
    assert_eq!(cluster.application("shop").await["status"]["policy"][0]["name"], "limits");
}

#[tokio::test]
async fn a_policy_that_cannot_be_applied_holds_up_the_workflow() {
    for more in [Value::Null, steps()] {
        let cluster = TestCluster::new().await;
        cluster.create(fence("a")).await;
        cluster.create(foreign()).await;
        cluster.create(shop(&more)).await;
        let is_reported = |one: &Value| condition(one, "Workflow")["message"].to_string().contains("limits");
        let reported = until_or("the reason is told", || cluster.application("shop"), is_reported).await;
        let message = condition(&reported, "Workflow")["message"].as_str().unwrap();
        assert!(message.starts_with("policy \"limits\": "), "{message}");
        assert_eq!(reported["status"]["status"], "runningWorkflow", "{:#}", reported["status"]);
        assert!(cluster.deployment("shop-web").await.is_none(), "no component was begun");
        assert_eq!(cluster.get("v1", "ConfigMap", "limits").await.unwrap()["data"], foreign()["data"]);

        cluster.delete("v1", "ConfigMap", "limits").await;
        limits(&cluster, "2").await;
        let phase = if more.is_null() { "running" } else { "workflowSuspending" };
        cluster.phase("shop", phase).await;
    }
}

#[tokio::test]
async fn a_changed_definition_waits_for_the_next_revision() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    cluster.create(shop(&Value::Null)).await;
    cluster.phase("shop", "running").await;
    cluster.patch(OAM, "PolicyDefinition", "fence", json!({"spec": fence("b")["spec"]})).await;
    let is_reported = |one: &Value| condition(one, "Definitions")["reason"] == "NewerExist";
    until_or("the change is told", || cluster.application("shop"), is_reported).await;
    assert_eq!(limits(&cluster, "2").await["data"]["text"], "a");
    let wider = json!([{"name": "limits", "type": "fence", "properties": {"width": "3"}}]);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": wider}})).await;
    assert_eq!(limits(&cluster, "3").await["data"]["text"], "b");
}

#[tokio::test]
async fn an_application_names_the_version_of_a_policy() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    let named = |type_: &str, width: &str| json!({"policies": [{"name": "limits", "type": type_, "properties": {"width": width}}]});
    let is_recorded = |name: &'static str| cluster.get(OAM, "DefinitionRevision", name);
    until_or("the first version", || is_recorded("fence-v1"), Option::is_some).await;
    cluster.create(shop(&named("fence@v1", "2"))).await;
    cluster.phase("shop", "running").await;
    cluster.patch(OAM, "PolicyDefinition", "fence", json!({"spec": fence("b")["spec"]})).await;
    until_or("the second version", || is_recorded("fence-v2"), Option::is_some).await;
    cluster.patch(OAM, "Application", "shop", json!({"spec": named("fence@v1", "3")})).await;
    assert_eq!(limits(&cluster, "3").await["data"]["text"], "a");
    assert_eq!(cluster.application("shop").await["status"]["policy"][0]["type"], "fence@v1");
    cluster.patch(OAM, "Application", "shop", json!({"spec": named("fence@v2", "4")})).await;
    assert_eq!(limits(&cluster, "4").await["data"]["text"], "b");
}

/// The application once a condition says this.
async fn refused(cluster: &TestCluster, words: &str) {
    let is_refused = |one: &Value| one["status"]["conditions"].to_string().contains(words);
    until_or(words, || cluster.application("shop"), is_refused).await;
}

#[tokio::test]
async fn a_rollout_leaves_policies_that_make_objects_out() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    let rolled = json!({"rolloutPlan": {"rolloutBatches": [{"replicas": 1}]}});
    let words = "is not supported yet in an application that is rolled out";
    cluster.create(shop(&rolled)).await;
    refused(&cluster, words).await;
    cluster.quiet().await;
    assert!(cluster.deployment("shop-web").await.is_none(), "nothing is begun");
    assert!(cluster.get("v1", "ConfigMap", "limits").await.is_none());

    cluster.patch(OAM, "Application", "shop", json!({"spec": {"rolloutPlan": null}})).await;
    limits(&cluster, "2").await;
    cluster.phase("shop", "running").await;

    // An application that was applied before says so, and keeps its objects.
    cluster.patch(OAM, "Application", "shop", json!({"spec": rolled})).await;
    refused(&cluster, words).await;
    cluster.quiet().await;
    limits(&cluster, "2").await;
    assert!(cluster.deployment("shop-web").await.is_some());
    let left = json!({"metadata": {"annotations": {"app.oam.dev/rollout-template": "true"}}, "spec": {"rolloutPlan": null}});
    cluster.patch(OAM, "Application", "shop", left).await;
    cluster.quiet().await;
    refused(&cluster, words).await;
    limits(&cluster, "2").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "limits").await;
    cluster.gone(OAM, "Application", "shop").await;
}

#[tokio::test]
async fn the_older_form_has_no_policies_that_make_objects() {
    const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    let component =
        json!({"name": "shop-web", "type": "web", "settings": {"image": "nginx:1", "replicas": 1}});
    let old = json!({
        "apiVersion": V1ALPHA2, "kind": "Application", "metadata": {"name": "shop"},
        "spec": {"components": [component], "policies": shop(&Value::Null)["spec"]["policies"]},
    });
    cluster.create(old).await;
    refused(&cluster, "is not supported yet in an application in the v1alpha2 form").await;
    cluster.quiet().await;
    assert!(cluster.deployment("shop-web").await.is_none(), "nothing is begun");
    assert!(cluster.get("v1", "ConfigMap", "limits").await.is_none());
    cluster.patch(V1ALPHA2, "Application", "shop", json!({"spec": {"policies": null}})).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("shop-web").await.is_some());
}

/// A policy beside the fence, about all ConfigMaps.
fn and(type_: &str, more: &Value) -> Value {
    let mut rule = json!({"selector": {"resourceTypes": ["ConfigMap"]}});
    for (field, value) in more.as_object().into_iter().flatten() {
        rule[field] = value.clone();
    }
    let fence = shop(&Value::Null)["spec"]["policies"][0].clone();
    json!({"policies": [fence, {"name": type_, "type": type_, "properties": {"rules": [rule]}}]})
}

#[tokio::test]
async fn an_object_is_taken_over_for_a_policy_by_policy_only() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    cluster.create(foreign()).await;
    cluster.create(shop(&Value::Null)).await;
    let is_refused =
        |one: &Value| condition(one, "Workflow")["message"].to_string().contains("was not made by");
    until_or("it is refused", || cluster.application("shop"), is_refused).await;

    let policies = and("take-over", &Value::Null);
    cluster.patch(OAM, "Application", "shop", json!({"spec": policies})).await;
    let taken = limits(&cluster, "2").await;
    assert_eq!(
        (&taken["data"]["mine"], &taken["metadata"]["labels"]["app.oam.dev/name"]),
        (&json!("yes"), &json!("shop"))
    );
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn objects_of_policies_stay_as_long_as_their_strategy_says() {
    let cluster = TestCluster::new().await;
    cluster.create(fence("a")).await;
    cluster.create(shop(&and("garbage-collect", &json!({"strategy": "onAppDelete"})))).await;
    cluster.phase("shop", "running").await;
    let kept = and("garbage-collect", &json!({"strategy": "onAppDelete"}))["policies"][1].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": [kept]}})).await;
    let has_no_fence = |one: &Value| one["status"]["policy"].is_null();
    until_or("the fence is wanted no more", || cluster.application("shop"), has_no_fence).await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
    assert!(cluster.get("v1", "ConfigMap", "limits").await.is_some(), "it stays until the application goes");
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "limits").await;
    cluster.gone(OAM, "Application", "shop").await;
}

#[tokio::test]
async fn objects_of_policies_stay_within_the_bounds() {
    let cluster = TestCluster::new().await;
    for (kind, more, part) in [
        ("ConfigMap", "metadata: namespace: \"kube-system\"", "--allow-cross-namespace"),
        ("ClusterRole", "rules: []", "ClusterRole"),
    ] {
        let api = if kind == "ConfigMap" { "v1" } else { "rbac.authorization.k8s.io/v1" };
        let name = kind.to_lowercase();
        let template =
            format!("output: {{\n\tapiVersion: \"{api}\", kind: \"{kind}\"\n\t{more}\n}}\nparameter: {{}}\n");
        cluster
            .create(json!({
                "apiVersion": OAM, "kind": "PolicyDefinition", "metadata": {"name": name},
                "spec": {"schematic": {"cue": {"template": template}}},
            }))
            .await;
        let mut app = application(&name, &[web(&format!("{name}-web"), "nginx:1")]);
        app["spec"]["policies"] = json!([{"name": format!("{name}-beyond"), "type": name}]);
        cluster.create(app).await;
        let is_refused = |one: &Value| one["status"]["conditions"].to_string().contains(part);
        until_or(&format!("{kind} is refused"), || cluster.application(&name), is_refused).await;
        assert!(cluster.deployment(&format!("{name}-web")).await.is_none(), "no component was begun");
    }
}
