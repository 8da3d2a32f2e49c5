//! The watchdog: the recorded pods, which of them are restarted, and how fast.

use std::fs;
use std::num::NonZeroU32;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vela_dapr::{Process, Watchdog};
use vela_embedded::virtual_time;

use super::cluster::Cluster;
use super::services::documents;

const ROUND: Duration = Duration::from_secs(2);

fn watchdog(restarts_per_minute: u32) -> Watchdog {
    Watchdog {
        every: Some(ROUND),
        restarts_per_minute: NonZeroU32::new(restarts_per_minute),
        label_pods: true,
        control_plane: "dapr-system".to_owned(),
    }
}

fn cluster(watchdog: Watchdog, namespace: Option<&str>) -> Cluster {
    let namespace = namespace.map(str::to_owned);
    let cluster = Cluster::of(Process { watchdog: Some(watchdog), namespace, ..Process::default() });
    for name in ["shop", "other", "dapr-system"] {
        cluster.namespace(name);
    }
    cluster
}

fn in_time<F: Future<Output = ()>>(work: F) {
    virtual_time::run(work).unwrap();
}

/// A Deployment whose pods have this annotation and no sidecar.
fn deployment(name: &str, enabled: &str, replicas: u32) -> Value {
    let mut object = super::cluster::workload(
        "Deployment",
        name,
        &json!({"dapr.io/enabled": enabled, "dapr.io/app-id": name}),
    );
    object["spec"]["replicas"] = json!(replicas);
    object
}

/// The injector as the watchdog looks for it.
fn injector(cluster: &Cluster) {
    let mut object = super::cluster::workload("Deployment", "dapr-sidecar-injector", &json!({}));
    object["metadata"]["labels"] = json!({"app": "dapr-sidecar-injector"});
    object["spec"]["replicas"] = json!(1);
    cluster.create("dapr-system", &object);
}

fn pod(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "example.org/c:1"}]},
    })
}

fn uids(cluster: &Cluster, namespace: &str) -> Vec<String> {
    let pods = cluster.list(namespace, "Pod");
    let mut uids: Vec<String> =
        pods.iter().map(|pod| pod["metadata"]["uid"].as_str().unwrap().to_owned()).collect();
    uids.sort();
    uids
}

/// Deletions of pods that the operator asked for since the last look.
fn deletions(cluster: &Cluster) -> usize {
    let pods = |path: &str| path.contains("/pods/");
    cluster.faults.take().iter().filter(|entry| entry.method == Method::DELETE && pods(&entry.path)).count()
}

/// The pod of a recorded case.
fn recorded_pod(case: &Value) -> Value {
    let mut made = pod("recorded", &case["annotations"]);
    if let Some(labels) = case.get("labelsBefore") {
        made["metadata"]["labels"] = labels.clone();
    }
    let containers = case["containers"].as_array().cloned().unwrap_or_else(|| vec![json!("c")]);
    let container = |name: &str| json!({"name": name, "image": "example.org/c:1"});
    made["spec"]["containers"] = containers.iter().map(|name| container(name.as_str().unwrap())).collect();
    if case["initContainers"].is_array() {
        let mut sidecar = container("daprd");
        sidecar["restartPolicy"] = json!("Always");
        made["spec"]["initContainers"] = json!([sidecar]);
    }
    made
}

#[test]
fn the_recorded_pods_are_kept_or_deleted() {
    let folder = vela_testkit::cases::folder("conformance/dapr");
    let recorded: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("watchdog.json")).unwrap()).unwrap();
    let differences = documents(include_str!("../data/watchdog-differences.yaml")).remove(0);
    let cases = recorded["pods"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let named = |one: &&Value| one["pod"] == case["pod"];
        let difference = differences.as_array().unwrap().iter().find(named).cloned().unwrap_or_default();
        in_time(async move {
            let cluster = cluster(watchdog(60), None);
            injector(&cluster);
            let of_deployment = case["pod"].as_str().unwrap().starts_with("of a Deployment");
            if of_deployment {
                cluster.create(
                    "shop",
                    &deployment("yes1", case["annotations"]["dapr.io/enabled"].as_str().unwrap(), 1),
                );
            } else {
                cluster.create("shop", &recorded_pod(&case));
            }
            // The injector's pod has to be ready first, and the pods of the Deployment have to be there.
            tokio::task::yield_now().await;
            cluster.pass(Duration::from_millis(10)).await;
            let before = uids(&cluster, "shop");
            assert_eq!(before.len(), 1, "{case}");
            cluster.pass(ROUND * 7).await;
            let outcome = difference["instead"].as_str().or(case["outcome"].as_str()).unwrap();
            assert!(
                outcome.starts_with("kept"),
                "every recorded deletion is one of a pod that is kept here: {case}"
            );
            assert_eq!(uids(&cluster, "shop"), before, "{case}");
            assert_eq!(deletions(&cluster), 0, "{case}");
            let labels = cluster.list("shop", "Pod")[0]["metadata"]["labels"].clone();
            let expected =
                difference.get("labelsAfter").or(case.get("labelsAfter")).or(case.get("labelsBefore"));
            for (name, value) in expected.into_iter().flat_map(|labels| labels.as_object().unwrap()) {
                assert_eq!(labels[name], *value, "{case}");
            }
            if expected.is_none_or(|labels| labels.get("dapr.io/watchdog-patched").is_none()) {
                assert!(labels["dapr.io/watchdog-patched"].is_null(), "{case}");
            }
            let events: Vec<String> =
                cluster.events("shop").into_iter().filter(|event| event.starts_with("Pod ")).collect();
            match difference["event"].as_str() {
                Some(expected) => assert!(events.iter().any(|event| event.contains(expected)), "{events:?}"),
                None => assert_eq!(events, Vec::<String>::new(), "{case}"),
            }
        });
    }
}

#[test]
fn a_pod_without_its_sidecar_is_made_anew() {
    in_time(async {
        let cluster = cluster(watchdog(60), None);
        injector(&cluster);
        cluster.create("shop", &deployment("web", "true", 1));
        cluster.create("shop", &deployment("plain", "false", 1));
        cluster.create("dapr-system", &deployment("own", "true", 1));
        cluster.create("shop", &pod("bare", &json!({"dapr.io/enabled": "true"})));
        cluster.pass(Duration::from_millis(10)).await;
        let own = uids(&cluster, "dapr-system");
        cluster.pass(ROUND * 5).await;
        assert_eq!(uids(&cluster, "shop").len(), 3);
        assert_eq!(uids(&cluster, "dapr-system"), own, "the control plane is left alone");
        // It came back without a sidecar, because no injector works here: that is said, and not repeated at once.
        assert_eq!(deletions(&cluster), 1);
        let events = cluster.events("shop").join("\n");
        for expected in [
            "RestartedForSidecar: it ran without its sidecar; ReplicaSet web-",
            "made it anew, and it came back without a sidecar",
            "Pod bare: MissingDaprSidecar: it has no sidecar, and no controller would make it anew",
        ] {
            assert!(events.contains(expected), "{expected}: {events}");
        }
        cluster.pass(Duration::from_secs(620)).await;
        assert_eq!(deletions(&cluster), 1, "after ten minutes it is tried again");
    });
}

#[test]
fn nothing_is_deleted_while_no_injector_is_ready() {
    in_time(async {
        let cluster = cluster(watchdog(60), None);
        cluster.create("shop", &deployment("web", "true", 2));
        cluster.pass(Duration::from_secs(60)).await;
        assert_eq!(deletions(&cluster), 0);
        injector(&cluster);
        cluster.pass(Duration::from_secs(12)).await;
        assert_eq!(deletions(&cluster), 2);
    });
}

#[test]
fn restarts_keep_to_their_rate() {
    in_time(async {
        let cluster = cluster(watchdog(6), None);
        injector(&cluster);
        cluster.create("shop", &deployment("web", "true", 9));
        cluster.pass(Duration::from_secs(6)).await;
        assert_eq!(deletions(&cluster), 1, "one at once");
        cluster.pass(Duration::from_secs(20)).await;
        assert_eq!(deletions(&cluster), 2, "one in ten seconds");
        cluster.pass(Duration::from_secs(60)).await;
        assert_eq!(deletions(&cluster), 6, "six in a minute");
    });
}

#[test]
fn only_the_watched_namespace_is_looked_at() {
    in_time(async {
        let cluster = cluster(watchdog(0), Some("shop"));
        injector(&cluster);
        for namespace in ["shop", "other"] {
            cluster.create(namespace, &deployment("web", "true", 3));
        }
        cluster.pass(Duration::from_millis(10)).await;
        let other = uids(&cluster, "other");
        cluster.pass(ROUND * 5).await;
        assert_eq!(deletions(&cluster), 3);
        assert_eq!(uids(&cluster, "other"), other);
        let services = |namespace: &str| cluster.services(namespace).len();
        assert_eq!((services("shop"), services("other")), (1, 0), "Services follow the same flag");
    });
}

#[test]
fn pods_that_are_going_or_got_a_sidecar_are_left_alone() {
    in_time(async {
        let cluster = cluster(watchdog(1), None);
        cluster.create("shop", &deployment("web", "true", 3));
        cluster.pass(Duration::from_millis(10)).await;
        let first = uids(&cluster, "shop");
        injector(&cluster);
        cluster.pass(Duration::from_secs(6)).await;
        assert_eq!(deletions(&cluster), 1);
        // Two wait for their turn, one of which is held by a finalizer on its way out; the other is labelled meanwhile.
        let pods = cluster.list("shop", "Pod");
        let waits = |pod: &&Value| first.iter().any(|uid| pod["metadata"]["uid"] == **uid);
        let waiting: Vec<&str> =
            pods.iter().filter(waits).map(|pod| pod["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(waiting.len(), 2);
        cluster.change("shop", "Pod", waiting[0], &json!({"metadata": {"finalizers": ["example.org/hold"]}}));
        cluster.delete("shop", "Pod", waiting[0], "Background");
        cluster.change(
            "shop",
            "Pod",
            waiting[1],
            &json!({"metadata": {"labels": {"dapr.io/sidecar-injected": "true"}}}),
        );
        cluster.pass(Duration::from_secs(300)).await;
        assert_eq!(deletions(&cluster), 0);
    });
}

#[test]
fn one_round_is_enough_where_it_is_said_so() {
    in_time(async {
        let cluster = cluster(Watchdog { every: None, ..watchdog(0) }, None);
        injector(&cluster);
        cluster.create("shop", &deployment("web", "true", 2));
        cluster.pass(Duration::from_secs(20)).await;
        assert_eq!(deletions(&cluster), 2);
        cluster.create("shop", &deployment("late", "true", 2));
        cluster.pass(Duration::from_secs(60)).await;
        assert_eq!(deletions(&cluster), 0);
        assert_eq!(cluster.faults.take().iter().filter(|entry| entry.path.contains("/pods?")).count(), 0);
    });
}
