//! What no recording shows: Services that go with their reason, workloads that share an id, and Services of others.

use std::time::Duration;

use serde_json::{Value, json};
use vela_embedded::virtual_time;

use super::cluster::{Cluster, deployment, workload};

const SPACE: &str = "shop";

fn run<F: Future<Output = ()>>(scenario: impl FnOnce(Cluster) -> F) {
    let done = virtual_time::run(async {
        let cluster = Cluster::new();
        cluster.namespace(SPACE);
        scenario(cluster).await;
    });
    done.unwrap();
}

fn names(cluster: &Cluster) -> Vec<String> {
    let services = cluster.services(SPACE);
    services.iter().map(|service| service["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

fn version(cluster: &Cluster) -> Value {
    cluster.list(SPACE, "Service")[0]["metadata"]["resourceVersion"].clone()
}

#[test]
fn a_service_goes_when_dapr_is_switched_off_or_the_id_changes() {
    run(|cluster| async move {
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        assert_eq!(names(&cluster), ["cart-dapr"]);
        cluster.annotate(SPACE, "web", &json!({"dapr.io/app-id": "basket"}));
        cluster.settle().await;
        assert_eq!(names(&cluster), ["basket-dapr"]);
        cluster.annotate(SPACE, "web", &json!({"dapr.io/enabled": "false"}));
        cluster.settle().await;
        assert_eq!(names(&cluster), [""; 0]);
        let text = cluster.counts.text();
        for line in [
            "dapr_operator_service_created_total{app_id=\"cart\"} 1",
            "dapr_operator_service_deleted_total{app_id=\"cart\"} 1",
            "dapr_operator_service_deleted_total{app_id=\"basket\"} 1",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    });
}

#[test]
fn a_mistake_leaves_the_service_as_it_was() {
    run(|cluster| async move {
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        let before = version(&cluster);
        cluster.annotate(SPACE, "web", &json!({"dapr.io/metrics-port": "70000"}));
        cluster.settle().await;
        assert_eq!(version(&cluster), before);
        let events = cluster.events(SPACE);
        assert!(events.len() == 1 && events[0].contains("70000 is not a port"), "{events:?}");
    });
}

#[test]
fn a_deleted_service_comes_back() {
    run(|cluster| async move {
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        cluster.delete(SPACE, "Service", "cart-dapr", "Background");
        cluster.settle().await;
        assert_eq!(names(&cluster), ["cart-dapr"]);
    });
}

#[test]
fn workloads_of_one_id_take_turns_only_when_one_goes() {
    run(|mut cluster| async move {
        for name in ["one", "two", "three"] {
            cluster.create(SPACE, &deployment(name, "cart"));
            cluster.pass(Duration::from_secs(2)).await;
        }
        cluster.settle().await;
        let owner = |cluster: &Cluster| cluster.owner(SPACE, "cart-dapr").unwrap();
        assert_eq!(owner(&cluster), "one");
        let before = version(&cluster);
        cluster.pass(Duration::from_secs(600)).await;
        cluster.stop().await;
        cluster.start();
        cluster.settle().await;
        assert_eq!(version(&cluster), before, "no other workload takes it, also after a start");
        let events = cluster.events(SPACE);
        for name in ["one", "two", "three"] {
            let found =
                events.iter().any(|event| event.starts_with(&format!("Deployment {name}: SharedDaprAppId")));
            assert!(found, "{name}: {events:#?}");
        }
        cluster.annotate(SPACE, "one", &json!({"dapr.io/app-id": "basket"}));
        cluster.settle().await;
        assert_eq!(owner(&cluster), "two", "the oldest of the others");
        assert_eq!(cluster.owner(SPACE, "basket-dapr").unwrap(), "one");
        cluster.annotate(SPACE, "one", &json!({"dapr.io/app-id": "cart"}));
        cluster.settle().await;
        assert_eq!(owner(&cluster), "two", "who has it keeps it");
        assert_eq!(names(&cluster), ["cart-dapr"]);
        cluster.delete(SPACE, "Deployment", "two", "Background");
        cluster.settle().await;
        assert_eq!(owner(&cluster), "one");
    });
}

#[test]
fn a_stateful_set_waits_for_the_deployment_of_its_id() {
    run(|cluster| async move {
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        let annotations = json!({"dapr.io/enabled": "true", "dapr.io/app-id": "cart"});
        let mut set = workload("StatefulSet", "store", &annotations);
        set["spec"]["serviceName"] = json!("store");
        cluster.create(SPACE, &set);
        cluster.settle().await;
        assert_eq!(cluster.owner(SPACE, "cart-dapr").unwrap(), "web");
        cluster.annotate(SPACE, "web", &json!({"dapr.io/enabled": "no"}));
        cluster.settle().await;
        assert_eq!(cluster.owner(SPACE, "cart-dapr").unwrap(), "store");
    });
}

#[test]
fn a_service_of_others_is_left_alone_until_it_goes() {
    run(|cluster| async move {
        let foreign = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart-dapr"},
            "spec": {"selector": {"a": "b"}, "ports": [{"port": 5000}]},
        });
        cluster.create(SPACE, &foreign);
        let before = version(&cluster);
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        assert_eq!(version(&cluster), before);
        let events = cluster.events(SPACE);
        assert!(events.len() == 1 && events[0].contains("nothing controls it"), "{events:?}");
        cluster.delete(SPACE, "Service", "cart-dapr", "Background");
        cluster.settle().await;
        assert_eq!(cluster.owner(SPACE, "cart-dapr").unwrap(), "web");
    });
}

#[test]
fn a_service_left_behind_is_taken_over() {
    run(|cluster| async move {
        cluster.create(SPACE, &deployment("web", "cart"));
        cluster.settle().await;
        cluster.delete(SPACE, "Deployment", "web", "Orphan");
        cluster.settle().await;
        assert_eq!(names(&cluster), ["cart-dapr"]);
        cluster.create(SPACE, &deployment("next", "cart"));
        cluster.settle().await;
        assert_eq!(cluster.owner(SPACE, "cart-dapr").unwrap(), "next");
        assert_eq!(cluster.services(SPACE)[0]["spec"]["selector"], json!({"app": "next"}));
        assert_eq!(cluster.events(SPACE), [""; 0]);
    });
}

#[test]
fn an_operator_that_starts_again_changes_nothing() {
    run(|mut cluster| async move {
        for number in 0..20 {
            cluster.create(SPACE, &deployment(&format!("web-{number}"), &format!("app-{number}")));
        }
        cluster.settle().await;
        let versions = |cluster: &Cluster| {
            let services = cluster.list(SPACE, "Service");
            services.iter().map(|service| service["metadata"]["resourceVersion"].clone()).collect::<Vec<_>>()
        };
        let before = versions(&cluster);
        assert_eq!(before.len(), 20);
        cluster.stop().await;
        cluster.start();
        cluster.settle().await;
        assert_eq!(versions(&cluster), before);
    });
}
