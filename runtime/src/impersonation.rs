//! Clients that ask in the name of another user, by impersonation; those used last are cached.
//!
//! The impersonated user decides what is allowed: the server judges each request by that user's rights. The account that
//! asks needs the right to impersonate them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::header::{HeaderMap, HeaderName, HeaderValue};
use kube::client::Body;

/// Headers by which the API server is told in whose name one asks.
const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");

/// Clients kept unless told otherwise. Each is a small task and shares the connections of the client it was made from;
/// one that was dropped costs its making again.
pub const CLIENTS_AT_MOST: usize = 256;

/// In whose name one asks. With no groups a server gives those that it knows itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    user: String,
    groups: Vec<String>,
}

/// A name that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {0:?} cannot be sent to the API server")]
pub struct InvalidIdentity(String);

impl Identity {
    /// A user with these groups; a name that a server would read as another one is refused.
    ///
    /// # Errors
    /// The name that no header can carry, or that would be read as another one.
    pub fn new(user: impl Into<String>, groups: Vec<String>) -> Result<Self, InvalidIdentity> {
        let user = user.into();
        for name in std::iter::once(&user).chain(&groups) {
            if name.is_empty() || name.trim() != name || HeaderValue::from_bytes(name.as_bytes()).is_err() {
                return Err(InvalidIdentity(name.clone()));
            }
        }
        Ok(Self { user, groups })
    }

    /// Name of the user.
    pub fn user(&self) -> &str {
        &self.user
    }

    fn headers(&self) -> HeaderMap {
        let value = |name: &String| HeaderValue::from_bytes(name.as_bytes()).ok();
        let mut headers = HeaderMap::new();
        headers.extend(value(&self.user).map(|user| (USER, user)));
        for group in self.groups.iter().filter_map(value) {
            headers.append(GROUP, group);
        }
        headers
    }
}

/// Clients that ask in the names of others.
pub struct ImpersonatingClients {
    own: kube::Client,
    at_most: usize,
    cached: Mutex<CachedClients>,
}

#[derive(Default)]
struct CachedClients {
    /// Each with the number of its last use.
    clients: BTreeMap<Identity, (u64, kube::Client)>,
    uses: u64,
}

impl std::fmt::Debug for ImpersonatingClients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("at_most", &self.at_most).finish_non_exhaustive()
    }
}

impl ImpersonatingClients {
    /// Clients that go through this one; at most so many are kept.
    pub fn new(own: kube::Client, at_most: usize) -> Self {
        Self { own, at_most: at_most.max(1), cached: Mutex::default() }
    }

    /// The client that asks in this name.
    pub fn of(&self, identity: &Identity) -> kube::Client {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.uses += 1;
        let now = cached.uses;
        if let Some((used, client)) = cached.clients.get_mut(identity) {
            *used = now;
            return client.clone();
        }
        if cached.clients.len() >= self.at_most {
            let oldest = cached.clients.iter().min_by_key(|(_, (used, _))| *used).map(|(who, _)| who.clone());
            oldest.and_then(|oldest| cached.clients.remove(&oldest));
        }
        let client = through(&self.own, identity.headers());
        cached.clients.insert(identity.clone(), (now, client.clone()));
        client
    }

    /// How many are kept.
    pub fn cached(&self) -> usize {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).clients.len()
    }
}

/// A client that sends every request of its own with these headers through another one.
fn through(own: &kube::Client, headers: HeaderMap) -> kube::Client {
    let namespace = own.default_namespace().to_owned();
    let own = own.clone();
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        request.headers_mut().extend(headers.clone());
        let own = own.clone();
        async move { own.send(request).await }
    });
    kube::Client::new(service, namespace)
}

/// A client that sends no request: each call fails as if the server had refused it, for this reason.
pub fn refusing_client(reason: &str) -> kube::Client {
    let status = serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": reason,
    });
    let body = status.to_string().into_bytes();
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let answer = http::Response::builder()
            .status(http::StatusCode::FORBIDDEN)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.clone()));
        std::future::ready(answer.map_err(kube::Error::HttpError))
    });
    kube::Client::new(service, "default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Api;
    use kube::api::{ApiResource, DynamicObject, GroupVersionKind};

    fn maps(client: kube::Client) -> Api<DynamicObject> {
        Api::namespaced_with(
            client,
            "ns",
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        )
    }

    /// A server that answers every request with the names it was asked in.
    fn echo() -> kube::Client {
        let service = tower::service_fn(|request: http::Request<Body>| async move {
            let names = |header: HeaderName| {
                let all = request.headers().get_all(header);
                all.iter()
                    .map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
                    .collect::<Vec<_>>()
            };
            let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a"}, "data": {"user": names(USER).join("|"), "groups": names(GROUP).join("|")}});
            Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(
                object.to_string().into_bytes(),
            )))
        });
        kube::Client::new(service, "default")
    }

    fn identity(user: &str, groups: &[&str]) -> Identity {
        Identity::new(user, groups.iter().map(|group| (*group).to_owned()).collect()).unwrap()
    }

    #[tokio::test]
    async fn a_request_names_only_the_user_and_its_groups() {
        let clients = ImpersonatingClients::new(echo(), 2);
        for (user, groups) in [("alice", &["dev", "ops team"][..]), ("zoë", &[]), ("alice", &[])] {
            let object = maps(clients.of(&identity(user, groups))).get("a").await.unwrap();
            assert_eq!(object.data["data"]["user"], user);
            assert_eq!(object.data["data"]["groups"], groups.join("|"));
        }
        let own = maps(echo()).get("a").await.unwrap();
        assert_eq!(own.data["data"]["user"], "");
    }

    #[tokio::test]
    async fn the_clients_used_last_are_kept() {
        let clients = ImpersonatingClients::new(echo(), 2);
        for user in ["a", "b", "a", "c"] {
            clients.of(&identity(user, &[]));
        }
        let cached: Vec<String> =
            clients.cached.lock().unwrap().clients.keys().map(|identity| identity.user.clone()).collect();
        assert_eq!(cached, ["a", "c"]);
        assert_eq!(clients.cached(), 2);
    }

    #[test]
    fn a_name_that_would_be_read_as_another_is_refused() {
        for (user, group) in [("", "a"), (" a", "a"), ("a", " b"), ("a\nb", "a"), ("a", ""), ("a", "b\r")] {
            assert!(Identity::new(user, vec![group.to_owned()]).is_err(), "{user:?} {group:?}");
        }
    }

    #[tokio::test]
    async fn a_client_that_sends_no_request_says_why() {
        let error = maps(refusing_client("it has no author")).get("a").await.unwrap_err();
        assert!(
            matches!(error, kube::Error::Api(status) if status.code == 403 && status.message == "it has no author")
        );
    }
}
