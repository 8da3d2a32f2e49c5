//! Argo Rollouts: Services as for Deployments where the cluster has the kind, and no question where it has not.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use vela_embedded::virtual_time;
use vela_runtime::fault::{Entry, Injection};

use super::cluster::{Cluster, deployment, workload};

const SPACE: &str = "shop";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn run<F: Future<Output = ()>>(scenario: impl FnOnce(Cluster) -> F) {
    let done = virtual_time::run(async {
        let cluster = Cluster::new();
        cluster.namespace(SPACE);
        scenario(cluster).await;
    });
    done.unwrap();
}

/// As Argo installs it, without the schema of its fields.
pub(crate) fn kind() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {
            "group": "argoproj.io", "scope": "Namespaced",
            "names": {"kind": "Rollout", "plural": "rollouts", "singular": "rollout"},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn install(cluster: &Cluster) {
    let (code, answer) = cluster.send(Method::POST, CRDS, Some(&kind()));
    assert_eq!(code, StatusCode::CREATED, "{answer}");
}

fn uninstall(cluster: &Cluster) {
    let (code, answer) = cluster.send(Method::DELETE, &format!("{CRDS}/rollouts.argoproj.io"), None);
    assert_eq!(code, StatusCode::OK, "{answer}");
}

fn rollout(name: &str, app_id: &str) -> Value {
    let annotations = json!({"dapr.io/enabled": "true", "dapr.io/app-id": app_id});
    let mut rollout = workload("Rollout", name, &annotations);
    rollout["apiVersion"] = json!("argoproj.io/v1alpha1");
    rollout["spec"]["strategy"] = json!({"canary": {}});
    rollout
}

fn about_rollouts(requests: &[Entry]) -> Vec<&str> {
    let paths = requests.iter().map(|entry| entry.path.as_str());
    paths.filter(|path| path.contains("argoproj")).collect()
}

fn owner(cluster: &Cluster) -> Option<String> {
    cluster.owner(SPACE, "cart-dapr")
}

#[test]
fn rollouts_get_services_once_the_cluster_has_them() {
    run(|cluster| async move {
        cluster.settle().await;
        assert_eq!(about_rollouts(&cluster.faults.take()), [""; 0]);
        install(&cluster);
        cluster.settle().await;
        cluster.create(SPACE, &rollout("web", "cart"));
        cluster.settle().await;
        let service = &cluster.services(SPACE)[0];
        let owned = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web",
            "controller": true, "blockOwnerDeletion": true}]);
        assert_eq!(service["metadata"]["ownerReferences"], owned);
        assert_eq!(service["spec"]["selector"], json!({"app": "web"}));

        let annotations = json!({"dapr.io/metrics-port": "9191"});
        let template = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        cluster.change(SPACE, "Rollout", "web", &template);
        cluster.settle().await;
        assert_eq!(cluster.services(SPACE)[0]["spec"]["ports"][3]["port"], 9191);

        let annotations = json!({"dapr.io/metrics-port": "70000"});
        let template = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        cluster.change(SPACE, "Rollout", "web", &template);
        cluster.settle().await;
        let events = cluster.events(SPACE);
        assert!(events[0].starts_with("Rollout web: InvalidDaprAnnotations: "), "{events:?}");

        let annotations = json!({"dapr.io/metrics-port": null, "dapr.io/enabled": "false"});
        let template = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        cluster.change(SPACE, "Rollout", "web", &template);
        cluster.settle().await;
        assert_eq!(cluster.services(SPACE), [json!(null); 0]);
    });
}

#[test]
fn a_rollout_shares_an_id_as_other_workloads_do() {
    run(|mut cluster| async move {
        install(&cluster);
        cluster.create(SPACE, &rollout("canary", "cart"));
        cluster.settle().await;
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        cluster.stop().await;
        cluster.start();
        cluster.settle().await;
        assert_eq!(owner(&cluster).unwrap(), "canary", "also after a start");
        let events = cluster.events(SPACE);
        for workload in ["Rollout canary", "Deployment web"] {
            let says_so = |event: &String| event.starts_with(&format!("{workload}: SharedDaprAppId"));
            assert!(events.iter().any(says_so), "{workload}: {events:#?}");
        }
        assert!(events.iter().all(|event| event.contains("SharedDaprAppId")), "{events:#?}");
        cluster.delete(SPACE, "Rollout", "canary", "Background");
        cluster.settle().await;
        assert_eq!(owner(&cluster).unwrap(), "web");
    });
}

#[test]
fn a_kind_that_goes_is_asked_for_no_more_until_it_returns() {
    run(|cluster| async move {
        install(&cluster);
        cluster.create(SPACE, &rollout("web", "cart"));
        cluster.settle().await;
        assert_eq!(owner(&cluster).unwrap(), "web");
        cluster.delete(SPACE, "Rollout", "web", "Background");
        cluster.settle().await;
        assert_eq!(owner(&cluster), None, "it went with its owner");
        uninstall(&cluster);
        cluster.settle().await;
        cluster.faults.take();
        cluster.pass(std::time::Duration::from_secs(600)).await;
        assert_eq!(about_rollouts(&cluster.faults.take()), [""; 0]);
        install(&cluster);
        cluster.create(SPACE, &rollout("again", "cart"));
        cluster.settle().await;
        assert_eq!(owner(&cluster).unwrap(), "again");
    });
}

#[test]
fn kinds_that_cannot_be_listed_hold_up_no_deployment() {
    run(|mut cluster| async move {
        cluster.stop().await;
        cluster.faults.inject(|entry| match entry.path.starts_with(CRDS) {
            true => Injection::DropRequest,
            false => Injection::Pass,
        });
        cluster.start();
        install(&cluster);
        cluster.create(SPACE, &rollout("later", "later"));
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        assert_eq!(owner(&cluster).unwrap(), "web");
        assert_eq!(cluster.owner(SPACE, "later-dapr"), None);
        cluster.faults.heal();
        cluster.settle().await;
        assert_eq!(cluster.owner(SPACE, "later-dapr").unwrap(), "later");
    });
}
