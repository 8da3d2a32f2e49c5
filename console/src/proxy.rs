//! Whom an authenticating proxy names: the headers of a request in, a user with groups out. A proxy proves itself by a secret,
//! and without it no header is believed. Asks no server.

use http::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256};
use vela_runtime::impersonation::Identity;

use crate::access::is_same;
use crate::error::Error;

/// A shorter secret could be guessed.
const SECRET_AT_LEAST: usize = 24;
/// No header carries more.
const SECRET_AT_MOST: usize = 4 * 1024;
/// Bytes of the name of a user or of a group.
const NAME_AT_MOST: usize = 1024;
/// Groups of one user; each is a header of every request to the API server.
const GROUPS_AT_MOST: usize = 200;
/// What Kubernetes keeps for itself: such names have rights that no directory of people gives.
const RESERVED: &str = "system:";

/// The headers of an authenticating proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeaders {
    /// Has the secret by which the proxy proves itself.
    pub secret: String,
    /// Has the name of the user.
    pub user: String,
    /// Has the groups, with commas between them.
    pub groups: String,
}

impl Default for ProxyHeaders {
    fn default() -> Self {
        Self {
            secret: "X-Vela-Proxy-Secret".to_owned(),
            user: "X-Forwarded-User".to_owned(),
            groups: "X-Forwarded-Groups".to_owned(),
        }
    }
}

/// An authenticating proxy that is believed.
pub struct Proxy {
    secret: String,
    of_secret: HeaderName,
    of_user: HeaderName,
    of_groups: HeaderName,
    allows_reserved: bool,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("of_user", &self.of_user).finish_non_exhaustive()
    }
}

/// A user whom a proxy names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// In whose name the API server is asked.
    pub(crate) identity: Identity,
    /// Tells users apart, and one user with other groups.
    pub(crate) key: [u8; 32],
}

impl Proxy {
    /// Believes a proxy that knows the secret. `allows_reserved` lets it name users and groups of Kubernetes itself
    /// (`system:`).
    ///
    /// # Errors
    /// Why this secret or these headers cannot be used, and what would do.
    pub fn new(secret: &str, headers: &ProxyHeaders, allows_reserved: bool) -> Result<Self, String> {
        let secret = secret.trim_end_matches(['\n', '\r']);
        if !(SECRET_AT_LEAST..=SECRET_AT_MOST).contains(&secret.len())
            || !secret.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(format!(
                "the secret of the proxy has to be one line of {SECRET_AT_LEAST} to {SECRET_AT_MOST} letters, digits \
                 and signs; `openssl rand -hex 32` makes one"
            ));
        }
        let name = |text: &str| {
            HeaderName::try_from(text).map_err(|_| {
                let text: String = text.chars().take(100).collect();
                format!("{text:?} cannot be the name of a header; give one such as X-Forwarded-User")
            })
        };
        let (of_secret, of_user, of_groups) =
            (name(&headers.secret)?, name(&headers.user)?, name(&headers.groups)?);
        if of_secret == of_user || of_secret == of_groups || of_user == of_groups {
            return Err(format!(
                "the secret, the user and the groups come in three headers, and these are {of_secret}, {of_user} and \
                 {of_groups}; give three names"
            ));
        }
        Ok(Self { secret: secret.to_owned(), of_secret, of_user, of_groups, allows_reserved })
    }

    /// The user whom a request is about.
    pub(crate) fn named(&self, headers: &HeaderMap) -> Result<Named, Error> {
        let proof = single(headers, &self.of_secret).ok().flatten().unwrap_or_default();
        if !is_same(proof, &self.secret) {
            return Err(Error::NotFromProxy);
        }
        let user = single(headers, &self.of_user)?.unwrap_or_default();
        if user.is_empty() {
            return Err(Error::BadRequest(format!(
                "{}: the proxy named no user; let it ask who the user is, and send the name in this header",
                self.of_user
            )));
        }
        let mut groups = Vec::new();
        for value in headers.get_all(&self.of_groups) {
            let value = text(&self.of_groups, value.as_bytes())?;
            groups
                .extend(value.split(',').map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned));
        }
        groups.sort();
        groups.dedup();
        if groups.len() > GROUPS_AT_MOST {
            return Err(Error::BadRequest(format!(
                "{}: the proxy named {} groups, and a user may have {GROUPS_AT_MOST}; let it send only those that the \
                 cluster knows",
                self.of_groups,
                groups.len()
            )));
        }
        self.are_allowed(user, &groups)?;
        let mut hash = Sha256::new();
        for name in std::iter::once(user).chain(groups.iter().map(String::as_str)) {
            // With its length, so that no two lists of names read the same.
            hash.update(name.len().to_be_bytes());
            hash.update(name);
        }
        let identity = Identity::new(user, groups)
            .map_err(|error| Error::BadRequest(format!("{error}; let the proxy send another name")))?;
        Ok(Named { identity, key: hash.finalize().into() })
    }

    fn are_allowed(&self, user: &str, groups: &[String]) -> Result<(), Error> {
        let names = [(&self.of_user, user)].into_iter();
        let names = names.chain(groups.iter().map(|group| (&self.of_groups, group.as_str())));
        for (header, name) in names {
            if name.len() > NAME_AT_MOST {
                return Err(Error::BadRequest(format!(
                    "{header}: a name is longer than {NAME_AT_MOST} bytes; let the proxy send a shorter one"
                )));
            }
            if name.starts_with(RESERVED) && !self.allows_reserved {
                return Err(Error::Reserved(name.to_owned()));
            }
        }
        Ok(())
    }
}

/// The only value of a header: of several, a client may have sent one itself.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Error> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => text(name, value.as_bytes()).map(Some),
        _ => Err(Error::BadRequest(format!(
            "{name}: the header came more than once; let the proxy replace what clients send"
        ))),
    }
}

fn text<'a>(name: &HeaderName, value: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(value).map_err(|_| Error::BadRequest(format!("{name}: the header is no UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef01234567";

    fn named(allows_reserved: bool, headers: &[(&str, &str)]) -> Result<Named, Error> {
        let proxy = Proxy::new(&format!("{SECRET}\n"), &ProxyHeaders::default(), allows_reserved).unwrap();
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            all.append(name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        proxy.named(&all)
    }

    fn of(user: &str, groups: &[&str]) -> Identity {
        Identity::new(user, groups.iter().map(|group| (*group).to_owned()).collect()).unwrap()
    }

    const PROOF: (&str, &str) = ("x-vela-proxy-secret", SECRET);

    #[test]
    fn a_proxy_with_the_secret_names_a_user_and_groups() {
        let user = ("x-forwarded-user", "zoë@shop.example");
        let found = named(false, &[PROOF, user]).unwrap();
        assert_eq!(found.identity, of("zoë@shop.example", &[]));
        let groups = [("x-forwarded-groups", "ops, dev,,"), ("x-forwarded-groups", "dev")];
        let more = named(false, &[PROOF, user, groups[0], groups[1]]).unwrap();
        assert_eq!(more.identity, of("zoë@shop.example", &["dev", "ops"]));
        assert_ne!(found.key, more.key);
        let ordered = named(false, &[PROOF, user, ("x-forwarded-groups", "dev,ops")]).unwrap();
        assert_eq!(ordered.key, more.key, "the order of groups says nothing");
    }

    #[test]
    fn without_the_secret_no_header_is_believed() {
        let user = ("x-forwarded-user", "jane");
        for proof in [
            &[][..],
            &[("x-vela-proxy-secret", "")],
            &[("x-vela-proxy-secret", "0123456789abcdef01234568")],
            &[PROOF, PROOF],
            &[PROOF, ("x-vela-proxy-secret", "x")],
            &[("authorization", SECRET)],
        ] {
            let headers: Vec<_> = proof.iter().copied().chain([user]).collect();
            assert!(matches!(named(true, &headers), Err(Error::NotFromProxy)), "{proof:?}");
        }
    }

    #[test]
    fn names_that_cannot_be_meant_are_refused() {
        let long = "a".repeat(NAME_AT_MOST + 1);
        let many: String = (0..=GROUPS_AT_MOST).map(|number| format!("{number},")).collect();
        for headers in [
            &[][..],
            &[("x-forwarded-user", "")],
            &[("x-forwarded-user", "jane"), ("x-forwarded-user", "root")],
            &[("x-forwarded-user", &long)],
            &[("x-forwarded-user", "jane"), ("x-forwarded-groups", &long)],
            &[("x-forwarded-user", "jane"), ("x-forwarded-groups", &many)],
        ] {
            let all: Vec<_> = [PROOF].into_iter().chain(headers.iter().copied()).collect();
            let error = named(false, &all).unwrap_err();
            assert_eq!(error.status(), 400, "{error}");
            assert!(
                error.to_string().contains("x-forwarded-") && error.to_string().contains("proxy"),
                "{error}"
            );
        }
    }

    #[test]
    fn names_of_kubernetes_itself_need_to_be_allowed() {
        for headers in [
            [("x-forwarded-user", "system:admin"), ("x-forwarded-groups", "dev")],
            [("x-forwarded-user", "jane"), ("x-forwarded-groups", "dev,system:masters")],
        ] {
            let all: Vec<_> = [PROOF].into_iter().chain(headers).collect();
            let error = named(false, &all).unwrap_err();
            assert!(matches!(error, Error::Reserved(_)) && error.status() == 403, "{error}");
            assert!(named(true, &all).is_ok(), "{headers:?}");
        }
    }

    #[test]
    fn a_secret_and_headers_that_do_not_do_are_refused() {
        let headers = ProxyHeaders::default();
        for secret in
            ["", "\n", "short", "0123456789abcdef 01234567", "0123456789abcdef\n01234567", &"a".repeat(5000)]
        {
            assert!(Proxy::new(secret, &headers, false).unwrap_err().contains("openssl"), "{secret:?}");
        }
        let twice = ProxyHeaders { user: "x-forwarded-GROUPS".to_owned(), ..headers.clone() };
        assert!(Proxy::new(SECRET, &twice, false).unwrap_err().contains("three names"));
        let broken = ProxyHeaders { user: "a b".to_owned(), ..headers };
        assert!(Proxy::new(SECRET, &broken, false).unwrap_err().contains("\"a b\""));
    }
}
