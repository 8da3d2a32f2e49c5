//! Requests judged by roles, as an API server with RBAC judges those of an account that has no other right.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};

use super::services::documents;

/// A right of one kind: group, resource with its subresource, verb.
pub(crate) type Right = (String, String, String);

/// The roles of the operator: one for the whole cluster, one for its own namespace.
#[derive(Clone)]
pub(crate) struct Rights {
    everywhere: BTreeSet<Right>,
    at_home: BTreeSet<Right>,
    home: String,
    seen: Arc<Mutex<Seen>>,
}

/// What was asked for.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) refused: BTreeSet<Right>,
    pub(crate) used: BTreeSet<Right>,
}

impl Rights {
    /// Those that `vela install --dapr` grants.
    pub(crate) fn installed() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rights.yaml");
        let roles = documents(&fs::read_to_string(path).unwrap());
        let of_kind = |kind: &str| roles.iter().find(|role| role["kind"] == kind).unwrap();
        let home = of_kind("Role")["metadata"]["namespace"].as_str().unwrap().to_owned();
        let [everywhere, at_home] = ["ClusterRole", "Role"].map(|kind| rights(of_kind(kind)));
        Self { everywhere, at_home, home, seen: Arc::default() }
    }

    /// The same client with these rights alone.
    pub(crate) fn client(&self, inner: kube::Client) -> kube::Client {
        kube::Client::new(Judged { inner, rights: self.clone() }, "default")
    }

    /// Every granted right.
    pub(crate) fn granted(&self) -> BTreeSet<Right> {
        self.everywhere.union(&self.at_home).cloned().collect()
    }

    pub(crate) fn seen<T>(&self, read: impl FnOnce(&Seen) -> T) -> T {
        read(&self.seen.lock().unwrap())
    }

    /// Whether the account may; it is noted.
    fn judge(&self, (right, namespace): (Right, Option<String>)) -> bool {
        let at_home = namespace.is_some_and(|namespace| namespace == self.home);
        let may = self.everywhere.contains(&right) || at_home && self.at_home.contains(&right);
        let mut seen = self.seen.lock().unwrap();
        if may {
            seen.used.insert(right)
        } else {
            seen.refused.insert(right)
        };
        may
    }
}

fn rights(role: &Value) -> BTreeSet<Right> {
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    all.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    all
}

/// The right that a request needs, and the namespace that it is about; nothing for what everybody may read.
fn needed(method: &Method, uri: &http::Uri) -> Option<(Right, Option<String>)> {
    let parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", "v1", rest @ ..] => ("", rest),
        ["apis", group, _version, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        rest => (None, rest),
    };
    let (resource, name) = match rest {
        [resource] => ((*resource).to_owned(), false),
        [resource, _name] => ((*resource).to_owned(), true),
        [resource, _name, sub] => (format!("{resource}/{sub}"), true),
        _ => return None,
    };
    let watches = uri.query().unwrap_or_default().split('&').any(|part| part == "watch=true");
    let verb = match (method.as_str(), name) {
        ("GET", _) if watches => "watch",
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        (other, _) => other,
    };
    Some(((group.to_owned(), resource, verb.to_owned()), namespace))
}

struct Judged {
    inner: kube::Client,
    rights: Rights,
}

impl tower::Service<Request<Body>> for Judged {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, kube::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, rights) = (self.inner.clone(), self.rights.clone());
        Box::pin(async move {
            let asked = needed(request.method(), request.uri());
            if asked.clone().is_some_and(|asked| !rights.judge(asked)) {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                    "reason": "Forbidden", "message": "the role of the test does not grant it"});
                let answer = Response::builder().status(403).header("content-type", "application/json");
                return Ok(answer.body(Body::from(status.to_string().into_bytes())).unwrap());
            }
            let answer = client.send(request).await?;
            // A patch that makes the object needs the right to that, too.
            if let Some(((group, resource, verb), namespace)) = asked
                && verb == "patch"
                && answer.status() == 201
            {
                rights.judge(((group, resource, "create".to_owned()), namespace));
            }
            Ok(answer)
        })
    }
}
