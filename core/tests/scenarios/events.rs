//! Events of the controllers: each names its object and its reason, and says what happened.

use serde_json::{Value, json};

use super::configuration::{component, configuration, named};
use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// Reason, object and words of what is told when these objects are written.
const EXPECTED: [(&str, &str, &str); 10] = [
    ("Applied", "good", "rendered and applied"),
    ("Deployed", "good", "healthy"),
    ("Doubtful", "doubtful", "spec.components[0].scopes"),
    ("FailedParse", "lost", "no-such-type"),
    ("FailedRender", "torn", "parameter.image"),
    ("FailedApply", "taken", "was not made by application"),
    ("FailedReconcile", "broken", "missing"),
    ("RenderedComponents", "old", "rendered"),
    ("AppliedComponents", "old", "applied"),
    ("CannotRenderComponents", "old-lost", "nowhere"),
];

async fn write_everything(cluster: &TestCluster) {
    cluster.create(application("good", &[web("front", "nginx:1")])).await;
    let mut doubtful = application("doubtful", &[web("scoped", "nginx:1")]);
    doubtful["spec"]["components"][0]["scopes"] = json!({"healthscopes.core.oam.dev": "health"});
    cluster.create(doubtful).await;
    cluster
        .create(application("lost", &[json!({"name": "a", "type": "no-such-type", "properties": {}})]))
        .await;
    cluster
        .create(application("torn", &[json!({"name": "b", "type": "webservice", "properties": {}})]))
        .await;
    cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}})).await;
    let settings = json!({"name": "theirs", "type": "settings", "properties": {"text": "ours"}});
    cluster.create(application("taken", &[settings])).await;
    let template = "output: {\n\tapiVersion: \"v1\"\n\tkind: missing\n}\nparameter: {}\n";
    cluster
        .create(json!({
            "apiVersion": OAM, "kind": "ComponentDefinition", "metadata": {"name": "broken"},
            "spec": {
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            },
        }))
        .await;
    cluster.create(component("back", "nginx:1")).await;
    cluster.create(configuration("old", named(&["back"]))).await;
    cluster.create(configuration("old-lost", named(&["nowhere"]))).await;
}

fn text<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test]
async fn every_event_names_its_object_reason_and_message() {
    let cluster = TestCluster::new().await;
    write_everything(&cluster).await;
    let missing = || async {
        let events = cluster.list("events.k8s.io/v1", "Event").await;
        let is_recorded = |(reason, name, words): &&(&str, &str, &str)| {
            events.iter().any(|event| {
                text(event, "/reason") == *reason
                    && text(event, "/regarding/name") == *name
                    && text(event, "/note").to_lowercase().contains(words)
            })
        };
        let missing: Vec<_> = EXPECTED.iter().filter(|expected| !is_recorded(expected)).collect();
        let known =
            |event: &Value| ["/reason", "/regarding/name", "/note"].map(|at| text(event, at).to_owned());
        match missing.is_empty() {
            true => Vec::new(),
            false => vec![(format!("{missing:?}"), events.iter().map(known).collect::<Vec<_>>())],
        }
    };
    until_or("everything is told", missing, Vec::is_empty).await;
    let events = cluster.list("events.k8s.io/v1", "Event").await;
    // What the workloads' own controllers tell is told in the older way, by a source.
    for event in events.iter().filter(|event| event.pointer("/deprecatedSource/component").is_none()) {
        for place in
            ["/reason", "/note", "/action", "/reportingController", "/regarding/kind", "/regarding/uid"]
        {
            assert!(!text(event, place).trim().is_empty(), "{place}: {event:#}");
        }
        assert_eq!(text(event, "/regarding/namespace"), cluster.namespace, "{event:#}");
        assert_ne!(
            text(event, "/note"),
            text(event, "/reason"),
            "it says no more than its reason: {event:#}"
        );
    }
}

/// Reasons of what is told of an application, in the order of time.
async fn reasons(cluster: &TestCluster, name: &str) -> Vec<String> {
    let mut events = cluster.list("events.k8s.io/v1", "Event").await;
    events.retain(|event| {
        text(event, "/regarding/name") == name && text(event, "/regarding/kind") == "Application"
    });
    events.sort_by_key(|event| text(event, "/eventTime").to_owned());
    events.iter().map(|event| text(event, "/reason").to_owned()).collect()
}

/// What one reconcile publishes may have one instant, and no order.
fn sorted(reasons: &[String]) -> Vec<&str> {
    let mut reasons: Vec<&str> = reasons.iter().map(String::as_str).collect();
    reasons.sort_unstable();
    reasons
}

#[tokio::test]
async fn one_that_runs_is_told_of_twice_and_what_was_mended_once_more() {
    let cluster = TestCluster::new().await;
    cluster.create(application("good", &[web("front", "nginx:1")])).await;
    let torn = |properties: Value| {
        application("torn", &[json!({"name": "back", "type": "webservice", "properties": properties})])
    };
    cluster.create(torn(json!({}))).await;
    cluster.phase("good", "running").await;
    until_or("the good one is told of", || reasons(&cluster, "good"), |all| all.len() >= 2).await;
    assert_eq!(sorted(&reasons(&cluster, "good").await), ["Applied", "Deployed"]);
    until_or("the torn one is told of", || reasons(&cluster, "torn"), |all| !all.is_empty()).await;
    let spec = json!({"spec": torn(json!({"image": "nginx:1"}))["spec"]});
    cluster.patch(OAM, "Application", "torn", spec).await;
    cluster.phase("torn", "running").await;
    let all = until_or("the mended one is told of", || reasons(&cluster, "torn"), |all| all.len() >= 4).await;
    assert_eq!(all[0], "FailedRender");
    assert_eq!(sorted(&all[1..]), ["Applied", "Deployed", "Rendered"]);
}
