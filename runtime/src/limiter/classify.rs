//! A request → whether it waits for its turn and with which others; an answer → what it says of the server.

use std::time::Duration;

use http::{HeaderMap, Method, Response, StatusCode, header};
use kube::client::Body;

use super::gate::Urgency;
use super::window::Signal;

/// In whose name one asks, where it is not one's own.
const IMPERSONATED: &str = "impersonate-user";
/// Requests to this group keep a process leading.
const LEASES: &str = "coordination.k8s.io";

/// The properties that decide, beside the account, to which priority level a server gives a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    /// The user in whose name it is asked, if another one.
    user: String,
    /// Group and resource.
    resource: String,
    method: Method,
}

/// A request that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) kind: Kind,
    pub(super) urgency: Urgency,
    /// It is about one object, so that it is answered quickly or late.
    is_quick: bool,
}

impl Request {
    /// None for a request that waits for no other.
    pub(super) fn of<B>(request: &http::Request<B>) -> Option<Self> {
        let query = request.uri().query().unwrap_or_default();
        if query.split('&').any(|part| part == "watch=true" || part == "watch=1") {
            return None;
        }
        let (group, resource, is_named) = parts(request.uri().path());
        if group == LEASES {
            return None;
        }
        let method = request.method().clone();
        let user = request.headers().get(IMPERSONATED).and_then(|user| user.to_str().ok());
        Some(Self {
            is_quick: is_named || method != Method::GET,
            urgency: if resource == "events" { Urgency::Low } else { Urgency::Normal },
            kind: Kind {
                user: user.unwrap_or_default().to_owned(),
                resource: format!("{group}/{resource}"),
                method,
            },
        })
    }
}

/// Group and resource that a path names, and whether it names one object.
fn parts(path: &str) -> (&str, &str, bool) {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let group = match parts.next() {
        Some("api") => "",
        Some("apis") => parts.next().unwrap_or_default(),
        _ => return ("", "", true),
    };
    // The version.
    parts.next();
    let rest: Vec<&str> = parts.take(4).collect();
    match rest.as_slice() {
        ["namespaces", _, resource] => (group, *resource, false),
        ["namespaces", _, resource, _] => (group, *resource, true),
        [resource] => (group, *resource, false),
        [resource, ..] => (group, *resource, true),
        // A request for the list of a group's resources.
        [] => (group, "", true),
    }
}

/// The server's state by an answer. `took`: how long it needed.
pub(super) fn signal<E>(request: &Request, answer: &Result<Response<Body>, E>, took: Duration) -> Signal {
    let Ok(answer) = answer else { return Signal::Failed };
    let asked = retry_after(answer.headers());
    match answer.status() {
        StatusCode::TOO_MANY_REQUESTS => Signal::Refused(asked),
        // Without a time it may be one of the servers behind it that is away, and the others are not.
        StatusCode::SERVICE_UNAVAILABLE if asked.is_some() => Signal::Refused(asked),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT | StatusCode::BAD_GATEWAY => {
            Signal::Failed
        }
        _ if request.is_quick => Signal::Answered(took),
        _ => Signal::Fine,
    }
}

/// How long the server wants to be left alone; an API server writes whole seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str) -> http::Request<()> {
        http::Request::builder().method(method).uri(uri).body(()).unwrap()
    }

    #[test]
    fn watches_and_leases_do_not_wait() {
        for uri in [
            "/api/v1/pods?limit=5&watch=true&resourceVersion=7",
            "/apis/coordination.k8s.io/v1/namespaces/vela-system/leases/vela-core",
        ] {
            assert_eq!(Request::of(&request("GET", uri)), None, "{uri}");
        }
        assert!(Request::of(&request("GET", "/api/v1/pods?labelSelector=watch")).is_some());
    }

    #[test]
    fn a_path_says_what_is_asked_for() {
        for (method, uri, resource, quick) in [
            ("GET", "/api/v1/namespaces/a/pods/b", "/pods", true),
            ("GET", "/api/v1/namespaces/a/pods?limit=1", "/pods", false),
            ("POST", "/api/v1/namespaces/a/pods", "/pods", true),
            ("GET", "/api/v1/nodes", "/nodes", false),
            ("GET", "/api/v1/namespaces/a", "/namespaces", true),
            ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b/status", "apps/deployments", true),
            ("PUT", "/apis/core.example/v1/trackers/b", "core.example/trackers", true),
            ("GET", "/apis/apps/v1", "apps/", true),
            ("GET", "/version", "/", true),
        ] {
            let class = Request::of(&request(method, uri)).unwrap();
            assert_eq!((class.kind.resource.as_str(), class.is_quick), (resource, quick), "{method} {uri}");
        }
    }

    #[test]
    fn events_can_wait_and_each_user_has_a_kind_of_its_own() {
        let event = Request::of(&request("POST", "/apis/events.k8s.io/v1/namespaces/a/events")).unwrap();
        assert_eq!(event.urgency, Urgency::Low);
        let mut asked = request("GET", "/api/v1/namespaces/a/pods/b");
        let own = Request::of(&asked).unwrap();
        asked.headers_mut().insert(IMPERSONATED, "alice".parse().unwrap());
        let named = Request::of(&asked).unwrap();
        assert_eq!(own.urgency, Urgency::Normal);
        assert_ne!(own.kind, named.kind);
    }

    #[test]
    fn an_answer_says_what_the_server_bears() {
        let quick = Request::of(&request("GET", "/api/v1/namespaces/a/pods/b")).unwrap();
        let took = Duration::from_millis(3);
        let said = |status: u16, after: Option<&str>| {
            let mut answer = Response::builder().status(status);
            if let Some(after) = after {
                answer = answer.header(header::RETRY_AFTER, after);
            }
            signal(&quick, &Ok::<_, ()>(answer.body(Body::empty()).unwrap()), took)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(said(200, None), Signal::Answered(took));
        assert_eq!(said(409, None), Signal::Answered(took));
        assert_eq!(said(429, Some("3")), Signal::Refused(seconds(3)));
        assert_eq!(said(429, Some("Mon, 01 Jan 2024 00:00:00 GMT")), Signal::Refused(None));
        assert_eq!(said(503, Some("1")), Signal::Refused(seconds(1)));
        assert_eq!(said(503, None), Signal::Failed);
        assert_eq!(signal(&quick, &Err(()), took), Signal::Failed);
        let list = Request::of(&request("GET", "/api/v1/pods")).unwrap();
        let answer = Ok::<_, ()>(Response::new(Body::empty()));
        assert_eq!(signal(&list, &answer, took), Signal::Fine);
    }
}
