//! Workflow steps that list and delete objects, and that make, read and delete configs.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

fn with_steps(name: &str, steps: &Value) -> Value {
    let mut application = application(name, &[web(&format!("{name}-back"), "nginx:1")]);
    application["spec"]["workflow"] = json!({"steps": steps});
    application
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {"group": "nightly"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}},
    })
}

fn step<'a>(application: &'a Value, name: &str) -> &'a Value {
    let steps = application["status"]["workflow"]["steps"].as_array();
    steps.into_iter().flatten().find(|step| step["name"] == name).unwrap_or(&Value::Null)
}

#[tokio::test]
async fn only_jobs_of_the_application_are_deleted_by_their_labels() {
    let cluster = TestCluster::new().await;
    cluster.create(job("foreign")).await;
    let steps = json!([
        {"name": "make", "type": "apply-object", "properties": {"value": job("nightly")}},
        {"name": "hold", "type": "suspend"},
        {"name": "clean", "type": "clean-jobs", "properties": {"labelselector": {"group": "nightly"}}},
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
    ]);
    cluster.create(with_steps("shop", &steps)).await;
    cluster.phase("shop", "workflowSuspending").await;
    assert!(cluster.get("batch/v1", "Job", "nightly").await.is_some());
    let mut workflow = cluster.application("shop").await["status"]["workflow"].clone();
    workflow["suspend"] = json!(false);
    workflow["steps"][1]["phase"] = json!("running");
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    let api = cluster.api(OAM, "Application").await;
    api.patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
    cluster.phase("shop", "running").await;
    cluster.gone("batch/v1", "Job", "nightly").await;
    assert!(cluster.get("batch/v1", "Job", "foreign").await.is_some(), "it is not the application's");
}

#[tokio::test]
async fn what_a_step_lists_is_of_its_namespace() {
    let cluster = TestCluster::new().await;
    let template = r#"
import ("vela/kube", "vela/builtin")
list: kube.#List & {$params: {resource: {apiVersion: "v1", kind: "ConfigMap"}, filter: matchingLabels: group: "a"}}
found: [for one in list.$returns.values.items {one.metadata.name}]
say: builtin.#Message & {$params: message: "\(list.$returns.values.kind) \(found[0])"}
everywhere: kube.#List & {$params: {resource: {apiVersion: "v1", kind: "ConfigMap"}, filter: namespace: "default"}}
refusal: everywhere.$returns.err
"#;
    let definition = json!({
        "apiVersion": OAM, "kind": "WorkflowStepDefinition", "metadata": {"name": "look"},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    cluster.create(definition).await;
    let labels = json!({"group": "a"});
    let note =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note", "labels": labels}});
    cluster.create(note).await;
    let steps = json!([
        {"name": "look", "type": "look", "outputs": [{"name": "refusal", "valueFrom": "refusal"}]},
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
    ]);
    cluster.create(with_steps("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    assert_eq!(step(&shop, "look")["message"], "ConfigMapList note", "{}", shop["status"]);
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    assert!(values["data"]["vars"].to_string().contains("of its own namespace"), "{values}");
}

#[tokio::test]
async fn configs_are_made_read_and_deleted_and_have_no_owner() {
    let cluster = TestCluster::new().await;
    let template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config-template-database"},
        "data": {"template": r#"
template: {
	parameter: host: string
	outputs: note: {
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: name: context.name + "-note"
		data: host: parameter.host
	}
}
"#},
    });
    cluster.create(template).await;
    let config = json!({"name": "db", "config": {"host": "10.0.0.1"}, "template": format!("{}/database", cluster.namespace)});
    let steps = json!([
        {"name": "make", "type": "create-config", "properties": config},
        {"name": "read", "type": "read-config", "properties": {"name": "db"},
            "outputs": [{"name": "host", "valueFrom": "output.$returns.config.host"}]},
        {"name": "list", "type": "list-config", "properties": {"template": "database"},
            "outputs": [{"name": "first", "valueFrom": "output.$returns.configs[0].name"}]},
        {"name": "back", "type": "apply-component", "properties": {"component": "maker-back"},
            "inputs": [{"from": "host"}, {"from": "first"}],
            "if": "inputs.host == \"10.0.0.1\" && inputs.first == \"db\""},
    ]);
    cluster.create(with_steps("maker", &steps)).await;
    cluster.phase("maker", "running").await;
    assert!(cluster.deployment("maker-back").await.is_some());
    let secret = cluster.get("v1", "Secret", "db").await.unwrap();
    assert_eq!(secret["metadata"]["labels"]["config.oam.dev/catalog"], "velacore-config");
    assert_eq!(secret["metadata"]["labels"]["config.oam.dev/type"], "database");
    let note = cluster.get("v1", "ConfigMap", "db-note").await.unwrap();
    assert_eq!(note["data"]["host"], "10.0.0.1");
    cluster.delete(OAM, "Application", "maker").await;
    cluster.gone(OAM, "Application", "maker").await;
    assert!(cluster.get("v1", "Secret", "db").await.is_some(), "it has no owner");

    let steps = json!([
        {"name": "drop", "type": "delete-config", "properties": {"name": "db"}},
        {"name": "back", "type": "apply-component", "properties": {"component": "dropper-back"}},
    ]);
    cluster.create(with_steps("dropper", &steps)).await;
    cluster.phase("dropper", "running").await;
    cluster.gone("v1", "Secret", "db").await;
    cluster.gone("v1", "ConfigMap", "db-note").await;
}

#[tokio::test]
async fn a_secret_that_is_no_config_is_left_alone() {
    let cluster = TestCluster::new().await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"key": "hidden-value"},
    });
    cluster.create(secret).await;
    let steps = json!([
        {"name": "make", "type": "create-config", "properties": {"name": "db", "config": {"host": "a"}}},
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
    ]);
    cluster.create(with_steps("shop", &steps)).await;
    let failed = |shop: &Value| step(shop, "make")["phase"] == "failed";
    let shop = until_or("it is refused", || cluster.application("shop"), failed).await;
    let said = step(&shop, "make")["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("config db") && said.contains("no config"), "{said}");
    let secret = cluster.get("v1", "Secret", "db").await.unwrap();
    assert!(secret["data"].get("input-properties").is_none(), "{secret}");
}

#[tokio::test]
async fn data_is_exported_where_a_topology_policy_says() {
    let cluster = TestCluster::new().await;
    let steps = json!([
        {"name": "note", "type": "export-data",
            "properties": {"name": "note", "data": {"text": "hello"}, "topology": "here"}},
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
    ]);
    let mut shop = with_steps("shop", &steps);
    shop["spec"]["policies"] =
        json!([{"name": "here", "type": "topology", "properties": {"clusters": ["local"]}}]);
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let note = cluster.get("v1", "ConfigMap", "note").await.unwrap();
    assert_eq!(note["data"]["text"], "hello");
    assert_eq!(note["metadata"]["labels"]["app.oam.dev/name"], "shop");
}

#[tokio::test]
async fn a_step_learns_where_the_application_is_reached() {
    let cluster = TestCluster::new().await;
    let steps = json!([
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
        {"name": "where", "type": "collect-service-endpoints", "properties": {"port": 80},
            "outputs": [{"name": "url", "valueFrom": "value.url"}]},
    ]);
    cluster.create(with_steps("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    let url = format!(r#"{{"url":"http://shop-back.{}:80"}}"#, cluster.namespace);
    assert_eq!(values["data"]["vars"], url, "{values}");
}

#[tokio::test]
pub(crate) async fn a_step_asks_for_pods_trees_and_events() {
    let cluster = TestCluster::new().await;
    let template = r#"
import ("vela/query", "vela/builtin")
pods: query.#CollectPods & {$params: app: {name: context.name, namespace: context.namespace}}
wait: builtin.#ConditionalWait & {$params: continue: len(pods.$returns.list) > 0}
tree: query.#GetApplicationTree & {$params: app: {name: context.name, namespace: context.namespace}}
events: query.#SearchEvents & {$params: {cluster: "", value: {kind: "Application", metadata: {name: context.name, namespace: context.namespace}}}}
found: {
	workload: [for pod in pods.$returns.list {pod.workload.kind}]
	below: [for one in tree.$returns.list if one.resourceTree.leafNodes != _|_ for node in one.resourceTree.leafNodes {node.kind}]
	happened: len(events.$returns.list) > 0
}
parameter: {}
"#;
    let definition = json!({
        "apiVersion": OAM, "kind": "WorkflowStepDefinition", "metadata": {"name": "look"},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    cluster.create(definition).await;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "shop.1"}, "reason": "Noticed", "message": "by a person", "type": "Normal",
        "involvedObject": {"apiVersion": OAM, "kind": "Application", "name": "shop", "namespace": cluster.namespace},
    });
    cluster.create(event).await;
    let steps = json!([
        {"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}},
        {"name": "look", "type": "look", "outputs": [{"name": "found", "valueFrom": "found"}]},
    ]);
    cluster.create(with_steps("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    let found: Value = serde_json::from_str(values["data"]["vars"].as_str().unwrap()).unwrap();
    let expected = json!({"workload": ["ReplicaSet", "ReplicaSet"], "below": ["ReplicaSet", "Endpoints"], "happened": true});
    assert_eq!(found["found"], expected, "{values}");
}

#[tokio::test]
async fn a_step_patches_what_the_application_made_and_nothing_else() {
    let cluster = TestCluster::new().await;
    let template = r#"
import "vela/kube"
patch: kube.#Patch & {$params: {
	value: {apiVersion: "v1", kind: "ConfigMap", metadata: name: parameter.name}
	patch: data: {
		// +patchStrategy=retainKeys
		text: "changed"
		more: "1"
	}
}}
parameter: name: string
"#;
    let definition = json!({
        "apiVersion": OAM, "kind": "WorkflowStepDefinition", "metadata": {"name": "change"},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    cluster.create(definition).await;
    let note = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "as it was"}});
    cluster.create(note("foreign")).await;
    let steps = json!([
        {"name": "make", "type": "apply-object", "properties": {"value": note("note")}},
        {"name": "change", "type": "change", "properties": {"name": "note"}},
        {"name": "steal", "type": "change", "timeout": "5s", "properties": {"name": "foreign"}},
    ]);
    let mut shop = with_steps("shop", &steps);
    let back = json!({"name": "back", "type": "apply-component", "properties": {"component": "shop-back"}, "if": "always"});
    shop["spec"]["workflow"]["steps"].as_array_mut().unwrap().push(back);
    cluster.create(shop).await;
    let failed = |shop: &Value| step(shop, "steal")["phase"] == "failed";
    let shop = until_or("what is not its own is refused", || cluster.application("shop"), failed).await;
    let said = step(&shop, "steal")["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.contains("foreign: it is not the application's"), "{said}");
    let note = cluster.get("v1", "ConfigMap", "note").await.unwrap();
    assert_eq!(note["data"], json!({"text": "changed", "more": "1"}));
    let foreign = cluster.get("v1", "ConfigMap", "foreign").await.unwrap();
    assert_eq!(foreign["data"], json!({"text": "as it was"}));
}
