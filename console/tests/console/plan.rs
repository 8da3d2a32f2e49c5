//! Plans: what deploying a manifest would do, and what is refused of it.

use serde_json::{Value, json};
use vela_console::Options;

use crate::cluster::{Cluster, FORM, SECRET};

const PLAN: &str = "/api/v1/plan";
const YAML: (&str, &str) = ("content-type", "application/yaml");
const TOKEN: (&str, &str) = ("x-csrf-token", FORM);
const V1BETA1: &str = "core.oam.dev/v1beta1";

pub(crate) fn manifest(image: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: site\nspec:\n  components:\n    - name: front\n      \
         type: plain\n      properties:\n        image: {image}\n"
    )
}

/// With a type that makes a ConfigMap and a Secret.
pub(crate) async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    let template = format!(
        "parameter: {{image: string, password: *\"{SECRET}\" | string}}\n\
         output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.image}}\n\
         outputs: hidden: {{apiVersion: \"v1\", kind: \"Secret\", metadata: name: \"hidden\", stringData: password: parameter.password}}\n"
    );
    let workload = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    cluster
        .create(json!({
            "apiVersion": V1BETA1, "kind": "ComponentDefinition", "metadata": {"name": "plain", "namespace": "default"},
            "spec": {"workload": workload, "schematic": {"cue": {"template": template}}},
        }))
        .await;
    cluster
}

async fn plan(cluster: &Cluster, text: &str) -> Value {
    let (status, body) = cluster.post(PLAN, &[YAML, TOKEN], text).await;
    assert_eq!(status, 200, "{body}");
    assert!(!body.contains(SECRET), "{body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn a_plan_of_a_new_application_creates_it_and_its_objects() {
    let cluster = cluster().await;
    let found = plan(&cluster, &manifest("nginx")).await;
    let changes = &found["changes"];
    assert_eq!((&found["valid"], &changes["resourceVersion"]), (&json!(true), &json!("")), "{found}");
    assert_eq!(changes["application"]["change"], "created", "{found}");
    let made: Vec<(&Value, &Value)> =
        changes["objects"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["change"])).collect();
    let created = json!("created");
    assert_eq!(made, [(&json!("ConfigMap"), &created), (&json!("Secret"), &created)], "{found}");
    assert_eq!(
        cluster.json("/api/v1/namespaces/default/applications/site").await.0,
        404,
        "nothing is written"
    );
}

#[tokio::test]
async fn a_plan_tells_what_changes_field_by_field() {
    let cluster = cluster().await;
    let text = manifest("nginx");
    let mut stored: Value = serde_json::json!({"apiVersion": V1BETA1, "kind": "Application",
        "metadata": {"name": "site", "namespace": "default"},
        "spec": {"components": [{"name": "front", "type": "plain", "properties": {"image": "nginx:1"}}]}});
    stored = cluster.create(stored).await;
    let metadata = |name: &str| json!({"name": name, "namespace": "default"});
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("front"), "data": {"image": "nginx:1"}}))
        .await;
    cluster
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("hidden"), "stringData": {"password": "another"}}))
        .await;
    cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("former")})).await;
    let former = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "former"});
    let status = json!({"appliedResources": [former]});
    cluster.status(V1BETA1, "Application", "site", status).await;
    let found = plan(&cluster, &text).await;
    let changes = &found["changes"];
    assert_ne!(changes["resourceVersion"], "", "{found}");
    assert_ne!(stored["metadata"]["resourceVersion"], changes["resourceVersion"], "the status was written");
    let image = "spec.components[front].properties.image";
    // Another manager wrote the application, so that the cluster would refuse this one.
    assert_eq!(changes["application"]["change"], "refused", "{found}");
    assert!(changes["application"]["why"].as_str().unwrap().contains("conflict"), "{found} {image}");
    let object = |kind: &str, name: &str| -> Value {
        let all = changes["objects"].as_array().unwrap();
        all.iter().find(|one| one["kind"] == kind && one["name"] == name).unwrap_or(&Value::Null).clone()
    };
    let front = object("ConfigMap", "front");
    assert_eq!(front["change"], "changed", "{found}");
    let field = json!({"path": "data.image", "from": "nginx:1", "to": "nginx"});
    assert!(front["fields"].as_array().unwrap().contains(&field), "{front}");
    let hidden = object("Secret", "hidden");
    let field = json!({"path": "data.password", "from": "(hidden 1)", "to": "(hidden 2)"});
    assert!(hidden["fields"].as_array().unwrap().contains(&field), "{hidden}");
    assert_eq!(object("ConfigMap", "former")["change"], "leftOut", "{found}");
}

#[tokio::test]
async fn a_plan_takes_one_application_and_names_the_rest() {
    let cluster = cluster().await;
    let other = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let found = plan(&cluster, &format!("{}{other}", manifest("nginx"))).await;
    let first = &found["diagnostics"][0];
    assert_eq!(
        (&found["valid"], &first["line"], &first["column"]),
        (&json!(false), &json!(13), &json!(7)),
        "{found}"
    );
    assert!(
        first["message"].as_str().unwrap().contains("ConfigMap") && found["changes"].is_null(),
        "{found}"
    );
    for (text, words) in [
        (manifest("nginx").replace("v1beta1", "v1alpha2"), "of core.oam.dev/v1alpha2"),
        ("kind: Pod\n".to_owned(), "Pod"),
        (format!("{}---\n{}", manifest("a"), manifest("b")), "this is another"),
        (String::new(), "no Application"),
        (manifest("nginx").replace("plain", "plian"), "plian"),
    ] {
        let found = plan(&cluster, &text).await;
        assert!(
            found["valid"] == false && found["diagnostics"].to_string().contains(words),
            "{words}: {found}"
        );
        assert!(found["changes"].is_null(), "{found}");
    }
}

#[tokio::test]
async fn a_masked_value_is_not_taken_for_the_value_of_a_secret() {
    let cluster = cluster().await;
    let text = format!(
        "{}        objects:\n        - kind: Secret\n          data: {{a: (hidden)}}\n",
        manifest("nginx")
    );
    let found = plan(&cluster, &text).await;
    let first = &found["diagnostics"][0];
    assert_eq!((&found["valid"], &first["line"]), (&json!(false), &json!(13)), "{found}");
    assert_eq!(first["path"], "spec.components[0].properties.objects[0].data.a", "{found}");
}

#[tokio::test]
async fn a_console_of_one_namespace_plans_in_no_other() {
    let mut cluster = cluster().await;
    let options = Options { namespace: Some("default".to_owned()), ..Options::default() };
    cluster.serve(cluster.client(), options).await;
    let text = manifest("nginx").replace("name: site", "name: site\n  namespace: kube-system");
    let (status, said) = cluster.post(PLAN, &[YAML, TOKEN], &text).await;
    assert!(status == 403 && said.contains("metadata.namespace"), "{status} {said}");
    assert_eq!(cluster.post(PLAN, &[YAML, TOKEN], &manifest("nginx")).await.0, 200);
}

#[tokio::test]
async fn plans_that_are_foreign_or_too_long_are_refused() {
    let cluster = cluster().await;
    let text = manifest("nginx");
    for (headers, expected) in
        [(vec![YAML], 403), (vec![YAML, TOKEN, ("origin", "http://evil.example")], 403), (vec![TOKEN], 415)]
    {
        assert_eq!(cluster.post(PLAN, &headers, &text).await.0, expected, "{headers:?}");
    }
    let long = "#".repeat(1024 * 1024);
    assert_eq!(cluster.post(PLAN, &[YAML, TOKEN], &long).await.0, 200, "a body of 1 MiB is read");
    assert_eq!(cluster.post(PLAN, &[YAML, TOKEN], &format!("{long}#")).await.0, 413);
}

#[tokio::test]
async fn the_page_of_dry_runs_shows_the_plan() {
    let cluster = cluster().await;
    let encoded = manifest("nginx").replace('\n', "%0D%0A").replace(' ', "+");
    let body = format!("token={FORM}&namespace=default&manifest={encoded}");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let (status, page) = cluster.post("/dry-run", &[form], &body).await;
    assert_eq!(status, 200, "{page}");
    for words in [
        "What deploying it would do",
        "Application default/site</strong> <span class=\"created\">",
        "ConfigMap",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(SECRET), "{page}");
}
