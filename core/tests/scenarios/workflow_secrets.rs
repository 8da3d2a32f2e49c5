//! Workflows whose steps read Secrets: what is stored where, and what no user may read.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, until_or};
use super::workflows::{applies, phases, resume, shop};

const OAM: &str = "core.oam.dev/v1beta1";
const WORD: &str = "swordfish-in-the-sea";

/// A step that reads a Secret, and says what is in it.
const READ: &str = r#"
import ("vela/kube", "vela/builtin")
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "Secret", metadata: name: parameter.name}}
say: builtin.#Message & {$params: message: "it is " + read.$returns.value.data.word}
output: read.$returns.value.data.word
parameter: name: string
"#;

fn definition(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": OAM,
        "kind": "WorkflowStepDefinition",
        "metadata": {"name": name},
        "spec": {"schematic": {"cue": {"template": template}}},
    })
}

#[tokio::test]
async fn what_a_step_reads_of_a_secret_is_stored_in_a_secret() {
    let cluster = TestCluster::new().await;
    let keys = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
        "data": {"word": ByteString(WORD.as_bytes().to_vec())}});
    let encoded = keys["data"]["word"].as_str().unwrap().to_owned();
    cluster.create(keys).await;
    cluster.create(definition("read-key", READ)).await;
    let steps = json!([
        {"name": "key", "type": "read-key", "properties": {"name": "keys"},
            "outputs": [{"name": "word", "valueFrom": "output"}]},
        {"name": "hold", "type": "suspend"},
        applies("back", &json!({"if": format!("inputs.word == \"{encoded}\""), "inputs": [{"from": "word"}]})),
        applies("front", &json!({})),
    ]);
    cluster.create(shop(&steps)).await;
    cluster.phase("shop", "workflowSuspending").await;
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    assert!(values["data"]["confidential"].is_string(), "{values}");
    let secret = cluster.get("v1", "Secret", "workflow-shop-context").await.unwrap();
    assert!(secret["data"]["vars"].is_string(), "the value is there");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["name"], "shop");
    let shown = format!("{values}{}", cluster.application("shop").await["status"]);
    assert!(!shown.contains(WORD) && !shown.contains(&encoded), "{shown}");

    // The value is there for a step that comes later.
    resume(&cluster).await;
    cluster.phase("shop", "running").await;
    let expected = ["key succeeded", "hold succeeded", "back succeeded", "front succeeded"];
    assert_eq!(phases(&cluster.application("shop").await), expected);
}

#[tokio::test]
async fn a_foreign_secret_is_not_overwritten() {
    let cluster = TestCluster::new().await;
    let secret = |name: &str| {
        let word = ByteString(WORD.as_bytes().to_vec());
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"word": word}})
    };
    cluster.create(secret("keys")).await;
    cluster.create(secret("workflow-shop-context")).await;
    cluster.create(definition("read-key", READ)).await;
    let steps = json!([
        {"name": "key", "type": "read-key", "properties": {"name": "keys"},
            "outputs": [{"name": "word", "valueFrom": "output"}]},
        applies("back", &json!({})),
        applies("front", &json!({})),
    ]);
    cluster.create(shop(&steps)).await;
    let conditions = || async { cluster.application("shop").await["status"]["conditions"].to_string() };
    let is_refused = |said: &String| said.contains("belongs to another owner");
    until_or("the name is taken", conditions, is_refused).await;
    let theirs = cluster.get("v1", "Secret", "workflow-shop-context").await.unwrap();
    assert!(theirs["data"]["vars"].is_null() && theirs["data"]["word"].is_string(), "{theirs}");
}

/// A step that reads an object of either kind.
const COPY: &str = r#"
import "vela/kube"
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: parameter.kind, metadata: name: "words"}}
parameter: kind: string
"#;

#[tokio::test]
async fn what_steps_saw_is_recorded_where_a_policy_asks_for_it() {
    let cluster = TestCluster::new().await;
    let object = |kind: &str| {
        let value = match kind {
            "Secret" => json!(ByteString(WORD.as_bytes().to_vec())),
            _ => json!("plain-words"),
        };
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "words"}, "data": {"word": value}})
    };
    for kind in ["ConfigMap", "Secret"] {
        cluster.create(object(kind)).await;
    }
    cluster.create(definition("copy", COPY)).await;
    let copy = |name: &str, kind: &str| json!({"name": name, "type": "copy", "properties": {"kind": kind}});
    let steps = [
        copy("shown", "ConfigMap"),
        copy("hidden", "Secret"),
        applies("back", &json!({})),
        applies("front", &json!({})),
    ];
    let mut shop = shop(&json!(steps));
    shop["spec"]["policies"] = json!([{"name": "look", "type": "debug"}]);
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    let uid = shop["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let mut seen = Vec::new();
    for step in 0..2 {
        let id = shop["status"]["workflow"]["steps"][step]["id"].as_str().unwrap_or_default();
        let name = format!("shop-{id}-debug-{}", &uid[uid.len() - 5..]);
        let record = cluster.get("v1", "ConfigMap", &name).await.unwrap();
        assert_eq!(record["metadata"]["ownerReferences"][0]["name"], "shop");
        seen.push(record["data"]["debug"].as_str().unwrap_or_default().to_owned());
    }
    assert!(seen[0].contains("plain-words") && seen[0].contains("kube read"), "{}", seen[0]);
    assert!(!seen[1].contains(WORD) && seen[1].contains("kube read"), "{}", seen[1]);
    assert!(seen[1].contains("the step saw a Secret"), "{}", seen[1]);
}
