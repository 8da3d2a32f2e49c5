//! Applications in the v1alpha2 form: scopes, configurations, what is dropped, rollouts, and the way to the new form.

use serde_json::{Value, json};

use super::world::{World, until, until_or, web};

const OLD: &str = "core.oam.dev/v1alpha2";
const NEW: &str = "core.oam.dev/v1beta1";
const AC: &str = "ApplicationConfiguration";

/// A web component in the old form.
fn old(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "web", "settings": {"image": image, "replicas": 2}})
}

fn application(name: &str, components: Value) -> Value {
    json!({"apiVersion": OLD, "kind": "Application", "metadata": {"name": name}, "spec": {"components": components}})
}

fn of(components: Value) -> Value {
    json!({"spec": {"components": components}})
}

async fn refused(world: &World, name: &str, words: &str) {
    until_or(
        words,
        || world.application(name),
        |application| application["status"]["conditions"].to_string().contains(words),
    )
    .await;
}

async fn uid(world: &World, name: &str) -> Value {
    world.deployment(name).await.unwrap()["metadata"]["uid"].clone()
}

async fn controller(world: &World, deployment: &str) -> Value {
    let found = world.deployment(deployment).await.unwrap_or_default();
    found["metadata"]["ownerReferences"][0]["kind"].clone()
}

#[tokio::test]
async fn a_scope_is_what_its_definition_registers() {
    let world = World::new().await;
    let scope = json!({"apiVersion": OLD, "kind": "HealthScope", "metadata": {"name": "all"}, "spec": {"workloadRefs": []}});
    world.create(scope).await;
    let mut front = old("front", "nginx:1");
    front["scopes"] = json!({"wellbeing": "all"});
    world.create(application("shop", json!([front]))).await;
    refused(&world, "shop", "scope definition \\\"wellbeing\\\" not found").await;
    let definition = |resource: &str| {
        json!({"apiVersion": NEW, "kind": "ScopeDefinition", "metadata": {"name": "wellbeing"}, "spec": {
            "definitionRef": {"name": resource}, "workloadRefsPath": "spec.workloadRefs", "allowComponentOverlap": true,
        }})
    };
    world.create(definition("nobodys.example.com")).await;
    refused(&world, "shop", "nobodys.example.com\\\", which the cluster does not know").await;
    let mended = definition("healthscopes.core.oam.dev")["spec"].clone();
    world.patch(NEW, "ScopeDefinition", "wellbeing", json!({"spec": mended})).await;
    world.phase("shop", "running").await;
    let member = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"}]);
    until_or(
        "the workload is in its scope",
        || world.get(OLD, "HealthScope", "all"),
        |scope| scope.as_ref().unwrap()["spec"]["workloadRefs"] == member,
    )
    .await;
}

#[tokio::test]
async fn settings_name_a_configuration_that_templates_see() {
    let world = World::new().await;
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
    world
        .create(json!({
            "apiVersion": NEW, "kind": "ComponentDefinition", "metadata": {"name": "words"},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            },
        }))
        .await;
    let words = |settings: Value| json!([{"name": "text", "type": "words", "settings": settings}]);
    world.create(application("shop", words(json!({"word": "a", "config": "mine"})))).await;
    refused(&world, "shop", "there is no ConfigMap \\\"kubevela-shop-text-mine\\\"").await;
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubevela-shop-text-mine"}, "data": {"b": "1"},
    });
    world.create(config).await;
    let holds = |data: Value| {
        let world = &world;
        async move {
            until_or(
                &format!("it holds {data}"),
                || world.get("v1", "ConfigMap", "text"),
                |found| found.as_ref().is_some_and(|found| found["data"] == data),
            )
            .await
        }
    };
    holds(json!({"word": "a", "b": "1"})).await;
    world.phase("shop", "running").await;
    world.patch("v1", "ConfigMap", "kubevela-shop-text-mine", json!({"data": {"b": "2", "c": "3"}})).await;
    holds(json!({"word": "a", "b": "2", "c": "3"})).await;
    world.quiet().await;
    world.patch(NEW, "Application", "shop", of(words(json!({"word": "a"})))).await;
    holds(json!({"word": "a"})).await;
}

#[tokio::test]
pub(super) async fn a_dropped_component_is_let_go_before_it_is_deleted() {
    let world = World::new().await;
    world.create(application("shop", json!([old("front", "nginx:1"), old("back", "nginx:1")]))).await;
    world.phase("shop", "running").await;
    let kept = uid(&world, "front").await;
    world.faults.take();
    world.patch(NEW, "Application", "shop", of(json!([old("front", "nginx:1")]))).await;
    world.gone(OLD, "Component", "back").await;
    let deleted: Vec<String> = world
        .writes()
        .into_iter()
        .filter(|entry| entry.method == "DELETE")
        .filter_map(|entry| entry.path.rsplit('/').take(2).collect::<Vec<_>>().pop().map(str::to_owned))
        .collect();
    let at = |kind: &str| deleted.iter().position(|deleted| deleted == kind);
    assert!(at("deployments") < at("components") && at("deployments").is_some(), "{deleted:?}");
    assert!(world.deployment("back").await.is_none());
    assert_eq!(uid(&world, "front").await, kept);
    world.quiet().await;
}

#[tokio::test]
pub(super) async fn from_the_old_form_to_the_new_one_and_back_the_deployment_stays() {
    let world = World::new().await;
    world.create(application("shop", json!([old("front", "nginx:1")]))).await;
    world.phase("shop", "running").await;
    let before = uid(&world, "front").await;
    assert_eq!(controller(&world, "front").await, AC);
    for round in 0..3 {
        let image = format!("nginx:{round}");
        world.patch(NEW, "Application", "shop", of(json!([web("front", &image)]))).await;
        world.gone(OLD, AC, "shop").await;
        world.gone(OLD, "Component", "front").await;
        world.phase("shop", "running").await;
        assert_eq!(controller(&world, "front").await, Value::Null);
        assert_eq!(uid(&world, "front").await, before);
        world.patch(NEW, "Application", "shop", of(json!([old("front", &image)]))).await;
        until("the configuration controls it again", || async { controller(&world, "front").await == AC })
            .await;
        world.phase("shop", "running").await;
        assert_eq!(uid(&world, "front").await, before);
    }
    // What only one of the forms makes goes with it.
    until("no Service is left behind but the configuration's", || async {
        world.list("v1", "Service").await.iter().all(|service| {
            service["metadata"]["name"] != "front" || service["metadata"]["ownerReferences"][0]["kind"] == AC
        })
    })
    .await;
    world.quiet().await;
    world.delete(NEW, "Application", "shop").await;
    world.gone(NEW, "Application", "shop").await;
    world.gone("apps/v1", "Deployment", "front").await;
    world.gone("v1", "Service", "front").await;
    assert!(world.tracker("shop").await.is_none());
}

#[tokio::test]
async fn forms_in_quick_turns_keep_the_deployment() {
    let world = World::new().await;
    world.create(application("shop", json!([old("front", "nginx:1")]))).await;
    world.phase("shop", "running").await;
    let before = uid(&world, "front").await;
    for round in 0..25_u64 {
        for components in [json!([web("front", "nginx:1")]), json!([old("front", "nginx:1")])] {
            world.patch(NEW, "Application", "shop", of(components)).await;
            // Each round leaves the controllers another time with a form, from none to some writes long.
            tokio::time::sleep(std::time::Duration::from_millis(round % 7)).await;
        }
    }
    until("the configuration controls it", || async { controller(&world, "front").await == AC }).await;
    world.phase("shop", "running").await;
    // Longer than what is unwanted is left alone.
    world.pass(std::time::Duration::from_secs(3)).await;
    world.quiet().await;
    assert_eq!(uid(&world, "front").await, before);
    assert_eq!(controller(&world, "front").await, AC);
    let left = world.get(OLD, AC, "shop").await.unwrap();
    assert!(left["metadata"]["annotations"]["app.oam.dev/app-revision"].is_null());
    assert!(left["status"]["rollingStatus"].is_null());
}

#[tokio::test]
async fn a_rollout_has_a_configuration_and_workloads_for_every_revision() {
    let world = World::new().await;
    let mut shop = application("shop", json!([old("front", "nginx:1")]));
    shop["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    world.create(shop).await;
    world.phase("shop", "running").await;
    let service = || async { world.get("v1", "Service", "front").await.unwrap_or_default() };
    assert_eq!(service().await["metadata"]["ownerReferences"][0]["name"], "shop-v1");
    let first = world.get(OLD, AC, "shop-v1").await.unwrap();
    assert_eq!(first["spec"]["components"][0]["revisionName"], "front-v1");
    assert_eq!(first["metadata"]["annotations"]["app.oam.dev/rollout-template"], "true");
    let before = uid(&world, "front-v1").await;
    world.patch(NEW, "Application", "shop", of(json!([old("front", "nginx:2")]))).await;
    until("the second revision has its workload", || async { world.deployment("front-v2").await.is_some() })
        .await;
    world.phase("shop", "running").await;
    let second = world.get(OLD, AC, "shop-v2").await.unwrap();
    assert_eq!(second["spec"]["components"][0]["revisionName"], "front-v2");
    until_or("the newest revision has the Service", service, |service| {
        service["metadata"]["ownerReferences"][0]["name"] == "shop-v2"
    })
    .await;
    world.pass(std::time::Duration::from_secs(3)).await;
    world.quiet().await;
    assert_eq!(uid(&world, "front-v1").await, before, "the rollout goes from one to the other");
    let image = |found: Value| found["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    assert_eq!(image(world.deployment("front-v1").await.unwrap()), "nginx:1");
    assert_eq!(image(world.deployment("front-v2").await.unwrap()), "nginx:2");
    // The rollout is over: one workload is changed in place, and the others go when it is there.
    let over = json!({"metadata": {"annotations": {"app.oam.dev/rollout-template": null}}});
    world.patch(NEW, "Application", "shop", over).await;
    for revision in ["shop-v1", "shop-v2"] {
        world.gone(OLD, AC, revision).await;
    }
    world.gone("apps/v1", "Deployment", "front-v1").await;
    world.gone("apps/v1", "Deployment", "front-v2").await;
    assert_eq!(image(world.deployment("front").await.unwrap()), "nginx:2");
    assert_eq!(service().await["metadata"]["ownerReferences"][0]["name"], "shop");
    world.phase("shop", "running").await;
    world.delete(NEW, "Application", "shop").await;
    world.gone("apps/v1", "Deployment", "front").await;
}
