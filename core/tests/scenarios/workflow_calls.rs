//! Workflow steps that ask servers: what is sent and how often, what is made of the answer, and what a failure says.

use std::sync::{Arc, Mutex};

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// A server that keeps what it was sent.
struct Server {
    url: String,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers every request with this body; with none, where it never answers.
    async fn start(body: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = sent.clone();
        tokio::spawn(async move {
            // Connections without an answer stay open.
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                seen.lock().unwrap().push(request);
                match body {
                    Some(body) => {
                        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
                        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                        let _ = stream.write_all(answer.as_bytes()).await;
                    }
                    None => open.push(stream),
                }
            }
        });
        Self { url, sent }
    }

    fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

/// One request with its body.
async fn read(stream: &mut TcpStream) -> String {
    let (mut text, mut chunk) = (String::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut chunk).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&chunk[..length]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if length == 0 {
                return text;
            }
            continue;
        };
        let head = head.to_lowercase();
        let expected = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let expected: usize = expected.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if length == 0 || body.len() >= expected {
            return text;
        }
    }
}

/// Controllers that ask the servers of this machine, where those of a scenario are.
fn process() -> Process {
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, ..Options::default() };
    Process { options, ..Process::default() }
}

async fn cluster() -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    cluster.start_as(process());
    cluster
}

/// An application of `back` with these steps before it.
fn shop(steps: &[Value]) -> Value {
    let mut shop = application("shop", &[web("back", "nginx:1")]);
    let last = json!({"name": "back", "type": "apply-component", "properties": {"component": "back"}});
    let steps: Vec<Value> = steps.iter().cloned().chain([last]).collect();
    shop["spec"]["workflow"] = json!({"steps": steps});
    shop
}

fn first_step(application: &Value) -> Value {
    application["status"]["workflow"]["steps"][0].clone()
}

fn message(step: &Value) -> String {
    step["message"].as_str().unwrap_or_default().to_owned()
}

async fn step_definition(cluster: &TestCluster, name: &str, template: &str) {
    let definition = json!({
        "apiVersion": OAM,
        "kind": "WorkflowStepDefinition",
        "metadata": {"name": name},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    cluster.create(definition).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_gives_its_answer_to_other_steps() {
    let server = Server::start(Some(r#"{"image": "nginx:1"}"#)).await;
    let cluster = cluster().await;
    let ask = json!({
        "name": "ask", "type": "request", "properties": {"url": format!("{}/image?of=back", server.url)},
        "outputs": [{"name": "image", "valueFrom": "response.image"}],
    });
    let mut shop = shop(&[ask]);
    let last = &mut shop["spec"]["workflow"]["steps"][1];
    last["inputs"] = json!([{"from": "image"}]);
    last["if"] = json!("inputs.image == \"nginx:1\"");
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("back").await.is_some());
    let sent = server.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].starts_with("GET /image?of=back HTTP/1.1"), "{}", sent[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_is_sent_once_whatever_becomes_of_the_process() {
    let server = Server::start(Some("")).await;
    let mut cluster = cluster().await;
    let step = tells_and_waits(&cluster, &server).await;
    cluster.create(shop(&[step])).await;
    let waits = |shop: &Value| message(&first_step(shop)) == "not approved yet";
    until_or("it is sent, and waits", || cluster.application("shop"), waits).await;
    cluster.kill().await;
    cluster.start_as(process());
    let approval = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "approval"}});
    cluster.create(approval).await;
    cluster.phase("shop", "running").await;
    let sent = server.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].starts_with("POST / HTTP/1.1") && sent[0].ends_with("\r\n\r\nhello"), "{}", sent[0]);
    assert!(sent[0].contains("x-kind: note"), "{}", sent[0]);
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    assert_eq!(values["data"]["vars"], r#"{"code":200}"#, "{values}");
}

/// A step that sends a note to the server, and goes on when the ConfigMap approval is there.
async fn tells_and_waits(cluster: &TestCluster, server: &Server) -> Value {
    let tell = r#"
import ("vela/http", "vela/kube", "vela/builtin")
tell: http.#HTTPPost & {$params: {url: parameter.url, request: {body: "hello", header: "X-Kind": "note"}}}
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "approval"}}
wait: builtin.#ConditionalWait & {$params: {continue: read.$returns.value != _|_, message: "not approved yet"}}
code: tell.$returns.statusCode
parameter: url: string
"#;
    step_definition(cluster, "tell", tell).await;
    json!({
        "name": "tell", "type": "tell", "properties": {"url": server.url},
        "outputs": [{"name": "code", "valueFrom": "code"}],
    })
}

/// The values of an application that was deleted may be there for a while, and a new one of the same name keeps its own elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn calls_are_remembered_when_the_usual_name_becomes_free() {
    let server = Server::start(Some("")).await;
    let cluster = cluster().await;
    let (name, approval) = ("workflow-shop-context", "approval");
    let config_map =
        |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    cluster.create(config_map(name)).await;
    let step = tells_and_waits(&cluster, &server).await;
    cluster.create(shop(&[step])).await;
    let waits = |shop: &Value| message(&first_step(shop)) == "not approved yet";
    let held = until_or("it is sent, and waits", || cluster.application("shop"), waits).await;
    let kept = held["status"]["workflow"]["contextBackend"]["name"].as_str().unwrap().to_owned();
    assert!(kept.starts_with("workflow-shop-context-"), "{kept}");
    cluster.delete("v1", "ConfigMap", name).await;
    cluster.create(config_map(approval)).await;
    cluster.phase("shop", "running").await;
    assert_eq!(server.sent().len(), 1);
    assert!(cluster.get("v1", "ConfigMap", name).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_been_taken_is_not_sent_again() {
    let server = Server::start(None).await;
    let cluster = cluster().await;
    let tell = r#"
import "vela/http"
tell: http.#HTTPDo & {$params: {method: "POST", url: parameter.url, request: timeout: "300ms"}}
parameter: url: string
"#;
    step_definition(&cluster, "tell", tell).await;
    let step =
        json!({"name": "tell", "type": "tell", "properties": {"url": format!("{}/hidden", server.url)}});
    cluster.create(shop(&[step])).await;
    cluster.phase("shop", "workflowFailed").await;
    let step = first_step(&cluster.application("shop").await);
    let said = message(&step);
    assert!(said.contains("It may have been taken") && !said.contains("hidden"), "{said}");
    assert_eq!((&step["phase"], &step["reason"]), (&json!("failed"), &json!("Action")));
    assert_eq!(server.sent().len(), 1);
    assert!(cluster.deployment("back").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_of_a_secret_stands_in_no_message() {
    let cluster = cluster().await;
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/services/hidden-key", unused.local_addr().unwrap());
    drop(unused);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "chat"}, "stringData": {"url": url},
    });
    cluster.create(secret).await;
    let step = json!({
        "name": "tell", "type": "webhook", "timeout": "3s",
        "properties": {"url": {"secretRef": {"name": "chat", "key": "url"}}, "data": {"text": "hello"}},
    });
    cluster.create(shop(&[step])).await;
    let failed = |shop: &Value| first_step(shop)["phase"] == "failed";
    let shop = until_or("no server answers", || cluster.application("shop"), failed).await;
    assert!(!shop["status"].to_string().contains("hidden-key"), "{}", shop["status"]);
    assert!(message(&first_step(&shop)).starts_with("POST "), "{}", shop["status"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metric_has_to_hold_for_its_time() {
    let holds =
        r#"{"status": "success", "data": {"resultType": "vector", "result": [{"value": [0, "0.99"]}]}}"#;
    let server = Server::start(Some(holds)).await;
    let cluster = cluster().await;
    let step = json!({"name": "check", "type": "check-metrics", "properties": {
        "query": "up > 0", "condition": ">=0.95", "metricEndpoint": server.url, "duration": "1s",
    }});
    cluster.create(shop(&[step])).await;
    let counts = |shop: &Value| message(&first_step(shop)).starts_with("the result meets >=0.95 since");
    until_or("it counts", || cluster.application("shop"), counts).await;
    assert!(cluster.deployment("back").await.is_none());
    cluster.phase("shop", "running").await;
    assert!(
        server.sent()[0].starts_with("GET /api/v1/query?query=up%20%3E%200 HTTP/1.1"),
        "{:?}",
        server.sent()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metric_that_does_not_hold_fails_its_step() {
    let fails = r#"{"status": "success", "data": {"resultType": "scalar", "result": [0, "0.5"]}}"#;
    let server = Server::start(Some(fails)).await;
    let cluster = cluster().await;
    let step = json!({"name": "check", "type": "check-metrics", "properties": {
        "query": "up", "condition": ">=0.95", "metricEndpoint": server.url, "failDuration": "1s",
    }});
    cluster.create(shop(&[step])).await;
    cluster.phase("shop", "workflowFailed").await;
    let said = message(&first_step(&cluster.application("shop").await));
    assert_eq!(said, "the result 0.5 does not meet >=0.95, and did not for 1s");
}

/// A server for e-mails that takes each, and what it took.
async fn mail_server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = taken.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (reader, mut writer) = stream.into_split();
            let mut lines = BufReader::new(reader).lines();
            let _ = writer.write_all(b"220 mail\r\n").await;
            let (mut message, mut is_message) = (String::new(), false);
            while let Ok(Some(line)) = lines.next_line().await {
                let reply = match line.as_str() {
                    "." if is_message => {
                        seen.lock().unwrap().push(std::mem::take(&mut message));
                        is_message = false;
                        "250 taken"
                    }
                    line if is_message => {
                        message.push_str(line);
                        message.push('\n');
                        continue;
                    }
                    "DATA" => {
                        is_message = true;
                        "354 go on"
                    }
                    "QUIT" => "221 bye",
                    _ => "250 ok",
                };
                let _ = writer.write_all(format!("{reply}\r\n").as_bytes()).await;
            }
        }
    });
    (port, taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_goes_to_chat_and_by_mail() {
    let chat = Server::start(Some("ok")).await;
    let (port, taken) = mail_server().await;
    let cluster = cluster().await;
    let step = json!({"name": "tell", "type": "notification", "properties": {
        "slack": {"url": {"value": chat.url}, "message": {"text": "shop is up"}},
        "email": {
            "from": {"address": "a@example.com", "host": "127.0.0.1", "port": port, "password": {"value": "hidden"}},
            "to": ["b@example.com"],
            "content": {"subject": "shop is up", "body": "<b>up</b>"},
        },
    }});
    cluster.create(shop(&[step])).await;
    cluster.phase("shop", "running").await;
    let sent = chat.sent();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].ends_with(r#"{"text":"shop is up"}"#), "{}", sent[0]);
    let taken = taken.lock().unwrap().clone();
    assert_eq!(taken.len(), 1, "{taken:?}");
    assert!(
        taken[0].contains("\nSubject: shop is up\n") && taken[0].contains("\nPGI+dXA8L2I+\n"),
        "{}",
        taken[0]
    );
}

/// What `vela workflow terminate` writes.
async fn terminate(cluster: &TestCluster) {
    let mut workflow = cluster.application("shop").await["status"]["workflow"].clone();
    workflow["terminated"] = json!(true);
    for step in workflow["steps"].as_array_mut().unwrap() {
        (step["phase"], step["reason"]) = (json!("failed"), json!("Terminate"));
    }
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    let api = cluster.api(OAM, "Application").await;
    api.patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_server_never_answers_can_be_ended() {
    let server = Server::start(None).await;
    let cluster = cluster().await;
    let ask = json!({"name": "ask", "type": "request", "properties": {"url": server.url}});
    cluster.create(shop(&[ask])).await;
    // An application beside it does not wait for that server.
    cluster.create(application("other", &[web("front", "nginx:1")])).await;
    cluster.phase("other", "running").await;
    let waits = |found: &Value| message(&first_step(found)).contains("no answer");
    until_or("the step says so", || cluster.application("shop"), waits).await;
    terminate(&cluster).await;
    cluster.phase("shop", "workflowTerminated").await;
    let sent = server.sent().len();
    cluster.rested(1).await;
    assert_eq!(server.sent().len(), sent, "an ended run asks no more");
    assert!(cluster.deployment("back").await.is_none());
}

#[tokio::test]
async fn a_step_that_does_not_compile_never_succeeds() {
    let cluster = TestCluster::new().await;
    let broken =
        "import \"vela/kube\"\nread: kube.#Read & {$params: value: parameter.nothing\nparameter: {}\n";
    step_definition(&cluster, "look", broken).await;
    cluster.create(shop(&[json!({"name": "look", "type": "look"})])).await;
    let failed = |found: &Value| {
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["status"] == "False" && one["message"].to_string().contains("look"))
    };
    until_or("it names the definition", || cluster.application("shop"), failed).await;
    for _ in 0..3 {
        cluster
            .patch(OAM, "Application", "shop", json!({"metadata": {"annotations": {"again": "yes"}}}))
            .await;
        cluster.rested(1).await;
        let status = cluster.application("shop").await["status"].clone();
        assert_ne!(status["workflow"]["steps"][0]["phase"], "succeeded", "{status}");
        assert_ne!(status["status"], "running", "{status}");
    }
    assert!(cluster.deployment("back").await.is_none(), "no later step ran");
}
