//! Applications in the v1alpha2 form: scopes, configurations, what is dropped, rollouts, and the way to the v1beta1 form and back.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, until, until_or, web};

const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
const V1BETA1: &str = "core.oam.dev/v1beta1";
const AC: &str = "ApplicationConfiguration";

/// A web component in the v1alpha2 form.
fn component(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "web", "settings": {"image": image, "replicas": 2}})
}

fn application(name: &str, components: Value) -> Value {
    json!({"apiVersion": V1ALPHA2, "kind": "Application", "metadata": {"name": name}, "spec": {"components": components}})
}

fn of(components: Value) -> Value {
    json!({"spec": {"components": components}})
}

async fn refused(cluster: &TestCluster, name: &str, words: &str) {
    until_or(
        words,
        || cluster.application(name),
        |application| application["status"]["conditions"].to_string().contains(words),
    )
    .await;
}

async fn uid(cluster: &TestCluster, name: &str) -> Value {
    cluster.deployment(name).await.unwrap()["metadata"]["uid"].clone()
}

async fn controller(cluster: &TestCluster, deployment: &str) -> Value {
    let found = cluster.deployment(deployment).await.unwrap_or_default();
    found["metadata"]["ownerReferences"][0]["kind"].clone()
}

#[tokio::test]
async fn a_scope_is_what_its_definition_registers() {
    let cluster = TestCluster::new().await;
    let scope = json!({"apiVersion": V1ALPHA2, "kind": "HealthScope", "metadata": {"name": "all"}, "spec": {"workloadRefs": []}});
    cluster.create(scope).await;
    let mut front = component("front", "nginx:1");
    front["scopes"] = json!({"wellbeing": "all"});
    cluster.create(application("shop", json!([front]))).await;
    refused(&cluster, "shop", "scope definition \\\"wellbeing\\\" not found").await;
    let definition = |resource: &str| {
        json!({"apiVersion": V1BETA1, "kind": "ScopeDefinition", "metadata": {"name": "wellbeing"}, "spec": {
            "definitionRef": {"name": resource}, "workloadRefsPath": "spec.workloadRefs", "allowComponentOverlap": true,
        }})
    };
    cluster.create(definition("absent.example.com")).await;
    refused(&cluster, "shop", "absent.example.com\\\", which the cluster does not know").await;
    let mended = definition("healthscopes.core.oam.dev")["spec"].clone();
    cluster.patch(V1BETA1, "ScopeDefinition", "wellbeing", json!({"spec": mended})).await;
    cluster.phase("shop", "running").await;
    let member = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"}]);
    until_or(
        "the workload is in its scope",
        || cluster.get(V1ALPHA2, "HealthScope", "all"),
        |scope| scope.as_ref().unwrap()["spec"]["workloadRefs"] == member,
    )
    .await;
}

/// The types of its conditions that are as `status` says.
fn conditions(application: &Value, status: &str) -> Vec<String> {
    let all = application["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let met = all.iter().filter(|condition| condition["status"] == status);
    met.map(|condition| condition["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_status_has_the_words_of_its_era() {
    let cluster = TestCluster::new().await;
    let scope = json!({"apiVersion": V1ALPHA2, "kind": "HealthScope", "metadata": {"name": "all"}, "spec": {"workloadRefs": []}});
    cluster.create(scope).await;
    cluster
        .create(json!({"apiVersion": V1BETA1, "kind": "ScopeDefinition", "metadata": {"name": "wellbeing"}, "spec": {
            "definitionRef": {"name": "healthscopes.core.oam.dev"}, "workloadRefsPath": "spec.workloadRefs",
            "allowComponentOverlap": true,
        }}))
        .await;
    let mut front = component("front", "nginx:1");
    front["scopes"] = json!({"wellbeing": "all"});
    cluster.create(application("shop", json!([front, component("back", "nginx:1")]))).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    assert_eq!(conditions(&shop, "True"), ["Parsed", "Built", "Applied", "HealthCheck"]);
    assert!(conditions(&shop, "False").is_empty(), "{shop:#}");
    let reference = |kind: &str, name: &str| json!({"apiVersion": V1ALPHA2, "kind": kind, "name": name});
    let components = json!([reference("Component", "front"), reference("Component", "back")]);
    assert_eq!(shop["status"]["components"], components);
    assert_eq!(shop["status"]["services"][0]["scopes"], json!([reference("HealthScope", "all")]));

    let mut broken = front.clone();
    broken["type"] = json!("no-such-type");
    cluster.patch(V1BETA1, "Application", "shop", of(json!([broken]))).await;
    cluster.phase("shop", "rendering").await;
    let shop = cluster.application("shop").await;
    assert_eq!(conditions(&shop, "True"), Vec::<String>::new());
    assert_eq!(conditions(&shop, "False")[0], "Parsed");
    assert_eq!(shop["status"]["components"], components, "what runs is shown as before");
    cluster.patch(V1BETA1, "Application", "shop", of(json!([front]))).await;
    cluster.phase("shop", "running").await;
    let components = cluster.application("shop").await["status"]["components"].clone();
    assert_eq!(components, json!([reference("Component", "front")]));
    // The form decides, not what was written before.
    cluster.patch(V1BETA1, "Application", "shop", of(json!([web("front", "nginx:1")]))).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    let today = ["Parsed", "Revision", "Policy", "Render", "Workflow", "Ready"];
    assert_eq!(conditions(&shop, "True"), today);
    assert_eq!(shop["status"]["components"], Value::Null);
}

#[tokio::test]
async fn settings_name_a_configuration_that_templates_see() {
    let cluster = TestCluster::new().await;
    let template = r#"
        output: {
            apiVersion: "v1"
            kind:       "ConfigMap"
            data: {
                word: parameter.word
                if context.config != _|_ for entry in context.config {
                    (entry.name): entry.value
                }
            }
        }
        parameter: {word: string, ...}
    "#;
    cluster
        .create(json!({
            "apiVersion": V1BETA1, "kind": "ComponentDefinition", "metadata": {"name": "words"},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            },
        }))
        .await;
    let words = |settings: Value| json!([{"name": "text", "type": "words", "settings": settings}]);
    cluster.create(application("shop", words(json!({"word": "a", "config": "mine"})))).await;
    refused(&cluster, "shop", "there is no ConfigMap \\\"kubevela-shop-text-mine\\\"").await;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubevela-shop-text-mine"}, "data": {"b": "1"},
    });
    cluster.create(config).await;
    let holds = |data: Value| {
        let cluster = &cluster;
        async move {
            until_or(
                &format!("it holds {data}"),
                || cluster.get("v1", "ConfigMap", "text"),
                |found| found.as_ref().is_some_and(|found| found["data"] == data),
            )
            .await
        }
    };
    holds(json!({"word": "a", "b": "1"})).await;
    cluster.phase("shop", "running").await;
    cluster.patch("v1", "ConfigMap", "kubevela-shop-text-mine", json!({"data": {"b": "2", "c": "3"}})).await;
    holds(json!({"word": "a", "b": "2", "c": "3"})).await;
    cluster.quiet().await;
    cluster.patch(V1BETA1, "Application", "shop", of(words(json!({"word": "a"})))).await;
    holds(json!({"word": "a"})).await;
}

#[tokio::test]
pub(super) async fn a_dropped_component_is_let_go_before_it_is_deleted() {
    let cluster = TestCluster::new().await;
    cluster
        .create(application("shop", json!([component("front", "nginx:1"), component("back", "nginx:1")])))
        .await;
    cluster.phase("shop", "running").await;
    let kept = uid(&cluster, "front").await;
    cluster.faults.take();
    cluster.patch(V1BETA1, "Application", "shop", of(json!([component("front", "nginx:1")]))).await;
    cluster.gone(V1ALPHA2, "Component", "back").await;
    let deleted: Vec<String> = cluster
        .writes()
        .into_iter()
        .filter(|entry| entry.method == "DELETE")
        .filter_map(|entry| entry.path.rsplit('/').take(2).collect::<Vec<_>>().pop().map(str::to_owned))
        .collect();
    let at = |kind: &str| deleted.iter().position(|deleted| deleted == kind);
    assert!(at("deployments") < at("components") && at("deployments").is_some(), "{deleted:?}");
    assert!(cluster.deployment("back").await.is_none());
    assert_eq!(uid(&cluster, "front").await, kept);
    cluster.quiet().await;
}

#[tokio::test]
pub(super) async fn the_deployment_stays_from_the_old_form_to_the_new_and_back() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", json!([component("front", "nginx:1")]))).await;
    cluster.phase("shop", "running").await;
    let before = uid(&cluster, "front").await;
    assert_eq!(controller(&cluster, "front").await, AC);
    for round in 0..3 {
        let image = format!("nginx:{round}");
        cluster.patch(V1BETA1, "Application", "shop", of(json!([web("front", &image)]))).await;
        cluster.gone(V1ALPHA2, AC, "shop").await;
        cluster.gone(V1ALPHA2, "Component", "front").await;
        cluster.phase("shop", "running").await;
        assert_eq!(controller(&cluster, "front").await, Value::Null);
        assert_eq!(uid(&cluster, "front").await, before);
        cluster.patch(V1BETA1, "Application", "shop", of(json!([component("front", &image)]))).await;
        until("the configuration controls it again", || async { controller(&cluster, "front").await == AC })
            .await;
        cluster.phase("shop", "running").await;
        assert_eq!(uid(&cluster, "front").await, before);
    }
    // What only one of the forms makes goes with it.
    until("no Service is left behind but the configuration's", || async {
        cluster.list("v1", "Service").await.iter().all(|service| {
            service["metadata"]["name"] != "front" || service["metadata"]["ownerReferences"][0]["kind"] == AC
        })
    })
    .await;
    cluster.quiet().await;
    cluster.delete(V1BETA1, "Application", "shop").await;
    cluster.gone(V1BETA1, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    cluster.gone("v1", "Service", "front").await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn forms_in_quick_turns_keep_the_deployment() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", json!([component("front", "nginx:1")]))).await;
    cluster.phase("shop", "running").await;
    let before = uid(&cluster, "front").await;
    for round in 0..25_u64 {
        for components in [json!([web("front", "nginx:1")]), json!([component("front", "nginx:1")])] {
            cluster.patch(V1BETA1, "Application", "shop", of(components)).await;
            // Each round leaves the controllers another time with a form, from none to some writes long.
            tokio::time::sleep(std::time::Duration::from_millis(round % 7)).await;
        }
    }
    until("the configuration controls it", || async { controller(&cluster, "front").await == AC }).await;
    cluster.phase("shop", "running").await;
    // Longer than what is unwanted is left alone.
    cluster.pass(std::time::Duration::from_secs(3)).await;
    cluster.quiet().await;
    assert_eq!(uid(&cluster, "front").await, before);
    assert_eq!(controller(&cluster, "front").await, AC);
    let left = cluster.get(V1ALPHA2, AC, "shop").await.unwrap();
    assert!(left["metadata"]["annotations"]["app.oam.dev/app-revision"].is_null());
    assert!(left["status"]["rollingStatus"].is_null());
}

#[tokio::test]
async fn revisions_of_a_rollout_have_a_configuration_and_workloads() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", json!([component("front", "nginx:1")]));
    shop["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let service = || async { cluster.get("v1", "Service", "front").await.unwrap_or_default() };
    assert_eq!(service().await["metadata"]["ownerReferences"][0]["name"], "shop-v1");
    let first = cluster.get(V1ALPHA2, AC, "shop-v1").await.unwrap();
    assert_eq!(first["spec"]["components"][0]["revisionName"], "front-v1");
    assert_eq!(first["metadata"]["annotations"]["app.oam.dev/rollout-template"], "true");
    let before = uid(&cluster, "front-v1").await;
    let shown = || async {
        let applied = cluster.application("shop").await["status"]["appliedResources"].clone();
        let deployments = applied.as_array().into_iter().flatten().filter(|one| one["kind"] == "Deployment");
        deployments.map(|one| one["name"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(shown().await, ["front-v1"], "as it is called in the cluster");
    cluster.patch(V1BETA1, "Application", "shop", of(json!([component("front", "nginx:2")]))).await;
    let second = until_or(
        "the second revision waits",
        || cluster.get(V1ALPHA2, AC, "shop-v2"),
        |found| found.as_ref().is_some_and(|found| found["status"]["rollingStatus"] == "RollingTemplated"),
    )
    .await
    .unwrap();
    assert_eq!(second["spec"]["components"][0]["revisionName"], "front-v2");
    assert_eq!(service().await["metadata"]["ownerReferences"][0]["name"], "shop-v1");
    let rollout = json!({"apiVersion": V1ALPHA2, "kind": "AppRollout", "metadata": {"name": "release"}, "spec": {
        "targetApplicationName": "shop-v2", "sourceApplicationName": "shop-v1",
        "rolloutPlan": {"rolloutStrategy": "IncreaseFirst", "rolloutBatches": [{"replicas": 1}, {"replicas": 1}]},
    }});
    cluster.create(rollout).await;
    until_or("the newest revision is shown", shown, |shown| *shown == ["front-v2"]).await;
    cluster.phase("shop", "running").await;
    until_or("the newest revision has the Service", service, |service| {
        service["metadata"]["ownerReferences"][0]["name"] == "shop-v2"
    })
    .await;
    cluster.pass(std::time::Duration::from_secs(3)).await;
    cluster.quiet().await;
    assert_eq!(uid(&cluster, "front-v1").await, before, "the rollout goes from one to the other");
    let image = |found: Value| found["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image(cluster.deployment("front-v1").await.unwrap()), "nginx:1");
    assert_eq!(image(cluster.deployment("front-v2").await.unwrap()), "nginx:2");
    // The rollout is over: one workload is changed in place, and the others go when it is there.
    let over = json!({"metadata": {"annotations": {"app.oam.dev/rollout-template": null}}});
    cluster.patch(V1BETA1, "Application", "shop", over).await;
    for revision in ["shop-v1", "shop-v2"] {
        cluster.gone(V1ALPHA2, AC, revision).await;
    }
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    cluster.gone("apps/v1", "Deployment", "front-v2").await;
    assert_eq!(image(cluster.deployment("front").await.unwrap()), "nginx:2");
    assert_eq!(service().await["metadata"]["ownerReferences"][0]["name"], "shop");
    cluster.phase("shop", "running").await;
    cluster.delete(V1BETA1, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
}
