//! A simulated sidecar: asks the operator for the Components of its namespace and prints what it would load and each change of that. It
//! runs no building block. With `--sentry` it gets a certificate there by the token of its pod, and shows it to the operator; without, it
//! speaks plain text, as a sidecar before Dapr 1.4 does.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, client::WantsClientCert};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tonic::body::Body;
use vela_dapr::protocol::operator_client::OperatorClient;
use vela_dapr::protocol::sentry::SignCertificateRequest;
use vela_dapr::protocol::sentry::ca_client::CaClient;
use vela_dapr::protocol::{InNamespace, ResourceEventType};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// The name by which sidecars of all releases may call the control plane.
const CONTROL_PLANE: &str = "cluster.local";

type Failure = Box<dyn std::error::Error>;

/// Prints what a sidecar is given, until the operator stops.
#[derive(Parser)]
struct Args {
    /// Where the operator answers sidecars.
    #[arg(long, default_value = "127.0.0.1:6500", value_name = "HOST:PORT")]
    operator: String,
    /// Namespace of the sidecar.
    #[arg(long, default_value = "default", value_name = "NAMESPACE")]
    namespace: String,
    /// Id of its application.
    #[arg(long, value_name = "ID")]
    app_id: String,
    /// Where the sentry issues certificates; without it, no certificate is shown.
    #[arg(long, requires_all = ["token", "trust_anchors"], value_name = "HOST:PORT")]
    sentry: Option<String>,
    /// The token of the pod.
    #[arg(long, requires = "sentry", value_name = "FILE")]
    token: Option<PathBuf>,
    /// Whom the sidecar trusts, in PEM.
    #[arg(long, requires = "sentry", value_name = "FILE")]
    trust_anchors: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sidecar: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Failure> {
    let tls = match (&args.sentry, &args.token, &args.trust_anchors) {
        (Some(sentry), Some(token), Some(anchors)) => Some(certified(args, sentry, token, anchors).await?),
        _ => None,
    };
    let mut channel = connect(&args.operator, tls).await?;
    let send = tower::service_fn(move |request| channel.send_request(request));
    let mut operator = OperatorClient::with_origin(send, "http://operator".parse()?);
    let namespace = || InNamespace { namespace: args.namespace.clone() };
    // The stream first, so that no change between the two is missed.
    let mut updates = operator.component_update(namespace()).await?.into_inner();
    let listed = operator.list_components(namespace()).await?.into_inner();
    let (mut loaded, mut words) = (BTreeSet::new(), Vec::new());
    for json in &listed.json {
        let component: Value = serde_json::from_slice(json)?;
        if is_for(&component, &args.app_id) {
            words.push(format!("{} ({})", name(&component), text(&component["spec"]["type"])));
            loaded.insert(name(&component));
        }
    }
    println!("{} has {}", args.app_id, words.join(", "));
    while let Some(event) = updates.message().await? {
        let component: Value = serde_json::from_slice(&event.json)?;
        let name = name(&component);
        let stays = is_for(&component, &args.app_id) && event.r#type() != ResourceEventType::Deleted;
        let was = if stays { !loaded.insert(name.clone()) } else { loaded.remove(&name) };
        let happened = match (was, stays) {
            (false, true) => "is new",
            (true, true) => "changed",
            (true, false) => "is gone",
            (false, false) => continue,
        };
        println!("{name} {happened}: {}", component["spec"]["metadata"]);
    }
    Ok(())
}

/// A connection of HTTP/2, over TLS or not.
async fn connect(address: &str, tls: Option<ClientConfig>) -> Result<SendRequest<Body>, Failure> {
    let stream = tokio::net::TcpStream::connect(address).await?;
    // Small requests wait for no acknowledgement.
    stream.set_nodelay(true)?;
    let Some(mut tls) = tls else { return speak(stream).await };
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(CONTROL_PLANE)?;
    speak(TlsConnector::from(Arc::new(tls)).connect(name, stream).await?).await
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<SendRequest<Body>, Failure> {
    let (channel, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(channel)
}

/// TLS with the certificate that the sentry gives for the token.
async fn certified(
    args: &Args,
    sentry: &str,
    token: &PathBuf,
    anchors: &PathBuf,
) -> Result<ClientConfig, Failure> {
    let anchors = std::fs::read(anchors)?;
    let mut channel = connect(sentry, Some(trusting(&anchors)?.with_no_client_auth())).await?;
    let send = tower::service_fn(move |request| channel.send_request(request));
    let mut sentry = CaClient::with_origin(send, "http://sentry".parse()?);
    let key = KeyPair::generate()?;
    let request = CertificateParams::new(Vec::new())?.serialize_request(&key)?.pem()?;
    let asks = SignCertificateRequest {
        id: args.app_id.clone(),
        namespace: args.namespace.clone(),
        token: std::fs::read_to_string(token)?,
        certificate_signing_request: request.into_bytes().into(),
        ..SignCertificateRequest::default()
    };
    let chain = sentry.sign_certificate(asks).await?.into_inner().workload_certificate;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain).collect::<Result<_, _>>()?;
    println!("{} is {}", args.app_id, identity(chain.first().ok_or("no certificate")?)?);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Ok(trusting(&anchors)?.with_client_auth_cert(chain, key)?)
}

fn trusting(anchors: &[u8]) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Failure> {
    let mut roots = RootCertStore::empty();
    for anchor in CertificateDer::pem_slice_iter(anchors) {
        roots.add(anchor?)?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_root_certificates(roots))
}

/// The URIs that a certificate is for.
fn identity(certificate: &[u8]) -> Result<String, Failure> {
    let certificate: CertificateInner<Raw> = CertificateInner::from_der(certificate)?;
    let names = certificate.tbs_certificate().get_extension::<SubjectAltName>()?;
    let uris = names.iter().flat_map(|(_, names)| &names.0).filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
        _ => None,
    });
    Ok(uris.collect::<Vec<_>>().join(", "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn name(component: &Value) -> String {
    text(&component["metadata"]["name"]).to_owned()
}

/// A sidecar without a certificate looks at the scopes itself.
fn is_for(component: &Value, app_id: &str) -> bool {
    let scopes = component["scopes"].as_array();
    scopes.is_none_or(|scopes| scopes.is_empty() || scopes.iter().any(|scope| scope == app_id))
}
