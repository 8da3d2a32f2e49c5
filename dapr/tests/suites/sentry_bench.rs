//! The operator with its sentry and its API on ports, an embedded API server behind it that knows the tokens of pods.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use hyper::client::conn::http2;
use hyper_util::rt::TokioExecutor;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tonic::Status;
use tower::ServiceExt as _;
use vela_apiserver::ApiServer;
use vela_dapr::protocol::operator_client::OperatorClient;
use vela_dapr::protocol::sentry::ca_client::CaClient;
use vela_dapr::protocol::sentry::{SignCertificateRequest, SignCertificateResponse};
use vela_dapr::{Api, Jwts, Process, Security, Sentry, SidecarInjector, Stop};
use vela_embedded::objects::namespace;
use vela_embedded::send;

use super::api_bench::{Channel, Sidecar, over_tls, with_http2, within};
use super::process::free_port;

pub(crate) const AUDIENCE: &str = "spiffe://cluster.local/ns/dapr-system/dapr-sentry";
pub(crate) const SECRET: &str = "/api/v1/namespaces/dapr-system/secrets/dapr-trust-bundle";
const CONFIG_MAP: &str = "/api/v1/namespaces/dapr-system/configmaps/dapr-trust-bundle";

/// A server with the kinds and namespaces.
pub(crate) fn server() -> ApiServer {
    let server = ApiServer::builder().build().unwrap();
    for crd in vela_crds::dapr_crds().unwrap() {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        create(&server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
    }
    for name in ["h1", "h2", "dapr-system"] {
        create(&server, "/api/v1/namespaces", &namespace(name));
    }
    server
}

pub(crate) fn create(server: &ApiServer, path: &str, object: &Value) -> Value {
    let (code, answer) = send(server, Method::POST, path, Some(object));
    assert_eq!(code, 201, "{answer}");
    answer
}

/// A client of this server, which also answers about tokens; none while `away`.
fn client(server: &ApiServer, away: Arc<AtomicBool>) -> kube::Client {
    let service = server.service();
    let answer = move |request: http::Request<kube::client::Body>| {
        let (service, away) = (service.clone(), away.clone());
        async move {
            if request.uri().path() != "/apis/authentication.k8s.io/v1/tokenreviews" {
                let answer = service.oneshot(request).await?;
                return Ok::<_, tower::BoxError>(answer.map(tonic::body::Body::new));
            }
            let body = request.into_body().collect_bytes().await?;
            let (code, answer) = match away.load(Ordering::SeqCst) {
                true => (
                    503,
                    json!({"kind": "Status", "status": "Failure", "code": 503, "message": "away", "reason": "ServiceUnavailable"}),
                ),
                false => (201, reviewed(serde_json::from_slice(&body)?)),
            };
            let body = tonic::body::Body::new(kube::client::Body::from(answer.to_string().into_bytes()));
            Ok(http::Response::builder().status(code).body(body)?)
        }
    };
    kube::Client::new(tower::service_fn(answer), "default")
}

/// What an API server says of a token of [`token`].
fn reviewed(mut review: Value) -> Value {
    let token = review["spec"]["token"].as_str().unwrap().to_owned();
    let asked = review["spec"]["audiences"].clone();
    let parts: Vec<&str> = token.split('|').collect();
    review["status"] = match parts.as_slice() {
        [audience, _, _, _] if !asked.as_array().unwrap().iter().any(|one| one == audience) => {
            let asked: Vec<String> = asked.as_array().unwrap().iter().map(Value::to_string).collect();
            let error = format!(
                "[invalid bearer token, token audiences [{audience:?}] is invalid for the target audiences [{}]]",
                asked.join(" ")
            );
            json!({"error": error})
        }
        [audience, namespace, pod, uid] => {
            let extra = match *pod {
                "" => json!({}),
                pod => {
                    json!({"authentication.kubernetes.io/pod-name": [pod], "authentication.kubernetes.io/pod-uid": [uid]})
                }
            };
            let user =
                json!({"username": format!("system:serviceaccount:{namespace}:default"), "extra": extra});
            json!({"authenticated": true, "audiences": [audience], "user": user})
        }
        ["person"] => json!({"authenticated": true, "audiences": asked, "user": {"username": "jane"}}),
        ["elsewhere"] => {
            json!({"authenticated": true, "user": {"username": "system:serviceaccount:h1:default"}})
        }
        _ => json!({"error": "invalid bearer token"}),
    };
    review
}

/// A token of a pod, as [`reviewed`] reads it.
pub(crate) fn token(audience: &str, pod: &Value) -> String {
    let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default().to_owned();
    format!("{audience}|{}|{}|{}", text("namespace"), text("name"), text("uid"))
}

/// A replica of the operator.
pub(crate) struct Replica {
    pub(crate) server: ApiServer,
    pub(crate) away: Arc<AtomicBool>,
    pub(crate) operator: JoinHandle<Result<(), vela_dapr::Error>>,
    sentry_port: u16,
    api_port: u16,
    pub(crate) stop: Stop,
}

impl Replica {
    pub(crate) fn start(server: &ApiServer) -> Self {
        Self::with(server, None)
    }

    /// A replica that adds sidecars, too.
    pub(crate) fn with(server: &ApiServer, injector: Option<SidecarInjector>) -> Self {
        Self::of(server, Process { injector, ..Process::default() }, None, |client| client)
    }

    /// A replica that signs tokens.
    pub(crate) fn signing(server: &ApiServer, jwts: Jwts) -> Self {
        Self::of(server, Process::default(), Some(jwts), |client| client)
    }

    /// A replica with other parts beside, whose requests may be looked at.
    pub(crate) fn of(
        server: &ApiServer,
        process: Process,
        jwts: Option<Jwts>,
        through: impl FnOnce(kube::Client) -> kube::Client,
    ) -> Self {
        Self::at(server, (free_port(), free_port()), process, jwts, through)
    }

    /// The next process, after this one has ended, where sidecars look for it.
    pub(crate) async fn next(mut self) -> Self {
        self.stop.cancel();
        within("the operator ends", &mut self.operator).await.unwrap().unwrap();
        Self::at(&self.server, self.ports(), Process::default(), None, |client| client)
    }

    /// Where the sentry and the API of the operator answer.
    pub(crate) fn ports(&self) -> (u16, u16) {
        (self.sentry_port, self.api_port)
    }

    fn at(
        server: &ApiServer,
        (sentry_port, api_port): (u16, u16),
        process: Process,
        jwts: Option<Jwts>,
        through: impl FnOnce(kube::Client) -> kube::Client,
    ) -> Self {
        let (away, stop) = (Arc::<AtomicBool>::default(), Stop::new());
        let sentry = Sentry {
            address: ([127, 0, 0, 1], sentry_port).into(),
            namespace: "dapr-system".to_owned(),
            trust_domain: "cluster.local".to_owned(),
            life: Duration::from_secs(24 * 60 * 60),
            skew: Duration::from_secs(15 * 60),
            look_every: Duration::from_millis(100),
            jwts,
        };
        let api = Api { address: ([127, 0, 0, 1], api_port).into(), security: Security::Issued };
        let process = Process { api: Some(api), sentry: Some(sentry), stop: stop.clone(), ..process };
        let operator = tokio::spawn(vela_dapr::run(through(client(server, away.clone())), process));
        Self { server: server.clone(), away, operator, sentry_port, api_port, stop }
    }

    /// The anchors that are published, as soon as they are.
    pub(crate) async fn anchors(&self) -> String {
        within("anchors are published", async {
            loop {
                let (_, map) = send(&self.server, Method::GET, CONFIG_MAP, None);
                if let Some(anchors) = map["data"]["ca.crt"].as_str() {
                    return anchors.to_owned();
                }
                assert!(!self.operator.is_finished(), "the operator runs");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    async fn channel(&self, port: u16, tls: rustls::ClientConfig) -> Result<Channel, String> {
        let stream = self.stream(port).await;
        over_tls(stream, tls, &http2::Builder::new(TokioExecutor::new())).await
    }

    /// The certificates that the sentry and the API of the operator show: the latter asks for one, and is not given any.
    pub(crate) async fn shown(&self) -> [CertificateDer<'static>; 2] {
        let anchors = self.anchors().await;
        let mut shown = Vec::new();
        for port in [self.sentry_port, self.api_port] {
            let tls = TlsConnector::from(Arc::new(with_http2(trusting(&anchors).with_no_client_auth())));
            let stream = self.stream(port).await;
            let stream = tls.connect(ServerName::try_from("cluster.local").unwrap(), stream).await.unwrap();
            shown.push(stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned());
        }
        shown.try_into().unwrap()
    }

    async fn stream(&self, port: u16) -> tokio::net::TcpStream {
        within("a port", async {
            loop {
                match tokio::net::TcpStream::connect(("127.0.0.1", port)).await {
                    Ok(stream) => return stream,
                    Err(_) => assert!(!self.operator.is_finished(), "the operator runs"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    pub(crate) async fn sentry(&self) -> CaClient<Channel> {
        let tls = with_http2(trusting(&self.anchors().await).with_no_client_auth());
        let channel = self.channel(self.sentry_port, tls).await.unwrap();
        CaClient::with_origin(channel, "http://sentry".parse().unwrap())
    }

    /// The API of the operator, for a sidecar with this certificate.
    pub(crate) async fn api(&self, anchors: &str, chain: &[u8], key: &KeyPair) -> Result<Sidecar, String> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(chain).map(Result::unwrap).collect();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let tls = trusting(anchors).with_client_auth_cert(chain, key).unwrap();
        let channel = self.channel(self.api_port, with_http2(tls)).await?;
        Ok(OperatorClient::with_origin(channel, "http://operator".parse().unwrap()))
    }

    pub(crate) async fn sign(
        &self,
        request: SignCertificateRequest,
    ) -> Result<SignCertificateResponse, Status> {
        let mut sentry = self.sentry().await;
        within("an answer", sentry.sign_certificate(request)).await.map(tonic::Response::into_inner)
    }

    /// A pod of the server.
    pub(crate) fn pod(&self, namespace: &str, name: &str, annotations: &Value) -> Value {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
            "spec": {"containers": [{"name": "c", "image": "example.org/c:1"}]},
        });
        create(&self.server, &format!("/api/v1/namespaces/{namespace}/pods"), &pod)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn trusting(
    anchors: &str,
) -> rustls::ConfigBuilder<rustls::ClientConfig, rustls::client::WantsClientCert> {
    let mut roots = rustls::RootCertStore::empty();
    for anchor in CertificateDer::pem_slice_iter(anchors.as_bytes()) {
        roots.add(anchor.unwrap()).unwrap();
    }
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
}

/// A request as sidecars make it, and the key of its CSR.
pub(crate) fn request(id: &str, namespace: &str, token: String) -> (SignCertificateRequest, KeyPair) {
    let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let params = CertificateParams::new(vec!["stolen.example".to_owned()]).unwrap();
    let csr = params.serialize_request(&key).unwrap().pem().unwrap();
    let request = SignCertificateRequest {
        id: id.to_owned(),
        namespace: namespace.to_owned(),
        token,
        certificate_signing_request: csr.into_bytes().into(),
        ..SignCertificateRequest::default()
    };
    (request, key)
}

/// The texts of the Secret, by key.
pub(crate) fn secret_text(secret: &Value, key: &str) -> String {
    let text = secret["data"][key].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}

pub(crate) fn bundle_secret(labels: &Value, texts: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        texts.iter().map(|(key, text)| ((*key).to_owned(), STANDARD.encode(text).into())).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "dapr-trust-bundle", "labels": labels}, "data": data})
}
