//! The operator with its API on a port, an embedded API server behind it, and sidecars that call it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, SanType};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tonic::{Status, Streaming};
use vela_apiserver::ApiServer;
use vela_dapr::protocol::operator_client::OperatorClient;
use vela_dapr::protocol::{InNamespace, ResourceEvent, ResourceEventType};
use vela_dapr::{Api, Credentials, Pem, Process, Security, Stop};
use vela_embedded::objects::namespace;
use vela_embedded::send;

use super::lists::plain;
use super::process::free_port;

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Signs certificates of the operator and of sidecars.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn signed(&self, uri: &str, change: impl FnOnce(&mut CertificateParams)) -> (Vec<u8>, KeyPair, String) {
        let mut params = CertificateParams::new(vec!["cluster.local".to_owned()]).unwrap();
        if !uri.is_empty() {
            params.subject_alt_names.push(SanType::URI(uri.try_into().unwrap()));
        }
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.der().to_vec(), key, certificate.pem())
    }

    /// What the operator shows and whom it trusts.
    pub(crate) fn pem(&self) -> Pem {
        let (_, key, certificate) =
            self.signed("spiffe://cluster.local/ns/dapr-system/dapr-operator", |_| {});
        Pem {
            certificate: certificate.into_bytes(),
            key: key.serialize_pem().into_bytes(),
            trust_anchors: self.0.pem().into_bytes(),
        }
    }

    /// How a sidecar of this identity speaks TLS with an operator that another authority may have signed.
    pub(crate) fn sidecar_of(
        &self,
        uri: &str,
        operator: &Self,
        change: impl FnOnce(&mut CertificateParams),
    ) -> rustls::ClientConfig {
        let (certificate, key, _) = self.signed(uri, change);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let client = operator.client().with_client_auth_cert(vec![certificate.into()], key).unwrap();
        with_http2(client)
    }

    pub(crate) fn sidecar(&self, namespace: &str, app_id: &str) -> rustls::ClientConfig {
        self.sidecar_of(&format!("spiffe://cluster.local/ns/{namespace}/{app_id}"), self, |_| {})
    }

    pub(crate) fn without_certificate(&self) -> rustls::ClientConfig {
        with_http2(self.client().with_no_client_auth())
    }

    fn client(&self) -> rustls::ConfigBuilder<rustls::ClientConfig, rustls::client::WantsClientCert> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
    }
}

pub(crate) fn with_http2(mut client: rustls::ClientConfig) -> rustls::ClientConfig {
    client.alpn_protocols = vec![b"h2".to_vec()];
    client
}

/// A connection of HTTP/2 to the operator.
#[derive(Clone, Debug)]
pub(crate) struct Channel(SendRequest<tonic::body::Body>);

impl tower::Service<http::Request<tonic::body::Body>> for Channel {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

pub(crate) type Sidecar = OperatorClient<Channel>;

pub(crate) struct Bench {
    pub(crate) server: ApiServer,
    pub(crate) authority: Authority,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) stop: Stop,
    port: u16,
    operator: JoinHandle<Result<(), vela_dapr::Error>>,
}

impl Bench {
    /// An operator that knows sidecars by their certificates.
    pub(crate) fn new() -> Self {
        Self::with(true, &[])
    }

    /// The objects are there before the operator starts, so that it knows them when it answers.
    pub(crate) fn with(over_tls: bool, objects: &[Value]) -> Self {
        let client = |server: &ApiServer| kube::Client::new(server.service(), "default");
        Self::through(over_tls, objects, client)
    }

    /// The same where the operator's requests may be looked at.
    pub(crate) fn through(
        over_tls: bool,
        objects: &[Value],
        client: impl FnOnce(&ApiServer) -> kube::Client,
    ) -> Self {
        let server = prepared(objects);
        let authority = Authority::new();
        let credentials = over_tls.then(|| Credentials::new(&authority.pem()).unwrap());
        let security = credentials.clone().map_or(Security::Plaintext, Security::MutualTls);
        let port = free_port();
        let (stop, address) = (Stop::new(), ([127, 0, 0, 1], port).into());
        let api = Some(Api { address, security });
        let process = Process { api, stop: stop.clone(), ..Process::default() };
        let operator = tokio::spawn(vela_dapr::run(client(&server), process));
        Self { server, authority, credentials, stop, port, operator }
    }

    /// Where the operator answers sidecars.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let (code, answer) = send(&self.server, method, path, Some(body));
        assert!(code.is_success(), "{path}: {code} {answer}");
        answer
    }

    pub(crate) fn create(&self, object: &Value) {
        create(&self.server, object);
    }

    pub(crate) fn change(&self, object: &Value, patch: &Value) {
        let metadata = &object["metadata"];
        let (namespace, name) = (metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap());
        self.send(Method::PATCH, &format!("{}/{name}", path(object, namespace)), patch);
    }

    pub(crate) fn delete(&self, object: &Value) {
        let metadata = &object["metadata"];
        let (namespace, name) = (metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap());
        self.send(Method::DELETE, &format!("{}/{name}", path(object, namespace)), &json!({}));
    }

    /// A connection; the operator may still start.
    pub(crate) async fn connect(&self, tls: Option<rustls::ClientConfig>) -> Result<Sidecar, String> {
        self.connect_with(tls, http2::Builder::new(TokioExecutor::new())).await
    }

    pub(crate) async fn connect_with(
        &self,
        tls: Option<rustls::ClientConfig>,
        builder: http2::Builder<TokioExecutor>,
    ) -> Result<Sidecar, String> {
        let began = Instant::now();
        let stream = loop {
            assert!(!self.operator.is_finished(), "the operator runs");
            match tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await {
                Ok(stream) => break stream,
                Err(error) => assert!(began.elapsed() < DEADLINE, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        // As Go's clients do: else each small request waits for an acknowledgement.
        stream.set_nodelay(true).unwrap();
        let origin = "http://operator".parse().unwrap();
        let Some(tls) = tls else {
            let (channel, connection) =
                builder.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
            tokio::spawn(connection);
            return Ok(OperatorClient::with_origin(Channel(channel), origin));
        };
        Ok(OperatorClient::with_origin(over_tls(stream, tls, &builder).await?, origin))
    }

    pub(crate) async fn sidecar(&self, namespace: &str, app_id: &str) -> Sidecar {
        self.connect(Some(self.authority.sidecar(namespace, app_id))).await.unwrap()
    }
}

/// A server with the kinds, namespaces and objects.
fn prepared(objects: &[Value]) -> ApiServer {
    let server = ApiServer::builder().build().unwrap();
    for crd in vela_crds::dapr_crds().unwrap() {
        let mut crd = serde_json::to_value(crd).unwrap();
        // No webhook is registered here.
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = send(&server, Method::POST, path, Some(&crd));
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }
    for name in ["h1", "h2", "h3", "dapr-system"] {
        let (code, answer) = send(&server, Method::POST, "/api/v1/namespaces", Some(&namespace(name)));
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }
    objects.iter().for_each(|object| create(&server, object));
    server
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// HTTP/2 over TLS with a server that is called as old sidecars call the control plane.
pub(crate) async fn over_tls(
    stream: tokio::net::TcpStream,
    tls: rustls::ClientConfig,
    builder: &http2::Builder<TokioExecutor>,
) -> Result<Channel, String> {
    let name = ServerName::try_from("cluster.local").unwrap();
    let connected = TlsConnector::from(Arc::new(tls)).connect(name, stream).await;
    let stream = connected.map_err(|error| error.to_string())?;
    let (channel, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(Channel(channel))
}

fn create(server: &ApiServer, object: &Value) {
    let namespace = object["metadata"]["namespace"].as_str().unwrap();
    let (code, answer) = send(server, Method::POST, &path(object, namespace), Some(object));
    assert_eq!(code, StatusCode::CREATED, "{answer}");
}

fn path(object: &Value, namespace: &str) -> String {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    if version == "v1" {
        return format!("/api/v1/namespaces/{namespace}/{}s", kind.to_lowercase());
    }
    let crds = vela_crds::dapr_crds().unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    format!("/apis/{version}/namespaces/{namespace}/{}", crd.spec.names.plural)
}

pub(crate) fn in_namespace(namespace: &str) -> InNamespace {
    InNamespace { namespace: namespace.to_owned() }
}

pub(crate) fn component(namespace: &str, name: &str, value: &Value) -> Value {
    json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Component",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "state.x", "version": "v1", "metadata": [value]},
    })
}

pub(crate) fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": data})
}

pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(result) => result,
        Err(_) => panic!("never: {what}"),
    }
}

/// The next event: its type, and the object without what differs each time.
pub(crate) async fn next(what: &str, stream: &mut Streaming<ResourceEvent>) -> (ResourceEventType, Value) {
    let event: Result<Option<ResourceEvent>, Status> = within(what, stream.message()).await;
    let event = event.unwrap().unwrap();
    (event.r#type(), plain(&serde_json::from_slice(&event.json).unwrap()))
}
