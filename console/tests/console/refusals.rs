//! What the console refuses, and how it says so.

use http::Method;
use serde_json::json;

use crate::cluster::{Cluster, HOST};

#[tokio::test]
async fn a_browser_without_a_session_gets_only_the_style() {
    let cluster = Cluster::new().await;
    for path in ["/", "/api/v1/applications", "/api/openapi.json", "/nowhere", "/api/v1/watch/applications"] {
        let answer = cluster.ask(Method::GET, path, &[("host", HOST)]).await;
        assert_eq!(answer.status(), 401, "{path}");
        let cookie = "vela-console-8080=wrong";
        assert_eq!(cluster.ask(Method::GET, path, &[("host", HOST), ("cookie", cookie)]).await.status(), 401);
    }
    let style = cluster.ask(Method::GET, "/assets/console.css", &[("host", HOST)]).await;
    assert_eq!(
        (style.status().as_u16(), &style.headers()["x-content-type-options"]),
        (200, &"nosniff".parse().unwrap())
    );
}

#[tokio::test]
async fn a_link_lets_one_browser_in_once() {
    let cluster = Cluster::new().await;
    let host = [("host", HOST)];
    assert_eq!(cluster.ask(Method::GET, "/enter?token=wrong", &host).await.status(), 401);
    assert_eq!(cluster.ask(Method::HEAD, "/enter?token=token", &host).await.status(), 303);
    let entered = cluster.ask(Method::GET, "/enter?token=token", &host).await;
    assert_eq!((entered.status().as_u16(), &entered.headers()["location"]), (303, &"/".parse().unwrap()));
    let cookie = entered.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(cluster.ask(Method::GET, "/enter?token=token", &host).await.status(), 401);
}

#[tokio::test]
async fn a_foreign_name_for_this_address_is_refused() {
    let cluster = Cluster::new().await;
    for host in ["evil.example:8080", "127.0.0.1:80"] {
        for path in ["/", "/assets/console.js", "/enter?token=token"] {
            assert_eq!(
                cluster.ask(Method::GET, path, &[("host", host)]).await.status(),
                421,
                "{host} {path}"
            );
        }
    }
}

#[tokio::test]
async fn unknown_paths_and_names_are_a_clear_404() {
    let cluster = Cluster::with_shop().await;
    let base = "/api/v1/namespaces/default/applications";
    for (path, words) in [
        ("/api/v1/nowhere".to_owned(), "nothing at this path"),
        (format!("{base}/absent"), "no application \\\"absent\\\" in namespace \\\"default\\\""),
        (format!("{base}/absent/tree"), "no application"),
        (format!("{base}/absent/events"), "no application"),
        ("/api/v1/watch/namespaces/default/applications/absent".to_owned(), "no application"),
        (format!("{base}/%2e%2e"), "cannot be a name"),
        (
            "/api/v1/namespaces/default/definitions/componentdefinitions/nothing".to_owned(),
            "ComponentDefinition",
        ),
    ] {
        let (status, text) = cluster.text(&path).await;
        assert_eq!(status, 404, "{path}: {text}");
        assert!(text.contains(words) && text.contains("\"reason\":\"NotFound\""), "{path}: {text}");
    }
    let (status, page) = cluster.text("/namespaces/default/applications/absent").await;
    assert!(status == 404 && page.starts_with("<!doctype html>"), "{page}");
}

#[tokio::test]
async fn what_would_change_things_and_wrong_parameters_are_refused() {
    let cluster = Cluster::new().await;
    for method in [Method::POST, Method::DELETE, Method::PUT, Method::PATCH, Method::OPTIONS] {
        let answer = cluster.ask(method, "/api/v1/applications", &cluster.session()).await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["allow"]),
            (405, &"GET, HEAD".parse().unwrap())
        );
    }
    for query in
        ["limit=0", "limit=501", "limit=x", "health=good", "continue=x", "wrong=1", "namespace=A", "search=%"]
    {
        let (status, body) = cluster.json(&format!("/api/v1/applications?{query}")).await;
        assert_eq!((status, &body["kind"]), (400, &json!("Status")), "{query}: {body}");
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_protect_it() {
    let cluster = Cluster::with_shop().await;
    for path in ["/", "/api/v1/applications", "/nowhere", "/assets/console.js", "/api/v1/nowhere"] {
        let answer = cluster.ask(Method::GET, path, &cluster.session()).await;
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        for name in ["x-content-type-options", "referrer-policy", "cache-control", "x-frame-options"] {
            assert!(answer.headers().contains_key(name), "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn the_description_of_the_api_names_every_path_and_type() {
    let cluster = Cluster::new().await;
    let (_, document) = cluster.json("/api/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    let mut references = 0;
    for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        references += 1;
    }
    assert!(references > 10, "{text}");
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key("/api/v1/namespaces/{namespace}/applications/{name}/tree"), "{paths:?}");
    let order = &paths["/api/v1/namespaces/{namespace}/applications/{name}/workflow/{order}"]["post"];
    assert!(order.to_string().contains("X-Csrf-Token") && order.to_string().contains("terminate"), "{order}");
    for (path, item) in paths {
        for part in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            let operation = item.as_object().unwrap().values().next().unwrap();
            let parameters = operation["parameters"].as_array().unwrap();
            assert!(parameters.iter().any(|one| one["name"] == part && one["in"] == "path"), "{path}");
        }
    }
}
