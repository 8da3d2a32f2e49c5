//! Applications that are deployed and deleted, by programs and by forms, and what is refused of it.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use vela_console::{Audit, Options};

use crate::cluster::{Cluster, FORM, SECRET};
use crate::plan::{cluster, manifest};

pub(crate) const SITE: &str = "/api/v1/namespaces/default/applications/site";
pub(crate) const YAML: (&str, &str) = ("content-type", "application/yaml");
pub(crate) const TOKEN: (&str, &str) = ("x-csrf-token", FORM);
pub(crate) const FORM_TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

pub(crate) fn that_changes() -> Options {
    Options { changes_as: Some("vela-cli".to_owned()), ..Options::default() }
}

pub(crate) async fn writing() -> Cluster {
    let mut cluster = cluster().await;
    cluster.serve(cluster.client(), that_changes()).await;
    cluster.until("/api/v1/applications", |list| list["items"][0]["phase"] == "running").await;
    cluster
}

async fn put(cluster: &Cluster, seen: &str, text: &str) -> (u16, String) {
    let path = format!("{SITE}?resourceVersion={seen}");
    cluster.sent(Method::PUT, &path, &[YAML, TOKEN], text).await
}

pub(crate) async fn planned(cluster: &Cluster, text: &str) -> Value {
    let (_, body) = cluster.post("/api/v1/plan", &[YAML, TOKEN], text).await;
    serde_json::from_str::<Value>(&body).unwrap()["changes"].take()
}

pub(crate) async fn stored(cluster: &Cluster) -> Value {
    cluster.get("core.oam.dev/v1beta1", "Application", "site").await
}

#[tokio::test]
async fn an_application_is_created_and_changed_as_it_was_planned() {
    let cluster = writing().await;
    let (status, said) = put(&cluster, "", &manifest("nginx:1")).await;
    assert_eq!(status, 200, "{said}");
    let first = stored(&cluster).await;
    let writers: Vec<(&Value, &Value)> = first["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (&entry["manager"], &entry["operation"]))
        .collect();
    assert_eq!(writers, [(&json!("vela-cli"), &json!("Apply"))], "{first}");
    assert_eq!(planned(&cluster, &manifest("nginx:1")).await["application"]["change"], "unchanged");
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    let field =
        json!({"path": "spec.components[front].properties.image", "from": "nginx:1", "to": "nginx:2"});
    assert_eq!(changes["application"]["fields"], json!([field]), "{changes}");
    let (status, said) =
        put(&cluster, changes["resourceVersion"].as_str().unwrap(), &manifest("nginx:2")).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(stored(&cluster).await["spec"]["components"][0]["properties"]["image"], "nginx:2");
}

#[tokio::test]
async fn a_change_in_between_is_not_written_over() {
    let cluster = writing().await;
    let seen = planned(&cluster, &manifest("a")).await["resourceVersion"].as_str().unwrap().to_owned();
    assert_eq!(put(&cluster, &seen, &manifest("a")).await.0, 200);
    let (status, said) = put(&cluster, &seen, &manifest("b")).await;
    assert!(status == 409 && said.contains("was created since the plan"), "{status} {said}");
    let seen = planned(&cluster, &manifest("b")).await["resourceVersion"].as_str().unwrap().to_owned();
    cluster
        .merge("core.oam.dev/v1beta1", "Application", "site", json!({"metadata": {"labels": {"x": "y"}}}))
        .await;
    let (status, said) = put(&cluster, &seen, &manifest("b")).await;
    assert!(status == 409 && said.contains("changed since the plan"), "{status} {said}");
    assert_eq!(stored(&cluster).await["spec"]["components"][0]["properties"]["image"], "a");
    let (status, said) = cluster.sent(Method::PUT, &SITE.replace("site", "gone"), &[YAML, TOKEN], "").await;
    assert_eq!(status, 422, "{said}");
}

#[tokio::test]
async fn fields_of_another_program_are_not_taken_over() {
    let cluster = writing().await;
    let path = "/api/v1/namespaces/default/applications/shop";
    let text = manifest("nginx").replace("site", "shop").replace("front", "cart");
    let changes = planned(&cluster, &text).await;
    let seen = changes["resourceVersion"].as_str().unwrap();
    let (status, said) =
        cluster.sent(Method::PUT, &format!("{path}?resourceVersion={seen}"), &[YAML, TOKEN], &text).await;
    assert!(
        status == 409 && said.contains("conflict") && said.contains("--force-conflicts"),
        "{status} {said}"
    );
}

#[tokio::test]
async fn what_does_not_fit_or_would_not_run_is_not_written() {
    let cluster = writing().await;
    let text = manifest("nginx");
    for (text, words) in [
        (text.replace("name: site", "name: other"), "metadata.name"),
        (text.replace("name: site", "name: site\n  namespace: kube-system"), "metadata.namespace"),
        (text.replace("plain", "plian"), "8:13 "),
        (text.replace("v1beta1", "v1alpha2"), "v1alpha2"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\n".to_owned(), "ConfigMap"),
        (format!("{text}---\n{text}"), "this is another"),
        ("a: [".to_owned(), "would not run"),
    ] {
        let (status, said) = put(&cluster, "", &text).await;
        assert!(status == 422 && said.contains(words), "{words}: {status} {said}");
    }
    let (_, said) = put(&cluster, "", &text.replace("plain", "plian")).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["details"]["causes"][0]["field"], "spec.components[0].type", "{said}");
    assert_eq!(cluster.json(SITE).await.0, 404);
}

#[tokio::test]
async fn a_console_that_only_reads_or_is_elsewhere_writes_nothing() {
    let mut cluster = cluster().await;
    let (status, said) = put(&cluster, "", &manifest("nginx")).await;
    assert!(status == 403 && said.contains("--allow-changes"), "{status} {said}");
    let shop = "/api/v1/namespaces/default/applications/shop";
    assert_eq!(cluster.sent(Method::DELETE, shop, &[TOKEN], "").await.0, 403);
    let options = Options { namespace: Some("other".to_owned()), ..that_changes() };
    cluster.serve(cluster.client(), options).await;
    let (status, said) = put(&cluster, "", &manifest("nginx")).await;
    assert!(status == 403 && said.contains("namespace \\\"other\\\" alone"), "{status} {said}");
    assert_eq!(cluster.sent(Method::DELETE, shop, &[TOKEN], "").await.0, 403);
}

#[tokio::test]
async fn writes_that_are_foreign_are_refused() {
    let cluster = writing().await;
    let site = ("origin", "http://evil.example:8080");
    for (method, headers) in [
        (Method::PUT, vec![YAML]),
        (Method::PUT, vec![YAML, TOKEN, site]),
        (Method::PUT, vec![YAML, TOKEN, ("sec-fetch-site", "cross-site")]),
        (Method::DELETE, vec![]),
        (Method::DELETE, vec![TOKEN, site]),
    ] {
        assert_eq!(
            cluster.sent(method.clone(), SITE, &headers, &manifest("a")).await.0,
            403,
            "{method} {headers:?}"
        );
    }
    assert_eq!(cluster.sent(Method::PUT, SITE, &[TOKEN], "").await.0, 415);
    assert_eq!(cluster.sent(Method::PUT, &format!("{SITE}?a=b"), &[YAML, TOKEN], "").await.0, 400);
    assert_eq!(cluster.json(&format!("{SITE}?resourceVersion=1")).await.0, 400, "a reader takes none");
    let long = "#".repeat(1024 * 1024 + 1);
    assert_eq!(put(&cluster, "", &long).await.0, 413);
    for path in ["/deploy", "/namespaces/default/applications/shop/delete"] {
        assert_eq!(cluster.post(path, &[FORM_TYPE], "manifest=a").await.0, 403, "{path}");
        assert_eq!(cluster.post(path, &[FORM_TYPE, site], &format!("token={FORM}")).await.0, 403, "{path}");
    }
    assert_eq!(cluster.json(SITE).await.0, 404);
}

pub(crate) fn encoded(text: &str) -> String {
    let escape = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.replace('\n', "\r\n").bytes().map(escape).collect()
}

#[tokio::test]
async fn a_page_deploys_what_it_planned_and_leads_to_it() {
    let cluster = writing().await;
    let form = format!("token={FORM}&namespace=default&manifest={}", encoded(&manifest("nginx")));
    let (_, page) = cluster.post("/dry-run", &[FORM_TYPE], &form).await;
    assert!(page.contains("action=\"/deploy\"") && page.contains("<button>Deploy site</button>"), "{page}");
    let (status, said) = cluster.post("/deploy", &[FORM_TYPE], &format!("{form}&resourceVersion=")).await;
    let path = "/namespaces/default/applications/site";
    assert!(status == 303 && said.contains(path), "{status} {said}");
    let (status, page) = cluster.text(path).await;
    assert!(status == 200 && page.contains("/edit\">Edit") && page.contains("/delete\">Delete"), "{page}");
    // What a person wrote is not lost where it is refused.
    let (status, page) = cluster.post("/deploy", &[FORM_TYPE], &format!("{form}&resourceVersion=")).await;
    assert!(status == 409 && page.contains("was created since") && page.contains("image: nginx"), "{page}");
}

#[tokio::test]
async fn what_is_edited_has_no_bookkeeping_and_no_secret() {
    let cluster = writing().await;
    let (status, page) = cluster.text("/namespaces/default/applications/shop/edit").await;
    assert!(status == 200 && page.contains("kind: Application") && page.contains("(hidden)"), "{page}");
    for words in [SECRET, "status:", "managedFields", "resourceVersion:", "uid:"] {
        assert!(!page.contains(words), "{words}: {page}");
    }
    assert_eq!(cluster.text("/namespaces/default/applications/absent/edit").await.0, 404);
}

#[tokio::test]
async fn a_page_asks_before_it_deletes() {
    let cluster = writing().await;
    let path = "/namespaces/default/applications/shop/delete";
    let (_, page) = cluster.text(path).await;
    assert!(page.contains("cart-config") && page.contains("<button>Delete shop</button>"), "{page}");
    assert_eq!(cluster.post(path, &[FORM_TYPE], &format!("token={FORM}")).await.0, 303);
    cluster.until("/api/v1/applications", |list| list["items"] == json!([])).await;
    let (status, said) =
        cluster.sent(Method::DELETE, "/api/v1/namespaces/default/applications/shop", &[TOKEN], "").await;
    assert_eq!(status, 404, "{said}");
}

#[tokio::test]
async fn each_write_has_an_audit_also_one_that_is_refused() {
    let mut cluster = cluster().await;
    let (audit, mut audits) = mpsc::channel::<Audit>(8);
    cluster.serve(cluster.client(), Options { audit: Some(audit), ..that_changes() }).await;
    cluster.until("/api/v1/applications", |list| list["items"][0]["phase"] == "running").await;
    put(&cluster, "", &manifest("a")).await;
    put(&cluster, "", &manifest("b")).await;
    cluster.until(SITE, |found| found["summary"].is_object()).await;
    cluster.sent(Method::DELETE, SITE, &[TOKEN], "").await;
    for (order, outcome) in [("deploy", "done"), ("deploy", "409: "), ("delete", "done")] {
        let found = tokio::time::timeout(Duration::from_secs(30), audits.recv()).await.unwrap().unwrap();
        assert_eq!((&*found.order, &*found.object), (order, "Application default/site"), "{found}");
        assert!(found.outcome.starts_with(outcome), "{found}");
    }
}
