//! PodSpecWorkload, Route, Autoscaler and MetricsTrait: what each makes, whom it leaves alone, what wakes it.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::foreign;
use super::test_cluster::{TestCluster, until_or};

pub(super) const STANDARD: &str = "standard.oam.dev/v1alpha1";
const INGRESS: &str = "networking.k8s.io/v1";
const OAM: &str = "core.oam.dev/v1beta1";

pub(super) fn pod_spec_workload(name: &str, containers: Value) -> Value {
    json!({
        "apiVersion": STANDARD, "kind": "PodSpecWorkload", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"replicas": 2, "podSpec": {"containers": containers}},
    })
}

pub(super) fn two_containers() -> Value {
    json!([
        {"name": "a", "image": "nginx", "ports": [{"containerPort": 80, "name": "http"}]},
        {"name": "b", "image": "nginx", "ports": [{"containerPort": 90}]},
    ])
}

pub(super) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "a", "image": "nginx", "ports": [{"containerPort": 80}, {"containerPort": 90}]}]},
        }},
    })
}

pub(super) fn workload_definition(name: &str, children: Value) -> Value {
    json!({
        "apiVersion": OAM, "kind": "WorkloadDefinition", "metadata": {"name": name},
        "spec": {"definitionRef": {"name": name}, "childResourceKinds": children},
    })
}

pub(super) fn trait_of(kind: &str, name: &str, workload: (&str, &str, &str), mut spec: Value) -> Value {
    let (api_version, workload_kind, workload) = workload;
    spec["workloadRef"] = json!({"apiVersion": api_version, "kind": workload_kind, "name": workload});
    json!({"apiVersion": STANDARD, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Waits until the first condition of an object has this status and a message with these words.
async fn says(cluster: &TestCluster, kind: &str, name: &str, status: &str, words: &str) -> Value {
    until_or(
        &format!("{kind} {name} is {status} {words:?}"),
        || async { cluster.get(STANDARD, kind, name).await.unwrap_or_default() },
        |object| {
            let condition = &object["status"]["conditions"][0];
            condition["status"] == status && condition["message"].as_str().unwrap_or_default().contains(words)
        },
    )
    .await
}

async fn exists(cluster: &TestCluster, api_version: &str, kind: &str, name: &str) -> Value {
    let found = || cluster.get(api_version, kind, name);
    until_or(&format!("{kind} {name} exists"), found, Option::is_some).await.unwrap()
}

async fn unchanged_cluster_costs_nothing(cluster: &TestCluster) {
    cluster.quiet().await;
    assert!(cluster.writes().is_empty());
}

#[tokio::test]
pub(super) async fn pods_run_behind_ports_from_8080_on() {
    let cluster = TestCluster::new().await;
    cluster.create(pod_spec_workload("shop", two_containers())).await;
    let workload = says(&cluster, "PodSpecWorkload", "shop", "True", "").await;
    let resources: Vec<&Value> =
        workload["status"]["resources"].as_array().unwrap().iter().map(|r| &r["kind"]).collect();
    assert_eq!(resources, ["Deployment", "Service"]);
    let service = exists(&cluster, "v1", "Service", "shop").await;
    let ports: Vec<&Value> =
        service["spec"]["ports"].as_array().unwrap().iter().map(|p| &p["port"]).collect();
    assert_eq!(ports, [8080, 8081]);
    assert_eq!(cluster.deployment("shop").await.unwrap()["spec"]["replicas"], 2);
    unchanged_cluster_costs_nothing(&cluster).await;

    // A client that scales the Deployment is not disturbed; a Deployment that vanished comes back.
    cluster.patch("apps/v1", "Deployment", "shop", json!({"spec": {"replicas": 5}})).await;
    cluster.quiet().await;
    assert_eq!(cluster.deployment("shop").await.unwrap()["spec"]["replicas"], 5);
    let uid = cluster.deployment("shop").await.unwrap()["metadata"]["uid"].clone();
    cluster.delete("apps/v1", "Deployment", "shop").await;
    until_or(
        "a new Deployment",
        || cluster.deployment("shop"),
        |found| found.as_ref().is_some_and(|found| found["metadata"]["uid"] != uid),
    )
    .await;

    // Without ports there is nothing for a Service to reach.
    let bare = json!({"spec": {"podSpec": {"containers": [{"name": "a", "image": "nginx"}]}}});
    cluster.patch(STANDARD, "PodSpecWorkload", "shop", bare).await;
    cluster.gone("v1", "Service", "shop").await;
    cluster.quiet().await;
}

#[tokio::test]
async fn an_object_of_another_controller_is_left_alone() {
    let cluster = TestCluster::new().await;
    cluster.create(deployment("taken")).await;
    cluster.create(pod_spec_workload("taken", two_containers())).await;
    says(&cluster, "PodSpecWorkload", "taken", "False", "cannot apply the deployment").await;
    let found = cluster.deployment("taken").await.unwrap();
    assert_eq!(found["spec"]["template"]["spec"]["containers"].as_array().unwrap().len(), 1);
    assert!(found["metadata"]["ownerReferences"].is_null());
    unchanged_cluster_costs_nothing(&cluster).await;
    // The name becomes free, and that wakes the workload.
    cluster.delete("apps/v1", "Deployment", "taken").await;
    says(&cluster, "PodSpecWorkload", "taken", "True", "").await;
}

#[tokio::test]
async fn a_route_without_a_host_has_a_service_and_is_ready() {
    let cluster = TestCluster::new().await;
    cluster.create(deployment("web")).await;
    cluster.create(trait_of("Route", "r", ("apps/v1", "Deployment", "web"), json!({"host": ""}))).await;
    let route = says(&cluster, "Route", "r", "True", "").await;
    assert_eq!(
        (&route["status"]["status"], &route["status"]["service"]["name"]),
        (&json!("Ready"), &json!("r"))
    );
    let service = exists(&cluster, "v1", "Service", "r").await;
    assert_eq!(service["spec"]["selector"], json!({"app": "web"}));
    let names: Vec<&Value> =
        service["spec"]["ports"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(names, ["port-80", "port-90"]);
    assert!(cluster.list(INGRESS, "Ingress").await.is_empty());
    unchanged_cluster_costs_nothing(&cluster).await;
}

#[tokio::test]
async fn a_route_finds_its_workloads_service_and_waits_for_an_address() {
    let cluster = TestCluster::new().await;
    let children = json!([{"apiVersion": "v1", "kind": "Service"}]);
    cluster.create(workload_definition("podspecworkloads.standard.oam.dev", children)).await;
    cluster.create(pod_spec_workload("web", two_containers())).await;
    exists(&cluster, "v1", "Service", "web").await;
    let rule = |name: &str, port: i64| json!({"name": name, "backend": {"backendService": {"port": port, "serviceName": ""}}});
    let spec = json!({"host": "web.example", "rules": [rule("a", 80), rule("b", 90)]});
    cluster.create(trait_of("Route", "r", (STANDARD, "PodSpecWorkload", "web"), spec)).await;
    says(&cluster, "Route", "r", "False", "IP/Hostname of r-a ingress is generating").await;
    for (name, port) in [("r-a", 8080), ("r-b", 8081)] {
        let ingress = exists(&cluster, INGRESS, "Ingress", name).await;
        let backend = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
        assert_eq!(*backend, json!({"name": "web", "port": {"number": port}}));
        address(&cluster, name).await;
    }
    let route = says(&cluster, "Route", "r", "True", "").await;
    assert_eq!(route["status"]["conditions"].as_array().unwrap().len(), 1);
    assert_eq!(route["status"]["ingresses"].as_array().unwrap().len(), 2);
    assert!(cluster.get("v1", "Service", "r").await.is_none(), "the workload has a Service of its own");
    unchanged_cluster_costs_nothing(&cluster).await;

    // The Ingress of a rule that is gone goes too; one that vanished comes back.
    cluster.patch(STANDARD, "Route", "r", json!({"spec": {"rules": [rule("b", 90)]}})).await;
    cluster.gone(INGRESS, "Ingress", "r-a").await;
    cluster.delete(INGRESS, "Ingress", "r-b").await;
    exists(&cluster, INGRESS, "Ingress", "r-b").await;
}

async fn address(cluster: &TestCluster, ingress: &str) {
    let api = cluster.api(INGRESS, "Ingress").await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    api.patch_status(ingress, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
}

#[tokio::test]
pub(super) async fn a_route_with_tls_waits_for_its_issuer_and_certificate() {
    let cluster = TestCluster::new().await;
    cluster.create(deployment("web")).await;
    let spec = json!({"host": "web.example", "tls": {"issuerName": "i"}});
    cluster.create(trait_of("Route", "r", ("apps/v1", "Deployment", "web"), spec)).await;
    let ingress = exists(&cluster, INGRESS, "Ingress", "r-auto-created").await;
    assert_eq!(ingress["spec"]["tls"][0]["secretName"], "r-auto-created-cert");
    address(&cluster, "r-auto-created").await;
    if foreign::is_absent(&cluster, "cert-manager.io/v1", "Issuer").await {
        says(&cluster, "Route", "r", "False", "install cert-manager").await;
    }
    for (kind, plural) in [("Issuer", "issuers"), ("Certificate", "certificates")] {
        foreign::small(&cluster, "cert-manager.io", "v1", kind, plural).await;
    }
    let route = says(&cluster, "Route", "r", "False", "does not exist").await;
    assert_eq!(route["status"]["status"], "Synced");
    foreign::holds(&cluster, "cert-manager.io/v1", "Issuer", "i").await;
    says(&cluster, "Route", "r", "False", "Certificate").await;
    foreign::holds(&cluster, "cert-manager.io/v1", "Certificate", "r-auto-created-cert").await;
    says(&cluster, "Route", "r", "True", "").await;
}

#[tokio::test]
async fn an_autoscaler_alone_gives_keda_its_triggers() {
    let keda = foreign::crd("keda.sh_scaledobjects.yaml");
    let cluster = TestCluster::new().await;
    let children = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
    cluster.create(workload_definition("podspecworkloads.standard.oam.dev", children)).await;
    cluster.create(pod_spec_workload("web", two_containers())).await;
    cluster.quiet().await;
    let cron =
        json!({"startAt": "23:30", "duration": "2h", "days": "Saturday", "replicas": "3", "timezone": "UTC"});
    let cpu = json!({"type": "cpu", "condition": {"type": "Utilization", "value": "80"}});
    let spec = json!({
        "minReplicas": 1, "maxReplicas": 4, "triggers": [cpu, {"name": "late", "type": "cron", "condition": cron}],
    });
    cluster.create(trait_of("Autoscaler", "scale", (STANDARD, "PodSpecWorkload", "web"), spec)).await;
    if foreign::is_absent(&cluster, "keda.sh/v1alpha1", "ScaledObject").await {
        says(&cluster, "Autoscaler", "scale", "False", "kind ScaledObject of keda.sh/v1alpha1").await;
    }
    let horizontal = ("autoscaling/v2", "HorizontalPodAutoscaler", "scale");
    foreign::install(&cluster, keda, "keda.sh/v1alpha1", "ScaledObject").await;
    says(&cluster, "Autoscaler", "scale", "True", "").await;
    // What stood in for KEDA has gone.
    cluster.gone(horizontal.0, horizontal.1, horizontal.2).await;
    let made = exists(&cluster, "keda.sh/v1alpha1", "ScaledObject", "scale").await;
    let spec = &made["spec"];
    assert_eq!(spec["scaleTargetRef"], json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}));
    assert_eq!(spec["triggers"][0]["metadata"], json!({"type": "Utilization", "value": "80"}));
    assert_eq!(
        (&spec["triggers"][1]["name"], &spec["triggers"][1]["metadata"]["end"]),
        (&json!("late-Saturday"), &json!("30 1 * * 0"))
    );
    unchanged_cluster_costs_nothing(&cluster).await;
    let wrong = json!({"spec": {"triggers": [{"type": "cron", "condition": {"startAt": "8"}}]}});
    cluster.patch(STANDARD, "Autoscaler", "scale", wrong).await;
    says(&cluster, "Autoscaler", "scale", "False", "must look like 12:01").await;
}

#[tokio::test]
async fn without_keda_the_processor_is_looked_at_and_the_rest_is_told() {
    let cluster = TestCluster::new().await;
    if !foreign::is_absent(&cluster, "keda.sh/v1alpha1", "ScaledObject").await {
        return;
    }
    cluster.create(deployment("web")).await;
    let cpu = json!({"type": "cpu", "condition": {"type": "Utilization", "value": "80"}});
    let spec = json!({"minReplicas": 1, "maxReplicas": 4, "triggers": [cpu]});
    cluster.create(trait_of("Autoscaler", "scale", ("apps/v1", "Deployment", "web"), spec)).await;
    says(&cluster, "Autoscaler", "scale", "True", "").await;
    let made = exists(&cluster, "autoscaling/v2", "HorizontalPodAutoscaler", "scale").await;
    assert_eq!(made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
    assert_eq!(made["spec"]["scaleTargetRef"]["name"], "web");
    let queue = json!({"type": "rabbitmq", "condition": {"queueName": "q"}});
    let both = json!({"spec": {"triggers": [cpu, queue]}});
    cluster.patch(STANDARD, "Autoscaler", "scale", both).await;
    says(&cluster, "Autoscaler", "scale", "False", "spec.triggers[1] (rabbitmq)").await;
    exists(&cluster, "autoscaling/v2", "HorizontalPodAutoscaler", "scale").await;
    cluster.patch(STANDARD, "Autoscaler", "scale", json!({"spec": {"triggers": [queue]}})).await;
    cluster.gone("autoscaling/v2", "HorizontalPodAutoscaler", "scale").await;
    says(&cluster, "Autoscaler", "scale", "False", "spec.triggers[0] (rabbitmq)").await;
}

#[tokio::test]
async fn metrics_are_scraped_until_they_are_switched_off() {
    let monitors = foreign::crd("monitoring.coreos.com_servicemonitors.yaml");
    let mut cluster = TestCluster::new().await;
    cluster.create(deployment("web")).await;
    let name = format!("m-{}", cluster.namespace);
    let metrics = |enabled: bool| {
        trait_of(
            "MetricsTrait",
            &name,
            ("apps/v1", "Deployment", "web"),
            json!({"scrapeService": {"enabled": enabled}}),
        )
    };
    cluster.create(metrics(true)).await;
    let kind = ("monitoring.coreos.com/v1", "ServiceMonitor");
    if foreign::is_absent(&cluster, kind.0, kind.1).await {
        says(&cluster, "MetricsTrait", &name, "False", "kind ServiceMonitor").await;
    }
    foreign::install(&cluster, monitors, kind.0, kind.1).await;
    if !foreign::has_namespace(&cluster, "monitoring").await {
        says(&cluster, "MetricsTrait", &name, "False", "namespace monitoring").await;
        cluster
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}))
            .await;
    }
    let trait_ = says(&cluster, "MetricsTrait", &name, "True", "").await;
    assert_eq!(
        (&trait_["status"]["port"], &trait_["status"]["serviceMonitorName"]),
        (&json!(80), &json!(name))
    );
    assert_eq!(trait_["status"]["selectorLabels"], json!({"app": "web"}));
    exists(&cluster, "v1", "Service", "oam-web").await;
    let all = foreign::in_namespace(&cluster, kind.0, kind.1, "monitoring").await;
    let is_there = || async { all.get_opt(&name).await.unwrap().is_some() };
    assert!(is_there().await);
    unchanged_cluster_costs_nothing(&cluster).await;

    let switch = |on: bool| json!({"spec": {"scrapeService": {"enabled": on}}});
    cluster.patch(STANDARD, "MetricsTrait", &name, switch(false)).await;
    until_or("the monitor is gone", is_there, |there| !*there).await;
    cluster.gone("v1", "Service", "oam-web").await;
    cluster.patch(STANDARD, "MetricsTrait", &name, switch(true)).await;
    until_or("the monitor is back", is_there, |there| *there).await;

    // A trait that goes takes its monitor along, also when no controller watched.
    cluster.quiet().await;
    cluster.delete(STANDARD, "MetricsTrait", &name).await;
    until_or("the monitor went with its trait", is_there, |there| !*there).await;
    cluster.create(metrics(true)).await;
    until_or("the monitor of the new trait", is_there, |there| *there).await;
    cluster.quiet().await;
    cluster.stop().await;
    cluster.delete(STANDARD, "MetricsTrait", &name).await;
    cluster.start();
    until_or("the next start removed the monitor", is_there, |there| !*there).await;
}

#[tokio::test]
pub(super) async fn traits_without_their_operator_say_so() {
    let cluster = TestCluster::new().await;
    cluster.create(deployment("web")).await;
    let queue = json!({"minReplicas": 1, "maxReplicas": 4, "triggers": [{"type": "rabbitmq", "condition": {"queueName": "q"}}]});
    cluster.create(trait_of("Autoscaler", "scale", ("apps/v1", "Deployment", "web"), queue)).await;
    let scrape = json!({"scrapeService": {"port": 80}});
    cluster.create(trait_of("MetricsTrait", "scrape", ("apps/v1", "Deployment", "web"), scrape)).await;
    if foreign::is_absent(&cluster, "keda.sh/v1alpha1", "ScaledObject").await {
        says(&cluster, "Autoscaler", "scale", "False", "kind ScaledObject of keda.sh/v1alpha1").await;
    }
    if foreign::is_absent(&cluster, "monitoring.coreos.com/v1", "ServiceMonitor").await {
        says(&cluster, "MetricsTrait", "scrape", "False", "ServiceMonitor").await;
    }
    foreign::small(&cluster, "monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors").await;
    if !foreign::has_namespace(&cluster, "monitoring").await {
        says(&cluster, "MetricsTrait", "scrape", "False", "namespace monitoring").await;
    }
}
