//! The webhooks as an API server finds them: registered, with the authority of its certificate.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use vela_apiserver::ApiServer;
use vela_dapr::{Process, SidecarInjector, SidecarSettings, Stop, Webhooks};
use vela_embedded::send;

use super::api_bench::within;
use super::process::free_port;

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The answer of a server to a client that trusts the authority of its registration alone.
pub(crate) async fn ask(port: u16, config: &Value, name: &'static str, path: &str, review: &str) -> Value {
    use base64::Engine as _;
    let bundle = config["caBundle"].as_str().unwrap();
    let bundle = base64::engine::general_purpose::STANDARD.decode(bundle).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(&bundle) {
        roots.add(authority.unwrap()).unwrap();
    }
    let client =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from(name).unwrap();
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{review}",
        review.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = within("an answer", stream.read_to_string(&mut answer)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_finds_the_conversion_and_trusts_it() {
    let server = ApiServer::builder().build().unwrap();
    let crds = vela_crds::dapr_crds().unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == "Subscription").unwrap();
    let (code, answer) = send(&server, Method::POST, CRD, Some(&serde_json::to_value(crd).unwrap()));
    assert_eq!(code, 201, "{answer}");
    let port = free_port();
    let stop = Stop::new();
    let webhooks = Webhooks { address: ([127, 0, 0, 1], port).into(), namespace: "default".to_owned() };
    let process = Process { webhooks: Some(webhooks), stop: stop.clone(), ..Process::default() };
    let operator = tokio::spawn(vela_dapr::run(kube::Client::new(server.service(), "default"), process));
    let config = within("the authority is registered", async {
        loop {
            let (_, crd) = send(&server, Method::GET, &format!("{CRD}/subscriptions.dapr.io"), None);
            let config = crd["spec"]["conversion"]["webhook"]["clientConfig"].clone();
            if config["caBundle"].is_string() {
                return config;
            }
            assert!(!operator.is_finished(), "the operator runs");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(config["service"]["namespace"], "default");
    assert_eq!(config["service"]["path"], "/convert");
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "u", "desiredAPIVersion": "dapr.io/v2alpha1", "objects": [{
            "apiVersion": "dapr.io/v1alpha1", "kind": "Subscription", "metadata": {"name": "s"},
            "spec": {"pubsubname": "b", "topic": "t", "route": "/x"},
        }],
    }})
    .to_string();
    let body = ask(port, &config, "dapr-webhook.default.svc", "/convert", &review).await;
    assert_eq!(body["response"]["convertedObjects"][0]["spec"]["routes"], json!({"default": "/x"}));
    stop.cancel();
    within("the end", operator).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_finds_the_injector_and_trusts_it() {
    const REGISTRATION: &str =
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/dapr-sidecar-injector";
    let server = ApiServer::builder().build().unwrap();
    let port = free_port();
    let stop = Stop::new();
    let (_, anchors) = tokio::sync::watch::channel("anchors".to_owned());
    let injector = SidecarInjector {
        address: ([127, 0, 0, 1], port).into(),
        url: None,
        settings: SidecarSettings::new("default", "example.org/daprd:1", anchors),
    };
    let process = Process { injector: Some(injector), stop: stop.clone(), ..Process::default() };
    let operator = tokio::spawn(vela_dapr::run(kube::Client::new(server.service(), "default"), process));
    let registered = async || {
        loop {
            let (_, found) = send(&server, Method::GET, REGISTRATION, None);
            if found["webhooks"][0]["clientConfig"]["caBundle"].is_string() {
                return found["webhooks"][0].clone();
            }
            assert!(!operator.is_finished(), "the operator runs");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let webhook = within("the authority is registered", registered()).await;
    assert_eq!(
        (&webhook["name"], &webhook["failurePolicy"]),
        (&json!("sidecar-injector.dapr.io"), &json!("Ignore"))
    );
    assert_eq!(webhook["rules"][0]["resources"], json!(["pods"]));
    let config = &webhook["clientConfig"];
    assert_eq!(config["service"]["name"], "dapr-sidecar-injector");
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"kind": "Pod"}, "namespace": "shop",
        "userInfo": {"username": "jane", "groups": ["system:masters"]},
        "object": {
            "metadata": {"name": "a", "annotations": {"dapr.io/enabled": "true", "dapr.io/app-port": "eighty"}},
            "spec": {"containers": [{"name": "web", "image": "i"}]},
        },
    }})
    .to_string();
    let body = ask(port, config, "dapr-sidecar-injector.default.svc", "/mutate", &review).await;
    assert_eq!(body["response"]["allowed"], true);
    assert_eq!(body["response"]["patchType"], "JSONPatch");
    let warning = "annotation dapr.io/app-port: \"eighty\" is no number; it is passed over";
    assert_eq!(body["response"]["warnings"], json!([warning]));
    stop.cancel();
    within("the end", operator).await.unwrap().unwrap();
}
