//! The REST API of early 2021: its paths, bodies and failures.

use http::Method;
use serde_json::{Value, json};
use vela_console::Options;

use crate::cluster::{Cluster, FORM, SECRET, application};

async fn data(cluster: &Cluster, path: &str) -> Value {
    let (status, mut body) = cluster.json(path).await;
    assert_eq!((status, &body["code"]), (200, &json!(200)), "{path}: {body}");
    body["data"].take()
}

/// With a shop, a marked namespace and types of each kind.
async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    let labels = json!({"usage.oam.dev/control-plane": "env", "namespace.oam.dev/env": "testing"});
    let metadata = json!({"name": "test-space", "labels": labels});
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    let description = json!({"definition.oam.dev/description": "scales\npods"});
    let template = "parameter: {\n\t// +usage=How many\n\treplicas: *1 | int\n}\npatch: spec: replicas: parameter.replicas\n";
    cluster
        .create(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": "scale", "namespace": "default", "annotations": description},
            "spec": {"appliesToWorkloads": ["page"], "schematic": {"cue": {"template": template}}},
        }))
        .await;
    let mut elsewhere = application("elsewhere");
    elsewhere["metadata"]["namespace"] = json!("test-space");
    cluster.create(elsewhere).await;
    cluster.until("/api/v1/namespaces/test-space/applications", |list| list["items"][0].is_object()).await;
    cluster
}

#[tokio::test]
async fn environments_of_2021_are_namespaces() {
    let cluster = cluster().await;
    let own =
        json!({"envName": "default", "namespace": "default", "email": "", "domain": "", "current": "*"});
    let other = json!({"envName": "testing", "namespace": "test-space", "email": "", "domain": ""});
    for path in ["/api/envs", "/api/envs/"] {
        assert_eq!(data(&cluster, path).await, json!([own, other]), "{path}");
    }
    assert_eq!(data(&cluster, "/api/envs/testing").await, json!([other]));
    let (status, body) = cluster.json("/api/envs/absent").await;
    assert_eq!((status, &body), (404, &json!({"code": 404, "data": "env absent not exist"})));
}

#[tokio::test]
async fn applications_of_2021_have_their_components() {
    let cluster = cluster().await;
    let all = data(&cluster, "/api/envs/default/apps/").await;
    assert_eq!(
        (all.as_array().unwrap().len(), &all[0]["name"], &all[0]["status"]),
        (1, &json!("shop"), &json!("running"))
    );
    assert_eq!(data(&cluster, "/api/envs/testing/apps").await[0]["name"], "elsewhere");
    for path in ["/api/envs/default/apps/shop", "/api/envs/default/apps/shop/components/"] {
        let shop = data(&cluster, path).await;
        let cart = &shop["components"][0];
        assert_eq!((&cart["name"], &cart["status"]), (&json!("cart"), &json!("True")), "{shop}");
        assert!(!shop.to_string().contains(SECRET), "{shop}");
    }
    let cart = data(&cluster, "/api/envs/default/apps/shop/components/cart").await;
    assert_eq!(
        (&cart["workloadName"], &cart["traitsNames"], &cart["app"]),
        (&json!("webservice"), &json!(["scaler"]), &json!("shop"))
    );
    for path in ["apps/absent", "apps/elsewhere", "apps/shop/components/absent"] {
        let (status, body) = cluster.json(&format!("/api/envs/default/{path}")).await;
        assert_eq!((status, &body["code"]), (404, &json!(404)), "{path}: {body}");
    }
}

#[tokio::test]
async fn types_of_2021_have_parameters_and_a_schema() {
    let cluster = cluster().await;
    assert_eq!(data(&cluster, "/api/components").await[0]["name"], "page");
    let page = data(&cluster, "/api/components/page").await;
    let names: Vec<&Value> = page["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["image", "port"], "{page}");
    let scale = data(&cluster, "/api/traits/scale").await;
    let replicas =
        json!({"name": "replicas", "usage": "How many", "default": 1, "required": false, "type": "int"});
    assert_eq!(
        (&scale["description"], &scale["appliesTo"], &scale["parameters"]),
        (&json!("scales pods"), &json!(["page"]), &json!([replicas]))
    );
    let installed = data(&cluster, "/api/capabilities").await;
    let installed: Vec<_> = installed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["type"], &one["status"]))
        .collect();
    let (page, scale, is) = (json!("page"), json!("scale"), json!("installed"));
    assert_eq!(installed, [(&page, &json!("componentType"), &is), (&scale, &json!("trait"), &is)]);
    let schema = data(&cluster, "/api/definitions/page").await;
    let schema: Value = serde_json::from_str(schema.as_str().unwrap()).unwrap();
    assert_eq!(
        (&schema["properties"]["port"]["default"], &schema["required"][0]),
        (&json!(80), &json!("image"))
    );
    for path in ["/api/workloads", "/api/scopes/", "/api/capability-centers"] {
        assert_eq!(data(&cluster, path).await, json!([]), "{path}");
    }
    assert_eq!(data(&cluster, "/api/version").await["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn types_are_found_in_the_system_namespace() {
    let mut cluster = Cluster::new().await;
    let metadata = json!({"name": "platform"});
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\n";
    cluster
        .create(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "shared", "namespace": "platform"},
            "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}}},
        }))
        .await;
    let mut text = application("site");
    text["spec"]["components"] = json!([{"name": "front", "type": "shared"}]);
    let headers = [("content-type", "application/json"), ("x-csrf-token", FORM)];
    let (_, found) = cluster.post("/api/v1/dry-run", &headers, &text.to_string()).await;
    assert!(found.contains("\"valid\":false"), "{found}");
    assert_eq!(data(&cluster, "/api/components").await, json!([]));
    let options = Options { system_namespace: Some("platform".to_owned()), ..Options::default() };
    cluster.serve(cluster.client(), options).await;
    let (_, found) = cluster.post("/api/v1/dry-run", &headers, &text.to_string()).await;
    assert!(found.contains("\"valid\":true"), "{found}");
    assert_eq!(data(&cluster, "/api/components").await[0]["name"], "shared");
    assert_eq!(data(&cluster, "/api/components/shared").await["name"], "shared");
}

#[tokio::test]
async fn failures_of_2021_have_the_bodies_of_2021() {
    let cluster = cluster().await;
    let (status, body) = cluster.json("/api/unknown").await;
    let expected = json!({"error": "'GET' against '/api/unknown' is not supported"});
    assert_eq!((status, &body), (404, &expected));
    for path in
        ["/api/components/absent", "/api/traits/absent", "/api/workloads/absent", "/api/definitions/absent"]
    {
        let (status, body) = cluster.json(path).await;
        assert_eq!((status, &body["code"]), (404, &json!(404)), "{path}: {body}");
    }
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let answer = cluster.ask(method, "/api/envs/default/apps/shop/components", &cluster.session()).await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["allow"]),
            (405, &"GET, HEAD".parse().unwrap())
        );
    }
    let anew = cluster.ask(Method::GET, "/api/envs", &[("host", crate::cluster::HOST)]).await;
    assert_eq!(anew.status(), 401, "without a session");
}
