//! PolicyDefinitions of the scope `Application`: those that applications name, those that act on every one, and when a changed
//! definition counts.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

/// A policy whose template is this text.
fn policy(name: &str, more: &Value, template: &str) -> Value {
    let mut spec = json!({"scope": "Application", "schematic": {"cue": {"template": template}}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": OAM, "kind": "PolicyDefinition", "metadata": {"name": name}, "spec": spec})
}

/// It writes a text into every component, and a label.
fn says(text: &str) -> Value {
    let template = format!(
        "output: {{\n\tcomponents: [for one in context.appComponents {{\n\t\tname: one.name, type: one.type\n\
         \t\tproperties: text: one.properties.text + parameter.mark + \"{text}\"\n\t}}]\n\tlabels: marked: \"{text}\"\n}}\n\
         parameter: mark: *\"-\" | string\n"
    );
    policy("says", &json!({}), &template)
}

fn shop(policies: &Value) -> Value {
    let note = json!({"name": "note", "type": "settings", "properties": {"text": "hello"}});
    let mut shop = application("shop", &[note]);
    shop["spec"]["policies"] = policies.clone();
    shop
}

/// The ConfigMap once it says this.
async fn note(cluster: &TestCluster, text: &str) -> Value {
    let is_there = |found: &Option<Value>| found.as_ref().is_some_and(|one| one["data"]["text"] == text);
    until_or(&format!("the note says {text}"), || cluster.get("v1", "ConfigMap", "note"), is_there)
        .await
        .unwrap()
}

/// The application once its status is like this.
async fn report(cluster: &TestCluster, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    until_or(what, || cluster.application("shop"), |one| is_so(&one["status"])).await["status"].clone()
}

/// What became of the policies that the application names.
fn explicit(status: &Value) -> impl Iterator<Item = &Value> {
    let all = status["appliedApplicationPolicies"].as_array().into_iter().flatten();
    all.filter(|applied| applied["source"] == "explicit")
}

/// The condition of this type.
fn condition<'a>(status: &'a Value, type_: &str) -> &'a Value {
    let all = status["conditions"].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["type"] == type_).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_named_policy_changes_what_is_applied() {
    let cluster = TestCluster::new().await;
    cluster.create(says("a")).await;
    let named = json!([{"name": "mark", "type": "says", "properties": {"mark": "+"}}]);
    cluster.create(shop(&named)).await;
    cluster.phase("shop", "running").await;
    let object = note(&cluster, "hello+a").await;
    assert_eq!(object["metadata"]["labels"]["marked"], "a");
    let application = cluster.application("shop").await;
    assert_eq!(
        application["spec"]["components"][0]["properties"]["text"], "hello",
        "the author's words stay"
    );
    let applied = explicit(&application["status"]).next().unwrap();
    assert_eq!((&applied["name"], &applied["type"]), (&json!("mark"), &json!("says")));
    assert_eq!((&applied["specModified"], &applied["labelsCount"]), (&json!(true), &json!(1)));
    let revision = cluster.get(OAM, "ApplicationRevision", "shop-v1").await.unwrap();
    assert_eq!(revision["spec"]["application"]["spec"]["components"][0]["properties"]["text"], "hello");
    assert!(revision["spec"]["policyDefinitions"]["says"].is_object(), "{revision:#}");

    cluster.patch(OAM, "Application", "shop", json!({"spec": {"policies": null}})).await;
    let object = note(&cluster, "hello").await;
    assert!(object["metadata"]["labels"]["marked"].is_null());
    let status = report(&cluster, "no policy is told", |status| explicit(status).next().is_none()).await;
    assert_eq!(status["latestRevision"]["name"], "shop-v2");
    cluster.quiet().await;
}

#[tokio::test]
async fn a_changed_policy_waits_unless_the_author_follows() {
    let mut cluster = TestCluster::new().await;
    cluster.create(says("a")).await;
    cluster.create(shop(&json!([{"name": "mark", "type": "says"}]))).await;
    note(&cluster, "hello-a").await;
    cluster.phase("shop", "running").await;
    cluster.patch(OAM, "PolicyDefinition", "says", json!({"spec": says("b")["spec"]})).await;
    let status = report(&cluster, "the change is told", |status| {
        condition(status, "Definitions")["reason"] == "NewerExist"
    })
    .await;
    let message = condition(&status, "Definitions")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("policy definition \"says\" changed after revision shop-v1"), "{message}");
    note(&cluster, "hello-a").await;
    // A process that starts knows it by the revision.
    cluster.stop().await;
    cluster.start();
    cluster.rested(1).await;
    note(&cluster, "hello-a").await;

    let follows = json!({"metadata": {"annotations": {"policy.oam.dev/auto-revision": "true"}}});
    cluster.patch(OAM, "Application", "shop", follows).await;
    note(&cluster, "hello-b").await;
    let status =
        report(&cluster, "another revision", |status| status["latestRevision"]["name"] == "shop-v2").await;
    assert_eq!(condition(&status, "Definitions"), &Value::Null, "{status:#}");
    cluster.patch(OAM, "PolicyDefinition", "says", json!({"spec": says("c")["spec"]})).await;
    note(&cluster, "hello-c").await;
    cluster.quiet().await;
}

#[tokio::test]
async fn a_global_policy_acts_where_its_namespace_reaches() {
    let cluster = TestCluster::new().await;
    let system = TestCluster::in_namespace(&cluster, "vela-system");
    let other = TestCluster::in_namespace(&cluster, "other");
    for namespace in ["vela-system", "other"] {
        cluster
            .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .await;
    }
    let settings = cluster.get(OAM, "ComponentDefinition", "settings").await.unwrap()["spec"].clone();
    let metadata = json!({"name": "settings"});
    other
        .create(
            json!({"apiVersion": OAM, "kind": "ComponentDefinition", "metadata": metadata, "spec": settings}),
        )
        .await;
    // Other scenarios share the system namespace of a real control plane.
    let template = "config: enabled: context.appLabels.reached != _|_\n\
                    output: labels: audited: \"yes\"\nparameter: {}\n";
    system.create(policy("audit", &json!({"global": true}), template)).await;
    let here = "output: labels: here: context.appName\nparameter: {}\n";
    cluster.create(policy("here", &json!({"global": true, "priority": 3}), here)).await;
    for one in [&cluster, &other] {
        let mut shop = shop(&json!([]));
        shop["metadata"]["labels"] = json!({"reached": "yes"});
        one.create(shop).await;
        one.phase("shop", "running").await;
    }
    let labels = note(&cluster, "hello").await["metadata"]["labels"].clone();
    assert_eq!((&labels["audited"], &labels["here"]), (&json!("yes"), &json!("shop")));
    let labels = note(&other, "hello").await["metadata"]["labels"].clone();
    assert_eq!((&labels["audited"], &labels["here"]), (&json!("yes"), &Value::Null));

    // An author leaves them out, which is another content.
    let skips = json!({"metadata": {"annotations": {"policy.oam.dev/skip-global": "true"}}});
    other.patch(OAM, "Application", "shop", skips).await;
    let is_free = |found: &Option<Value>| {
        found.as_ref().is_some_and(|one| one["metadata"]["labels"]["audited"].is_null())
    };
    until_or("the label goes", || other.get("v1", "ConfigMap", "note"), is_free).await;
    cluster.quiet().await;
}

#[tokio::test]
async fn a_new_global_policy_waits_for_the_next_revision() {
    let cluster = TestCluster::new().await;
    cluster.create(shop(&json!([]))).await;
    cluster.phase("shop", "running").await;
    let template = "output: labels: audited: \"yes\"\nparameter: {}\n";
    cluster.create(policy("audit", &json!({"global": true}), template)).await;
    report(&cluster, "it is told", |status| condition(status, "Definitions")["reason"] == "NewerExist").await;
    assert!(note(&cluster, "hello").await["metadata"]["labels"]["audited"].is_null());

    let components = shop(&json!([]))["spec"]["components"].to_string().replace("hello", "hi");
    let components: Value = serde_json::from_str(&components).unwrap();
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": components}})).await;
    assert_eq!(note(&cluster, "hi").await["metadata"]["labels"]["audited"], "yes");
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
}

#[tokio::test]
async fn a_policy_that_fails_stops_its_application_until_mended() {
    let cluster = TestCluster::new().await;
    let broken = "output: labels: a: parameter.missing\nparameter: missing: string\n";
    cluster.create(policy("says", &json!({}), broken)).await;
    cluster.create(shop(&json!([{"name": "mark", "type": "says"}]))).await;
    let status =
        report(&cluster, "it is told", |status| condition(status, "Parsed")["status"] == "False").await;
    let message = condition(&status, "Parsed")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("parameter.missing must be given (string)"), "{message}");
    assert!(cluster.get("v1", "ConfigMap", "note").await.is_none());
    cluster.patch(OAM, "PolicyDefinition", "says", json!({"spec": says("a")["spec"]})).await;
    note(&cluster, "hello-a").await;
    cluster.phase("shop", "running").await;
    cluster.quiet().await;
}
