//! A source that asks the API server.

use std::sync::Arc;

use kube::Client;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::sync::OnceCell;
use vela_engine::definition::record;
use vela_engine::reference::{Reference, Referenced, ReferencedKind};
use vela_engine::{Bounds, ClusterVersion, DefinitionKind, Document, ObjectKey, names};
use vela_runtime::{Api, Discovery, discovery, openapi};

use crate::referenced;
use crate::registered::{self, ApiKind, ResourceNames};
use crate::source::{Error, KindOf, Source, Version, kind_of};
use crate::typed::with_type;

/// Names of definitions that a misspelt one is compared with.
const NAMES_AT_MOST: u32 = 500;
const DEFINITION_REVISION: &str = "DefinitionRevision";

/// Asks an API server for everything.
#[derive(Clone)]
pub struct Live {
    client: Client,
    discovery: Discovery,
    version: Arc<OnceCell<ClusterVersion>>,
    resources: Arc<ResourceNames>,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Live {
    /// Asks through this client; which kinds there are is remembered by `discovery`.
    pub fn new(client: Client, discovery: Discovery) -> Self {
        Self { client, discovery, version: Arc::default(), resources: Arc::default() }
    }

    /// The kind as it is served, for callers that go on to ask for objects of it.
    ///
    /// # Errors
    /// When the cluster does not say which kinds it has.
    pub async fn served(&self, api_version: &str, kind: &str) -> Result<Option<discovery::Kind>, Error> {
        match self.discovery.resolve(api_version, kind).await {
            Ok(kind) => Ok(Some(kind)),
            Err(discovery::Error::Unknown { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The kind that a reference names, as it is served.
    ///
    /// # Errors
    /// When the cluster does not say which kinds it has.
    pub async fn referenced_kind(&self, reference: &Reference) -> Result<Option<discovery::Kind>, Error> {
        let (resource, group) = match &reference.kind {
            ReferencedKind::Kind(api_version, kind) => return self.served(api_version, kind).await,
            ReferencedKind::Resource(resource, group) => (resource, group),
        };
        let asked = (resource.clone(), group.clone());
        if let Some((api_version, kind)) = self.resources.get(&asked) {
            return self.served(&api_version, &kind).await;
        }
        let found = registered::kind_of_resource(&self.client, resource, group.as_deref()).await;
        let found = found.map_err(|source| Error::api(format!("the kind of {resource}"), source))?;
        let Some((api_version, kind)) = found else { return Ok(None) };
        self.resources.insert(asked, (api_version.clone(), kind.clone()));
        self.served(&api_version, &kind).await
    }

    /// All objects of a kind in a namespace; none where the cluster does not know the kind.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn objects(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, Error> {
        let Some(kind) = self.served(api_version, kind).await? else { return Ok(Vec::new()) };
        let found = kind.api(self.client.clone(), namespace).list(&ListParams::default()).await;
        let what = || format!("{} in {namespace}", kind.resource.plural);
        let found = found.map_err(|source| Error::api(what(), source))?;
        Ok(found.items.into_iter().map(|object| with_type(object, &kind.resource)).collect())
    }

    fn ours(&self, kind: &str, namespace: &str) -> (ApiResource, Api<DynamicObject>) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind));
        let api = Api::namespaced_with(self.client.clone(), namespace, &resource);
        (resource, api)
    }

    async fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>, Error> {
        if !names::is_label(namespace) || !names::is_subdomain(name) {
            // No object has that name.
            return Ok(None);
        }
        let (resource, api) = self.ours(kind, namespace);
        let found = api.get_opt(name).await;
        let found = found.map_err(|source| Error::api(format!("{kind} {namespace}/{name}"), source))?;
        Ok(found.map(|object| with_type(object, &resource)))
    }

    async fn list(&self, kind: &str, namespace: &str, params: &ListParams) -> Result<Vec<Value>, Error> {
        if !names::is_label(namespace) {
            return Ok(Vec::new());
        }
        let (resource, api) = self.ours(kind, namespace);
        let found = api.list(params).await;
        let found = found.map_err(|source| Error::api(format!("{kind}s in {namespace}"), source))?;
        Ok(found.items.into_iter().map(|object| with_type(object, &resource)).collect())
    }
}

impl Source for Live {
    async fn cluster_version(&self) -> Result<ClusterVersion, Error> {
        let ask = || async {
            let version = self.client.apiserver_version().await;
            let version = version.map_err(|source| Error::api("the server's version", source))?;
            Ok(ClusterVersion::from_version(&serde_json::to_value(version).unwrap_or_default()))
        };
        self.version.get_or_try_init(ask).await.cloned()
    }

    async fn definition(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Document>, Error> {
        Ok(self.get(kind.kind(), namespace, name).await?.map(Document::from_object))
    }

    async fn versions(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
        asked: Option<&str>,
    ) -> Result<Vec<Version>, Error> {
        let Some(label) = record::name_label(kind) else { return Ok(Vec::new()) };
        if let Some(asked) = asked {
            let found = self.get(DEFINITION_REVISION, namespace, &format!("{name}-v{asked}")).await?;
            if let Some(found) = found.and_then(|found| Version::of(&found, kind, name, namespace)) {
                return Ok(vec![found]);
            }
        }
        let labelled = ListParams::default().labels(&format!("{label}={name}"));
        let revisions = self.list(DEFINITION_REVISION, namespace, &labelled).await?;
        Ok(revisions.iter().filter_map(|found| Version::of(found, kind, name, namespace)).collect())
    }

    async fn names(&self, kind: DefinitionKind, namespace: &str) -> Vec<String> {
        if !names::is_label(namespace) {
            return Vec::new();
        }
        let (_, api) = self.ours(kind.kind(), namespace);
        let found = api.list_metadata(&ListParams::default().limit(NAMES_AT_MOST)).await;
        found.into_iter().flatten().filter_map(|object| object.metadata.name).collect()
    }

    async fn definitions(&self, kind: DefinitionKind, namespace: &str) -> Result<Vec<Document>, Error> {
        let found = self.list(kind.kind(), namespace, &ListParams::default()).await?;
        Ok(found.into_iter().map(Document::from_object).collect())
    }

    async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Error> {
        let askable = |name: &str| vela_runtime::api::is_part(name);
        if !askable(&key.name) || !key.namespace.is_empty() && !askable(&key.namespace) {
            // No object has that name.
            return Ok(None);
        }
        let Some(kind) = self.served(&key.api_version, &key.kind).await? else { return Ok(None) };
        let found = kind.api(self.client.clone(), &key.namespace).get_opt(&key.name).await;
        let found = found.map_err(|source| Error::api(key.to_string(), source))?;
        Ok(found.map(|object| with_type(object, &kind.resource)))
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<KindOf>, Error> {
        kind_of(&self.discovery, api_version, kind).await
    }

    async fn registered(&self, resource: &str, version: &str) -> Result<Option<ApiKind>, Error> {
        let found = registered::kind(&self.client, resource, version).await;
        found.map_err(|source| Error::api(format!("the kind of {resource}"), source))
    }

    async fn referenced(
        &self,
        reference: &Reference,
        own: &str,
        bounds: Bounds,
    ) -> Result<Option<Referenced>, Error> {
        let Some(kind) = self.referenced_kind(reference).await? else {
            return Ok(Some(Referenced::UnknownKind));
        };
        if kind.resource.group.is_empty() && kind.resource.kind == "Secret" {
            return Ok(Some(Referenced::Withheld));
        }
        let found = referenced::read(&self.client, &kind, reference, (own, bounds)).await;
        found.map(Some).map_err(|source| Error::api(reference.to_string(), source))
    }

    async fn schemas(&self, api_version: &str) -> Result<Option<Value>, Error> {
        let found = openapi::document(&self.client, api_version).await;
        found.map_err(|source| Error::api(format!("the schemas of {api_version}"), source))
    }
}
