//! Sends requests to URLs that people wrote into objects; nothing else in this room asks anybody outside the cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) use vela_engine::reference::shown;
use vela_runtime::egress::{EgressClient, EgressPolicy, Error, Limits, Tls};
use vela_runtime::smtp::{self, Mail};

use crate::rate_limits::RateLimits;

/// A server that cannot be connected to in this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// One answer; several of them must fit into the time of one reconcile.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// One e-mail: several replies, and its text.
const MAIL_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a request that says none itself.
const LIMITS: Limits = Limits { connect: CONNECT_TIMEOUT, total: TOTAL_TIMEOUT, answer_bytes: 0 };
/// Of a request that says its time. A server that is not there is found out before that is over: then it is known that the
/// request was not sent.
const SHORT_LIMITS: Limits = Limits { connect: Duration::from_secs(2), ..LIMITS };

/// Answers what objects ask of elsewhere in place of the network, for runs that must touch nothing outside.
pub trait EgressOverride: std::fmt::Debug + Send + Sync {
    /// Status and body of the answer, or why there is none.
    fn answer(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String>;

    /// The stand-in for a metric of a rollout, by its field of the plan; sends no request.
    fn measure(&self, path: &str) -> Option<Result<f64, String>> {
        let _ = path;
        None
    }
}

/// One request to a URL that a user wrote. Its headers may be keys, so it says nothing of itself.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// Until the answer is read.
    pub(crate) timeout: Duration,
    /// Bytes of the answer.
    pub(crate) bytes_at_most: usize,
    /// The authorities to trust and the client's identity, where the object gives them.
    pub(crate) tls: Option<Tls>,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// By their names in small letters.
    pub(crate) headers: BTreeMap<String, Vec<String>>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer; none repeats the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It may not be asked, or cannot be: another try ends alike.
    Refused(String),
    /// It was not sent.
    NotSent(String),
    /// It may have been taken.
    Unknown(String),
    /// It was taken, and the answer is too large.
    TooLarge(String),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        let said = error.to_string();
        match error {
            Error::Url(_) | Error::Forbidden(_) | Error::Client(_) | Error::Redirect(_) => {
                Self::Refused(said)
            }
            Error::Unreachable(_) => Self::NotSent(said),
            Error::Failed(_) | Error::Slow(_) => Self::Unknown(said),
            Error::Long(_) => Self::TooLarge(said),
        }
    }
}

impl From<smtp::Error> for NoAnswer {
    fn from(error: smtp::Error) -> Self {
        match error {
            smtp::Error::Refused(why) => Self::Refused(why),
            smtp::Error::NotSent(why) => Self::NotSent(why),
            smtp::Error::Unknown(why) => Self::Unknown(why),
        }
    }
}

/// A client, or why there is none.
type Client = Arc<OnceLock<Result<EgressClient, String>>>;

/// Asks within the policy that the operator chose. The authorities that the system trusts are read when something is first
/// asked: most processes of tests and simulations ask nothing.
#[derive(Clone, Debug)]
pub(crate) struct Egress {
    egress_policy: EgressPolicy,
    client: Client,
    /// For requests that say their time.
    short: Client,
    instead: Option<Arc<dyn EgressOverride>>,
    rate_limits: RateLimits,
}

impl Egress {
    /// Asks within this policy.
    pub(crate) fn new(egress_policy: EgressPolicy) -> Self {
        let (client, short) = Default::default();
        Self { egress_policy, client, short, instead: None, rate_limits: RateLimits::default() }
    }

    /// Asks only this one.
    pub(crate) fn answered_by(egress_override: Arc<dyn EgressOverride>) -> Self {
        Self { instead: Some(egress_override), ..Self::new(EgressPolicy::Services) }
    }

    /// The measurement of a metric by a stand-in for the network.
    pub(crate) fn measured(&self, path: &str) -> Option<Result<f64, String>> {
        self.instead.as_ref()?.measure(path)
    }

    fn made<'a>(&self, client: &'a Client, limits: Limits) -> Result<&'a EgressClient, String> {
        let make = || EgressClient::new(self.egress_policy, limits).map_err(|error| error.to_string());
        client.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// The number of attempts, where the caller sets it.
    pub(crate) fn rate_limits(&self) -> &RateLimits {
        &self.rate_limits
    }

    /// Ask, and tell apart why there is no answer.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Answer, NoAnswer> {
        let Request { method, url, headers, body, timeout, bytes_at_most, tls } = request;
        if let Some(instead) = &self.instead {
            let answered = instead.answer(method, url, body).map_err(NoAnswer::Unknown)?;
            return Ok(Answer { status: answered.0, body: answered.1, ..Answer::default() });
        }
        let client = match tls {
            None => self.made(&self.short, SHORT_LIMITS).map_err(NoAnswer::Refused)?.clone(),
            Some(tls) => EgressClient::with_tls(self.egress_policy, SHORT_LIMITS, tls)?,
        };
        let mut built = http::Request::builder().method(method.as_str()).uri(url.as_str());
        for (name, value) in headers {
            built = built.header(name, value);
        }
        let built = built.body(body.clone());
        let built = built.map_err(|error| NoAnswer::Refused(format!("this cannot be asked: {error}")))?;
        let answer = client.answers_up_to(*bytes_at_most).within(*timeout).ask(built).await?;
        let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &answer.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.entry(name.as_str().to_owned()).or_default().push(value);
        }
        Ok(Answer { status: answer.status.as_u16(), headers, body: answer.body.to_vec() })
    }

    /// Send an e-mail, and tell apart why it was not sent.
    pub(crate) async fn send_mail(&self, mail: &Mail) -> Result<(), NoAnswer> {
        if let Some(instead) = &self.instead {
            let url = format!("smtp://{}:{}", mail.host, mail.port);
            let taken = instead.answer("SEND", &url, mail.message.as_bytes());
            return taken.map(drop).map_err(NoAnswer::Unknown);
        }
        Ok(smtp::send(self.egress_policy, mail, MAIL_TIMEOUT).await?)
    }

    /// Ask for what is there, and go where redirects lead; answers with status and body.
    pub(crate) async fn read(&self, url: &str, bytes_at_most: usize) -> Result<(u16, Vec<u8>), String> {
        if let Some(instead) = &self.instead {
            return instead.answer("GET", url, &[]);
        }
        let client = self.made(&self.client, LIMITS)?.answers_up_to(bytes_at_most);
        let answer = client.read(url).await.map_err(|error| error.to_string())?;
        Ok((answer.status.as_u16(), answer.body.to_vec()))
    }

    /// Ask; answers with status and body. No redirect is followed, and no credentials are sent.
    pub(crate) async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
        bytes_at_most: usize,
    ) -> Result<(u16, Vec<u8>), String> {
        if let Some(instead) = &self.instead {
            return instead.answer(method, url, &body);
        }
        let client = self.made(&self.client, LIMITS)?;
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|error| format!("this cannot be asked: {error}"))?;
        let answer = client.answers_up_to(bytes_at_most).ask(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        Ok((answer.status.as_u16(), answer.body.to_vec()))
    }
}

/// The public part of a URL whose path may be a key, as the addresses of chat services are: the server.
pub(crate) fn server(url: &str) -> String {
    let shown = shown(url);
    match shown.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.split('/').next().unwrap_or_default()),
        None => "the URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machines_own_services_are_not_asked() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let egress = Egress::new(EgressPolicy::Services);
        for (url, expected) in [
            ("http://169.254.169.254/latest", "own services"),
            ("http://localhost:1/", "own services"),
            ("ftp://a/b", "only http"),
            ("http://[", "cannot be asked"),
        ] {
            let error = egress.send("GET", url, &BTreeMap::new(), Vec::new(), 9).await.unwrap_err();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }

    #[derive(Debug)]
    struct Echo;

    impl EgressOverride for Echo {
        fn answer(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String> {
            match body {
                [] => Err("nothing was told".to_owned()),
                body => Ok((204, [method.as_bytes(), url.as_bytes(), body].concat())),
            }
        }
    }

    #[tokio::test]
    async fn who_stands_in_for_elsewhere_answers_everything() {
        let egress = Egress::answered_by(Arc::new(Echo));
        let none = BTreeMap::new();
        let ask = |body: &'static [u8]| egress.send("PUT", "http://localhost/", &none, body.to_vec(), 9);
        assert_eq!(ask(b"!").await, Ok((204, b"PUThttp://localhost/!".to_vec())));
        assert_eq!(ask(b"").await, Err("nothing was told".to_owned()));
        assert_eq!(egress.measured("canaryMetric[0]"), None);
    }

    #[tokio::test]
    async fn why_there_is_no_answer_is_told_apart() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let egress = Egress::new(EgressPolicy::ServicesAndLoopback);
        let request = |url: &str, header: &str| Request {
            method: "POST".to_owned(),
            url: url.to_owned(),
            headers: BTreeMap::from([("x-key".to_owned(), header.to_owned())]),
            body: Vec::new(),
            timeout: Duration::from_millis(200),
            bytes_at_most: 9,
            tls: None,
        };
        let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", unused.local_addr().unwrap());
        let silent = egress.ask(&request(&url, "a")).await.unwrap_err();
        assert!(matches!(silent, NoAnswer::Unknown(_)), "{silent:?}");
        drop(unused);
        let gone = egress.ask(&request(&url, "a")).await.unwrap_err();
        assert!(matches!(gone, NoAnswer::NotSent(_)), "{gone:?}");
        for request in
            [request("ftp://a", "a"), request("http://169.254.169.254/", "a"), request(&url, "a\nb")]
        {
            let refused = egress.ask(&request).await.unwrap_err();
            assert!(matches!(refused, NoAnswer::Refused(_)), "{refused:?}");
        }
    }

    #[test]
    fn what_is_told_of_a_url_has_no_key_in_it() {
        assert_eq!(server("https://me:key@hooks.slack.com/services/T0/key?a=b"), "https://hooks.slack.com");
        assert_eq!(server("nowhere?key"), "the URL");
        assert_eq!(shown("https://me:key@host:1/a/b?token=key#key"), "https://host:1/a/b");
        assert_eq!(shown("nowhere?key"), "nowhere");
    }
}
