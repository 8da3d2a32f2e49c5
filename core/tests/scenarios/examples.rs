//! The first examples, as users apply them: each gets to its end, and deleting it leaves nothing.

use serde_json::{Value, json};
use vela_engine::manifest;

use super::test_cluster::{TestCluster, until, until_or};

const OAM: &str = "core.oam.dev/v1beta1";
const OLD: &str = "core.oam.dev/v1alpha2";

/// The documents of a file of the examples.
fn documents(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(vela_testkit::cases::folder("examples/first").join(path)).unwrap();
    manifest::read(path, &text).unwrap().into_iter().map(|document| document.into_value()).collect()
}

#[tokio::test]
async fn a_configuration_brings_its_workload_trait_and_scope() {
    let cluster = TestCluster::new().await;
    for object in documents("containerized/objects.yaml") {
        cluster.create(object).await;
    }
    let configuration = || cluster.get(OLD, "ApplicationConfiguration", "example-appconfig");
    let configuration = until_or("the configuration is synced", configuration, |found| {
        let status = &found.as_ref().unwrap()["status"];
        status["conditions"][0]["status"] == "True"
            && status["workloads"][0]["appliedComponentRevision"] == "example-component-v1"
    });
    let status = configuration.await.unwrap()["status"].clone();
    let workload = &status["workloads"][0];
    assert_eq!(workload["workloadRef"]["kind"], "ContainerizedWorkload");
    assert_eq!(workload["traits"][0]["traitRef"]["name"], "example-appconfig-trait");
    assert_eq!(workload["scopes"][0]["scopeRef"]["name"], "example-health-scope");
    until_or(
        "the trait scaled the deployment",
        || cluster.deployment("example-component"),
        |deployment| deployment.as_ref().is_some_and(|deployment| deployment["spec"]["replicas"] == 3),
    )
    .await;
    let deployment = cluster.deployment("example-component").await.unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "wordpress:php7.2");
    // The trait may be faster than the workload's last object.
    until("the service is there", || async {
        cluster.get("v1", "Service", "example-component").await.is_some()
    })
    .await;
    assert!(cluster.get("apps/v1", "ControllerRevision", "example-component-v1").await.is_some());
    let scope = || cluster.get(OLD, "HealthScope", "example-health-scope");
    let scope = until_or("the scope is healthy", scope, |scope| {
        scope.as_ref().unwrap()["status"]["scopeHealthCondition"]["healthStatus"] == "HEALTHY"
    });
    assert_eq!(
        scope.await.unwrap()["spec"]["workloadRefs"],
        json!([{"apiVersion": OLD, "kind": "ContainerizedWorkload", "name": "example-component"}])
    );

    // A changed component cuts a revision and reaches the workload.
    let component = json!({"spec": {"workload": {"spec": {"containers": [
        {"name": "wordpress", "image": "wordpress:php7.2", "ports": [{"containerPort": 8080, "name": "wordpress"}]}
    ]}}}});
    cluster.patch(OLD, "Component", "example-component", component).await;
    until_or(
        "the new revision is applied",
        || cluster.get(OLD, "ContainerizedWorkload", "example-component"),
        |found| {
            found.as_ref().unwrap()["metadata"]["labels"]["app.oam.dev/revision"] == "example-component-v2"
        },
    )
    .await;

    cluster.delete(OLD, "ApplicationConfiguration", "example-appconfig").await;
    cluster.gone(OLD, "ApplicationConfiguration", "example-appconfig").await;
    let scope = cluster.get(OLD, "HealthScope", "example-health-scope").await.unwrap();
    assert_eq!(scope["spec"]["workloadRefs"], json!([]), "the workload left its scope");
    cluster.gone(OLD, "ContainerizedWorkload", "example-component").await;
    cluster.gone("apps/v1", "Deployment", "example-component").await;
}

/// `object_type` is a component type that the application uses.
async fn runs_and_goes(path: &str, object_type: &str) {
    let cluster = TestCluster::new().await;
    for object in documents(path) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        cluster.create(object).await;
        cluster.phase(&name, "running").await;
        cluster.quiet().await;
        cluster.resync(object_type).await;
        let writes = cluster.writes();
        assert!(writes.is_empty(), "nothing changed: {writes:#?}");
        cluster.delete(OAM, "Application", &name).await;
        cluster.gone(OAM, "Application", &name).await;
        until("everything labelled is gone", || async {
            let mut left = Vec::new();
            for (version, kind) in [
                ("apps/v1", "Deployment"),
                ("batch/v1", "Job"),
                ("v1", "Service"),
                ("networking.k8s.io/v1", "Ingress"),
                (OLD, "Component"),
                (OLD, "ApplicationConfiguration"),
            ] {
                left.extend(cluster.list(version, kind).await);
            }
            left.iter().all(|object| object["metadata"]["labels"]["app.oam.dev/name"] != name.as_str())
        })
        .await;
        assert!(cluster.tracker(&name).await.is_none());
    }
}

#[tokio::test]
async fn web_runs_and_goes() {
    runs_and_goes("web/app.yaml", "webservice").await;
}

#[tokio::test]
async fn batch_runs_and_goes() {
    runs_and_goes("batch/app.yaml", "worker").await;
}

#[tokio::test]
async fn sidecar_runs_and_goes() {
    runs_and_goes("sidecar/app.yaml", "webservice").await;
}

#[tokio::test]
async fn settings_of_the_old_form_run_and_go() {
    runs_and_goes("settings/app.yaml", "worker").await;
}
