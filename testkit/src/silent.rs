//! Peers that hold connections to a server and say nothing more.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How many the issue of a test asks for.
pub const MANY: usize = 2_000;
/// A wait that ends in failure, far beyond what a busy machine needs.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// What begins every HTTP/2 connection in plain text, and nothing after it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first bytes of a TLS greeting of 512.
const HALF_HELLO: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
/// A request that any listener answers somehow.
const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A stream of any kind, held.
pub trait Held: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Held for S {}

/// The authority that a client trusts, and its name for the server.
#[derive(Clone)]
pub struct Trust {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trust").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Trust {
    /// This authority, for a server of this name.
    pub fn new(authority: &str, name: &str) -> io::Result<Self> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), name })
    }
}

/// Raise the number of files this process may open as far as it may, and far enough for both ends of [`MANY`].
pub fn many_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let wanted = 2 * MANY as u64 + 1_000;
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    match getrlimit(Resource::Nofile).current {
        Some(current) if current < wanted => Err(io::Error::other(format!(
            "{wanted} files are needed at once (ulimit -Hn), {current} may be open"
        ))),
        _ => Ok(()),
    }
}

/// So many connections, a fifth of each kind: without a byte, with one, with the preface of HTTP/2, with half a TLS
/// greeting, and after one request with its answer.
pub async fn peers(
    address: SocketAddr,
    count: usize,
    trust: Option<&Trust>,
) -> io::Result<Vec<Box<dyn Held>>> {
    let mut held: Vec<Box<dyn Held>> = Vec::with_capacity(count);
    for number in 0..count {
        let mut stream = TcpStream::connect(address).await?;
        // As clients of API servers do: their small writes wait for no acknowledgement.
        stream.set_nodelay(true)?;
        match number % 5 {
            0 => {}
            1 => stream.write_all(b"G").await?,
            2 => stream.write_all(PREFACE).await?,
            3 => stream.write_all(HALF_HELLO).await?,
            _ => {
                held.push(tokio::time::timeout(DEADLINE, asked(stream, trust)).await??);
                continue;
            }
        }
        held.push(Box::new(stream));
    }
    Ok(held)
}

/// A connection after one request and the beginning of its answer.
pub async fn asked(stream: TcpStream, trust: Option<&Trust>) -> io::Result<Box<dyn Held>> {
    let mut stream: Box<dyn Held> = match trust {
        None => Box::new(stream),
        Some(trust) => Box::new(trust.connector.connect(trust.name.clone(), stream).await?),
    };
    stream.write_all(REQUEST).await?;
    let mut answer = [0; 4096];
    if stream.read(&mut answer).await? == 0 {
        return Err(io::Error::other("the request was not answered"));
    }
    Ok(stream)
}

/// Whether the other end closes this connection in time.
pub async fn closed(stream: &mut dyn Held) -> bool {
    let mut rest = [0; 4096];
    let end = async { while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
    tokio::time::timeout(DEADLINE, end).await.is_ok()
}
