//! Where the values of objects come from, on the page and for programs.

use serde_json::{Value, json};

use crate::cluster::{Cluster, SECRET, application};

const SITE: &str = "/namespaces/default/applications/site";

/// With an application of a type whose objects hold a Secret, and of a trait that patches.
async fn cluster() -> Cluster {
    let cluster = Cluster::new().await;
    let template = "parameter: {image: string, password: string}\n\
                    output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: {image: parameter.image, mode: \"plain\"}}\n\
                    outputs: hidden: {apiVersion: \"v1\", kind: \"Secret\", stringData: password: parameter.password}\n";
    let schematic = |template: &str| json!({"cue": {"template": template}});
    let workload = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    for (kind, name, spec) in [
        ("ComponentDefinition", "plain", json!({"workload": workload, "schematic": schematic(template)})),
        (
            "TraitDefinition",
            "note",
            json!({"schematic": schematic("parameter: {text: string}\npatch: data: note: parameter.text\n")}),
        ),
    ] {
        let metadata = json!({"name": name, "namespace": "default"});
        let api_version = "core.oam.dev/v1beta1";
        cluster
            .create(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}))
            .await;
    }
    let mut site = application("site");
    let note = json!({"type": "note", "properties": {"text": "two\nlines: yes"}});
    site["spec"]["components"] = json!([{"name": "front", "type": "plain",
        "properties": {"password": SECRET, "image": "nginx"}, "traits": [note]}]);
    cluster.create(site).await;
    cluster.until(&format!("/api/v1{SITE}"), |found| found["summary"].is_object()).await;
    cluster
}

fn origin<'a>(object: &'a Value, path: &str) -> &'a Value {
    let mut all = object["origins"].as_array().unwrap().iter();
    all.find(|origin| origin["path"] == path).unwrap_or_else(|| panic!("{path}: {object}"))
}

#[tokio::test]
async fn values_are_explained_by_field_and_definition() {
    let cluster = cluster().await;
    let (status, found) = cluster.json(&format!("/api/v1{SITE}/explain")).await;
    assert_eq!((status, &found["diagnostics"]), (200, &json!([])), "{found}");
    let objects = found["objects"].as_array().unwrap();
    assert_eq!((objects.len(), &objects[0]["component"]), (2, &json!("front")), "{found}");
    for (object, path, given, definition, line) in [
        (0, "data.image", "spec.components[0].properties.image", "component definition \"plain\"", 2),
        (0, "data.mode", "", "component definition \"plain\"", 2),
        (0, "data.note", "spec.components[0].traits[0].properties.text", "trait definition \"note\"", 2),
        (
            1,
            "stringData.password",
            "spec.components[0].properties.password",
            "component definition \"plain\"",
            3,
        ),
    ] {
        let found = origin(&objects[object], path);
        assert_eq!(
            (&found["given"], &found["definition"], &found["line"]),
            (&json!(given), &json!(definition), &json!(line)),
            "{path}"
        );
    }
    assert!(!found.to_string().contains(SECRET), "{found}");
    assert_eq!(cluster.json("/api/v1/namespaces/default/applications/absent/explain").await.0, 404);
}

#[tokio::test]
async fn the_page_of_origins_shows_each_line_with_its_place() {
    let cluster = cluster().await;
    let (status, page) = cluster.text(&format!("{SITE}/explain")).await;
    assert_eq!(status, 200, "{page}");
    for words in [
        "  image: &quot;nginx&quot;</code> <span class=\"origin\">from spec.components[0].properties.image by component",
        "  note: &quot;two\\nlines: yes&quot;</code> <span class=\"origin\">from spec.components[0].traits[0].properties.text",
        "(hidden)",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(SECRET), "{page}");
    assert_eq!(cluster.text("/namespaces/default/applications/absent/explain").await.0, 404);
    let (_, page) = cluster.text(SITE).await;
    assert!(page.contains(&format!("href=\"{SITE}/explain\"")), "{page}");
}

#[tokio::test]
async fn what_keeps_an_application_from_rendering_is_told() {
    let cluster = cluster().await;
    let broken = json!({"spec": {"components": [{"name": "front", "type": "plian"}]}});
    cluster.merge("core.oam.dev/v1beta1", "Application", "site", broken).await;
    let path = format!("/api/v1{SITE}/explain");
    cluster.until(&path, |found| found["diagnostics"][0]["severity"] == "error").await;
    let (_, found) = cluster.json(&path).await;
    let first = &found["diagnostics"][0];
    assert_eq!((&found["objects"], &first["line"]), (&json!([]), &json!(0)), "{found}");
    assert!(first["path"].as_str().unwrap().starts_with("spec.components[0]"), "{found}");
}
