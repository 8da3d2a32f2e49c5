//! HTTP requests of traits (`processing.http`) and of components that load objects (`urls`) → answers for the next render, each
//! sent once per revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use vela_engine::parse;
use vela_engine::reference::MANIFEST_BYTES_AT_MOST;
use vela_engine::render::processing::{Answers, Request};
use vela_runtime::Key;

use crate::egress::{Egress, shown};

/// An answer becomes part of objects, and an API server takes one and a half MiB of each.
const ANSWER_BYTES_AT_MOST: usize = 1 << 20;
/// Requests of one application in one reconcile: what asks more is a mistake, and would hold up its worker.
const REQUESTS_AT_MOST: usize = 5;

/// The answers known to this process, by application and the content hash that asked.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerCache {
    answers: Arc<Mutex<BTreeMap<Key, (String, Answers)>>>,
}

impl AnswerCache {
    /// The answers that were given to this application, and the content they were given to.
    pub(super) fn of(&self, application: &Key) -> (String, Answers) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(application).cloned().unwrap_or_default()
    }

    /// Keep the answers given to a content; those to former ones are forgotten.
    pub(super) fn insert(&self, application: &Key, content: &str, answers: &Answers) {
        let mut known = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(application.clone(), (content.to_owned(), answers.clone()));
    }

    /// The application is gone.
    pub(super) fn forget(&self, application: &Key) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).remove(application);
    }
}

/// Send every request that is not answered yet; fails with the request and what was wrong.
pub(super) async fn send_all(
    egress: &Egress,
    requests: &[Request],
    answers: &mut Answers,
) -> Result<(), String> {
    let open: Vec<&Request> = requests.iter().filter(|request| !answers.contains_key(*request)).collect();
    if answers.len() + open.len() > REQUESTS_AT_MOST {
        return Err(format!("an application may ask {REQUESTS_AT_MOST} times by processing.http, not more"));
    }
    for request in open {
        let answer = send(egress, request).await;
        let answer = answer.map_err(|error| {
            format!("processing.http: {} {}: {error}", request.method, shown(&request.url))
        })?;
        answers.insert(request.clone(), answer);
    }
    Ok(())
}

/// Ask each of these URLs, named by a component, for its objects if that is not answered yet; fails with the first that has none.
pub(super) async fn load_all(
    egress: &Egress,
    urls: &BTreeMap<String, String>,
    answers: &mut Answers,
) -> Result<(), String> {
    for (url, component) in urls {
        let request = url_request(url);
        if answers.contains_key(&request) {
            continue;
        }
        let loaded = load(egress, url).await;
        let loaded =
            loaded.map_err(|error| format!("component {component:?}: urls: {}: {error}", shown(url)))?;
        answers.insert(request, Value::Array(loaded));
    }
    Ok(())
}

/// The request by which the objects of a URL are asked for.
pub(super) fn url_request(url: &str) -> Request {
    Request { method: "GET".to_owned(), url: url.to_owned(), ..Request::default() }
}

async fn load(egress: &Egress, url: &str) -> Result<Vec<Value>, String> {
    let (status, body) = egress.read(url, MANIFEST_BYTES_AT_MOST).await?;
    match status {
        200..300 => parse::manifests(url, &body),
        status => Err(format!("answered {status}")),
    }
}

async fn send(egress: &Egress, request: &Request) -> Result<Value, String> {
    let Request { method, url, header, body, .. } = request;
    let body = body.clone().into_bytes();
    let (status, body) = egress.send(method, url, header, body, ANSWER_BYTES_AT_MOST).await?;
    if !(200..300).contains(&status) {
        return Err(format!("answered {status}"));
    }
    match serde_json::from_slice(&body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("the answer must be a JSON object".to_owned()),
        Err(error) => Err(format!("the answer must be a JSON object: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::EgressPolicy;

    #[tokio::test]
    async fn endless_requests_are_refused() {
        let egress = Egress::new(EgressPolicy::Services);
        let request = |number: usize| Request { url: format!("http://a/{number}"), ..Request::default() };
        let requests: Vec<Request> = (0..=REQUESTS_AT_MOST).map(request).collect();
        assert!(send_all(&egress, &requests, &mut Answers::new()).await.is_err());
    }
}
