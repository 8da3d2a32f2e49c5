//! What traits ask of elsewhere (`processing.http`) → answers for the next render, each asked once per revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use vela_engine::render::processing::{Answers, Request};
use vela_runtime::Key;
use vela_runtime::outside::{Limits, Outside, Reach};

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

/// Who asks, within that reach.
pub(super) fn outside(reach: Reach) -> Result<Outside, String> {
    let limits =
        Limits { connect: CONNECT_TIMEOUT, total: TOTAL_TIMEOUT, answer_bytes: ANSWER_BYTES_AT_MOST };
    Outside::new(reach, limits).map_err(|error| error.to_string())
}

/// Ask everything that is not answered yet; fails with the request and what was wrong.
pub(super) async fn ask(
    outside: &Outside,
    requests: &[Request],
    answers: &mut Answers,
) -> Result<(), String> {
    let open: Vec<&Request> = requests.iter().filter(|request| !answers.contains_key(*request)).collect();
    if answers.len() + open.len() > REQUESTS_AT_MOST {
        return Err(format!("an application may ask {REQUESTS_AT_MOST} times by processing.http, not more"));
    }
    for request in open {
        let answer = send(outside, request).await;
        let answer = answer.map_err(|error| format!("processing.http: {}: {error}", shown(request)))?;
        answers.insert(request.clone(), answer);
    }
    Ok(())
}

async fn send(outside: &Outside, request: &Request) -> Result<Value, String> {
    let mut sent = http::Request::builder().method(request.method.as_str()).uri(request.url.as_str());
    for (name, value) in &request.header {
        sent = sent.header(name, value);
    }
    let sent = sent.body(request.body.clone().into_bytes());
    let sent = sent.map_err(|error| format!("this cannot be asked: {error}"))?;
    let answer = outside.ask(sent).await.map_err(|error| error.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("answered {}", answer.status));
    }
    match serde_json::from_slice(&answer.body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("the answer must be a JSON object".to_owned()),
        Err(error) => Err(format!("the answer must be a JSON object: {error}")),
    }
}

/// The request as people may read it: a query may hold a key, and so may a user in the address.
fn shown(request: &Request) -> String {
    let url = request.url.split(['?', '#']).next().unwrap_or_default();
    let url = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            format!("{scheme}://{}/{path}", authority.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
    };
    format!("{} {url}", request.method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machines_own_services_are_not_asked() {
        let outside = outside(Reach::Services).unwrap();
        for (url, expected) in [
            ("http://169.254.169.254/latest", "own services"),
            ("http://localhost:1/", "own services"),
            ("ftp://a/b", "only http"),
            ("http://[", "cannot be asked"),
        ] {
            let request = Request { method: "GET".to_owned(), url: url.to_owned(), ..Request::default() };
            let error = ask(&outside, &[request], &mut Answers::new()).await.err().unwrap_or_default();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn endless_questions_are_refused() {
        let outside = outside(Reach::Services).unwrap();
        let request = |number: usize| Request { url: format!("http://a/{number}"), ..Request::default() };
        let requests: Vec<Request> = (0..=REQUESTS_AT_MOST).map(request).collect();
        assert!(ask(&outside, &requests, &mut Answers::new()).await.is_err());
    }

    #[test]
    fn what_is_told_of_a_request_has_no_key_in_it() {
        let request =
            |url: &str| Request { method: "GET".to_owned(), url: url.to_owned(), ..Request::default() };
        assert_eq!(shown(&request("https://me:key@host:1/a/b?token=key#key")), "GET https://host:1/a/b");
        assert_eq!(shown(&request("nowhere?key")), "GET nowhere");
    }
}
