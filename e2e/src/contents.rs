//! Lists everything that a namespace holds, of the kinds asked for or of all kinds.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use serde_json::{Value, json};

use crate::Result;
use crate::objects::Cluster;

/// Every kind of a cluster that has namespaces and can be listed, as discovery told it once.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// By `apiVersion` and kind.
    all: BTreeMap<(String, String), ApiResource>,
    /// The version a group recommends for a kind.
    recommended: Vec<ApiResource>,
}

impl Kinds {
    /// Asks the cluster.
    pub async fn of(cluster: &Cluster) -> Result<Self> {
        let discovery = Discovery::new(cluster.client().clone()).run_aggregated().await?;
        let mut kinds = Self::default();
        for group in discovery.groups() {
            for version in group.versions() {
                for (resource, capabilities) in group.versioned_resources(version) {
                    if capabilities.scope == Scope::Namespaced && capabilities.supports_operation(verbs::LIST)
                    {
                        kinds.all.insert((resource.api_version.clone(), resource.kind.clone()), resource);
                    }
                }
            }
            for (resource, capabilities) in group.resources_by_stability() {
                if capabilities.scope == Scope::Namespaced && capabilities.supports_operation(verbs::LIST) {
                    kinds.recommended.push(resource);
                }
            }
        }
        Ok(kinds)
    }

    /// Is there a kind of this name?
    pub fn knows(&self, kind: &str) -> bool {
        self.recommended.iter().any(|resource| resource.kind == kind)
    }

    /// The kind that commands call `name`. Where several groups have one, such as that of Dapr beside ours, it is ours: recordings are of
    /// clusters without the others.
    pub(crate) fn named(&self, cluster: &Cluster, name: &str) -> Result<Api<DynamicObject>> {
        let called = || self.recommended.iter().filter(|resource| resource.kind.to_lowercase() == name);
        let found = called().find(|resource| resource.group.ends_with("oam.dev")).or_else(|| called().next());
        let found = found.ok_or_else(|| format!("no kind is called {name}"))?;
        Ok(Api::namespaced_with(cluster.client().clone(), cluster.namespace(), found))
    }

    /// The objects of the kinds `(apiVersion, kind)` in the namespace; a kind that is not served has none.
    pub async fn list(&self, cluster: &Cluster, wanted: &[(String, String)]) -> Result<Vec<Value>> {
        let mut found = Vec::new();
        for kind in wanted {
            if let Some(resource) = self.all.get(kind) {
                found.extend(list(cluster.client(), cluster.namespace(), resource).await?);
            }
        }
        Ok(found)
    }

    /// All objects of the namespace, except those of the kinds `left_out`.
    pub async fn everything(&self, cluster: &Cluster, left_out: &[&str]) -> Result<Vec<Value>> {
        let mut found = Vec::new();
        for resource in &self.recommended {
            if !left_out.contains(&resource.kind.as_str()) {
                found.extend(list(cluster.client(), cluster.namespace(), resource).await?);
            }
        }
        Ok(found)
    }
}

async fn list(client: &Client, namespace: &str, resource: &ApiResource) -> Result<Vec<Value>> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, resource);
    match api.list(&ListParams::default()).await {
        Ok(list) => Ok(list.items.into_iter().map(|item| typed(json!(item), resource)).collect()),
        // A kind whose definition was removed since discovery, or one that the caller may not list.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Items of a list of built-in kinds come without their type.
fn typed(mut object: Value, resource: &ApiResource) -> Value {
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    object
}
