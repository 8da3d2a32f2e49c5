//! The egress guard: sends one HTTP request to a URL that a user wrote, after its addresses were checked; follows no
//! redirect, except for questions that change nothing (`redirects`).
//!
//! A user who may write an object may not thereby reach what only this process can reach: the helpers of its machine, which
//! give out credentials of a cloud, and its own loopback. A name is resolved once, by the connection that is then made, so
//! an answer that changes between the look and the connection changes nothing.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use tokio::net::TcpStream;
use tower::Service;

mod policy;
mod redirects;
mod tls;

pub use policy::EgressPolicy;
pub use redirects::REDIRECTS_AT_MOST;
pub use tls::Tls;

/// Addresses that one name may have: more come from a mistake.
const ADDRESSES_AT_MOST: usize = 64;

/// How long to wait, and how much to read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the answer is read.
    pub total: Duration,
    /// Bytes of the answer.
    pub answer_bytes: usize,
}

/// An answer, whatever its status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no answer. No variant repeats the URL, which may hold what is confidential.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no URL to ask.
    #[error("{0}")]
    Url(&'static str),
    /// An address that may not be asked.
    #[error("{0}")]
    Forbidden(#[from] Forbidden),
    /// No connection: the request was not sent.
    #[error("{0}")]
    Unreachable(String),
    /// A connection that broke: whether the request was taken is not known.
    #[error("{0}")]
    Failed(String),
    /// Too slow.
    #[error("no answer within {} s", .0.as_secs())]
    Slow(Duration),
    /// Too long.
    #[error("the answer is larger than {0} bytes")]
    Long(usize),
    /// It leads to where it may not, or in a circle.
    #[error("{0}")]
    Redirect(&'static str),
    /// The client cannot be made.
    #[error("no client can be made: {0}")]
    Client(String),
}

/// An address that may not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its address belongs to the machine's own services, which may not be asked")]
pub struct Forbidden;

/// Asks what URLs name; cheap to clone.
#[derive(Clone)]
pub struct EgressClient {
    client: kube::Client,
    policy: EgressPolicy,
    limits: Limits,
}

impl fmt::Debug for EgressClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressClient")
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl EgressClient {
    /// Asks within this policy and these limits. It has no credentials, and knows the authorities that the system trusts.
    ///
    /// # Errors
    /// The authorities that the system trusts cannot be read.
    pub fn new(policy: EgressPolicy, limits: Limits) -> Result<Self, Error> {
        Self::with_tls(policy, limits, &Tls::default())
    }

    /// The same, trusting others or with an identity.
    ///
    /// # Errors
    /// The authorities that the system trusts cannot be read, or what is given is no certificate or key in PEM.
    pub fn with_tls(policy: EgressPolicy, limits: Limits, tls: &Tls) -> Result<Self, Error> {
        let mut config = Self::config();
        tls.configure(&mut config).map_err(|why| Error::Client(why.to_owned()))?;
        Self::of(policy, limits, &config)
    }

    /// The same, taking every certificate: what is asked may be read and changed by others on the way. For a server whose
    /// owner says so.
    ///
    /// # Errors
    /// The client cannot be made.
    pub fn without_certificate_check(policy: EgressPolicy, limits: Limits) -> Result<Self, Error> {
        let mut config = Self::config();
        config.accept_invalid_certs = true;
        Self::of(policy, limits, &config)
    }

    /// Only what it says of TLS is used of this.
    fn config() -> kube::Config {
        kube::Config::new(Uri::from_static("https://nowhere.invalid"))
    }

    fn of(policy: EgressPolicy, limits: Limits, config: &kube::Config) -> Result<Self, Error> {
        let mut connector = HttpConnector::new_with_resolver(Resolver { policy });
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limits.connect));
        let connector = config
            .rustls_https_connector_with_connector(connector)
            .map_err(|error| Error::Client(error.to_string()))?;
        // A connection that was looked at is not kept for longer than its question.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        Ok(Self { client: kube::Client::new(client, "default"), policy, limits })
    }

    /// The same with answers of another size.
    #[must_use]
    pub fn answers_up_to(&self, bytes: usize) -> Self {
        Self { limits: Limits { answer_bytes: bytes, ..self.limits }, ..self.clone() }
    }

    /// The same with another time until the answer is read.
    #[must_use]
    pub fn within(&self, total: Duration) -> Self {
        Self { limits: Limits { total, ..self.limits }, ..self.clone() }
    }

    /// Ask. A redirect is an answer like any other: where it leads is not asked.
    ///
    /// # Errors
    /// The URL or its address may not be asked, no server answers there in time, or the answer is longer than the
    /// limit.
    pub async fn ask(&self, request: Request<Vec<u8>>) -> Result<Answer, Error> {
        check(request.uri(), self.policy)?;
        let asked = tokio::time::timeout(self.limits.total, self.send(request.map(kube::client::Body::from)));
        asked.await.unwrap_or(Err(Error::Slow(self.limits.total)))
    }

    async fn send(&self, request: Request<kube::client::Body>) -> Result<Answer, Error> {
        let answer = self.client.send(request).await.map_err(|error| failed(&error))?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let at_most = self.limits.answer_bytes;
        let body = Limited::new(answer.into_body(), at_most).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { Error::Long(at_most) } else { failed(&*error) }
        })?;
        Ok(Answer { status, headers, body: body.to_bytes() })
    }
}

/// A connection to a server that a user named; its addresses are judged before.
///
/// # Errors
/// The name has no address or one that may not be asked, or no server answers in time.
pub async fn connect(
    policy: EgressPolicy,
    (host, port): (&str, u16),
    within: Duration,
) -> Result<TcpStream, Error> {
    let unreachable = |error: io::Error| Error::Unreachable(error.to_string());
    let connected = async {
        let found = tokio::net::lookup_host((host, port)).await.map_err(unreachable)?;
        let addresses = allowed(found.take(ADDRESSES_AT_MOST).collect(), policy);
        let mut last = Error::Unreachable("the name has no address".to_owned());
        for address in addresses.map_err(|error| failed(&error))? {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = unreachable(error),
            }
        }
        Err(last)
    };
    tokio::time::timeout(within, connected).await.unwrap_or(Err(Error::Slow(within)))
}

/// Judges a URL as far as it needs no resolver. An address in it is not resolved, so it is judged here.
fn check(uri: &Uri, policy: EgressPolicy) -> Result<(), Error> {
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(Error::Url("only http and https are asked"));
    }
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    if authority.contains('@') {
        return Err(Error::Url("a URL with a user or a password in it is not asked; give them in a header"));
    }
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        return Err(Error::Url("the address names no host"));
    }
    match host.parse::<IpAddr>() {
        Ok(address) if !policy.allows(address) => Err(Forbidden.into()),
        _ => Ok(()),
    }
}

/// The error with what caused it; what was forbidden, and what was never sent, is told as that.
fn failed(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut said: Vec<String> = Vec::new();
    let mut is_unsent = false;
    let mut cause = Some(error);
    while let Some(error) = cause {
        let forbidden = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<Forbidden>() || forbidden.is_some_and(|inner| inner.is::<Forbidden>()) {
            return Forbidden.into();
        }
        is_unsent |=
            error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|e| e.is_connect());
        let words = error.to_string();
        if !said.iter().any(|before| before.contains(&words)) {
            said.push(words);
        }
        cause = error.source();
    }
    let said = said.join(": ");
    if is_unsent { Error::Unreachable(said) } else { Error::Failed(said) }
}

/// Names → addresses, all of which may be asked.
#[derive(Clone, Copy, Debug)]
struct Resolver {
    policy: EgressPolicy,
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let policy = self.policy;
        Box::pin(async move {
            // The port is set by the connector.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            allowed(found.take(ADDRESSES_AT_MOST).collect(), policy)
        })
    }
}

/// A name with one address that may not be asked is not asked at all: it is no service's.
fn allowed(addresses: Vec<SocketAddr>, policy: EgressPolicy) -> io::Result<std::vec::IntoIter<SocketAddr>> {
    if addresses.iter().all(|address| policy.allows(address.ip())) {
        Ok(addresses.into_iter())
    } else {
        Err(io::Error::other(Forbidden))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const LIMITS: Limits =
        Limits { connect: Duration::from_secs(5), total: Duration::from_secs(10), answer_bytes: 64 };

    fn client(policy: EgressPolicy) -> EgressClient {
        let _ = rustls::crypto::ring::default_provider().install_default();
        EgressClient::new(policy, LIMITS).unwrap()
    }

    async fn ask(policy: EgressPolicy, url: &str) -> Result<Answer, Error> {
        client(policy).ask(Request::get(url).body(Vec::new()).unwrap()).await
    }

    /// A server that answers every request so, and its port.
    async fn server(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        port
    }

    #[tokio::test]
    async fn neither_an_address_nor_a_name_leads_to_the_machine() {
        let port = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        // The last two are the loopback as some resolvers read them.
        for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "0x7f.1"] {
            let refused = ask(EgressPolicy::Services, &format!("http://{host}:{port}/")).await.unwrap_err();
            // Not every resolver reads these as numbers.
            let unknown =
                matches!(&refused, Error::Unreachable(_)) && matches!(host, "2130706433" | "0x7f.1");
            assert!(matches!(refused, Error::Forbidden(_)) || unknown, "{host}: {refused:?}");
        }
        for url in ["http://169.254.169.254/latest", "https://[fe80::1]/"] {
            let refused = ask(EgressPolicy::ServicesAndLoopback, url).await.unwrap_err();
            assert!(refused.to_string().contains("own services"), "{url}: {refused}");
        }
        let answer =
            ask(EgressPolicy::ServicesAndLoopback, &format!("http://localhost:{port}/")).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
    }

    /// A name that has a good address now and a bad one a moment later has both, or is asked only once.
    #[test]
    fn one_bad_address_spoils_a_name() {
        let address = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
        let both = vec![address("10.0.0.1"), address("169.254.169.254")];
        assert!(allowed(both, EgressPolicy::Services).is_err());
        let good: Vec<_> = allowed(vec![address("10.0.0.1")], EgressPolicy::Services).unwrap().collect();
        assert_eq!(good, [address("10.0.0.1")]);
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed_and_an_answer_has_an_end() {
        let port = server("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        let answer =
            ask(EgressPolicy::ServicesAndLoopback, &format!("http://127.0.0.1:{port}/")).await.unwrap();
        assert_eq!(answer.status, StatusCode::FOUND);
        let long = server("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789012345678901234567890123456789012345678901234567890123456789").await;
        tokio::time::timeout(LIMITS.total, async {
            let error = ask(EgressPolicy::ServicesAndLoopback, &format!("http://127.0.0.1:{long}/"))
                .await
                .unwrap_err();
            assert!(matches!(error, Error::Long(64)), "{error}");
        })
        .await
        .unwrap();
    }

    #[tokio::test]
    async fn what_was_not_sent_is_told_apart_from_what_broke() {
        let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = unused.local_addr().unwrap().port();
        drop(unused);
        let url = format!("http://127.0.0.1:{port}/");
        let error = ask(EgressPolicy::ServicesAndLoopback, &url).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable(_)), "{error:?}");
        let port = server("HTTP/1.1 200").await;
        let url = format!("http://127.0.0.1:{port}/");
        let error = ask(EgressPolicy::ServicesAndLoopback, &url).await.unwrap_err();
        assert!(matches!(error, Error::Failed(_)), "{error:?}");
    }

    #[tokio::test]
    async fn an_answer_has_its_headers_and_a_time() {
        let port = server("HTTP/1.1 200 OK\r\nx-kind: note\r\ncontent-length: 0\r\n\r\n").await;
        let url = format!("http://127.0.0.1:{port}/");
        let answer = ask(EgressPolicy::ServicesAndLoopback, &url).await.unwrap();
        assert_eq!(answer.headers["x-kind"], "note");
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let short = client(EgressPolicy::ServicesAndLoopback).within(Duration::from_millis(50));
        let error = short.ask(Request::get(url).body(Vec::new()).unwrap()).await.unwrap_err();
        assert!(matches!(error, Error::Slow(_)), "{error:?}");
    }

    #[tokio::test]
    async fn connections_are_judged_as_requests_are() {
        let port = server("hello").await;
        let within = LIMITS.connect;
        let refused = connect(EgressPolicy::Services, ("localhost", port), within).await.unwrap_err();
        assert!(matches!(refused, Error::Forbidden(_)), "{refused:?}");
        let mut stream =
            connect(EgressPolicy::ServicesAndLoopback, ("127.0.0.1", port), within).await.unwrap();
        stream.write_all(b"!").await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "hello");
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let tls = Tls { authorities: Some(b"hidden".to_vec()), identity: None };
        let error = EgressClient::with_tls(EgressPolicy::Services, LIMITS, &tls).unwrap_err();
        assert!(error.to_string().contains("no certificates in PEM"), "{error}");
        let tls = Tls { authorities: None, identity: Some((b"hidden".to_vec(), b"hidden".to_vec())) };
        let error = EgressClient::with_tls(EgressPolicy::Services, LIMITS, &tls).unwrap_err();
        assert!(!error.to_string().contains("hidden"), "{error}");
    }

    #[tokio::test]
    async fn what_is_no_url_to_ask_is_told_without_repeating_it() {
        for (url, expected) in [
            ("ftp://a/b", "only http"),
            ("/path", "only http"),
            ("http://me:hidden@10.0.0.1/", "in a header"),
        ] {
            let error = ask(EgressPolicy::Services, url).await.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("hidden"), "{url}: {error}");
        }
    }
}
