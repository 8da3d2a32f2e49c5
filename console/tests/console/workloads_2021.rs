//! Components that the REST API of early 2021 writes by their parameters, and what it says of what is written elsewhere.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::write_2021::{done, sent, with_a_trait, writing};

const APPS: &str = "/api/envs/testing/apps";

fn flag(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

async fn components(cluster: &Cluster, app: &str) -> Value {
    let path = format!("/api/v1/namespaces/test-space/applications/{app}");
    cluster.json(&path).await.1["object"]["spec"]["components"].take()
}

#[tokio::test]
async fn a_workload_makes_its_application() {
    let cluster = with_a_trait().await;
    let note = json!({"name": "note", "flags": [flag("text", "3"), flag("times", "3")]});
    let body = json!({"envName": "testing", "workloadType": "plain", "workloadName": "web",
        "flags": [flag("image", "nginx:1")], "staging": false, "traits": [note]});
    let said = sent(&cluster, Method::POST, "/api/workloads/", &body).await;
    assert_eq!(said, done("application web is successfully created, with the component web"));
    let traits = json!([{"type": "note", "properties": {"text": "3", "times": 3}}]);
    let web = json!({"name": "web", "type": "plain", "properties": {"image": "nginx:1"}, "traits": traits});
    assert_eq!(components(&cluster, "web").await, json!([web]));

    // One more, and the first anew: its traits stay.
    let more = json!({"envName": "testing", "appName": "web", "workloadType": "plain", "workloadName": "db",
        "flags": [flag("image", "redis")]});
    let (status, said) = sent(&cluster, Method::POST, "/api/workloads", &more).await;
    assert!(status == 200 && said["data"].as_str().unwrap().contains("has the component db"), "{said}");
    let again = json!({"envName": "testing", "workloadType": "plain", "workloadName": "web",
        "flags": [flag("image", "nginx:2")]});
    assert_eq!(sent(&cluster, Method::POST, "/api/workloads", &again).await.0, 200);
    let path = "/api/v1/namespaces/test-space/applications/web";
    cluster.until(path, |found| found.to_string().contains("nginx:2")).await;
    let mut web = web;
    web["properties"]["image"] = json!("nginx:2");
    let db = json!({"name": "db", "type": "plain", "properties": {"image": "redis"}});
    assert_eq!(components(&cluster, "web").await, json!([web, db]));
}

#[tokio::test]
async fn a_component_is_changed_by_its_parameters() {
    let cluster = with_a_trait().await;
    let path = |component: &str| format!("{APPS}/pair/components/{component}");
    let body = json!({"workloadType": "plain", "flags": [flag("image", "b")]});
    let (status, said) = sent(&cluster, Method::PUT, &path("one"), &body).await;
    let expected = json!({"name": "one", "workloadName": "plain", "app": "pair"});
    for field in ["name", "workloadName", "app"] {
        assert_eq!((status, &said["data"][field]), (200, &expected[field]), "{said}");
    }
    let changed = |found: &Value| {
        let all = &found["object"]["spec"]["components"];
        all[0]["properties"]["image"] == "b" && all[1]["properties"]["image"] == "a"
    };
    cluster.until("/api/v1/namespaces/test-space/applications/pair", changed).await;
    for (path, status, words) in [
        (path("three"), 404, "has no component \"three\""),
        (format!("{APPS}/absent/components/one"), 404, "absent"),
        ("/api/envs/absent/apps/pair/components/one".to_owned(), 404, "env absent not exist"),
    ] {
        let (found, said) = sent(&cluster, Method::PUT, &path, &body).await;
        assert!(found == status && said["data"].as_str().unwrap().contains(words), "{path}: {said}");
    }
    assert_eq!(components(&cluster, "pair").await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_workload_that_is_wrong_is_not_written() {
    let cluster = with_a_trait().await;
    let right = json!({"envName": "testing", "workloadType": "plain", "workloadName": "web",
        "flags": [flag("image", "a")]});
    for (field, value, status, words) in [
        ("envName", json!("absent"), 404, "env absent not exist"),
        ("envName", json!(""), 422, "envName: \"\""),
        ("workloadName", json!("<script>"), 422, "workloadName: \"<script>\""),
        ("workloadType", json!("plian"), 404, "ComponentDefinition or WorkloadDefinition \"plian\""),
        ("flags", json!([flag("imgae", "a")]), 422, "flags[0]: the type plain has no parameter \"imgae\""),
        ("flags", json!([]), 422, "image"),
        ("flags", json!([{"name": "image"}]), 400, "missing field `value`"),
        ("staging", json!(true), 422, "staging"),
        ("staging", json!("true"), 400, "expected a boolean"),
        ("traits", json!([{"name": "absent"}]), 404, "TraitDefinition \"absent\""),
        ("traits", json!([{"name": "note", "flags": [flag("times", "x")]}]), 422, "traits[0].flags[0]"),
        ("x", json!(1), 400, "unknown field `x`"),
    ] {
        let mut body = right.clone();
        body[field] = value;
        let (found, said) = sent(&cluster, Method::POST, "/api/workloads", &body).await;
        assert!(found == status && said["data"].as_str().unwrap().contains(words), "{body}: {found} {said}");
    }
    assert_eq!(cluster.json(APPS).await.1["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_written_elsewhere_says_where() {
    let (cluster, noted) = writing().await;
    for (method, path, words) in [
        (Method::PUT, "/api/workloads/plain", "vela def apply"),
        (Method::PUT, "/api/components/plain", "vela def apply"),
        (Method::POST, "/api/scopes/", "vela up"),
        (Method::PUT, "/api/scopes/health", "vela up"),
        (Method::DELETE, "/api/scopes/health", "vela up"),
        (Method::PUT, "/api/traits/note", "use GET, HEAD"),
    ] {
        let (status, said) = sent(&cluster, method.clone(), path, &json!({})).await;
        assert_eq!((status, &said["code"]), (405, &json!(405)), "{method} {path}: {said}");
        let words = [words, "use GET, HEAD"].map(|words| said["data"].as_str().unwrap().contains(words));
        assert_eq!(words, [true; 2], "{method} {path}: {said}");
    }
    assert_eq!(noted.asked(), [""; 0]);
}
