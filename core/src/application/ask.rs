//! What traits ask of elsewhere (`processing.http`) → answers for the next render, each asked once per revision.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;
use vela_engine::render::processing::{Answers, Request};
use vela_runtime::Key;

/// A server that cannot be connected to in this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// One answer; several of them must fit into the time of one reconcile.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer becomes part of objects, and an API server takes one and a half MiB of each.
const ANSWER_BYTES_AT_MOST: usize = 1 << 20;
/// Requests of one application in one lap: what asks more is a mistake, and would hold up its worker.
const REQUESTS_AT_MOST: usize = 5;

/// The answers known to this process, by application and the content hash that asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    answers: Arc<Mutex<BTreeMap<Key, (String, Answers)>>>,
}

impl Known {
    /// The answers that were given to this application, and the content they were given to.
    pub(super) fn of(&self, application: &Key) -> (String, Answers) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(application).cloned().unwrap_or_default()
    }

    /// Keep the answers given to a content; those to former ones are forgotten.
    pub(super) fn keep(&self, application: &Key, content: &str, answers: &Answers) {
        let mut known = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(application.clone(), (content.to_owned(), answers.clone()));
    }

    /// The application is gone.
    pub(super) fn forget(&self, application: &Key) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).remove(application);
    }
}

/// Ask everything that is not answered yet; fails with the request and what was wrong.
pub(super) async fn ask(requests: &[Request], answers: &mut Answers) -> Result<(), String> {
    let open: Vec<&Request> = requests.iter().filter(|request| !answers.contains_key(*request)).collect();
    if answers.len() + open.len() > REQUESTS_AT_MOST {
        return Err(format!("an application may ask {REQUESTS_AT_MOST} times by processing.http, not more"));
    }
    for request in open {
        let sent = tokio::time::timeout(TOTAL_TIMEOUT, send(request)).await;
        let answer = sent.unwrap_or_else(|_| Err(format!("no answer within {} s", TOTAL_TIMEOUT.as_secs())));
        let answer = answer.map_err(|error| format!("processing.http: {request}: {error}"))?;
        answers.insert(request.clone(), answer);
    }
    Ok(())
}

async fn send(request: &Request) -> Result<Value, String> {
    let uri: http::Uri = request.url.parse().map_err(|error| format!("not an address: {error}"))?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("the address names no host")?;
    let port = match (uri.scheme_str(), uri.port_u16()) {
        (Some("http" | "https"), Some(port)) => port,
        (Some("http"), None) => 80,
        (Some("https"), None) => 443,
        _ => return Err("only http and https are asked".to_owned()),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = tokio::net::lookup_host((bare, port)).await.map_err(|error| error.to_string())?;
    if addresses.into_iter().any(|address| is_forbidden(address.ip())) {
        return Err(
            "the address belongs to the machine's own services, which templates may not ask".to_owned()
        );
    }
    // This client carries no credentials and follows no redirect.
    let mut config = kube::Config::new(uri.clone());
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(TOTAL_TIMEOUT);
    let client = kube::Client::try_from(config).map_err(|error| error.to_string())?;
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut sent = http::Request::builder().method(request.method.as_str()).uri(path);
    for (name, value) in &request.header {
        sent = sent.header(name, value);
    }
    let body = kube::client::Body::from(request.body.clone().into_bytes());
    let sent = sent.body(body).map_err(|error| error.to_string())?;
    let answer = client.send(sent).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("answered {status}"));
    }
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_AT_MOST).collect().await;
    let body = body.map_err(|error| format!("the answer cannot be read: {error}"))?.to_bytes();
    match serde_json::from_slice(&body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("the answer must be a JSON object".to_owned()),
        Err(error) => Err(format!("the answer must be a JSON object: {error}")),
    }
}

/// Addresses that no service of a cluster has, but a machine's own helpers do (cloud credentials among them).
fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_broadcast()
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address.to_ipv4_mapped().is_some_and(|address| is_forbidden(address.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machines_own_services_are_not_asked() {
        for url in ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/"]
        {
            let request = Request { method: "GET".to_owned(), url: url.to_owned(), ..Request::default() };
            let error = ask(&[request], &mut Answers::new()).await.err().unwrap_or_default();
            assert!(error.contains("own services"), "{url}: {error}");
        }
        for (url, expected) in
            [("ftp://a/b", "only http"), ("/path", "names no host"), ("http://[", "address")]
        {
            let request = Request { method: "GET".to_owned(), url: url.to_owned(), ..Request::default() };
            let error = ask(&[request], &mut Answers::new()).await.err().unwrap_or_default();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn endless_questions_are_refused() {
        let request = |number: usize| Request { url: format!("http://a/{number}"), ..Request::default() };
        let requests: Vec<Request> = (0..=REQUESTS_AT_MOST).map(request).collect();
        assert!(ask(&requests, &mut Answers::new()).await.is_err());
    }
}
