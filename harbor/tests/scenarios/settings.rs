//! What sets up a Harbor that runs, against a server in the test that plays the API of a Harbor.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::operator::{Cluster, GOHARBOR, NAMESPACE};

/// Bytes of a request at most.
const REQUEST_AT_MOST: usize = 64 * 1024;

/// A request as it came: its first line, its login, its body.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    line: String,
    login: String,
    body: Value,
}

/// A server that takes everything and remembers it.
struct Harbor {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Harbor {
    async fn begin() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Some(request) = answer(stream).await {
                    seen.lock().unwrap().push(request);
                }
            }
        });
        Self { port, asked }
    }

    fn asked(&self, beginning: &str) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|asked| asked.line.starts_with(beginning)).cloned().collect()
    }
}

/// Reads one request and answers with a robot account.
async fn answer(mut stream: TcpStream) -> Option<Asked> {
    let mut read = Vec::new();
    let (head, length) = loop {
        if read.len() > REQUEST_AT_MOST || stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&read).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = header(head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0_usize);
        if read.len() >= head.len() + 4 + length {
            break (head.to_owned(), length);
        }
    };
    let body = &read[head.len() + 4..head.len() + 4 + length];
    let robot = json!({"id": 7, "name": "robot$lib+pull"}).to_string();
    let said = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{robot}",
        robot.len()
    );
    stream.write_all(said.as_bytes()).await.ok()?;
    let login = header(&head, "authorization")?.trim_start_matches("Basic ").to_owned();
    Some(Asked {
        line: head.lines().next()?.to_owned(),
        login: String::from_utf8(STANDARD.decode(login).ok()?).ok()?,
        body: serde_json::from_slice(body).unwrap_or_default(),
    })
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn secret(name: &str, texts: Value) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts})
}

fn setting(kind: &str, name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": NAMESPACE});
    json!({"apiVersion": GOHARBOR, "kind": kind, "metadata": metadata, "spec": spec})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_reaches_the_harbor_with_its_secrets() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    let mut owner = super::cluster::input("external");
    owner["spec"]["externalURL"] = json!(format!("http://127.0.0.1:{}/", harbor.port));
    cluster.create(owner).await;
    cluster.create(secret("admin-pw", json!({"secret": "Quiet-Lamp-77"}))).await;
    let settings = json!({"authMode": "oidc_auth", "oidcClientSecret": "oidc", "selfRegistration": false});
    let spec = json!({"harborClusterRef": "hc", "configuration": settings});
    cluster.create(setting("HarborConfiguration", "login", spec.clone())).await;
    let of = (GOHARBOR, "HarborConfiguration", "login");
    let failed = cluster.until(of, |object| object["status"]["status"] == "Fail").await;
    let said = failed["status"]["message"].as_str().unwrap();
    assert!(said.contains("spec.configuration.oidcClientSecret names Secret oidc"), "{said}");
    assert!(harbor.asked("PUT").is_empty());
    cluster.create(secret("oidc", json!({"oidc_client_secret": "hush"}))).await;
    let done = cluster.until(of, |object| object["status"]["status"] == "Success").await;
    assert_eq!(done["status"]["lastConfiguration"]["configuration"], spec["configuration"]);
    assert!(done["status"]["lastApplyTime"].is_string());
    let asked = harbor.asked("PUT /api/v2.0/configurations ");
    assert_eq!(asked[0].login, "admin:Quiet-Lamp-77");
    let wanted = json!({"auth_mode": "oidc_auth", "oidc_client_secret": "hush", "self_registration": false});
    assert_eq!(asked[0].body, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_gives_a_robot_to_a_service_account() {
    let (cluster, harbor) = (Cluster::begin().await, Harbor::begin().await);
    // The schema takes no port behind a number, so the address has a path that ends in one.
    let url = format!("http://127.0.0.1:{}/127.0.0.1", harbor.port);
    let credential = json!({"namespace": NAMESPACE, "accessSecretRef": "access"});
    let mut server = setting(
        "HarborServerConfiguration",
        "main",
        json!({"serverURL": url, "version": "2.5.1", "accessCredential": credential}),
    );
    server["metadata"].as_object_mut().unwrap().remove("namespace");
    cluster.create(server).await;
    cluster.create(secret("access", json!({"accessKey": "admin", "accessSecret": "pass"}))).await;
    let spec =
        json!({"harborServerConfig": "main", "projectId": "1", "robotId": "7", "serviceAccount": "builder"});
    cluster.create(setting("PullSecretBinding", "pulls", spec)).await;
    let of = (GOHARBOR, "PullSecretBinding", "pulls");
    let failed = cluster.until(of, |object| object["status"]["status"] == "error").await;
    let said = failed["status"]["message"].as_str().unwrap();
    assert!(said.contains("spec.serviceAccount names ServiceAccount builder"), "{said}");
    let metadata = json!({"name": "builder", "namespace": NAMESPACE});
    let known = json!([{"name": "other"}]);
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "imagePullSecrets": known}))
        .await;
    cluster.until(of, |object| object["status"]["status"] == "ready").await;
    let account = cluster.get("v1", "ServiceAccount", "builder").await.unwrap();
    assert_eq!(account["imagePullSecrets"], json!([{"name": "other"}, {"name": "pulls-pull"}]));
    let secret = cluster.get("v1", "Secret", "pulls-pull").await.unwrap();
    assert_eq!(secret["type"], "kubernetes.io/dockerconfigjson");
    let file = STANDARD.decode(secret["data"][".dockerconfigjson"].as_str().unwrap()).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let login = &file["auths"][url.trim_start_matches("http://")];
    assert_eq!(login["username"], "robot$lib+pull");
    let asked = harbor.asked("PATCH /127.0.0.1/api/v2.0/robots/7 ");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].body["secret"], login["password"]);
    assert_eq!(asked[0].login, "admin:pass");
}
