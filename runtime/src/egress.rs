//! The egress guard: sends one HTTP request to a URL that somebody wrote, after its addresses were checked; follows no
//! redirect.
//!
//! Whoever may write an object may not thereby ask what only this process can reach: the helpers of its machine, which give
//! out credentials of a cloud, and its own loopback. A name is resolved once, by the connection that is then made, so an
//! answer that changes between the look and the connection changes nothing.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use tower::Service;

/// Addresses that one name may have: more come from a mistake.
const ADDRESSES_AT_MOST: usize = 64;

/// Services of clouds that tell credentials to every machine that asks, beyond the link-local ones.
const MACHINE_SERVICES: [IpAddr; 9] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x123)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
];

/// Which addresses may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressPolicy {
    /// Services of the cluster and of the world, for URLs that users write.
    Services,
    /// The same and this machine's loopback, where users are at home on it.
    ServicesAndLoopback,
    /// Every address, for a URL that an operator gave.
    Anywhere,
}

impl EgressPolicy {
    /// May this address be asked?
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::ServicesAndLoopback => embedded(address).is_loopback() || is_service(address),
            Self::Services => is_service(address),
        }
    }
}

/// An address that a service can have, and no helper of a machine.
fn is_service(address: IpAddr) -> bool {
    // What an address carries may be a helper, and so may what carries it.
    may_be_asked(address) && may_be_asked(embedded(address))
}

fn may_be_asked(address: IpAddr) -> bool {
    if MACHINE_SERVICES.contains(&address) || address.is_unspecified() || address.is_loopback() {
        return false;
    }
    match address {
        IpAddr::V4(v4) => {
            let [first, ..] = v4.octets();
            // 0/8 is this machine as well, and from 224 on nothing is a single machine.
            !v4.is_link_local() && first != 0 && first < 224
        }
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            let site_local = a & 0xffc0 == 0xfec0;
            // Translation within a site (RFC 8215): each site decides where in it the IPv4 address stands.
            let translated = (a, b, c) == (0x64, 0xff9b, 1);
            // Teredo hides two IPv4 addresses, and nobody serves anything behind it any more.
            let teredo = (a, b) == (0x2001, 0);
            !v6.is_unicast_link_local() && !v6.is_multicast() && !site_local && !translated && !teredo
        }
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64, SIIT) or tunnelled (6to4,
/// ISATAP).
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        // ::1 and :: are themselves.
        (0, 0, 0, 0, 0, 0) if g != 0 => v4(g, h),
        (0, 0, 0, 0, 0xffff, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        (.., 0 | 0x200, 0x5efe) => v4(g, h),
        _ => address,
    }
}

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
    /// No connection, or a connection that broke.
    #[error("{0}")]
    Failed(String),
    /// Too slow.
    #[error("no answer within {} s", .0.as_secs())]
    Slow(Duration),
    /// Too long.
    #[error("the answer is larger than {0} bytes")]
    Long(usize),
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
        let mut connector = HttpConnector::new_with_resolver(Resolver { policy });
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limits.connect));
        // Only what it says of TLS is used of this, and it says nothing.
        let config = kube::Config::new(Uri::from_static("https://nowhere.invalid"));
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

    /// Ask. A redirect is an answer like any other: where it leads is not asked.
    ///
    /// # Errors
    /// The URL or its address may not be asked, nobody answers there in time, or the answer is longer than the limit.
    pub async fn ask(&self, request: Request<Vec<u8>>) -> Result<Answer, Error> {
        check(request.uri(), self.policy)?;
        let asked = tokio::time::timeout(self.limits.total, self.send(request.map(kube::client::Body::from)));
        asked.await.unwrap_or(Err(Error::Slow(self.limits.total)))
    }

    async fn send(&self, request: Request<kube::client::Body>) -> Result<Answer, Error> {
        let answer = self.client.send(request).await.map_err(|error| failed(&error))?;
        let status = answer.status();
        let at_most = self.limits.answer_bytes;
        let body = Limited::new(answer.into_body(), at_most).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { Error::Long(at_most) } else { failed(&*error) }
        })?;
        Ok(Answer { status, body: body.to_bytes() })
    }
}

/// What of a URL can be judged without asking anybody. An address in it is not resolved, so it is judged here.
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

/// The error with what caused it; what was forbidden is told as that.
fn failed(error: &(dyn std::error::Error + 'static)) -> Error {
    let mut said: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let forbidden = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<Forbidden>() || forbidden.is_some_and(|inner| inner.is::<Forbidden>()) {
            return Forbidden.into();
        }
        let words = error.to_string();
        if !said.iter().any(|before| before.contains(&words)) {
            said.push(words);
        }
        cause = error.source();
    }
    Error::Failed(said.join(": "))
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

    #[test]
    fn helpers_of_a_machine_are_out_of_reach_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.8.8.8",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::ffff:127.0.0.1",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::",
            "2002:6464:64c8::",
            "fd00:ec2::23",
            "fd00:ec2::253",
            "fd00:ec2::123",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:ffff::8.8.8.8",
            "::ffff:0:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "2001:0:a9fe:a9fe::1",
            "2001::5601:5601",
            "2001:0:808:808::f7f7:f7f7",
            "2001:db8::5efe:169.254.169.254",
            "2001:db8::200:5efe:127.0.0.1",
            "fe80::5efe:8.8.8.8",
        ] {
            assert!(!EgressPolicy::Services.allows(address.parse().unwrap()), "{address}");
        }
        for address in [
            "10.96.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "8.8.8.8",
            "fd12::1",
            "2001:db8::1",
            "::ffff:10.0.0.1",
            "64:ff9b::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "2002:808:808::1",
            "2001:db8::5efe:8.8.8.8",
            "2001:4860::1",
        ] {
            assert!(EgressPolicy::Services.allows(address.parse().unwrap()), "{address}");
        }
        let local = EgressPolicy::ServicesAndLoopback;
        assert!(local.allows(Ipv4Addr::LOCALHOST.into()) && local.allows(Ipv6Addr::LOCALHOST.into()));
        assert!(!local.allows(Ipv4Addr::new(169, 254, 169, 254).into()));
        assert!(EgressPolicy::Anywhere.allows(Ipv4Addr::new(169, 254, 169, 254).into()));
    }

    #[tokio::test]
    async fn neither_an_address_nor_a_name_leads_to_the_machine() {
        let port = server("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        // The last two are the loopback as some resolvers read them.
        for host in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "0x7f.1"] {
            let refused = ask(EgressPolicy::Services, &format!("http://{host}:{port}/")).await.unwrap_err();
            // Not every resolver reads these as numbers.
            let unknown = matches!(&refused, Error::Failed(_)) && matches!(host, "2130706433" | "0x7f.1");
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
