//! What must hold whatever the machine, and some figures: nothing is asked while nothing happens, and a thousand Deployments cost a thousand Services.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tower::Layer as _;
use vela_apiserver::ApiServer;
use vela_dapr::{Api, Process, Security, SidecarInjector, Webhooks};
use vela_embedded::virtual_time;
use vela_runtime::fault::{Entry, Faults};

use super::api_bench::{Bench, component, in_namespace, next, within};
use super::cluster::{Cluster, deployment};
use super::injector::settings;
use super::process::free_port;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CONTROL_PLANE: &str = "dapr-system";
/// How often the operator looks whether what it registered still leads to it, and at its certificate.
const LOOK_EVERY_SECONDS: u64 = 15;
/// Different requests of these looks.
const LOOKS_AT_MOST: usize = 8;

/// The requests that are no watch, nor the question of a watch that goes on whether the server was set back.
fn asked(requests: &[Entry]) -> Vec<&Entry> {
    requests.iter().filter(|entry| !entry.is_watch() && !entry.path.ends_with("?limit=1")).collect()
}

#[test]
fn idle_controllers_ask_for_nothing_but_watches() {
    let done = virtual_time::run(async {
        let cluster = Cluster::new();
        cluster.namespace("shop");
        cluster.create("shop", &deployment("web", "cart"));
        cluster.settle().await;
        assert!(!asked(&cluster.faults.take()).is_empty(), "the start lists, and makes a Service");
        cluster.pass(Duration::from_secs(60 * 60)).await;
        let requests = cluster.faults.take();
        assert_eq!(asked(&requests), [] as [&Entry; 0], "in an hour");
        println!("idle: {} requests of watches in an hour", requests.len());
    });
    done.unwrap();
}

/// All parts but the sentry, which looks at its bundle as the webhooks look at their certificate.
fn all_parts() -> Process {
    let address = || ([127, 0, 0, 1], free_port()).into();
    Process {
        api: Some(Api { address: address(), security: Security::Plaintext }),
        webhooks: Some(Webhooks { address: address(), namespace: CONTROL_PLANE.to_owned() }),
        injector: Some(SidecarInjector { address: address(), url: None, settings: settings("default") }),
        ..Process::default()
    }
}

#[test]
fn an_idle_operator_with_webhooks_looks_every_15_seconds() {
    // A clock that jumps, beside ports that are open.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().start_paused(true).build().unwrap().block_on(async {
        let mut cluster = Cluster::new();
        for name in ["shop", CONTROL_PLANE] {
            cluster.namespace(name);
        }
        for crd in vela_crds::dapr_crds().unwrap() {
            let crd = serde_json::to_value(crd).unwrap();
            let (code, answer) = cluster.send(Method::POST, CRDS, Some(&crd));
            assert_eq!(code, 201, "{answer}");
        }
        cluster.restart_as(all_parts()).await;
        cluster.create("shop", &deployment("web", "cart"));
        cluster.pass(Duration::from_secs(60)).await;
        cluster.faults.take();
        cluster.pass(Duration::from_secs(60 * 60)).await;
        let requests = cluster.faults.take();
        let mut asked_for: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in asked(&requests) {
            assert!(!entry.writes(), "{} {}", entry.method, entry.path);
            *asked_for.entry(&entry.path).or_default() += 1;
        }
        println!("idle with webhooks: {asked_for:#?} in an hour");
        let most = 60 * 60 / LOOK_EVERY_SECONDS + 1;
        assert!(asked_for.len() <= LOOKS_AT_MOST && asked_for.values().all(|times| *times <= 2 * most));
        assert!(asked_for.keys().any(|path| path.contains("subscriptions.dapr.io")), "{asked_for:?}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_costs_no_request_for_each_sidecar() {
    const SIDECARS: usize = 50;
    let faults = Faults::new();
    let bench = Bench::through(false, &[], |server: &ApiServer| {
        kube::Client::new(faults.layer(server.service()), "default")
    });
    let mut streams = Vec::new();
    let mut sidecar = bench.connect(None).await.unwrap();
    for _ in 0..SIDECARS {
        let stream = within("a stream", sidecar.component_update(in_namespace("h1"))).await;
        streams.push(stream.unwrap().into_inner());
    }
    let object = component("h1", "w", &json!({"name": "a", "value": "0"}));
    faults.take();
    bench.create(&object);
    bench.change(&object, &json!({"spec": {"version": "v2"}}));
    for stream in &mut streams {
        while next("the change", stream).await.1["spec"]["version"] != "v2" {}
    }
    assert_eq!(asked(&faults.take()), [] as [&Entry; 0]);
}

#[test]
fn each_service_costs_one_write_and_a_restart_none() {
    services_of(100);
}

#[test]
#[ignore = "prints figures: cargo test -p vela-dapr -- --ignored --nocapture figures"]
fn figures_of_a_thousand_services() {
    services_of(1000);
}

fn services_of(deployments: usize) {
    let done = virtual_time::run(async move {
        let mut cluster = Cluster::new();
        cluster.namespace("shop");
        cluster.settle().await;
        cluster.faults.take();
        let began = Instant::now();
        for number in 0..deployments {
            cluster.create("shop", &deployment(&format!("web-{number}"), &format!("app-{number}")));
        }
        cluster.settle().await;
        assert_eq!(cluster.list("shop", "Service").len(), deployments);
        let requests = cluster.faults.take();
        println!("{deployments} Services: {:?}, {} requests", began.elapsed(), requests.len());
        assert_eq!(requests.iter().filter(|entry| entry.writes()).count(), deployments);
        // A start reads by lists alone, and writes no Service that is as it should be.
        cluster.stop().await;
        cluster.start();
        cluster.settle().await;
        let requests = cluster.faults.take();
        let of_one = |entry: &&&Entry| entry.path.contains("/services/app-");
        let (writes, reads): (Vec<_>, Vec<_>) =
            asked(&requests).into_iter().partition(|entry| entry.writes());
        assert_eq!((writes.len(), reads.iter().filter(of_one).count()), (0, 0));
    });
    done.unwrap();
}
