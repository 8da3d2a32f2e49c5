//! Dry runs: findings at their places, objects, and what is refused of what is sent.

use serde_json::{Value, json};

use crate::cluster::{Cluster, FORM, HOST, SECRET};

const RUN: &str = "/api/v1/dry-run";
const YAML: (&str, &str) = ("content-type", "application/yaml");
const TOKEN: (&str, &str) = ("x-csrf-token", FORM);

fn manifest(component_type: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: site\nspec:\n  components:\n    - name: front\n      \
         type: {component_type}\n      properties:\n        image: nginx\n"
    )
}

/// With a type whose objects hold a Secret, too.
async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    let template = format!(
        "parameter: {{image: string}}\noutput: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.image}}\n\
         outputs: hidden: {{apiVersion: \"v1\", kind: \"Secret\", stringData: password: \"{SECRET}\"}}\n"
    );
    cluster
        .create(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "plain", "namespace": "default"},
            "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, "schematic": {"cue": {"template": template}}},
        }))
        .await;
    cluster
}

async fn run(cluster: &Cluster, text: &str) -> Value {
    let (status, body) = cluster.post(RUN, &[YAML, TOKEN], text).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn a_dry_run_shows_the_objects_and_writes_nothing() {
    let cluster = cluster().await;
    let found = run(&cluster, &manifest("plain")).await;
    assert_eq!(found["valid"], true, "{found}");
    let kinds: Vec<&Value> = found["objects"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, [&json!("ConfigMap"), &json!("Secret")], "{found}");
    assert_eq!(found["objects"][0]["data"]["image"], "nginx", "{found}");
    assert!(!found.to_string().contains(SECRET), "{found}");
    assert_eq!(cluster.json("/api/v1/namespaces/default/applications/site").await.0, 404);
}

#[tokio::test]
async fn a_dry_run_tells_each_mistake_at_its_place() {
    let cluster = cluster().await;
    let found = run(&cluster, &manifest("plian")).await;
    let first = &found["diagnostics"][0];
    assert_eq!((&found["valid"], &first["severity"]), (&json!(false), &json!("error")), "{found}");
    assert_eq!((&first["line"], &first["column"]), (&json!(8), &json!(13)), "{found}");
    let broken = run(&cluster, "a: [").await;
    assert!(broken["diagnostics"][0]["code"] == "syntax" && broken["objects"] == json!([]), "{broken}");
    let none = run(&cluster, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").await;
    assert!(none["valid"] == false && none["passedOver"].to_string().contains("ConfigMap"), "{none}");
}

#[tokio::test]
async fn what_another_site_could_send_is_refused() {
    let cluster = cluster().await;
    let text = manifest("plain");
    let origin = format!("http://{HOST}");
    for (headers, status) in [
        (vec![YAML], 403),
        (vec![YAML, ("x-csrf-token", "wrong")], 403),
        (vec![YAML, TOKEN, ("origin", "http://evil.example")], 403),
        (vec![YAML, TOKEN, ("origin", "null")], 403),
        (vec![YAML, TOKEN, ("sec-fetch-site", "cross-site")], 403),
        (vec![TOKEN], 415),
        (vec![TOKEN, ("content-type", "image/png")], 415),
        (vec![YAML, TOKEN, ("origin", origin.as_str())], 200),
    ] {
        let (found, body) = cluster.post(RUN, &headers, &text).await;
        assert_eq!(found, status, "{headers:?}: {body}");
    }
    let (status, body) = cluster.post(RUN, &[YAML, TOKEN], &"#".repeat(1024 * 1024 + 1)).await;
    assert!(status == 413 && body.contains("RequestEntityTooLarge"), "{body}");
    assert_eq!(cluster.json("/api/v1/csrf-token").await.1, json!({"token": FORM}));
    assert_eq!(cluster.text(RUN).await.0, 405);
    assert_eq!(cluster.post(&format!("{RUN}?namespace=A"), &[YAML, TOKEN], &text).await.0, 400);
}

#[tokio::test]
async fn the_form_of_dry_runs_works_without_a_script() {
    let cluster = cluster().await;
    let (status, page) = cluster.text("/dry-run").await;
    assert!(status == 200 && page.contains("<textarea") && page.contains(FORM), "{page}");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let encoded = |text: &str| text.replace('\n', "%0D%0A").replace(' ', "+");
    let body = format!("token={FORM}&namespace=default&manifest={}", encoded(&manifest("plian")));
    let (status, page) = cluster.post("/dry-run", &[form], &body).await;
    assert_eq!(status, 200, "{page}");
    for words in ["8:13 ", "      type: plian\n            ^</pre>", "It would not run", "  name: site\n"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let hostile = format!("token={FORM}&manifest={}", encoded("</textarea><script>alert(1)</script>"));
    let (_, page) = cluster.post("/dry-run", &[form], &hostile).await;
    assert!(!page.contains("<script>") && page.matches("</textarea>").count() == 1, "{page}");
    assert_eq!(cluster.post("/dry-run", &[form], "manifest=a").await.0, 403);
}
