//! Certificates of any dates, and a client that trusts one authority and speaks plain HTTP inside TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The name that servers of tests have.
pub(crate) const NAME: &str = "hook.vela-system.svc";
/// A wait that ends in failure, far beyond what a busy machine needs.
const DEADLINE: Duration = Duration::from_secs(30);

/// Who signs certificates.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// The two files of a server.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Files {
    pub(crate) fn pair(&self) -> vela_runtime::webhook::ServingCertificate {
        vela_runtime::webhook::ServingCertificate::read(self.certificate.as_bytes(), self.key.as_bytes())
            .unwrap()
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this century.
    pub(crate) fn sign(&self) -> Files {
        self.sign_until(2090)
    }

    pub(crate) fn sign_until(&self, year: i32) -> Files {
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Files { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A connection whose certificate was verified with this authority's.
pub(crate) async fn connect(
    address: SocketAddr,
    authority: &str,
    protocol: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let mut config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(address).await?;
    connector.connect(ServerName::try_from(NAME).unwrap(), stream).await
}

/// Status and body of one review on a connection that stays open.
pub(crate) async fn review(stream: &mut TlsStream<TcpStream>, path: &str, body: &[u8]) -> (u16, String) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    exchange(stream, &[head.as_bytes(), body].concat()).await
}

/// Send these bytes; status and body of the answer, which has a Content-Length.
pub(crate) async fn exchange(stream: &mut TlsStream<TcpStream>, bytes: &[u8]) -> (u16, String) {
    let (mut reading, mut writing) = tokio::io::split(stream);
    // A server that refuses early does not read everything.
    let (_, answer) = tokio::join!(
        async { writing.write_all(bytes).await },
        tokio::time::timeout(DEADLINE, answer(&mut reading))
    );
    answer.unwrap()
}

async fn answer(reading: &mut (impl tokio::io::AsyncRead + Unpin)) -> (u16, String) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
                })
                .unwrap_or(0usize);
            if body.len() >= length {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return (status, body.to_owned());
            }
        }
        let mut part = [0; 4096];
        match reading.read(&mut part).await {
            Ok(0) | Err(_) => return (0, String::from_utf8_lossy(&bytes).into_owned()),
            Ok(read) => bytes.extend_from_slice(&part[..read]),
        }
    }
}
