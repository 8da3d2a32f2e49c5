//! The objects of one namespace: read, write, wait for.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::discovery::{Discovery, Scope, verbs};
use serde_json::{Value, json};

use crate::Result;

/// How often a condition is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks at a condition until it holds; after the deadline the error says what was still wrong.
pub async fn until<T>(
    what: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> std::result::Result<T, String>,
) -> Result<T> {
    let end = Instant::now() + deadline;
    loop {
        match look().await {
            Ok(value) => return Ok(value),
            Err(why) if Instant::now() > end => {
                return Err(format!("not within {} s: {what}: {why}", deadline.as_secs()).into());
            }
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// A connection that works in one namespace.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    namespace: String,
}

impl Cluster {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    /// The same connection in another namespace.
    pub fn within(&self, namespace: &str) -> Self {
        Self { client: self.client.clone(), namespace: namespace.to_owned() }
    }

    /// The namespace it works in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The connection itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The door to the objects of a kind, for a watch of them.
    pub async fn of_kind(&self, api_version: &str, kind: &str) -> Result<Api<DynamicObject>> {
        self.api(api_version, kind).await
    }

    pub(crate) async fn api(&self, api_version: &str, kind: &str) -> Result<Api<DynamicObject>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let (resource, capabilities) = kube::discovery::pinned_kind(&self.client, &gvk).await?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), &self.namespace, &resource),
        })
    }

    /// Creates an object.
    pub async fn create(&self, object: &Value) -> Result<()> {
        let api = self.api(text(object, "/apiVersion"), text(object, "/kind")).await?;
        api.create(&PostParams::default(), &serde_json::from_value(object.clone())?).await?;
        Ok(())
    }

    /// What would be stored, if it were.
    pub async fn would_create(&self, object: &Value) -> Result<Value> {
        let api = self.api(text(object, "/apiVersion"), text(object, "/kind")).await?;
        let params = PostParams { dry_run: true, ..PostParams::default() };
        Ok(json!(api.create(&params, &serde_json::from_value(object.clone())?).await?))
    }

    /// Applies an object as a person with kubectl would.
    pub async fn apply(&self, object: &Value) -> Result<Value> {
        let api = self.api(text(object, "/apiVersion"), text(object, "/kind")).await?;
        let params = PatchParams::apply("e2e").force();
        Ok(json!(api.patch(text(object, "/metadata/name"), &params, &Patch::Apply(object)).await?))
    }

    /// Gives an object another spec, whatever it had, as one write.
    pub async fn replace_spec(&self, api_version: &str, kind: &str, name: &str, spec: &Value) -> Result<()> {
        let patch: Patch<Value> =
            Patch::Json(serde_json::from_value(json!([{"op": "replace", "path": "/spec", "value": spec}]))?);
        self.api(api_version, kind).await?.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Merges into an object as it is.
    pub async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: &Value) -> Result<Value> {
        let api = self.api(api_version, kind).await?;
        Ok(json!(api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?))
    }

    /// Says what only a controller says: merges into the status.
    pub async fn patch_status(&self, api_version: &str, kind: &str, name: &str, patch: &Value) -> Result<()> {
        let api = self.api(api_version, kind).await?;
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Deletes an object; what it owns goes with it.
    pub async fn delete(&self, api_version: &str, kind: &str, name: &str) -> Result<()> {
        self.api(api_version, kind).await?.delete(name, &DeleteParams::background()).await?;
        Ok(())
    }

    /// One object.
    pub async fn get(&self, api_version: &str, kind: &str, name: &str) -> Result<Option<Value>> {
        Ok(self.api(api_version, kind).await?.get_opt(name).await?.map(|object| json!(object)))
    }

    /// All objects of a kind.
    pub async fn list(&self, api_version: &str, kind: &str) -> Result<Vec<Value>> {
        let listed = self.api(api_version, kind).await?.list(&ListParams::default()).await?;
        Ok(listed.items.into_iter().map(|object| json!(object)).collect())
    }

    /// `Kind/name` of every object of the namespace that a person or a controller of ours made, and of those without
    /// a namespace that belong to it. What a cluster puts into every namespace, and events, are left out.
    pub async fn everything(&self) -> Result<BTreeSet<String>> {
        let discovery = Discovery::new(self.client.clone()).run_aggregated().await?;
        let mut found = BTreeSet::new();
        for group in discovery.groups() {
            for (resource, capabilities) in group.resources_by_stability() {
                if !capabilities.supports_operation(verbs::LIST) || resource.kind == "Event" {
                    continue;
                }
                let ours = capabilities.scope == Scope::Cluster && resource.kind == "ResourceTracker";
                if capabilities.scope == Scope::Cluster && !ours {
                    continue;
                }
                for name in self.names(&resource, ours).await? {
                    let usual = matches!(
                        (resource.kind.as_str(), name.as_str()),
                        ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt")
                    );
                    if !usual {
                        found.insert(format!("{}/{name}", resource.kind));
                    }
                }
            }
        }
        Ok(found)
    }

    async fn names(&self, resource: &ApiResource, cluster_wide: bool) -> Result<Vec<String>> {
        let params = ListParams::default();
        if cluster_wide {
            let params = params.labels(&format!("app.oam.dev/namespace={}", self.namespace));
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
            let list = api.list_metadata(&params).await?;
            return Ok(list.items.into_iter().filter_map(|item| item.metadata.name).collect());
        }
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, resource);
        match api.list_metadata(&params).await {
            Ok(list) => Ok(list.items.into_iter().filter_map(|item| item.metadata.name).collect()),
            // A kind whose definition was removed since discovery, or one that cannot be listed by anybody.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The text at a JSON pointer, or nothing.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
