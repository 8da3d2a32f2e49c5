//! The operator with exactly the rights that `vela install --dapr` grants does all that it is for.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{Method, Uri};
use serde_json::{Value, json};
use vela_dapr::{LeaseConfig, Process, SidecarInjector, Watchdog, Webhooks};
use vela_embedded::send;

use super::api_bench::{component, in_namespace, next, secret, within};
use super::cluster::deployment;
use super::injector::settings;
use super::process::free_port;
use super::rights_bench::{Right, Rights};
use super::rollouts;
use super::sentry_bench::{AUDIENCE, Replica, create, request, server, token};
use super::webhooks::ask;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SERVICE: &str = "/api/v1/namespaces/h1/services/cart-dapr";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/h1/deployments";
const REGISTRATION: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/dapr-sidecar-injector";

fn process(injector_port: u16) -> Process {
    let namespace = || "dapr-system".to_owned();
    let url: Uri = format!("https://127.0.0.1:{injector_port}").parse().unwrap();
    let address = ([127, 0, 0, 1], injector_port).into();
    let every = Some(Duration::from_millis(200));
    Process {
        injector: Some(SidecarInjector { address, url: Some(url), settings: settings("default") }),
        webhooks: Some(Webhooks { address: ([127, 0, 0, 1], free_port()).into(), namespace: namespace() }),
        watchdog: Some(Watchdog {
            every,
            restarts_per_minute: None,
            label_pods: false,
            control_plane: namespace(),
        }),
        lease: Some(LeaseConfig {
            namespace: namespace(),
            name: "operator.dapr.io".to_owned(),
            identity: "a".to_owned(),
        }),
        ..Process::default()
    }
}

async fn until(what: &str, replica: &Replica, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    within(what, async {
        loop {
            let (_, found) = send(&replica.server, Method::GET, path, None);
            if holds(&found) {
                return found;
            }
            assert!(!replica.operator.is_finished(), "the operator runs");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

fn patch(replica: &Replica, path: &str, patch: &Value) {
    let (code, answer) = send(&replica.server, Method::PATCH, path, Some(patch));
    assert_eq!(code, 200, "{answer}");
}

fn annotate(replica: &Replica, annotations: &Value) {
    let template = json!({"metadata": {"annotations": annotations}});
    patch(replica, &format!("{DEPLOYMENTS}/web"), &json!({"spec": {"template": template}}));
}

/// A Service is made, changed, reported on and deleted.
async fn services(replica: &Replica) {
    create(&replica.server, DEPLOYMENTS, &deployment("web", "cart"));
    until("the Service", replica, SERVICE, |found| found["kind"] == "Service").await;
    annotate(replica, &json!({"dapr.io/metrics-port": "9191"}));
    until("its port", replica, SERVICE, |found| found["spec"]["ports"][3]["port"] == 9191).await;
    let events = "/apis/events.k8s.io/v1/namespaces/h1/events";
    for (count, port) in [(1, "70000"), (2, "70000")] {
        annotate(replica, &json!({"dapr.io/metrics-port": port, "a": count.to_string()}));
        until("an event", replica, events, |found| {
            let counts = |event: &Value| event["series"]["count"].as_u64().unwrap_or(1) >= count;
            let items = found["items"].as_array().unwrap();
            items.iter().any(|event| event["reason"] == "InvalidDaprAnnotations" && counts(event))
        })
        .await;
    }
    annotate(replica, &json!({"dapr.io/metrics-port": null, "dapr.io/enabled": "no"}));
    until("no Service", replica, SERVICE, |found| found["code"] == 404).await;
}

/// A sidecar gets a certificate, a list with the value of a Secret, and an event.
async fn sidecars(replica: &Replica) {
    create(
        &replica.server,
        "/api/v1/namespaces/h1/secrets",
        &secret("h1", "creds", &json!({"user": "YQ=="})),
    );
    let value = json!({"name": "user", "secretKeyRef": {"name": "creds", "key": "user"}});
    let components = "/apis/dapr.io/v1alpha1/namespaces/h1/components";
    create(&replica.server, components, &component("h1", "store", &value));
    let configuration = json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Configuration",
        "metadata": {"name": "settings"}, "spec": {"accessControl": {"trustDomain": "shops"}}});
    create(&replica.server, "/apis/dapr.io/v1alpha1/namespaces/h1/configurations", &configuration);
    let annotations = json!({"dapr.io/app-id": "cart", "dapr.io/config": "settings"});
    let pod = replica.pod("h1", "cart-0", &annotations);
    let (asks, key) = request("cart", "h1", token(AUDIENCE, &pod));
    let chain = replica.sign(asks).await.unwrap().workload_certificate;
    let mut sidecar = replica.api(&replica.anchors().await, &chain, &key).await.unwrap();
    let listed = within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap().into_inner();
    let listed: Value = serde_json::from_slice(&listed.json[0]).unwrap();
    assert_eq!(listed["spec"]["metadata"][0]["value"], "YQ==");
    let stream = within("a stream", sidecar.component_update(in_namespace("h1"))).await;
    let mut stream = stream.unwrap().into_inner();
    patch(replica, &format!("{components}/store"), &json!({"spec": {"version": "v2"}}));
    assert_eq!(next("a change", &mut stream).await.1["spec"]["version"], "v2");
}

/// A pod without a sidecar is restarted; a review that needs Components and the Configuration of the control plane is answered.
async fn pods(replica: &Replica, injector_port: u16) {
    let pods = "/api/v1/namespaces/h1/pods";
    let mut bare = deployment("bare", "bare");
    bare["spec"]["replicas"] = json!(1);
    create(&replica.server, DEPLOYMENTS, &bare);
    let events = "/apis/events.k8s.io/v1/namespaces/h1/events";
    until("a restart", replica, events, |found| {
        found["items"].as_array().unwrap().iter().any(|event| event["reason"] == "RestartedForSidecar")
    })
    .await;
    let found = until("the registration", replica, REGISTRATION, |found| {
        found["webhooks"][0]["clientConfig"]["caBundle"].is_string()
    })
    .await;
    let annotations = json!({"dapr.io/enabled": "true", "dapr.io/inject-pluggable-components": "true"});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"kind": "Pod"}, "namespace": "h1",
        "userInfo": {"username": "jane", "groups": ["system:masters"]},
        "object": {
            "metadata": {"name": "a", "annotations": annotations},
            "spec": {"containers": [{"name": "web", "image": "i"}]},
        },
    }});
    let config = &found["webhooks"][0]["clientConfig"];
    let answer = ask(injector_port, config, "127.0.0.1", "/mutate", &review.to_string()).await;
    assert_eq!(answer["response"]["patchType"], "JSONPatch", "{answer}");
    let (_, left) = send(&replica.server, Method::GET, pods, None);
    assert!(left["items"].is_array());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_installed_rights_are_enough_and_few_are_idle() {
    let server = server();
    let _workloads = server.run_controllers();
    create(&server, CRDS, &rollouts::kind());
    let subscriptions = format!("{CRDS}/subscriptions.dapr.io");
    let crd = vela_crds::dapr_crds().unwrap().into_iter().find(|crd| crd.spec.names.kind == "Subscription");
    let conversion = serde_json::to_value(crd.unwrap()).unwrap()["spec"]["conversion"].clone();
    let (code, answer) =
        send(&server, Method::PATCH, &subscriptions, Some(&json!({"spec": {"conversion": conversion}})));
    assert_eq!(code, 200, "{answer}");
    let (rights, port) = (Rights::installed(), free_port());
    let replica = Replica::of(&server, process(port), None, |client| rights.client(client));
    until("the conversion is registered", &replica, &subscriptions, |found| {
        found["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].is_string()
    })
    .await;
    services(&replica).await;
    sidecars(&replica).await;
    pods(&replica, port).await;
    replica.stop.cancel();
    let refused = rights.seen(|seen| seen.refused.clone());
    assert_eq!(refused, BTreeSet::<Right>::new());
    let used = rights.seen(|seen| seen.used.clone());
    let idle: BTreeSet<String> = rights
        .granted()
        .difference(&used)
        // A run that takes longer renews its Lease.
        .filter(|(_, resource, verb)| !(resource == "leases" && verb == "update"))
        .map(|(group, resource, verb)| format!("{verb} {resource}.{group}"))
        .collect();
    assert_eq!(idle, BTreeSet::from(IDLE.map(str::to_owned)), "granted, and not used");
}

/// Granted although no request of this run needs it.
const IDLE: [&str; 16] = [
    // Reading is granted as a whole.
    "get components.dapr.io",
    "get deployments.apps",
    "get httpendpoints.dapr.io",
    "get mcpservers.dapr.io",
    "get resiliencies.dapr.io",
    "get rollouts.argoproj.io",
    "get statefulsets.apps",
    "get subscriptions.dapr.io",
    "get workflowaccesspolicies.dapr.io",
    "list leases.coordination.k8s.io",
    "watch leases.coordination.k8s.io",
    // Judged by API servers that let owners be blocked only by those who may.
    "update deployments/finalizers.apps",
    "update rollouts/finalizers.argoproj.io",
    "update statefulsets/finalizers.apps",
    // A longer run renews these.
    "patch configmaps.",
    "update secrets.",
];
