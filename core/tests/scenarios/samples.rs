//! The samples of release 0.3 for routes, metrics and autoscalers, as their authors wrote them.

use serde_json::{Value, json};
use vela_engine::manifest;

use super::foreign;
use super::test_cluster::{TestCluster, until_or};

const STANDARD: &str = "standard.oam.dev/v1alpha1";
const OLD: &str = "core.oam.dev/v1alpha2";

/// The documents of a sample.
fn documents(path: &str) -> Vec<Value> {
    let folder = vela_testkit::cases::folder("examples/v0.3/e2e/raw-objects/samples");
    let text = std::fs::read_to_string(folder.join(path)).unwrap();
    manifest::read(path, &text).unwrap().into_iter().map(|document| document.into_value()).collect()
}

async fn only(cluster: &TestCluster, api_version: &str, kind: &str) -> Value {
    let all = || cluster.list(api_version, kind);
    until_or(&format!("one {kind}"), all, |all| all.len() == 1).await.remove(0)
}

/// Applies the definitions and one of the samples, and waits for the Ingress and the Service behind it.
async fn route(sample: &str) -> (TestCluster, Value, Value) {
    let (definitions, objects) = (documents("route-demo/definition.yaml"), documents(sample));
    let cluster = TestCluster::new().await;
    for (kind, plural) in [("Issuer", "issuers"), ("Certificate", "certificates")] {
        foreign::small(&cluster, "cert-manager.io", "v1", kind, plural).await;
    }
    for object in definitions.into_iter().chain(objects) {
        cluster.apply(object).await;
    }
    // A route that was faster than its workload leads to a Service of its own until the workload has one.
    let routed = || async {
        let [ingress]: [Value; 1] = cluster.list("networking.k8s.io/v1", "Ingress").await.try_into().ok()?;
        let backend = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
        let service = cluster.get("v1", "Service", backend["name"].as_str()?).await?;
        Some((ingress, service))
    };
    let routed = until_or("an Ingress leads to a Service", routed, Option::is_some).await;
    let (ingress, service) = routed.unwrap();
    assert_eq!(ingress["spec"]["rules"][0]["host"], "mycomp.mytest.com");
    assert_eq!(ingress["metadata"]["annotations"]["cert-manager.io/issuer"], "oam-env-default");
    (cluster, ingress, service)
}

#[tokio::test]
async fn a_deployment_with_a_pod_spec_path_is_routed() {
    let (_cluster, _, service) = route("route-demo/deploy.yaml").await;
    assert_eq!(service["spec"]["selector"], json!({"component.oam.dev/name": "mycomp"}));
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 8000);
}

#[tokio::test]
async fn a_deployment_of_a_type_is_routed() {
    let (_cluster, _, service) = route("route-demo/deployment-app.yaml").await;
    assert_eq!(service["spec"]["selector"], json!({"component.oam.dev/name": "mycomp"}));
}

#[tokio::test]
async fn pods_with_a_service_of_their_own_are_routed_to_it() {
    let (cluster, ..) = route("route-demo/webservice-app.yaml").await;
    // The route may have been faster than the workload; in the end it leads to the workload's Service.
    let ingress = || only(&cluster, "networking.k8s.io/v1", "Ingress");
    until_or("the workload's Service is used", ingress, |ingress| {
        let backend = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
        *backend == json!({"name": "mycomp", "port": {"number": 8080}})
    })
    .await;
    only(&cluster, "v1", "Service").await;
}

#[tokio::test]
async fn a_sample_application_is_scraped() {
    let samples = ["autoscale-component", "metrics-component", "appConfig"];
    let monitors = foreign::crd("monitoring.coreos.com_servicemonitors.yaml");
    let objects = samples.iter().flat_map(|sample| documents(&format!("metrics-demo/{sample}.yaml")));
    let cluster = TestCluster::new().await;
    foreign::install(&cluster, monitors, "monitoring.coreos.com/v1", "ServiceMonitor").await;
    if !foreign::has_namespace(&cluster, "monitoring").await {
        cluster
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}))
            .await;
    }
    // The release's chart brought this one.
    let name = "metricstraits.standard.oam.dev";
    let spec = json!({"definitionRef": {"name": name}, "workloadRefPath": "spec.workloadRef"});
    cluster
        .create(
            json!({"apiVersion": OLD, "kind": "TraitDefinition", "metadata": {"name": name}, "spec": spec}),
        )
        .await;
    for object in objects {
        cluster.create(object).await;
    }
    let all = || cluster.list(STANDARD, "MetricsTrait");
    let traits = until_or("both traits are synced", all, |all| {
        all.len() == 2 && all.iter().all(|trait_| trait_["status"]["conditions"][0]["status"] == "True")
    })
    .await;
    let names: Vec<&str> =
        traits.iter().map(|trait_| trait_["status"]["serviceMonitorName"].as_str().unwrap()).collect();
    let monitors =
        foreign::in_namespace(&cluster, "monitoring.coreos.com/v1", "ServiceMonitor", "monitoring").await;
    for name in names {
        let monitor = monitors.get(name).await.unwrap();
        assert_eq!(monitor.data["spec"]["endpoints"][0]["targetPort"], 8080);
        assert_eq!(monitor.data["spec"]["namespaceSelector"]["matchNames"], json!([cluster.namespace]));
    }
    for workload in ["sample-app", "metrics-app"] {
        let service = cluster.get("v1", "Service", &format!("oam-{workload}")).await.unwrap();
        assert_eq!(service["spec"]["ports"][0]["port"], 4848);
    }
    until_or(
        "the scaler of the sample scaled",
        || cluster.deployment("sample-app"),
        |found| found.as_ref().is_some_and(|found| found["spec"]["replicas"] == 3),
    )
    .await;
}
