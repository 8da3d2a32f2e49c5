//! Sends requests to URLs that people wrote into objects; nothing else in this room asks anybody outside the cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use vela_runtime::egress::{EgressClient, EgressPolicy, Limits};

/// A server that cannot be connected to in this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// One answer; several of them must fit into the time of one reconcile.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers what objects ask of elsewhere in place of the network, for runs that must touch nothing outside.
pub trait EgressOverride: std::fmt::Debug + Send + Sync {
    /// Status and body of the answer, or why there is none.
    fn answer(&self, method: &str, url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String>;

    /// What a metric of a rollout is measured as, by the field of the plan where it stands; nothing asks its server.
    fn measure(&self, path: &str) -> Option<Result<f64, String>> {
        let _ = path;
        None
    }
}

/// Asks within the policy that the operator chose. The authorities that the system trusts are read when something is first
/// asked: most processes of tests and simulations ask nothing.
#[derive(Clone, Debug)]
pub(crate) struct Egress {
    egress_policy: EgressPolicy,
    client: Arc<OnceLock<Result<EgressClient, String>>>,
    instead: Option<Arc<dyn EgressOverride>>,
}

impl Egress {
    /// Asks within this policy.
    pub(crate) fn new(egress_policy: EgressPolicy) -> Self {
        Self { egress_policy, client: Arc::default(), instead: None }
    }

    /// Asks nobody but this one.
    pub(crate) fn answered_by(egress_override: Arc<dyn EgressOverride>) -> Self {
        Self { instead: Some(egress_override), ..Self::new(EgressPolicy::Services) }
    }

    /// What somebody who stands in for elsewhere says of a metric.
    pub(crate) fn measured(&self, path: &str) -> Option<Result<f64, String>> {
        self.instead.as_ref()?.measure(path)
    }

    fn client(&self) -> Result<&EgressClient, String> {
        let make = || {
            let limits = Limits { connect: CONNECT_TIMEOUT, total: TOTAL_TIMEOUT, answer_bytes: 0 };
            EgressClient::new(self.egress_policy, limits).map_err(|error| error.to_string())
        };
        self.client.get_or_init(make).as_ref().map_err(Clone::clone)
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
        let client = self.client()?;
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

/// What people may read of a URL: a query may hold a key, and so may a user in the address.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            format!("{scheme}://{}/{path}", authority.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
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

    #[test]
    fn what_is_told_of_a_url_has_no_key_in_it() {
        assert_eq!(shown("https://me:key@host:1/a/b?token=key#key"), "https://host:1/a/b");
        assert_eq!(shown("nowhere?key"), "nowhere");
    }
}
