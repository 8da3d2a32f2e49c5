//! Built-in steps that no other scenario runs, each from its parameters to what it leaves in the cluster.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::foreign::small;
use vela_core::options::Bounds;
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};

const TERRAFORM: &str = "terraform.core.oam.dev/v1beta2";
/// `db`, as the API stores it.
const DB: &str = "ZGI=";

/// An application that runs these steps, and then applies its component.
fn running(name: &str, steps: &[Value]) -> Value {
    let mut application = application(name, &[web(&format!("{name}-back"), "nginx:1")]);
    let last = json!({"name": "rest", "type": "apply-remaining", "properties": {"exceptions": []}});
    let steps: Vec<Value> = steps.iter().cloned().chain([last]).collect();
    application["spec"]["workflow"] = json!({"steps": steps});
    application
}

fn step(name: &str, type_: &str, properties: Value) -> Value {
    json!({"name": name, "type": type_, "properties": properties})
}

#[tokio::test]
async fn steps_export_data() {
    let cluster = TestCluster::new().await;
    let steps = [
        step("say", "print-message-in-status", json!({"message": "all is well"})),
        step("secret", "export2secret", json!({"secretName": "given", "data": {"word": "db"}})),
        step("config", "export2config", json!({"configName": "words", "data": {"k": "v"}})),
    ];
    cluster.create(running("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.application("shop").await["status"]["workflow"]["steps"][0]["message"], "all is well");
    let found = async |kind: &str, name: &str| cluster.get("v1", kind, name).await.unwrap_or_default();
    assert_eq!(found("Secret", "given").await["data"]["word"], DB);
    assert_eq!(found("ConfigMap", "words").await["data"]["k"], "v");
}

#[tokio::test]
async fn a_step_applies_a_deployment_and_waits_for_it() {
    let cluster = TestCluster::new().await;
    let steps = [step("front", "apply-deployment", json!({"image": "nginx:2", "replicas": 2}))];
    cluster.create(running("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    let made = cluster.deployment("front").await.unwrap();
    assert_eq!((&made["spec"]["replicas"], &made["status"]["readyReplicas"]), (&json!(2), &json!(2)));
    assert!(cluster.deployment("shop-back").await.is_some(), "the rest is applied, too");
}

#[tokio::test]
async fn a_step_reads_what_another_step_takes() {
    let cluster = TestCluster::new().await;
    let data = json!({"DB_HOST": DB, "DB_PORT": "ODA=", "DB_NAME": DB, "DB_USER": DB, "DB_PASSWORD": DB});
    cluster
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": data}))
        .await;
    let words =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"k": "v"}});
    cluster.create(words).await;
    let mut look = step(
        "look",
        "read-object",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "words", "namespace": cluster.namespace}),
    );
    look["outputs"] = json!([{"name": "word", "valueFrom": "output.$returns.value.data.k"}]);
    let mut jdbc = step("jdbc", "generate-jdbc-connection", json!({"name": "db"}));
    jdbc["outputs"] = json!([{"name": "url", "valueFrom": "env[0].value"}]);
    let mut put = step("put", "export2config", json!({"configName": "taken", "data": {}}));
    put["inputs"] = json!([{"from": "word", "parameterKey": "data.word"}]);
    let mut hide = step("hide", "export2secret", json!({"secretName": "hidden", "data": {}}));
    hide["inputs"] = json!([{"from": "url", "parameterKey": "data.url"}]);
    cluster.create(running("shop", &[look, jdbc, put, hide])).await;
    cluster.phase("shop", "running").await;
    let taken = cluster.get("v1", "ConfigMap", "taken").await.unwrap();
    assert_eq!(taken["data"]["word"], "v");
    let hidden = cluster.get("v1", "Secret", "hidden").await.unwrap();
    // `jdbc://db:80/db?characterEncoding=utf8&useSSL=false`
    assert_eq!(hidden["data"]["url"], "amRiYzovL2RiOjgwL2RiP2NoYXJhY3RlckVuY29kaW5nPXV0ZjgmdXNlU1NMPWZhbHNl");
}

#[tokio::test]
async fn a_step_waits_for_another_application() {
    let cluster = TestCluster::new().await;
    let steps = [step("base", "depends-on-app", json!({"name": "base", "namespace": cluster.namespace}))];
    let base = application("base", &[web("base-back", "nginx:1")]);
    cluster.create(base).await;
    cluster.create(running("shop", &steps)).await;
    cluster.phase("shop", "running").await;
    assert_eq!(cluster.application("base").await["status"]["status"], "running");
}

#[tokio::test]
async fn a_step_waits_until_terraform_has_run() {
    let cluster = TestCluster::new().await;
    small(&cluster, "terraform.core.oam.dev", "v1beta2", "Configuration", "configurations").await;
    let properties = json!({"source": {"hcl": "variable size {}"}, "variable": {"size": 1}});
    cluster.create(running("shop", &[step("disk", "apply-terraform-config", properties)])).await;
    let there = || cluster.get(TERRAFORM, "Configuration", "shop-disk");
    until_or("the Configuration is there", there, |found| found.is_some()).await;
    assert!(cluster.deployment("shop-back").await.is_none(), "Terraform is waited for");
    let status = Patch::Merge(json!({"status": {"apply": {"state": "Available"}}}));
    let api = cluster.api(TERRAFORM, "Configuration").await;
    api.patch_status("shop-disk", &PatchParams::default(), &status).await.unwrap();
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_step_runs_a_command_of_vela_in_a_job() {
    let cluster = TestCluster::new().await;
    let properties = json!({"command": ["vela", "ls"], "serviceAccountName": "runner"});
    cluster.create(running("shop", &[step("list", "vela-cli", properties)])).await;
    cluster.phase("shop", "running").await;
    let jobs = cluster.list("batch/v1", "Job").await;
    let name = jobs[0]["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("shop-list-"), "{name}");
    assert_eq!(jobs[0]["spec"]["template"]["spec"]["serviceAccountName"], "runner");
}

/// Their Jobs run with the account of the controller, which is where the controller is.
#[tokio::test]
async fn jobs_of_the_controller_run_where_it_is() {
    let mut cluster = TestCluster::without_controllers().await;
    let system_namespace = "platform".to_owned();
    // The built-in types of this cluster stay where they are.
    let first_namespace = Some("vela-system".to_owned());
    let bounds = Bounds { own_namespace: false, ..Bounds::SAFE };
    let service_account = Some("vela-core".to_owned());
    let options =
        Options { system_namespace, service_account, first_namespace, bounds, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "platform"}})).await;
    let metadata = json!({"name": "vela-core", "namespace": "platform"});
    cluster.create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})).await;
    let steps = [
        step("list", "vela-cli", json!({"command": ["vela", "ls"]})),
        step("again", "restart-workflow", json!({"every": "5m"})),
    ];
    cluster.create(running("shop", &steps)).await;
    let jobs = kube::Api::<k8s_openapi::api::batch::v1::Job>::namespaced(cluster.client.clone(), "platform");
    let found = || async {
        let found = jobs.list(&kube::api::ListParams::default()).await.unwrap();
        found
            .items
            .into_iter()
            .filter_map(|job| {
                let account = job.spec?.template.spec?.service_account_name?;
                Some((job.metadata.name?, account))
            })
            .collect::<Vec<_>>()
    };
    until_or("a Job of each step has the account of the controller", found, |jobs| {
        ["shop-list-", "shop-restart-workflow-"]
            .iter()
            .all(|start| jobs.iter().any(|(name, account)| name.starts_with(start) && account == "vela-core"))
    })
    .await;
}
