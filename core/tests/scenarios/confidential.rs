//! What a Secret holds is read nowhere else: an application with recognisable values succeeds and fails, and status, events, logs
//! and metrics are searched.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::test_cluster::{TestCluster, application, until, until_or};

const OLD: &str = "core.oam.dev/v1alpha2";
const NEW: &str = "core.oam.dev/v1beta1";
const AC: &str = "ApplicationConfiguration";

/// The texts that may be found nowhere, and what they are as the API stores them.
const HIDDEN: &[&str] = &[
    "swordfish-71",
    "c3dvcmRmaXNoLTcx",
    "opensesame-72",
    "b3BlbnNlc2FtZS03Mg==",
    "8675309071",
    "hunter2-73",
];

/// Everything that was logged by this process, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn definition(name: &str, template: &str) -> Value {
    json!({"apiVersion": NEW, "kind": "ComponentDefinition", "metadata": {"name": name}, "spec": {
        "workload": {"definition": {"apiVersion": "v1", "kind": "Secret"}},
        "schematic": {"cue": {"template": template}},
    }})
}

/// Keeps a password; a number in place of it contradicts the template.
const VAULT: &str = r#"
output: {
    apiVersion: "v1"
    kind:       "Secret"
    stringData: key: parameter.password
}
parameter: {
    // +usage=What is kept
    password: string
    // +usage=How long it is kept
    days: *1 | <=3 & int
}
"#;

/// Puts what it is given into a Secret, whatever it is.
const RAW: &str = r#"
output: {
    apiVersion: "v1"
    kind:       "Secret"
    data: key: parameter.content
}
parameter: {
    // +usage=What is kept
    content: _
}
"#;

fn component(type_: &str, properties: Value) -> Value {
    json!({"name": type_, "type": type_, "properties": properties})
}

async fn says(cluster: &TestCluster, name: &str, words: &str) {
    let read = || async { cluster.application(name).await["status"].to_string() };
    until_or(words, read, |status| status.contains(words)).await;
}

/// The status of everything of the namespace that has one, and all events.
async fn all_that_people_read(cluster: &TestCluster) -> String {
    let mut read = Vec::new();
    for (version, kind) in [(NEW, "Application"), (OLD, AC), (OLD, "Component"), (NEW, "ComponentDefinition")]
    {
        read.extend(cluster.list(version, kind).await.into_iter().map(|object| object["status"].to_string()));
    }
    read.extend(cluster.list("events.k8s.io/v1", "Event").await.iter().map(ToString::to_string));
    let resource = kube::api::ApiResource::erase::<vela_crds::ResourceTracker>(&());
    let trackers: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
    let trackers = trackers.list(&ListParams::default()).await.unwrap();
    read.extend(trackers.iter().map(|tracker| tracker.data.to_string()));
    read.join("\n")
}

#[tokio::test(flavor = "current_thread")]
async fn what_a_secret_holds_is_told_nowhere() {
    let log = Log::default();
    // The finest that an operator can ask for, without the bytes of connections.
    let filter = vela_core::log_filter::filter("trace,hyper=info,h2=info,tower=info").unwrap();
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(log.clone());
    // This runtime has one thread, so nothing of other tests is in it, and all of ours is.
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    // While there is one subscriber only, a place in the code that the thread of another test is the first to pass asks
    // that thread, which has none, and stays silent for everybody.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let cluster = TestCluster::new().await;
    cluster.create(definition("vault", VAULT)).await;
    cluster.create(definition("raw-secret", RAW)).await;

    let good = application("good", &[component("vault", json!({"password": HIDDEN[0]}))]);
    cluster.create(good).await;
    cluster.phase("good", "running").await;
    // The template is contradicted, by the value itself and beside it.
    cluster.create(application("wrong", &[component("vault", json!({"password": 8_675_309_071_u64}))])).await;
    says(&cluster, "wrong", "ReconcileError").await;
    cluster
        .create(application("late", &[component("vault", json!({"password": HIDDEN[5], "days": 9}))]))
        .await;
    says(&cluster, "late", "ReconcileError").await;
    // The API server refuses what it is sent, and quotes it.
    let broken = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "broken"}, "data": {"key": 8_675_309_071_u64}});
    cluster
        .create(application(
            "refused",
            &[
                component("raw-secret", json!({"content": 8_675_309_071_u64})),
                json!({"name": "objects", "type": "k8s-objects", "properties": {"objects": [broken]}}),
            ],
        ))
        .await;
    says(&cluster, "refused", "cannot apply").await;
    flow(&cluster).await;
    cluster.quiet().await;

    // Each of these messages would have quoted a value.
    let quotes = std::env::var_os("CORE_TEST_KUBECONFIG").is_some();
    // The embedded API server names the place and not the value.
    for name in ["wrong", "refused"].into_iter().take(if quotes { 2 } else { 1 }) {
        let status = cluster.application(name).await["status"].to_string();
        assert!(status.contains("[hidden]"), "{name}: {status}");
    }
    let waits = cluster.get(OLD, AC, "spy").await.unwrap_or_default()["status"]["dependency"].to_string();
    assert!(waits.contains("[hidden]"), "{waits}");

    let metrics = cluster.metrics();
    let logged = log.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let logged = String::from_utf8_lossy(&logged).into_owned();
    assert!(
        logged.contains("application") && metrics.contains("controller_runtime"),
        "nothing was listened to"
    );
    let is_warning = |line: &&str| {
        line.contains("WARN")
            && line.contains("the application is not applied")
            && line.contains(&format!("application={}/wrong ", cluster.namespace))
    };
    let warnings: Vec<&str> = logged.lines().filter(is_warning).collect();
    assert_eq!(warnings.len(), 1, "a render that fails is logged once: {warnings:#?}");
    for (place, text) in
        [("read", all_that_people_read(&cluster).await), ("logged", logged), ("counted", metrics)]
    {
        for hidden in HIDDEN {
            let found = text.lines().find(|line| line.contains(hidden));
            assert_eq!(found, None, "{hidden} is {place}");
        }
    }
}

/// A value of a Secret decides whether another object may be made, and is not the one that is waited for.
async fn flow(cluster: &TestCluster) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"key": HIDDEN[2]}});
    for (name, workload) in [
        ("keys", secret),
        ("copy", json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "copy"}})),
    ] {
        let component = json!({"apiVersion": OLD, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}});
        cluster.create(component).await;
    }
    let condition = json!([{"op": "eq", "value": "ready", "fieldPath": "data.key"}]);
    let source = json!([
        {"componentName": "keys", "dataOutputs": [{"name": "key", "fieldPath": "data.key", "conditions": condition}]},
        {"componentName": "copy", "dataInputs": [{"valueFrom": {"dataOutputName": "key"}, "toFieldPaths": ["data.key"]}]},
    ]);
    cluster.create(json!({"apiVersion": OLD, "kind": AC, "metadata": {"name": "spy"}, "spec": {"components": source}})).await;
    until("the value is waited for", || async {
        let found = cluster.get(OLD, AC, "spy").await.unwrap_or_default();
        found["status"]["dependency"]["unsatisfied"][0]["reason"].is_string()
    })
    .await;
}
