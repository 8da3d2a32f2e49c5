//! The session of an application: two services with sidecars and two components, from nothing to updates and a new issuer, with
//! sidecars of ours that ask in the order of Dapr 1.18.

use std::fs;
use std::path::Path;
use std::time::Duration;

use http::Method;
use rcgen::KeyPair;
use serde_json::{Value, json};
use tonic::Streaming;
use vela_dapr::protocol::{
    InNamespace, ResourceEvent, ResourceEventType, Resources, SubscriptionsInNamespace,
};
use vela_embedded::send;

use super::api_bench::{Sidecar, in_namespace, next, within};
use super::sentry_bench::{AUDIENCE, Replica, create, request, server, token};
use super::sentry_bundle::{issuer, ours, put, root, secret};
use super::services::documents;

const SPACE: &str = "h1";
const COMPONENTS: &str = "/apis/dapr.io/v1alpha1/namespaces/h1/components";

/// What the application of docs/dapr.md renders to; an end-to-end scenario compares it.
fn rendered() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/orders.yaml");
    let mut objects = documents(&fs::read_to_string(path).unwrap());
    for object in &mut objects {
        object["metadata"]["namespace"] = json!(SPACE);
    }
    objects
}

fn apply(replica: &Replica, object: &Value) {
    let path = match object["kind"].as_str() {
        Some("Component") => COMPONENTS.to_owned(),
        Some("Deployment") => format!("/apis/apps/v1/namespaces/{SPACE}/deployments"),
        other => panic!("where are objects of {other:?}?"),
    };
    create(&replica.server, &path, object);
}

/// The answer of a server, as soon as there is one.
async fn found(replica: &Replica, what: &str, path: &str, select: impl Fn(&Value) -> Option<Value>) -> Value {
    within(what, async {
        loop {
            let (_, answer) = send(&replica.server, Method::GET, path, None);
            if let Some(found) = select(&answer) {
                return found;
            }
            assert!(!replica.operator.is_finished(), "the operator runs");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

async fn pod_of(replica: &Replica, app_id: &str) -> Value {
    let is_its = |pod: &&Value| pod["metadata"]["annotations"]["dapr.io/app-id"] == app_id;
    let select = |pods: &Value| pods["items"].as_array()?.iter().find(is_its).cloned();
    found(replica, "a pod", &format!("/api/v1/namespaces/{SPACE}/pods"), select).await
}

fn names(list: &Resources) -> Vec<String> {
    let objects = list.json.iter().map(|json| serde_json::from_slice::<Value>(json).unwrap());
    objects.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// A sidecar that runs: its certificate, what it loaded, and what it listens to.
struct Running {
    key: KeyPair,
    chain: Vec<u8>,
    components: Vec<String>,
    events: Streaming<ResourceEvent>,
    /// Open, and without events here.
    others: Vec<Streaming<ResourceEvent>>,
    api: Sidecar,
}

impl Running {
    /// In the order in which daprd 1.18 asks.
    async fn start(replica: &Replica, app_id: &str) -> Self {
        let pod = pod_of(replica, app_id).await;
        let (asks, key) = request(app_id, SPACE, token(AUDIENCE, &pod));
        let signed = replica.sign(asks).await.unwrap();
        let anchors = replica.anchors().await;
        assert_eq!(signed.trust_chain_certificates[0], anchors);
        let chain = signed.workload_certificate.to_vec();
        let mut api = replica.api(&anchors, &chain, &key).await.unwrap();
        let ask = || -> InNamespace { in_namespace(SPACE) };
        within("resiliency", api.list_resiliency(ask())).await.unwrap();
        let components = within("components", api.list_components(ask())).await.unwrap().into_inner();
        within("endpoints", api.list_http_endpoints(ask())).await.unwrap();
        let subscriptions = SubscriptionsInNamespace { namespace: SPACE.to_owned() };
        within("subscriptions", api.list_subscriptions_v2(subscriptions)).await.unwrap();
        within("policies", api.list_workflow_access_policy(ask())).await.unwrap();
        within("servers", api.list_mcp_servers(ask())).await.unwrap();
        let events = within("events", api.component_update(ask())).await.unwrap().into_inner();
        let others = vec![
            within("subscriptions", api.subscription_update(ask())).await.unwrap().into_inner(),
            within("endpoints", api.http_endpoint_update(ask())).await.unwrap().into_inner(),
            within("configurations", api.configuration_update(ask())).await.unwrap().into_inner(),
            within("resiliency", api.resiliency_update(ask())).await.unwrap().into_inner(),
            within("servers", api.mcp_server_update(ask())).await.unwrap().into_inner(),
            within("policies", api.workflow_access_policy_update(ask())).await.unwrap().into_inner(),
        ];
        Self { key, chain, components: names(&components), events, others, api }
    }

    async fn hears(&mut self, what: &str) -> (ResourceEventType, String, Value) {
        let (happened, object) = next(what, &mut self.events).await;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        (happened, name, object["spec"].clone())
    }
}

fn change(replica: &Replica, component: &str, patch: &Value) {
    let (code, answer) =
        send(&replica.server, Method::PATCH, &format!("{COMPONENTS}/{component}"), Some(patch));
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_services_of_an_application_share_a_broker() {
    let server = server();
    let _workloads = server.run_controllers();
    let root = root();
    put(&server, Method::POST, &secret(&ours(), &root, &issuer(&root, "first", -1, 364)));
    let replica = Replica::start(&server);
    rendered().iter().for_each(|object| apply(&replica, object));
    for app_id in ["shop", "packing"] {
        let path = format!("/api/v1/namespaces/{SPACE}/services/{app_id}-dapr");
        let owner =
            |service: &Value| service["metadata"]["ownerReferences"][0]["name"].as_str().map(Value::from);
        assert_eq!(found(&replica, "a Service", &path, owner).await, app_id);
    }
    let mut shop = Running::start(&replica, "shop").await;
    let mut packing = Running::start(&replica, "packing").await;
    assert_eq!(shop.components, ["carts", "orders-broker"]);
    assert_eq!(packing.components, ["orders-broker"], "carts is not for it");

    let setting = |value: &str| json!({"spec": {"metadata": [{"name": "ttl", "value": value}]}});
    change(&replica, "orders-broker", &setting("1m"));
    for sidecar in [&mut shop, &mut packing] {
        let (happened, name, spec) = sidecar.hears("a new setting").await;
        assert_eq!((happened, name.as_str()), (ResourceEventType::Updated, "orders-broker"));
        assert_eq!(spec["metadata"][0]["value"], "1m");
    }
    change(&replica, "carts", &json!({"scopes": ["shop", "packing"]}));
    assert_eq!(packing.hears("a component for it").await.0, ResourceEventType::Created);
    assert_eq!(shop.hears("a change of scopes").await.0, ResourceEventType::Updated);

    // Another issuer: what stands goes on, what signs next has the new one.
    let next = issuer(&root, "next", -1, 364);
    put(&server, Method::PUT, &secret(&ours(), &root, &next));
    let mut renewed = within("the next issuer signs", async {
        loop {
            let sidecar = Running::start(&replica, "shop").await;
            if sidecar.chain.ends_with(next.pem().as_bytes()) {
                return sidecar;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    change(&replica, "orders-broker", &setting("2m"));
    for sidecar in [&mut shop, &mut packing, &mut renewed] {
        let (_, name, spec) = sidecar.hears("a setting after the rotation").await;
        assert_eq!((name.as_str(), &spec["metadata"][0]["value"]), ("orders-broker", &json!("2m")));
        assert_eq!(sidecar.others.len(), 6);
        within("a list", sidecar.api.list_components(in_namespace(SPACE))).await.unwrap();
    }
    // A sidecar that connects again with its former certificate is known, too.
    let mut again = replica.api(&root.pem(), &shop.chain, &shop.key).await.unwrap();
    let listed = within("a list", again.list_components(in_namespace(SPACE))).await.unwrap();
    assert_eq!(names(listed.get_ref()), ["carts", "orders-broker"]);
}
