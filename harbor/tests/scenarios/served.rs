//! The webhooks as an API server finds them: registered, and trusted by the authority that is registered with them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use vela_apiserver::ApiServer;
use vela_harbor::webhooks::Webhooks;
use vela_runtime::{Cache, Discovery, Manager};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
const EXTENSIONS: &str = "apiextensions.k8s.io/v1";
const CRD: &str = "CustomResourceDefinition";
pub(crate) const NAME: &str = "vela-harbor-webhook";
const HOST: &str = "vela-harbor-webhook.default.svc";

/// A server with webhooks in its process, and their port.
pub(crate) struct Served {
    pub(crate) client: Client,
    port: u16,
    stop: CancellationToken,
    _server: ApiServer,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Served {
    pub(crate) async fn begin() -> Self {
        let server = ApiServer::builder().build().unwrap();
        let client = Client::new(server.service(), "default");
        let kind = Discovery::new(client.clone()).resolve(EXTENSIONS, CRD).await.unwrap();
        for crd in vela_crds::harbor_crds().unwrap() {
            let crd = serde_json::from_value(serde_json::to_value(crd).unwrap()).unwrap();
            kind.api(client.clone(), "").create(&PostParams::default(), &crd).await.unwrap();
        }
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let webhooks = Webhooks { address: ([127, 0, 0, 1], port).into(), namespace: "default".to_owned() };
        let stop = CancellationToken::new();
        let (registrar, until) = (client.clone(), stop.clone());
        let manager = Manager::new(client.clone(), Cache::new(client.clone()))
            .webhooks([webhooks.server(client.clone()).unwrap()])
            .beside(move |stop| webhooks.register(registrar, stop));
        tokio::spawn(async move { manager.run(until).await.unwrap() });
        Self { client, port, stop, _server: server }
    }

    /// An object of the cluster, as soon as an authority stands at this place of it.
    pub(crate) async fn trusted(&self, api_version: &str, kind: &str, name: &str, place: &str) -> Value {
        let kind = Discovery::new(self.client.clone()).resolve(api_version, kind).await.unwrap();
        let began = Instant::now();
        loop {
            let found: Option<DynamicObject> = kind.api(self.client.clone(), "").get_opt(name).await.unwrap();
            let found = found.map(|object| serde_json::to_value(object).unwrap()).unwrap_or_default();
            if found.pointer(place).is_some_and(|config| config["caBundle"].is_string()) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{name}: {found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The answer to a client that trusts this registration alone.
    pub(crate) async fn ask(&self, config: &Value, review: &Value) -> Value {
        let bundle = STANDARD.decode(config["caBundle"].as_str().unwrap()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(&bundle) {
            roots.add(authority.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let host = ServerName::try_from(HOST).unwrap();
        let mut stream = TlsConnector::from(Arc::new(client)).connect(host, stream).await.unwrap();
        let (path, body) = (config["service"]["path"].as_str().unwrap(), review.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(body).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_finds_the_webhooks_and_trusts_them() {
    let served = Served::begin().await;
    let of = "admissionregistration.k8s.io/v1";
    let place = "/webhooks/0/clientConfig";
    let validating = served.trusted(of, "ValidatingWebhookConfiguration", NAME, place).await;
    let mutating = served.trusted(of, "MutatingWebhookConfiguration", NAME, place).await;
    assert_eq!(mutating["webhooks"][0]["rules"][0]["resources"], json!(["harborclusters"]));
    for webhook in validating["webhooks"].as_array().unwrap() {
        let kind = webhook["name"].as_str().unwrap().split('.').nth(1).unwrap();
        assert_eq!(webhook["failurePolicy"], "Fail");
        // An empty object of each kind lacks something.
        let name = ["Harbor", "HarborCluster", "JobService", "Registry"]
            .into_iter()
            .find(|name| name.to_lowercase() == kind)
            .unwrap();
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "object": {"kind": name, "metadata": {"name": "x"}, "spec": {}},
        }});
        let answer = served.ask(&webhook["clientConfig"], &review).await;
        assert_eq!(answer["response"]["allowed"], false, "{answer}");
        assert_eq!(answer["response"]["status"]["code"], 422, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_converted_by_the_same_server() {
    let served = Served::begin().await;
    let place = "/spec/conversion/webhook/clientConfig";
    let crds = vela_crds::harbor_crds().unwrap();
    // Of one version, there is nothing to convert.
    for crd in crds.into_iter().filter(|crd| crd.spec.versions.len() > 1) {
        let (name, kind) = (crd.metadata.name.unwrap(), crd.spec.names.kind);
        let crd = served.trusted(EXTENSIONS, CRD, &name, place).await;
        assert_eq!(crd["spec"]["conversion"]["strategy"], "Webhook");
        let review = json!({"apiVersion": EXTENSIONS, "kind": "ConversionReview", "request": {
            "uid": "u", "desiredAPIVersion": "goharbor.io/v1alpha3", "objects": [{
                "apiVersion": "goharbor.io/v1beta1", "kind": kind, "metadata": {"name": "x"},
                "spec": {"network": {"ipFamilies": ["IPv4"]}},
            }],
        }});
        let answer = served.ask(crd.pointer(place).unwrap(), &review).await;
        assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
        let object = &answer["response"]["convertedObjects"][0];
        assert_eq!((&object["apiVersion"], &object["spec"]), (&json!("goharbor.io/v1alpha3"), &json!({})));
    }
}
