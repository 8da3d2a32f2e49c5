//! Decides which requests are allowed: the host a request names, the one-time token of the link, the cookie of a session.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, Uri, header};
use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The secrets of a console, which the caller draws, so that nothing here needs chance.
#[derive(Clone)]
pub struct Secrets {
    /// The token of the link, which works once.
    pub link: String,
    /// The value of the cookie of the session.
    pub session: String,
    /// The token that pages put into their forms, which no other site can know.
    pub form: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

/// Where browsers reach a proxy before a console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    /// With `://`.
    scheme: &'static str,
    /// With the port where it is not the usual one.
    host: String,
}

impl PublicUrl {
    /// Reads it.
    ///
    /// # Errors
    /// Why this is no such address, and what would be.
    pub fn parse(url: &str) -> Result<Self, String> {
        let wrong = || {
            let url: String = url.chars().take(200).collect();
            format!(
                "{url:?} is not where browsers reach a proxy: write https://HOST or https://HOST:PORT, without a path"
            )
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        // Browsers leave out the usual port.
        let (scheme, usual) = match uri.scheme_str() {
            Some("https") => ("https://", 443),
            Some("http") => ("http://", 80),
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = match authority.port_u16() {
            Some(port) if port != usual => format!("{}:{port}", authority.host()),
            _ => authority.host().to_owned(),
        };
        let is_bare = uri.path() == "/" && uri.query().is_none() && !authority.as_str().contains('@');
        if is_bare && !host.is_empty() { Ok(Self { scheme, host }) } else { Err(wrong()) }
    }
}

/// Decides which requests are allowed.
#[derive(Debug)]
pub struct Access {
    secrets: Secrets,
    used: AtomicBool,
    cookie: String,
    hosts: Vec<String>,
    public: Option<PublicUrl>,
    /// Every request belongs to the session: its user was let in before.
    is_entered: bool,
}

impl Access {
    /// Lets in a browser that has the token, once, and then browsers with the session, by the names that a loopback
    /// address has.
    pub fn new(secrets: Secrets, address: SocketAddr) -> Self {
        let port = address.port();
        let mut hosts =
            vec![format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        let own = address.to_string();
        if !hosts.contains(&own) {
            hosts.insert(0, own);
        }
        // Cookies know no ports, and several consoles may run on one machine.
        Self {
            secrets,
            used: AtomicBool::new(false),
            cookie: format!("vela-console-{port}"),
            hosts,
            public: None,
            is_entered: false,
        }
    }

    /// Also answers to the name of a proxy before it, and takes orders from pages that browsers have from there.
    #[must_use]
    pub fn reached_at(mut self, url: PublicUrl) -> Self {
        self.public = Some(url);
        self
    }

    /// The names that it answers to, as messages list them.
    fn names(&self) -> String {
        let public = self.public.iter().map(|url| &url.host);
        self.hosts.iter().chain(public).map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Lets in every request of one user, who was let in by a token; `key` tells users apart, so that no other knows
    /// the token of this one's forms.
    pub(crate) fn of_user(&self, key: &[u8]) -> Self {
        let form =
            Sha256::new().chain_update(&self.secrets.form).chain_update([0]).chain_update(key).finalize();
        let form = form.iter().map(|byte| format!("{byte:02x}")).collect();
        // Nothing is the same as an empty secret.
        let secrets = Secrets { link: String::new(), session: String::new(), form };
        let (cookie, hosts, public) = (self.cookie.clone(), self.hosts.clone(), self.public.clone());
        Self { secrets, used: AtomicBool::new(true), cookie, hosts, public, is_entered: true }
    }

    /// Refuses a foreign name for this address (DNS rebinding).
    pub(crate) fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let asked = uri.authority().map(|authority| authority.as_str()).or(header).unwrap_or_default();
        let mut hosts = self.hosts.iter().chain(self.public.iter().map(|url| &url.host));
        if hosts.any(|host| host.eq_ignore_ascii_case(asked)) {
            return Ok(());
        }
        let asked = asked.chars().take(100).collect();
        Err(Error::WrongHost { asked, expected: self.names() })
    }

    /// Refuses what a page of another site made a browser send.
    pub(crate) fn same_origin(&self, headers: &HeaderMap) -> Result<(), Error> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let is_own = |origin: &str| {
            let own = self.hosts.iter().map(|host| ("http://", host));
            let mut own = own.chain(self.public.iter().map(|url| (url.scheme, &url.host)));
            own.any(|(scheme, host)| {
                origin.strip_prefix(scheme).is_some_and(|origin| origin.eq_ignore_ascii_case(host))
            })
        };
        let is_foreign = text("origin").is_some_and(|origin| !is_own(origin))
            || text("sec-fetch-site").is_some_and(|site| site != "same-origin");
        match is_foreign {
            false => Ok(()),
            true => Err(Error::ForeignRequest(format!(
                "the request comes from another site; send it from a page of {}",
                self.names()
            ))),
        }
    }

    /// The token that a request which sends something has to carry.
    pub(crate) fn form_token(&self) -> &str {
        &self.secrets.form
    }

    /// Refuses what does not carry it in its header.
    pub(crate) fn has_header_token(&self, headers: &HeaderMap) -> Result<(), Error> {
        let token = headers.get("x-csrf-token").and_then(|value| value.to_str().ok());
        self.has_form_token(token.unwrap_or_default())
    }

    /// Refuses what does not carry it.
    pub(crate) fn has_form_token(&self, given: &str) -> Result<(), Error> {
        match is_same(given, &self.secrets.form) {
            true => Ok(()),
            false => Err(Error::ForeignRequest(
                "the request lacks the token of this console; GET /api/v1/csrf-token gives it, and the header \
                 X-Csrf-Token or the field token of the form carries it"
                    .to_owned(),
            )),
        }
    }

    /// Whether a request belongs to the session.
    pub(crate) fn has_session(&self, headers: &HeaderMap) -> bool {
        if self.is_entered {
            return true;
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(name, _)| *name == self.cookie);
        values.any(|(_, value)| is_same(value, &self.secrets.session))
    }

    /// The cookie for the browser that opens the link with the token, which works once.
    pub(crate) fn enter(&self, token: &str) -> Result<String, Error> {
        if !is_same(token, &self.secrets.link) {
            return Err(Error::NoSession);
        }
        if self.used.swap(true, Ordering::SeqCst) {
            return Err(Error::UsedToken);
        }
        Ok(format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.secrets.session))
    }
}

/// Compares without telling by its time how much is right; nothing is never right.
pub(crate) fn is_same(given: &str, expected: &str) -> bool {
    let differences = given.bytes().zip(expected.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    !expected.is_empty() && given.len() == expected.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        let secrets = Secrets { link: "token".into(), session: "session".into(), form: "form".into() };
        Access::new(secrets, "127.0.0.1:8080".parse().unwrap())
    }

    #[test]
    fn a_token_works_once_and_a_wrong_one_never() {
        let access = access();
        assert!(
            access.enter("").is_err() && access.enter("tokem").is_err() && access.enter("token ").is_err()
        );
        let cookie = access.enter("token").unwrap();
        assert_eq!(cookie, "vela-console-8080=session; Path=/; HttpOnly; SameSite=Strict");
        assert!(matches!(access.enter("token"), Err(Error::UsedToken)));
        let mut headers = HeaderMap::new();
        assert!(!access.has_session(&headers));
        headers.insert(header::COOKIE, "a=b; vela-console-8080=session".parse().unwrap());
        assert!(access.has_session(&headers));
        headers.insert(header::COOKIE, "vela-console-8081=session; vela-console-8080=".parse().unwrap());
        assert!(!access.has_session(&headers));
    }

    #[test]
    fn only_names_of_the_loopback_address_are_answered() {
        let access = access();
        let is_answered = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            access.host(&Uri::from_static("/"), &headers).is_ok()
        };
        assert!(is_answered("127.0.0.1:8080") && is_answered("LOCALHOST:8080") && is_answered("[::1]:8080"));
        for host in ["evil.example:8080", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080.evil.example", ""] {
            assert!(!is_answered(host), "{host}");
        }
        assert!(access.host(&Uri::from_static("/"), &HeaderMap::new()).is_err());
    }

    #[test]
    fn a_proxy_before_it_has_a_name_and_an_origin() {
        let url = PublicUrl::parse("https://vela.example:443/").unwrap();
        let access = access().reached_at(url).of_user(b"jane");
        let sent = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            headers
        };
        for host in ["vela.example", "VELA.example", "127.0.0.1:8080"] {
            assert!(access.host(&Uri::from_static("/"), &sent("host", host)).is_ok(), "{host}");
        }
        assert!(access.host(&Uri::from_static("/"), &sent("host", "vela.example:80")).is_err());
        assert!(access.same_origin(&sent("origin", "https://vela.example")).is_ok());
        for origin in ["http://vela.example", "https://vela.example.evil", "https://evil.example", "null"] {
            assert!(access.same_origin(&sent("origin", origin)).is_err(), "{origin}");
        }
        for url in
            ["vela.example", "ftp://a", "https://a/b", "https://a?b", "https://u@a", "https://", "a b", ""]
        {
            assert!(PublicUrl::parse(url).unwrap_err().contains("https://HOST"), "{url}");
        }
    }

    #[test]
    fn what_another_site_sends_is_refused() {
        let access = access();
        let sent = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            access.same_origin(&headers).is_ok()
        };
        assert!(
            sent("origin", "http://127.0.0.1:8080")
                && sent("sec-fetch-site", "same-origin")
                && sent("accept", "a")
        );
        for origin in ["null", "http://evil.example:8080", "https://127.0.0.1:8080", "http://127.0.0.1", ""] {
            assert!(!sent("origin", origin), "{origin}");
        }
        assert!(!sent("sec-fetch-site", "cross-site") && !sent("sec-fetch-site", "same-site"));
        assert!(access.has_form_token("form").is_ok());
        assert!(access.has_form_token("").is_err() && access.has_form_token("session").is_err());
    }
}
