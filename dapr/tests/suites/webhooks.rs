//! The conversion webhook as an API server finds it: registered at the kind, with the authority of its certificate.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use vela_apiserver::ApiServer;
use vela_dapr::{Process, Stop, Webhooks};
use vela_embedded::send;

use super::api_bench::within;
use super::process::free_port;

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

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
    let name = ServerName::try_from("dapr-webhook.default.svc").unwrap();
    let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "u", "desiredAPIVersion": "dapr.io/v2alpha1", "objects": [{
            "apiVersion": "dapr.io/v1alpha1", "kind": "Subscription", "metadata": {"name": "s"},
            "spec": {"pubsubname": "b", "topic": "t", "route": "/x"},
        }],
    }})
    .to_string();
    let request = format!(
        "POST /convert HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{review}",
        review.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = within("an answer", stream.read_to_string(&mut answer)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["response"]["convertedObjects"][0]["spec"]["routes"], json!({"default": "/x"}));
    stop.cancel();
    within("the end", operator).await.unwrap().unwrap();
}
