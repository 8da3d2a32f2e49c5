//! A real `daprd`, which takes this operator and its sentry for those of Dapr: `DAPRD` names the binary.
//!
//! 1.16 and later; one before offers the token of a file that it is told of for another validator. Releases before 1.17 load changes only
//! by the feature `HotReload`, which the Configuration switches on.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vela_apiserver::ApiServer;
use vela_embedded::send;
use vela_testkit::Process;

use super::process::free_port;
use super::sentry_bench::{AUDIENCE, Replica, create, secret_text, server, token};

const DEADLINE: Duration = Duration::from_secs(60);
const GROUP: &str = "/apis/dapr.io";

/// An application: it answers everything, and knows what was posted to it.
struct App {
    port: u16,
    posted: Arc<Mutex<Vec<String>>>,
}

impl App {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, posted) = (listener.local_addr().unwrap().port(), Arc::<Mutex<Vec<String>>>::default());
        let known = posted.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, known.clone()));
            }
        });
        Self { port, posted }
    }

    fn got(&self, path: &str) -> bool {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|one| one == path)
    }
}

/// One request of a connection, with a body that is not longer than a packet of loopback.
async fn answer(mut stream: TcpStream, posted: Arc<Mutex<Vec<String>>>) {
    let mut bytes = vec![0; 16 * 1024];
    let length = stream.read(&mut bytes).await.unwrap_or_default();
    let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
    if let Some(path) = request.strip_prefix("POST ").and_then(|rest| rest.split(' ').next()) {
        posted.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }
    // It subscribes to nothing itself.
    let body = if request.starts_with("GET /dapr/subscribe ") { "[]" } else { "{}" };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(text.as_bytes()).await;
}

struct Daprd {
    process: Process,
    port: u16,
    log: std::path::PathBuf,
}

impl Daprd {
    fn start(folder: &std::path::Path, replica: &Replica, anchors: &str, pod: &Value, app: &App) -> Self {
        let binary = std::env::var_os("DAPRD").unwrap_or_else(|| panic!("DAPRD names a binary of daprd"));
        let (token_file, log) = (folder.join("token"), folder.join("log"));
        fs::write(&token_file, token(AUDIENCE, pod)).unwrap();
        let ((sentry, api), port) = (replica.ports(), free_port());
        let child = Command::new(binary)
            .args(["--mode", "kubernetes", "--app-id", "cart", "--config", "appconfig", "--enable-mtls"])
            .args(["--disable-builtin-k8s-secret-store", "--dapr-listen-addresses", "127.0.0.1"])
            .arg(format!("--control-plane-address=127.0.0.1:{api}"))
            .arg(format!("--sentry-address=127.0.0.1:{sentry}"))
            .arg(format!("--app-port={}", app.port))
            .arg(format!("--dapr-http-port={port}"))
            .arg(format!("--dapr-grpc-port={}", free_port()))
            .arg(format!("--dapr-internal-grpc-port={}", free_port()))
            .arg(format!("--metrics-port={}", free_port()))
            .env("NAMESPACE", "h1")
            .env("POD_NAME", "cart-0")
            .env("DAPR_HOST_IP", "127.0.0.1")
            .env("DAPR_UNSAFE_SKIP_CONTAINER_UID_GID_CHECK", "true")
            .env("DAPR_TRUST_ANCHORS", anchors)
            .env("DAPR_CONTROLPLANE_TRUST_DOMAIN", "cluster.local")
            .env("DAPR_CONTROLPLANE_NAMESPACE", "dapr-system")
            .env("DAPR_SENTRY_TOKEN_FILE", token_file)
            .stdout(fs::File::create(&log).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process: child.into(), port, log }
    }

    /// The answer to a request; empty where it does not answer.
    async fn ask(&self, request: &str, body: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)).await else { return String::new() };
        let head = "host: a\r\nconnection: close\r\ncontent-type: application/cloudevents+json";
        let text = format!("{request} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let mut answer = String::new();
        if stream.write_all(text.as_bytes()).await.is_ok() {
            let _ = stream.read_to_string(&mut answer).await;
        }
        answer
    }

    /// Waits until it has loaded these components, in this order of names, and subscribed to these topics.
    async fn has(&mut self, components: &[&str], topics: &[&str]) {
        let expected = json!([components, topics]);
        let sorted = |values: &Value, field: &str| {
            let values = values.as_array().into_iter().flatten();
            let mut names: Vec<String> = values.map(|one| one[field].as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        let began = Instant::now();
        loop {
            let answer = self.ask("GET /v1.0/metadata", "").await;
            let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            let found: Value = serde_json::from_str(body).unwrap_or_default();
            let found =
                json!([sorted(&found["components"], "name"), sorted(&found["subscriptions"], "topic")]);
            if found == expected {
                return;
            }
            let ended = self.process.try_wait().unwrap();
            assert!(
                ended.is_none() && began.elapsed() < DEADLINE,
                "daprd has {found}, not {expected}; its end: {ended:?}\n{}",
                self.said()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

fn make(server: &ApiServer, version: &str, (kind, plural): (&str, &str), name: &str, rest: Value) {
    let mut object = rest;
    object["apiVersion"] = json!(format!("dapr.io/{version}"));
    object["kind"] = json!(kind);
    object["metadata"] = json!({"name": name});
    create(server, &format!("{GROUP}/{version}/namespaces/h1/{plural}"), &object);
}

fn patch(server: &ApiServer, path: &str, patch: &Value) {
    let (code, answer) = send(server, http::Method::PATCH, path, Some(patch));
    assert_eq!(code, 200, "{answer}");
}

fn component(server: &ApiServer, name: &str, what: &str, metadata: &Value) {
    let spec = json!({"spec": {"type": what, "version": "v1", "metadata": [metadata]}});
    make(server, "v1alpha1", ("Component", "components"), name, spec);
}

/// What there is before the sidecar starts, one of each kind.
fn furnish(server: &ApiServer) {
    let creds = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"}, "stringData": {"login": "jane"}});
    create(server, "/api/v1/namespaces/h1/secrets", &creds);
    let secret = json!({"name": "login", "secretKeyRef": {"name": "creds", "key": "login"}});
    component(server, "store", "state.in-memory", &secret);
    component(server, "broker", "pubsub.in-memory", &json!({"name": "a", "value": "1"}));
    make(
        server,
        "v1alpha1",
        ("Configuration", "configurations"),
        "appconfig",
        json!({"spec": {
            "accessControl": {"trustDomain": "corp"}, "features": [{"name": "HotReload", "enabled": true}],
        }}),
    );
    make(
        server,
        "v1alpha1",
        ("Resiliency", "resiliencies"),
        "retry",
        json!({"spec": {
            "policies": {"retries": {"few": {"policy": "constant", "duration": "1s", "maxRetries": 2}}},
            "targets": {"components": {"store": {"outbound": {"retry": "few"}}}},
        }}),
    );
    make(
        server,
        "v1alpha1",
        ("HTTPEndpoint", "httpendpoints"),
        "outside",
        json!({"spec": {
            "baseUrl": "http://127.0.0.1:9", "headers": [secret],
        }}),
    );
    make(
        server,
        "v2alpha1",
        ("Subscription", "subscriptions"),
        "orders",
        json!({"spec": {
            "pubsubname": "broker", "topic": "orders",
            "routes": {"default": "/orders", "rules": [{"match": "event.type == 'special'", "path": "/special"}]},
        }}),
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs daprd in DAPRD: cargo test -p vela-dapr --test dapr -- --ignored a_real_daprd"]
async fn a_real_daprd_lives_with_operator_and_sentry() {
    let server = server();
    furnish(&server);
    let (replica, app, folder) = (Replica::start(&server), App::start().await, tempfile::tempdir().unwrap());
    let annotations = json!({"dapr.io/app-id": "cart", "dapr.io/config": "appconfig"});
    let pod = replica.pod("h1", "cart-0", &annotations);
    let anchors = replica.anchors().await;
    let mut daprd = Daprd::start(folder.path(), &replica, &anchors, &pod, &app);
    daprd.has(&["broker", "store"], &["orders"]).await;
    // Messages reach the paths of the subscription.
    let began = Instant::now();
    while !app.got("/orders") || !app.got("/special") {
        for what in ["plain", "special"] {
            let event = json!({"specversion": "1.0", "type": what, "source": "s", "id": "1", "data": {}});
            daprd.ask("POST /v1.0/publish/broker/orders", &event.to_string()).await;
        }
        assert!(began.elapsed() < DEADLINE, "{}", daprd.said());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // What it does not see makes it start nothing anew: it has both changes when it has the third.
    let applied =
        json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
    patch(&server, &format!("{GROUP}/v1alpha1/namespaces/h1/httpendpoints/outside"), &applied);
    patch(&server, "/api/v1/namespaces/h1/secrets/creds", &applied);
    component(&server, "late", "state.in-memory", &json!({"name": "a", "value": "1"}));
    daprd.has(&["broker", "late", "store"], &["orders"]).await;
    // Out of its scope, and back.
    let late = format!("{GROUP}/v1alpha1/namespaces/h1/components/late");
    patch(&server, &late, &json!({"scopes": ["other"]}));
    daprd.has(&["broker", "store"], &["orders"]).await;
    patch(&server, &late, &json!({"scopes": ["cart"]}));
    daprd.has(&["broker", "late", "store"], &["orders"]).await;
    // While the operator is away, one goes and another comes.
    let next = replica.next();
    assert_eq!(send(&server, http::Method::DELETE, &late, None).0, 200);
    component(&server, "later", "state.in-memory", &json!({"name": "a", "value": "1"}));
    let replica = next.await;
    daprd.has(&["broker", "later", "store"], &["orders"]).await;
    // What signs is what signed before.
    assert_eq!(replica.anchors().await, anchors);
    let (_, bundle) = send(&server, http::Method::GET, super::sentry_bench::SECRET, None);
    assert_eq!(secret_text(&bundle, "ca.crt"), anchors);
    for word in ["hangup", "level=fatal"] {
        assert!(!daprd.said().contains(word), "{}", daprd.said());
    }
}
