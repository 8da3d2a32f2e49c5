//! The rights of authors, judged in front of an API server that judges none; and the stamp that its admission would write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};
use vela_crds::annotations::{STAMPS, USERNAME};
use vela_webhooks::paths::STAMPED;

use super::access::Attributes;

/// The name by which the embedded API server knows everybody.
pub(crate) const OWN: &str = "vela-sandbox";

/// What each user may do anything with: resources in the plural with their group, `deployments.apps`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    granted: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    /// Who asked for what: user, groups, verb and resource.
    asked: Arc<Mutex<BTreeSet<(String, String, String)>>>,
}

impl Rights {
    pub(crate) fn grant(&self, user: &str, resources: &[&str]) {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        granted.insert(user.to_owned(), resources.iter().map(|resource| (*resource).to_owned()).collect());
    }

    /// Whether the user asked so: `delete deployments.apps`.
    pub(crate) fn was_asked(&self, user: &str, groups: &str, what: &str) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.contains(&(user.to_owned(), groups.to_owned(), what.to_owned()))
    }

    /// A client that asks this one for what may be asked.
    pub(crate) fn judge(&self, inner: kube::Client) -> kube::Client {
        let rights = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (inner, refused) = (inner.clone(), rights.refused(&request));
            async move {
                match refused {
                    Some(refused) => Ok(refused),
                    None => inner.send(stamped(request).await).await,
                }
            }
        });
        kube::Client::new(service, "default")
    }

    fn refused(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let names = |header: &str| {
            let all = request.headers().get_all(header).iter();
            all.map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
                .collect::<Vec<_>>()
                .join(",")
        };
        let user = Some(names("impersonate-user")).filter(|user| !user.is_empty())?;
        let uri = request.uri();
        let attributes = Attributes::of(request.method(), uri.path(), uri.query().unwrap_or_default())?;
        let Attributes { verb, group, resource } = attributes;
        let full = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert((
            user.clone(),
            names("impersonate-group"),
            format!("{verb} {full}"),
        ));
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        if granted.get(&user).is_some_and(|granted| granted.contains(&full)) {
            return None;
        }
        let path: Vec<&str> = uri.path().split('/').collect();
        let place = path.iter().position(|part| *part == "namespaces").and_then(|at| path.get(at + 1));
        let message = format!(
            "{full} {:?} is forbidden: User {user:?} cannot {verb} resource {resource:?} in API group {group:?} in the \
             namespace {:?}",
            path.last().unwrap_or(&""),
            place.unwrap_or(&"")
        );
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
            "code": 403, "message": message});
        let answer = Response::builder().status(403).header("content-type", "application/json");
        answer.body(Body::from(status.to_string().into_bytes())).ok()
    }
}

/// Every write carries the name of its author, as admission stamps it: a person's where it is written on behalf of one, else
/// the controllers'.
async fn stamped(request: Request<Body>) -> Request<Body> {
    let path = request.uri().path();
    let kinds = STAMPED.iter().flat_map(|(_, resources)| *resources).chain(&["applicationconfigurations"]);
    let stored = kinds.into_iter().any(|resource| path.contains(&format!("/{resource}")));
    let writes = [Method::PATCH, Method::POST].contains(request.method());
    if !stored || path.ends_with("/status") || !writes {
        return request;
    }
    let user = request.headers().get("impersonate-user");
    let user =
        user.map_or_else(|| OWN.to_owned(), |user| String::from_utf8_lossy(user.as_bytes()).into_owned());
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let mut object: Value = serde_json::from_slice(&bytes).unwrap();
    if object.get("spec").is_some() {
        for stamp in STAMPS {
            object["metadata"]["annotations"].as_object_mut().map(|all| all.remove(stamp));
        }
        object["metadata"]["annotations"][USERNAME] = json!(user);
    }
    Request::from_parts(head, Body::from(object.to_string().into_bytes()))
}
