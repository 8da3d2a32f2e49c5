//! Policies about objects: what they leave, keep, replace and let go, on update, while it is looked after, and on delete.

use serde_json::{Value, json};
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

fn settings(name: &str, text: &str) -> Value {
    json!({"name": name, "type": "settings", "properties": {"text": text}})
}

/// An application of these components with one policy.
fn with_policy(components: &[Value], type_: &str, properties: &Value) -> Value {
    let mut application = application("shop", components);
    application["spec"]["policies"] = json!([{"name": "p", "type": type_, "properties": properties}]);
    application
}

fn rule(selector: &Value, more: &Value) -> Value {
    let mut rule = json!({"selector": selector});
    for (field, value) in more.as_object().into_iter().flatten() {
        rule[field] = value.clone();
    }
    json!({"rules": [rule]})
}

async fn components(cluster: &TestCluster, components: &[Value]) {
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    cluster.phase("shop", "running").await;
}

async fn text(cluster: &TestCluster, name: &str) -> Option<String> {
    let found = cluster.get("v1", "ConfigMap", name).await?;
    found["data"]["text"].as_str().map(str::to_owned)
}

async fn delete(cluster: &TestCluster) {
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.tracker("shop").await.is_none());
}

/// Whose the object says it is.
fn owner(object: &Value) -> &Value {
    &object["metadata"]["labels"]["app.oam.dev/name"]
}

#[tokio::test]
async fn objects_stay_as_long_as_their_strategy_says() {
    let cluster = TestCluster::new().await;
    let all = [
        settings("plain", "a"),
        settings("until", "a"),
        settings("ever", "a"),
        settings("orphan", "a"),
        settings("rest", "a"),
    ];
    let rules = json!({"rules": [
        {"selector": {"componentNames": ["until"]}, "strategy": "onAppDelete"},
        {"selector": {"componentNames": ["ever"]}, "strategy": "never"},
        {"selector": {"componentNames": ["orphan"]}, "propagation": "orphan"},
    ]});
    cluster.create(with_policy(&all, "garbage-collect", &rules)).await;
    cluster.phase("shop", "running").await;
    let recorded = cluster.tracker("shop").await.unwrap()["spec"]["managedResources"].clone();
    let of =
        |name: &str| recorded.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    assert_eq!((&of("until")["retained"], &of("until")["skipGC"]), (&json!(true), &Value::Null));
    assert_eq!((&of("ever")["retained"], &of("ever")["skipGC"]), (&json!(true), &json!(true)));
    assert_eq!((&of("plain")["retained"], &of("orphan")["skipGC"]), (&Value::Null, &json!(true)));

    // An update that names one of them only.
    components(&cluster, &[settings("rest", "b")]).await;
    cluster.gone("v1", "ConfigMap", "plain").await;
    let is_free = |found: &Option<Value>| found.as_ref().is_some_and(|found| owner(found).is_null());
    until_or("the orphan is let go", || cluster.get("v1", "ConfigMap", "orphan"), is_free).await;
    for name in ["until", "ever"] {
        let found = cluster.get("v1", "ConfigMap", name).await.unwrap();
        assert_eq!(owner(&found), "shop", "{name}");
    }
    assert_eq!(cluster.tracker("shop").await.unwrap()["spec"]["complete"], true);

    delete(&cluster).await;
    cluster.gone("v1", "ConfigMap", "rest").await;
    cluster.gone("v1", "ConfigMap", "until").await;
    for name in ["ever", "orphan"] {
        let found = cluster.get("v1", "ConfigMap", name).await.unwrap();
        assert!(
            owner(&found).is_null() && found["metadata"]["labels"]["app.oam.dev/namespace"].is_null(),
            "{found}"
        );
    }
}

#[tokio::test]
async fn the_orphan_finalizer_keeps_every_object() {
    let cluster = TestCluster::new().await;
    let components = [settings("plain", "a"), web("front", "nginx:1")];
    cluster.create(application("shop", &components)).await;
    cluster.phase("shop", "running").await;
    let before = cluster.get("apps/v1", "Deployment", "front").await.unwrap();
    let mut held = cluster.get(OAM, "Application", "shop").await.unwrap()["metadata"]["finalizers"].clone();
    held.as_array_mut().unwrap().push(json!("app.oam.dev/orphan-resource"));
    cluster.patch(OAM, "Application", "shop", json!({"metadata": {"finalizers": held}})).await;
    cluster.quiet().await;
    assert_eq!(owner(&cluster.get("v1", "ConfigMap", "plain").await.unwrap()), "shop", "it says nothing yet");

    delete(&cluster).await;
    let settings_left = cluster.get("v1", "ConfigMap", "plain").await.unwrap();
    let workload_left = cluster.get("apps/v1", "Deployment", "front").await.unwrap();
    assert_eq!(
        (&workload_left["metadata"]["uid"], &workload_left["spec"]),
        (&before["metadata"]["uid"], &before["spec"])
    );
    for left in [settings_left, workload_left] {
        assert!(owner(&left).is_null() && left["metadata"]["ownerReferences"].is_null(), "{left}");
    }

    // An application of the same name takes them over again.
    let take_over = with_policy(
        &components,
        "take-over",
        &rule(&json!({"componentNames": ["plain", "front"]}), &json!({})),
    );
    cluster.create(take_over).await;
    cluster.phase("shop", "running").await;
    assert_eq!(owner(&cluster.get("v1", "ConfigMap", "plain").await.unwrap()), "shop");
    delete(&cluster).await;
    cluster.gone("v1", "ConfigMap", "plain").await;
}

#[tokio::test]
async fn legacy_resources_stay_until_no_policy_keeps_them() {
    let cluster = TestCluster::new().await;
    let keep = json!({"keepLegacyResource": true});
    cluster
        .create(with_policy(&[settings("old", "a"), settings("rest", "a")], "garbage-collect", &keep))
        .await;
    cluster.phase("shop", "running").await;
    components(&cluster, &[settings("rest", "b")]).await;
    cluster.quiet().await;
    assert!(cluster.get("v1", "ConfigMap", "old").await.is_some());
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["complete"], true, "{tracker}");
    assert_eq!(
        tracker["spec"]["managedResources"].as_array().unwrap().len(),
        2,
        "it is not forgotten: {tracker}"
    );

    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": []}})).await;
    cluster.gone("v1", "ConfigMap", "old").await;
    delete(&cluster).await;
}

#[tokio::test]
async fn what_depends_on_others_goes_first_where_the_order_counts() {
    let cluster = TestCluster::new().await;
    let mut front = settings("front", "a");
    front["dependsOn"] = json!(["back"]);
    let order = json!({"order": "dependency"});
    cluster.create(with_policy(&[front, settings("back", "a")], "garbage-collect", &order)).await;
    cluster.phase("shop", "running").await;
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    cluster.patch("v1", "ConfigMap", "front", held).await;
    cluster.delete(OAM, "Application", "shop").await;
    let is_going = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| !found["metadata"]["deletionTimestamp"].is_null())
    };
    until_or("the dependant is asked to go", || cluster.get("v1", "ConfigMap", "front"), is_going).await;
    cluster.rested(1).await;
    let back = cluster.get("v1", "ConfigMap", "back").await.unwrap();
    assert!(back["metadata"]["deletionTimestamp"].is_null(), "what it depends on waits: {back}");
    cluster.patch("v1", "ConfigMap", "front", json!({"metadata": {"finalizers": null}})).await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "back").await;
}

#[tokio::test]
async fn an_application_limits_its_own_revisions() {
    let cluster = TestCluster::new().await;
    let limit = json!({"applicationRevisionLimit": 1});
    cluster.create(with_policy(&[settings("rest", "a")], "garbage-collect", &limit)).await;
    cluster.phase("shop", "running").await;
    for text in ["b", "c", "d"] {
        components(&cluster, &[settings("rest", text)]).await;
    }
    let names = || async {
        let all = cluster.list(OAM, "ApplicationRevision").await;
        all.iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    until_or("old revisions are gone", names, |names| *names == ["shop-v3", "shop-v4"]).await;
}

#[tokio::test]
async fn fields_that_are_applied_once_stay_as_people_set_them() {
    let cluster = TestCluster::new().await;
    let strategy = json!({"strategy": {"path": ["spec.replicas"]}});
    let mut policy = rule(&json!({"resourceTypes": ["Deployment"]}), &strategy);
    policy["enable"] = json!(true);
    cluster.create(with_policy(&[web("front", "nginx:1")], "apply-once", &policy)).await;
    cluster.phase("shop", "running").await;
    cluster.patch("apps/v1", "Deployment", "front", json!({"spec": {"replicas": 5}})).await;
    cluster.rested(1).await;
    components(&cluster, &[web("front", "nginx:2")]).await;
    let found = cluster.deployment("front").await.unwrap();
    assert_eq!(found["spec"]["replicas"], 5, "{found}");
    assert_eq!(found["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    delete(&cluster).await;
}

#[tokio::test]
async fn what_is_applied_once_is_not_looked_after() {
    let cluster = TestCluster::new().await;
    let both = [settings("one", "a"), settings("two", "a")];
    cluster.create(with_policy(&both, "apply-once", &json!({"enable": true}))).await;
    cluster.phase("shop", "running").await;
    cluster.patch("v1", "ConfigMap", "one", json!({"data": {"text": "by hand"}})).await;
    cluster.delete("v1", "ConfigMap", "two").await;
    cluster.resync("settings").await;
    assert_eq!(text(&cluster, "one").await.as_deref(), Some("by hand"));
    assert_eq!(text(&cluster, "two").await, None, "and it is not made again");
    // It is as the policy says, so the application is healthy.
    cluster.phase("shop", "running").await;
    let services = cluster.application("shop").await["status"]["services"].clone();
    let two = services.as_array().unwrap().iter().find(|service| service["name"] == "two").unwrap();
    assert_eq!(two["healthy"], true, "{services}");
    let said = two["message"].as_str().unwrap();
    assert!(said.contains("two was deleted, and the policy apply-once does not make it again"), "{services}");
    // Neither a label nor an annotation of the application is a new revision of it.
    let marks = json!({"metadata": {"labels": {"team": "blue"}, "annotations": {"example.com/poke": "1"}}});
    cluster.patch("core.oam.dev/v1beta1", "Application", "shop", marks).await;
    cluster.rested(1).await;
    assert_eq!(text(&cluster, "one").await.as_deref(), Some("by hand"));
    assert_eq!(text(&cluster, "two").await, None);
    // A new revision is brought.
    components(&cluster, &[settings("one", "b"), settings("two", "b")]).await;
    assert_eq!(text(&cluster, "one").await.as_deref(), Some("b"));
    assert_eq!(text(&cluster, "two").await.as_deref(), Some("b"));
    delete(&cluster).await;
}

#[tokio::test]
async fn an_operator_has_everything_applied_once() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { applications_once: true, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(application("shop", &[settings("one", "a")])).await;
    cluster.phase("shop", "running").await;
    cluster.patch("v1", "ConfigMap", "one", json!({"data": {"text": "by hand"}})).await;
    cluster.resync("settings").await;
    assert_eq!(text(&cluster, "one").await.as_deref(), Some("by hand"));
    components(&cluster, &[settings("one", "b")]).await;
    assert_eq!(text(&cluster, "one").await.as_deref(), Some("b"));
    delete(&cluster).await;
}

#[tokio::test]
async fn read_only_objects_are_not_written_and_outlive_applications() {
    let cluster = TestCluster::new().await;
    let policy = rule(&json!({"componentNames": ["theirs"]}), &Value::Null);
    cluster
        .create(with_policy(&[settings("theirs", "a"), settings("ours", "a")], "read-only", &policy))
        .await;
    let conditions = || async { cluster.application("shop").await["status"].to_string() };
    let is_missed = |said: &String| said.contains("is marked as read-only but does not exist");
    until_or("the missing object is told", conditions, is_missed).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"text": "theirs"}});
    cluster.create(theirs).await;
    cluster.phase("shop", "running").await;
    let found = cluster.get("v1", "ConfigMap", "theirs").await.unwrap();
    assert!(found["data"]["text"] == "theirs" && owner(&found).is_null(), "{found}");
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 1, "{tracker}");
    delete(&cluster).await;
    assert_eq!(text(&cluster, "theirs").await.as_deref(), Some("theirs"));
    cluster.gone("v1", "ConfigMap", "ours").await;
}

#[tokio::test]
async fn an_unowned_object_is_taken_over_only_by_policy() {
    let cluster = TestCluster::new().await;
    let lone = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "old", "more": "x"}});
    cluster.create(lone("lone")).await;
    cluster.create(application("shop", &[settings("lone", "new")])).await;
    let conditions = || async { cluster.application("shop").await["status"].to_string() };
    until_or("it is refused", conditions, |said| said.contains("was not made by application")).await;
    assert_eq!(text(&cluster, "lone").await.as_deref(), Some("old"));

    let policy = rule(&json!({"resourceTypes": ["ConfigMap"]}), &Value::Null);
    let policies = with_policy(&[], "take-over", &policy)["spec"]["policies"].clone();
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": policies}})).await;
    cluster.phase("shop", "running").await;
    let found = cluster.get("v1", "ConfigMap", "lone").await.unwrap();
    assert_eq!((&found["data"]["text"], &found["data"]["more"]), (&json!("new"), &json!("x")));
    assert_eq!(owner(&found), "shop");
    delete(&cluster).await;
    cluster.gone("v1", "ConfigMap", "lone").await;
}

#[tokio::test]
async fn an_object_of_another_application_is_not_taken_over() {
    let cluster = TestCluster::new().await;
    cluster.create(application("first", &[settings("lone", "first")])).await;
    cluster.phase("first", "running").await;
    let policy = rule(&json!({"resourceTypes": ["ConfigMap"]}), &Value::Null);
    cluster.create(with_policy(&[settings("lone", "second")], "take-over", &policy)).await;
    let conditions = || async { cluster.application("shop").await["status"].to_string() };
    until_or("it is refused", conditions, |said| said.contains("belongs to application")).await;
    assert_eq!(text(&cluster, "lone").await.as_deref(), Some("first"));
}

#[tokio::test]
async fn an_update_replaces_what_others_put_into_an_object() {
    let cluster = TestCluster::new().await;
    let policy = rule(&json!({"resourceTypes": ["ConfigMap"]}), &json!({"strategy": {"op": "replace"}}));
    cluster.create(with_policy(&[settings("rest", "a")], "resource-update", &policy)).await;
    cluster.phase("shop", "running").await;
    let more = json!({"data": {"theirs": "x"}, "metadata": {"annotations": {"theirs": "x"}}});
    cluster.patch("v1", "ConfigMap", "rest", more).await;
    cluster.rested(1).await;
    let before = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    components(&cluster, &[settings("rest", "b")]).await;
    let found = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    assert_eq!(found["data"], json!({"text": "b"}), "{found}");
    assert!(found["metadata"]["annotations"]["theirs"].is_null(), "{found}");
    assert_eq!((owner(&found), &found["metadata"]["uid"]), (&json!("shop"), &before["metadata"]["uid"]));
}

#[tokio::test]
async fn an_object_is_recreated_when_a_field_of_the_policy_differs() {
    let cluster = TestCluster::new().await;
    let policy = rule(
        &json!({"resourceTypes": ["ConfigMap"]}),
        &json!({"strategy": {"recreateFields": ["data.text"]}}),
    );
    cluster.create(with_policy(&[settings("rest", "a")], "resource-update", &policy)).await;
    cluster.phase("shop", "running").await;
    let before = cluster.get("v1", "ConfigMap", "rest").await.unwrap();
    components(&cluster, &[settings("rest", "b")]).await;
    let is_new = |found: &Option<Value>| {
        let found = found.as_ref();
        found.is_some_and(|found| {
            found["data"]["text"] == "b" && found["metadata"]["uid"] != before["metadata"]["uid"]
        })
    };
    until_or("it is made again", || cluster.get("v1", "ConfigMap", "rest"), is_new).await;
    cluster.phase("shop", "running").await;
    delete(&cluster).await;
}

#[tokio::test]
async fn an_override_changes_what_is_made() {
    let cluster = TestCluster::new().await;
    let entry = json!({"name": "front", "properties": {"replicas": 3}});
    let properties =
        json!({"components": [entry, {"name": "added", "type": "settings", "properties": {"text": "x"}}]});
    cluster.create(with_policy(&[web("front", "nginx:1")], "override", &properties)).await;
    cluster.phase("shop", "running").await;
    let found = cluster.deployment("front").await.unwrap();
    assert_eq!(found["spec"]["replicas"], 3);
    assert_eq!(text(&cluster, "added").await.as_deref(), Some("x"));
    let step = cluster.application("shop").await["status"]["workflow"]["steps"][0].clone();
    assert_eq!((&step["name"], &step["phase"]), (&json!("deploy"), &json!("succeeded")), "{step}");
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": []}})).await;
    cluster.gone("v1", "ConfigMap", "added").await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.deployment("front").await.unwrap()["spec"]["replicas"], 2);
}

#[tokio::test]
async fn an_unknown_policy_is_reported() {
    let cluster = TestCluster::new().await;
    cluster.create(with_policy(&[settings("rest", "a")], "take-ovr", &json!({}))).await;
    let conditions = || async { cluster.application("shop").await["status"]["conditions"].to_string() };
    let is_known = |said: &String| said.contains("unknown policy type") && said.contains("take-over");
    until_or("the nearest name is told", conditions, is_known).await;
    assert!(cluster.get("v1", "ConfigMap", "rest").await.is_none());
}

/// A workflow whose second step cannot succeed. One with a `timeout` is run step by step.
fn failing(components: &[Value], properties: &Value, timeout: Option<&str>) -> Value {
    let mut application = with_policy(components, "garbage-collect", properties);
    let step = |name: &str, component: &str| {
        let properties = json!({"component": component});
        let mut step = json!({"name": name, "type": "apply-component", "properties": properties});
        if let Some(timeout) = timeout {
            step["timeout"] = json!(timeout);
        }
        step
    };
    application["spec"]["workflow"] =
        json!({"steps": [step("a", "rest"), step("b", "absent"), step("c", "last")]});
    application
}

#[tokio::test]
async fn a_failed_workflow_collects_only_where_a_policy_goes_on() {
    collects_where_a_policy_goes_on(None).await;
}

#[tokio::test]
async fn a_failed_run_collects_only_where_a_policy_goes_on() {
    collects_where_a_policy_goes_on(Some("5m")).await;
}

async fn collects_where_a_policy_goes_on(timeout: Option<&str>) {
    let cluster = TestCluster::new().await;
    cluster
        .create(application("shop", &[settings("old", "a"), settings("rest", "a"), settings("last", "a")]))
        .await;
    cluster.phase("shop", "running").await;
    let both = [settings("rest", "b"), settings("last", "b")];
    let spec = |properties: &Value| json!({"spec": failing(&both, properties, timeout)["spec"]});
    cluster.patch(OAM, "Application", "shop", spec(&json!({}))).await;
    cluster.phase("shop", "workflowFailed").await;
    cluster.quiet().await;
    assert!(
        cluster.get("v1", "ConfigMap", "old").await.is_some(),
        "nothing is pruned for a workflow that failed"
    );
    cluster.patch(OAM, "Application", "shop", spec(&json!({"continueOnFailure": true}))).await;
    cluster.gone("v1", "ConfigMap", "old").await;
    // What no step applied any more is wanted all the same, and stays.
    assert_eq!(text(&cluster, "last").await.as_deref(), Some("a"));
    assert!(cluster.tracker("shop").await.unwrap()["spec"]["complete"].is_null());
}
