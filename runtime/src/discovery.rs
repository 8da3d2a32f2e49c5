//! Resolves group, version and kind to a resource and its scope; answers are cached, and misses are asked again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::api::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use tokio::time::Instant;

/// A kind that was missing is not looked up again before this time: a broken manifest must not flood the server.
const MISS_TTL: Duration = Duration::from_secs(2);

/// A kind the server knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// How to address it.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether the status is written apart from the rest; if not, it is a field like any other.
    pub status_apart: bool,
}

impl Kind {
    /// The API for objects of this kind, in the namespace where the kind has namespaces.
    pub fn api(&self, client: kube::Client, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced && !namespace.is_empty() {
            Api::namespaced_with(client, namespace, &self.resource)
        } else {
            Api::all_with(client, &self.resource)
        }
    }

    /// Its resource, `<plural>.<group>`; in the core group the plural alone.
    pub fn resource_name(&self) -> String {
        match self.resource.group.as_str() {
            "" => self.resource.plural.clone(),
            group => format!("{}.{group}", self.resource.plural),
        }
    }
}

/// Why a kind is not known.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server does not serve it.
    #[error("the cluster does not know kind {kind} of {api_version}: {}", advice(served))]
    Unknown {
        /// The API version asked for.
        api_version: String,
        /// The kind asked for.
        kind: String,
        /// The versions of the same group that are known to have it.
        served: Vec<String>,
    },
    /// The server could not be asked.
    #[error("cannot ask the cluster for the kinds of {api_version}: {source}")]
    Client {
        /// The API version asked for.
        api_version: String,
        /// The error of the client.
        source: kube::Error,
    },
}

/// The advice about an absent kind.
fn advice(served: &[String]) -> String {
    match served {
        [] => "install it first, or correct the object".to_owned(),
        served => format!(
            "it is served as {}; correct the object, or the template that makes it",
            served.join(", ")
        ),
    }
}

/// A cache of kinds, one request per group version.
#[derive(Clone)]
pub struct Discovery {
    client: kube::Client,
    known: Arc<Mutex<HashMap<String, GroupVersion>>>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").finish_non_exhaustive()
    }
}

struct GroupVersion {
    kinds: HashMap<String, Kind>,
    asked: Instant,
}

/// Only what was asked for anyway is looked through: an error is not worth a request for every version.
fn unknown(known: &HashMap<String, GroupVersion>, api_version: &str, kind: &str) -> Error {
    let group = |api_version: &str| api_version.split_once('/').map(|(group, _)| group.to_owned());
    let has = |(other, version): &(&String, &GroupVersion)| {
        group(other) == group(api_version) && version.kinds.contains_key(kind)
    };
    let mut served: Vec<String> = known.iter().filter(has).map(|(other, _)| other.clone()).collect();
    served.sort();
    Error::Unknown { api_version: api_version.into(), kind: kind.into(), served }
}

impl Discovery {
    /// An empty cache.
    pub fn new(client: kube::Client) -> Self {
        Self { client, known: Arc::default() }
    }

    /// The kind behind an API version and kind name.
    ///
    /// # Errors
    /// The server does not serve that kind, or did not answer.
    pub async fn resolve(&self, api_version: &str, kind: &str) -> Result<Kind, Error> {
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(group_version) = known.get(api_version) {
                if let Some(found) = group_version.kinds.get(kind) {
                    return Ok(found.clone());
                }
                if group_version.asked.elapsed() < MISS_TTL {
                    return Err(unknown(&known, api_version, kind));
                }
            }
        }
        let kinds = self.ask(api_version).await?;
        let found = kinds.get(kind).cloned();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(api_version.to_owned(), GroupVersion { kinds, asked: Instant::now() });
        found.ok_or_else(|| unknown(&known, api_version, kind))
    }

    /// The kind of an object, from its `apiVersion` and `kind`.
    ///
    /// # Errors
    /// Those of [`Discovery::resolve`].
    pub async fn resolve_object(&self, object: &DynamicObject) -> Result<Kind, Error> {
        let types = object.types.clone().unwrap_or_default();
        self.resolve(&types.api_version, &types.kind).await
    }

    /// Forget what is known of an API version, for example after its definition changed.
    pub fn forget(&self, api_version: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(api_version);
    }

    async fn ask(&self, api_version: &str) -> Result<HashMap<String, Kind>, Error> {
        if !crate::api::is_group_version(api_version) {
            // No server serves what cannot be asked for.
            return Ok(HashMap::new());
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let listed = if group.is_empty() {
            self.client.list_core_api_resources(version).await
        } else {
            self.client.list_api_group_resources(api_version).await
        };
        let listed = match listed {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(HashMap::new()),
            Err(source) => return Err(Error::Client { api_version: api_version.into(), source }),
        };
        let apart: HashSet<String> = listed
            .resources
            .iter()
            .filter_map(|resource| resource.name.strip_suffix("/status").map(str::to_owned))
            .collect();
        let mut kinds = HashMap::new();
        for resource in listed.resources {
            // Subresources carry a slash and repeat their parent's kind or another one's.
            if resource.name.contains('/') {
                continue;
            }
            let gvk = GroupVersionKind::gvk(group, version, &resource.kind);
            let address = ApiResource::from_gvk_with_plural(&gvk, &resource.name);
            let status_apart = apart.contains(&resource.name);
            let kind = Kind { resource: address, namespaced: resource.namespaced, status_apart };
            kinds.insert(resource.kind, kind);
        }
        Ok(kinds)
    }
}
