//! The service on a port: TLS with a certificate made at start, a bearer token, a kubeconfig for clients.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::server::ApiServer;
use crate::service::ApiService;

/// Connections at once; a watch per kind of a few clients stays far below.
const CONNECTIONS_MAX: usize = 1024;
/// Requests at once of one connection: clients of HTTP/2 send all their watches on one.
const STREAMS_MAX: u32 = 1000;

/// Why the server could not be put on the network.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address could not be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The certificate could not be made.
    #[error("cannot make the certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate could not be used.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// A server on the network; it stops when this is dropped.
#[derive(Debug)]
pub struct Served {
    address: SocketAddr,
    ca_pem: String,
    token: String,
    stop: CancellationToken,
}

impl Served {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate of the authority that signed the server's.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The token that clients must show.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig with which any client finds and trusts this server.
    pub fn kubeconfig(&self) -> String {
        use base64::Engine;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca_pem);
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: vela-sandbox\n  cluster:\n    server: https://{}\n    \
             certificate-authority-data: {ca}\nusers:\n- name: vela-sandbox\n  user:\n    token: {}\ncontexts:\n- name: \
             vela-sandbox\n  context:\n    cluster: vela-sandbox\n    user: vela-sandbox\n    namespace: \
             default\ncurrent-context: vela-sandbox\n",
            self.address, self.token
        )
    }

    /// Stops accepting, lets running requests end.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ApiServer {
    /// Puts the server on the network. Every client must show the token; only TLS is spoken.
    pub async fn serve(&self, address: SocketAddr) -> Result<Served, ServeError> {
        let (ca_pem, tls) = certificate(address)?;
        let unheard = |source| ServeError::Listen { address, source };
        let listener = vela_listen::bind(address).await.map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        let stop = self.state.closing.child_token();
        let service = ApiService::new(self.state.clone(), true);
        let config = vela_listen::Config {
            tls: Some(TlsAcceptor::from(Arc::new(tls))),
            // Watches never end by themselves; who is still there after the grace is cut off.
            limits: vela_listen::Limits {
                connections: CONNECTIONS_MAX,
                streams: STREAMS_MAX,
                ..vela_listen::Limits::default()
            },
            ..vela_listen::Config::new("sandbox")
        };
        self.state.tasks.spawn(vela_listen::serve(listener, config, service, stop.clone()));
        Ok(Served { address, ca_pem, token: self.state.token.clone(), stop })
    }
}

fn certificate(address: SocketAddr) -> Result<(String, rustls::ServerConfig), ServeError> {
    let mut ca = CertificateParams::new(Vec::<String>::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    ca.distinguished_name.push(DnType::CommonName, "vela-sandbox-ca");
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    let names =
        ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1", "::1"];
    let mut names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    names.push(address.ip().to_string());
    let mut leaf = CertificateParams::new(names)?;
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.distinguished_name.push(DnType::CommonName, "vela-sandbox");
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &ca)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((ca.pem(), config))
}
