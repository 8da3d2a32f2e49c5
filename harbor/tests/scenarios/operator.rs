//! The operator against an API server in the process: a Harbor goes through, and what keeps one from it is said.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;
use vela_apiserver::ApiServer;
use vela_harbor::controller::Operator;
use vela_harbor::parts::Settings;
use vela_runtime::egress::EgressPolicy;
use vela_runtime::fault::Faults;
use vela_runtime::{Cache, Discovery, Manager};

use super::stage::documents;

/// Longest wait for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const NAMESPACE: &str = "n";
pub(crate) const GOHARBOR: &str = "goharbor.io/v1beta1";
const CERT_MANAGER: &str = "cert-manager.io/v1";

/// A server with the kinds, an operator that looks after them, and an issuer of certificates.
pub(crate) struct Cluster {
    client: Client,
    discovery: Discovery,
    stop: CancellationToken,
    operator: Option<JoinHandle<()>>,
    /// What the operator asks.
    pub(crate) asked: Faults,
    server: ApiServer,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A kind of another operator whose objects may be of any shape.
pub(crate) fn foreign_crd(api_version: &str, kind: &str, plural: &str) -> Value {
    let (group, version) = api_version.split_once('/').unwrap();
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": any },
            }],
        },
    })
}

impl Cluster {
    pub(crate) async fn begin() -> Self {
        Self::on(ApiServer::builder().build().unwrap(), true).await
    }

    /// A cluster where no pod starts, as none does that waits for its claim.
    pub(crate) async fn without_pods() -> Self {
        Self::on(ApiServer::builder().build().unwrap(), false).await
    }

    /// A cluster whose operator has not started.
    pub(crate) async fn without_operator() -> Self {
        let server = ApiServer::builder().build().unwrap();
        server.run_controllers().detach();
        Self::prepared(server).await
    }

    async fn on(server: ApiServer, runs_pods: bool) -> Self {
        if runs_pods {
            server.run_controllers().detach();
        }
        let mut cluster = Self::prepared(server).await;
        cluster.start();
        cluster
    }

    async fn prepared(server: ApiServer) -> Self {
        let client = Client::new(server.service(), "default");
        let discovery = Discovery::new(client.clone());
        let (stop, asked) = (CancellationToken::new(), Faults::new());
        let cluster = Self { client, discovery, stop, operator: None, asked, server };
        for crd in vela_crds::harbor_crds().unwrap() {
            let mut crd = serde_json::to_value(crd).unwrap();
            crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
            crd["kind"] = json!("CustomResourceDefinition");
            cluster.create(crd).await;
        }
        cluster.create(foreign_crd(CERT_MANAGER, "Certificate", "certificates")).await;
        cluster.create(foreign_crd(CERT_MANAGER, "Issuer", "issuers")).await;
        cluster
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
            .await;
        cluster
    }

    /// Starts the operator as a new process would: with empty caches and memory.
    pub(crate) fn start(&mut self) {
        self.stop = CancellationToken::new();
        let (stop, operators) = (self.stop.clone(), self.asked.layer(self.server.service()));
        let operators = Client::new(operators, "default");
        let next = AtomicU8::new(3);
        let chance = Arc::new(move || next.fetch_add(37, Ordering::Relaxed));
        let cache = Cache::new(operators.clone());
        let operator = Operator::new(operators.clone(), cache.clone(), Settings::default(), chance)
            .unwrap()
            .with_egress(EgressPolicy::ServicesAndLoopback);
        let mut manager = Manager::new(operators, cache);
        for controller in operator.controllers(2) {
            manager = manager.with(controller);
        }
        self.operator = Some(tokio::spawn(async move { manager.run(stop).await.unwrap() }));
    }

    /// Lets the operator end.
    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        self.operator.take().unwrap().await.unwrap();
    }

    pub(crate) async fn create(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = self.discovery.resolve_object(&object).await.unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        kind.api(self.client.clone(), &namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        self.get_in(NAMESPACE, (api_version, kind, name)).await
    }

    /// An object of another namespace.
    pub(crate) async fn get_in(
        &self,
        namespace: &str,
        (api_version, kind, name): (&str, &str, &str),
    ) -> Option<Value> {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        let found = kind.api(self.client.clone(), namespace).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, status: bool, patch: Value) {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        let api = kind.api(self.client.clone(), NAMESPACE);
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        match status {
            true => api.patch_status(name, &params, &patch).await.unwrap(),
            false => api.patch(name, &params, &patch).await.unwrap(),
        };
    }

    /// Changes an object of another namespace.
    pub(crate) async fn patch_in(
        &self,
        namespace: &str,
        (api_version, kind): (&str, &str),
        name: &str,
        patch: Value,
    ) {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        let api = kind.api(self.client.clone(), namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, object: &DynamicObject) {
        let kind = self.discovery.resolve_object(object).await.unwrap();
        let name = object.metadata.name.as_deref().unwrap();
        let namespace = object.metadata.namespace.as_deref().unwrap_or(NAMESPACE);
        kind.api(self.client.clone(), namespace).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until an object is as it should be.
    pub(crate) async fn until(&self, of: (&str, &str, &str), is: impl Fn(&Value) -> bool) -> Value {
        self.until_within(of, PATIENCE, is).await
    }

    /// The same with another patience.
    pub(crate) async fn until_within(
        &self,
        of: (&str, &str, &str),
        patience: Duration,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        self.until_in(NAMESPACE, of, patience, is).await
    }

    /// The same of an object of another namespace.
    pub(crate) async fn until_in(
        &self,
        namespace: &str,
        of: (&str, &str, &str),
        patience: Duration,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let (_, kind, name) = of;
        let began = Instant::now();
        loop {
            let found = self.get_in(namespace, of).await;
            let last = found.as_ref().map(|object| object["status"].clone());
            if let Some(found) = found.filter(&is) {
                return found;
            }
            assert!(began.elapsed() < patience, "{kind} {name} after {patience:?}: {last:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until an event about an object says this.
    pub(crate) async fn event(&self, about: &str, words: &str) {
        self.event_in(NAMESPACE, about, words).await;
    }

    /// The same in another namespace: events about what is in none are in `default`.
    pub(crate) async fn event_in(&self, namespace: &str, about: &str, words: &str) {
        let kind = self.discovery.resolve("events.k8s.io/v1", "Event").await.unwrap();
        let began = Instant::now();
        loop {
            let all = kind.api(self.client.clone(), namespace).list(&ListParams::default()).await.unwrap();
            let is = |event: &DynamicObject| {
                event.data["regarding"]["name"] == about
                    && event.data["note"].as_str().is_some_and(|note| note.contains(words))
            };
            if all.items.iter().any(is) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "no event about {about} says {words}: {all:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn input(&self, case: &str) {
        for mut object in documents(case, "input.yaml") {
            object["metadata"]["namespace"] = json!(NAMESPACE);
            self.create(object).await;
        }
    }

    pub(crate) async fn certificate_is_ready(&self, name: &str) {
        let of = (CERT_MANAGER, "Certificate", name);
        self.until(of, |_| true).await;
        let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        self.patch(CERT_MANAGER, "Certificate", name, true, ready).await;
    }
}

pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == name).unwrap_or(&Value::Null)
}

pub(crate) fn is_ready(object: &Value) -> bool {
    ["InProgress", "Failed"].iter().all(|name| condition(object, name)["status"] == "False")
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harbor_goes_through_in_the_order_of_its_graph() {
    let cluster = Cluster::begin().await;
    cluster.input("stack-minimal").await;
    let harbor = (GOHARBOR, "Harbor", "tiny");
    // What does not wait for the certificate goes on; the Harbor says what it waits for.
    cluster.until((GOHARBOR, "Portal", "tiny-harbor"), is_ready).await;
    let waits = |harbor: &Value| {
        condition(harbor, "Failed")["message"] == "Certificate.cert-manager.io n/tiny-harbor-core-tokencert"
    };
    let waiting = cluster.until(harbor, waits).await;
    assert_eq!(condition(&waiting, "Failed")["reason"], "dependencyStatus");
    assert_eq!(condition(&waiting, "InProgress")["status"], "True");
    assert!(cluster.get(GOHARBOR, "Core", "tiny-harbor").await.is_none());
    cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
    cluster.until(harbor, is_ready).await;
    let ingress = cluster.get("networking.k8s.io/v1", "Ingress", "tiny-harbor").await.unwrap();
    assert_eq!(ingress["metadata"]["ownerReferences"][0]["kind"], "Harbor");

    // Secrets are made once; a part that is not asked for any more is deleted.
    let secret = cluster.get("v1", "Secret", "tiny-harbor-registry-basicauth").await.unwrap();
    let portal = cluster.get("apps/v1", "Deployment", "tiny-harbor-core").await.unwrap();
    cluster.patch(GOHARBOR, "Harbor", "tiny", false, json!({"spec": {"portal": null}})).await;
    let began = Instant::now();
    while cluster.get(GOHARBOR, "Portal", "tiny-harbor").await.is_some() {
        assert!(began.elapsed() < PATIENCE, "the portal is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    cluster.until(harbor, is_ready).await;
    let later = cluster.get("v1", "Secret", "tiny-harbor-registry-basicauth").await.unwrap();
    assert_eq!(secret["data"], later["data"]);
    let core = cluster.get("apps/v1", "Deployment", "tiny-harbor-core").await.unwrap();
    assert_eq!(portal["spec"]["template"], core["spec"]["template"], "core was rolled for nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_of_another_owner_is_left_alone() {
    let cluster = Cluster::begin().await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "door-portal", "namespace": NAMESPACE},
        "spec": {"ports": [{"port": 9000}], "selector": {"app": "other"}},
    });
    cluster.create(service).await;
    let before = cluster.get("v1", "Service", "door-portal").await.unwrap();
    cluster.input("part-portal").await;
    let failed = |portal: &Value| {
        condition(portal, "Failed")["status"] == "True"
            && condition(portal, "Failed")["reason"] == "dependencySpec"
    };
    let portal = cluster.until((GOHARBOR, "Portal", "door"), failed).await;
    let said = condition(&portal, "Failed")["message"].as_str().unwrap();
    assert!(said.contains("Service") && said.contains("door-portal"), "{said}");
    assert_eq!(cluster.get("v1", "Service", "door-portal").await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_is_said_and_mended_when_it_comes() {
    let cluster = Cluster::begin().await;
    let (secrets, others): (Vec<_>, Vec<_>) = documents("part-jobservice", "input.yaml")
        .into_iter()
        .partition(|object| object["metadata"]["name"] == "redis-pw");
    for mut object in others {
        object["metadata"]["namespace"] = json!(NAMESPACE);
        cluster.create(object).await;
    }
    let of = (GOHARBOR, "JobService", "night");
    let failed = |object: &Value| condition(object, "Failed")["reason"] == "dependencySpec";
    let object = cluster.until(of, failed).await;
    let said = condition(&object, "Failed")["message"].as_str().unwrap();
    assert!(said.contains("redisPool.passwordRef") && said.contains("redis-pw"), "{said}");
    assert!(cluster.get("apps/v1", "Deployment", "night-jobservice").await.is_none());
    for mut secret in secrets {
        secret["metadata"]["namespace"] = json!(NAMESPACE);
        cluster.create(secret).await;
    }
    cluster.until(of, is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_harbor_is_said_until_it_is_mended() {
    let cluster = Cluster::begin().await;
    cluster.input("bad-two-storages").await;
    let harbor = documents("bad-two-storages", "input.yaml")
        .into_iter()
        .find(|object| object["kind"] == "Harbor")
        .unwrap();
    let name = harbor["metadata"]["name"].as_str().unwrap();
    let of = (GOHARBOR, "Harbor", name);
    let refused = cluster.until(of, |harbor| condition(harbor, "Failed")["reason"] == "invalidSpec").await;
    let said = condition(&refused, "Failed")["message"].as_str().unwrap();
    assert!(
        said.contains("spec.imageChartStorage: Invalid value: ") && said.contains("only 1 storage"),
        "{said}"
    );
    assert_eq!(condition(&refused, "InProgress")["status"], "False");
    let registry = format!("{name}-harbor");
    assert!(cluster.get(GOHARBOR, "Registry", &registry).await.is_none());
    let mended = json!({"spec": {"imageChartStorage": {"s3": null}}});
    cluster.patch(GOHARBOR, "Harbor", name, false, mended).await;
    cluster.until((GOHARBOR, "Registry", &registry), |_| true).await;
}
