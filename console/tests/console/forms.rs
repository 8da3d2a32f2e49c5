//! Forms of new applications: what they ask for, the manifests made of them, and what is wrong beside its field.

use serde_json::json;

use crate::cluster::{Cluster, FORM};

const PAGE: &str = "/namespaces/default/definitions/componentdefinitions/rich/new";
const FORM_TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    let template = "parameter: {\n\t// +usage=Which image\n\timage: string\n\tport?: int\n\tdebug?: bool\n\
                    \tlevel?: \"low\" | \"high\"\n\targs?: [...string]\n\tlabels?: [string]: string\n}\n\
                    output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.image}\n";
    let workload = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    cluster
        .create(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "rich", "namespace": "default"},
            "spec": {"workload": workload, "schematic": {"cue": {"template": template}}},
        }))
        .await;
    cluster
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let escape = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let text = |text: &str| text.bytes().map(escape).collect::<String>();
    let all: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect();
    all.join("&")
}

fn own() -> Vec<(&'static str, &'static str)> {
    vec![("token", FORM), ("name", "site"), ("namespace", "default"), ("component", "front")]
}

#[tokio::test]
async fn a_form_asks_for_the_parameters_of_a_type() {
    let cluster = cluster().await;
    let (status, page) = cluster.text(PAGE).await;
    assert_eq!(status, 200, "{page}");
    for words in [
        "Which image",
        "(required)",
        "<select id=\"p.debug\"",
        "<option value=\"high\">",
        "one in each line",
        "<textarea id=\"p.labels\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(cluster.text(&PAGE.replace("rich", "absent")).await.0, 404);
    assert_eq!(cluster.text(&PAGE.replace("componentd", "traitd")).await.0, 404);
    let (_, page) = cluster.text(PAGE.trim_end_matches("/new")).await;
    assert!(page.contains("New application"), "{page}");
}

#[tokio::test]
async fn a_form_becomes_a_manifest_with_its_plan() {
    let cluster = cluster().await;
    let mut fields = own();
    fields.extend([("p.image", "a: b"), ("p.port", "80"), ("p.debug", "false"), ("p.level", "high")]);
    fields.extend([("p.args", "-x\r\ny"), ("p.labels", "a: b")]);
    let (status, page) = cluster.post(PAGE, &[FORM_TYPE], &encoded(&fields)).await;
    assert_eq!(status, 200, "{page}");
    for words in
        ["It would run.", "is created", "port: 80", "debug: false", "level: high", "image: &quot;a: b&quot;"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test]
async fn a_mistake_is_shown_beside_its_field() {
    let cluster = cluster().await;
    let mut fields = own();
    fields[1].1 = "No Name";
    fields.extend([("p.port", "many"), ("p.labels", "a: [")]);
    let (status, page) = cluster.post(PAGE, &[FORM_TYPE], &encoded(&fields)).await;
    assert_eq!(status, 422, "{page}");
    for id in ["wrong-name", "wrong-p.image", "wrong-p.port", "wrong-p.labels"] {
        assert!(page.contains(&format!("<p class=\"error\" id=\"{id}\">")), "{id}: {page}");
    }
    assert!(page.contains("value=\"many\"") && page.contains("is no whole number"), "{page}");
}

#[tokio::test]
async fn markup_in_any_field_stays_text() {
    let cluster = cluster().await;
    for name in
        ["name", "namespace", "component", "p.image", "p.port", "p.debug", "p.level", "p.args", "p.labels"]
    {
        let mut fields: Vec<(&str, &str)> = own().into_iter().filter(|(own, _)| *own != name).collect();
        if name != "p.image" {
            fields.push(("p.image", "nginx"));
        }
        fields.push((name, "</textarea><script>alert(1)</script>"));
        let (status, page) = cluster.post(PAGE, &[FORM_TYPE], &encoded(&fields)).await;
        assert!([200, 422].contains(&status), "{name}: {page}");
        assert!(!page.contains("<script>"), "{name}: {page}");
    }
}

#[tokio::test]
async fn forms_that_are_foreign_are_refused() {
    let cluster = cluster().await;
    let (fields, site) = (encoded(&own()), ("origin", "http://evil.example:8080"));
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE], &encoded(&own()[1..])).await.0, 403);
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE, site], &fields).await.0, 403);
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE], &format!("{fields}&other=1")).await.0, 400);
    assert_eq!(cluster.post(PAGE, &[FORM_TYPE], &"a".repeat(1024 * 1024 + 1)).await.0, 413);
}
