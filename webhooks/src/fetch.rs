//! What an object refers to → a snapshot of the cluster; reads, never writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::Value;
use vela_crds::finalizers::SYSTEM_NAMESPACE;
use vela_engine::application_configuration;
use vela_engine::definition::{DefinitionKind, record, version};
use vela_engine::names;
use vela_engine::parse::{self, References};
use vela_engine::snapshot::Resource;
use vela_engine::{Bounds, ClusterVersion, Definition, Document, ObjectKey, Snapshot};
use vela_runtime::Api;
use vela_runtime::cache::Cache;
use vela_runtime::{Discovery, discovery};

use crate::copies::Copies;
use crate::kinds::with_kinds;
use crate::registered;

/// Components name kinds, kinds name definitions: three rounds see all of it, the rest is a margin.
const ROUNDS_AT_MOST: usize = 6;
/// Reads under way for one review: an object may name thousands of others, and the API server serves others too.
const CONCURRENT_READS: usize = 16;

/// Names of definitions that a misspelt one is compared with.
const NAMES_AT_MOST: u32 = 500;
const DEFINITION_REVISION: &str = "DefinitionRevision";

/// Why the cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The API server refused or could not be reached.
    #[error("reading {what}: {source}")]
    Api {
        /// What was read.
        what: String,
        /// Why it failed.
        source: kube::Error,
    },
    /// Which kinds there are could not be asked.
    #[error(transparent)]
    Kind(#[from] discovery::Error),
    /// A definition of the cluster is broken.
    #[error("{kind} {name}: {message}")]
    Definition {
        /// Kind of definition.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

/// A definition that was asked for, and where a version was asked for, which versions there are.
struct Found {
    definition: Option<Arc<Definition>>,
    versions: Vec<String>,
}

/// The same in one namespace, as it is stored.
#[derive(Default)]
struct Stored {
    object: Option<Value>,
    versions: Vec<String>,
}

/// Reads a cluster.
#[derive(Clone)]
pub struct Reader {
    client: Client,
    copies: Option<Copies>,
    discovery: Discovery,
    version: Arc<OnceLock<ClusterVersion>>,
    bounds: Bounds,
}

impl Reader {
    /// A reader that has read nothing yet.
    pub fn new(client: Client) -> Self {
        Self {
            discovery: Discovery::new(client.clone()),
            client,
            copies: None,
            version: Arc::default(),
            bounds: Bounds::NONE,
        }
    }

    /// The same where applications reach so far and no further.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same, with definitions from the watches of a cache where they have them.
    #[must_use]
    pub fn with_copies(self, cache: &Cache) -> Self {
        Self { copies: Some(Copies::new(cache)), ..self }
    }

    /// What an Application in a namespace needs.
    pub async fn application(&self, namespace: &str, document: &Document) -> Result<Snapshot, FetchError> {
        let references = parse::references(document);
        let mut snapshot = self.snapshot(namespace, &references).await?;
        let registered = parse::registered(document, &snapshot);
        self.tell_registered(&registered, &mut snapshot).await?;
        Ok(snapshot)
    }

    /// What an ApplicationConfiguration in a namespace needs, and what that needs in turn.
    pub async fn configuration(&self, namespace: &str, document: &Document) -> Result<Snapshot, FetchError> {
        let mut asked = References::default();
        let mut snapshot = self.snapshot(namespace, &asked).await?;
        for _ in 0..ROUNDS_AT_MOST {
            let mut wanted = application_configuration::references(document, &snapshot);
            wanted.include(&asked);
            if wanted == asked {
                break;
            }
            snapshot = self.snapshot(namespace, &wanted).await?;
            self.tell_registered(&wanted.registered, &mut snapshot).await?;
            asked = wanted;
        }
        Ok(snapshot)
    }

    /// What is named by these definitions, and the kinds that they register.
    pub async fn definitions(
        &self,
        namespace: &str,
        definitions: impl IntoIterator<Item = (DefinitionKind, String)>,
    ) -> Result<Snapshot, FetchError> {
        let references =
            References { definitions: definitions.into_iter().collect(), ..References::default() };
        let mut snapshot = self.snapshot(namespace, &references).await?;
        let registered = references
            .definitions
            .iter()
            .filter_map(|(kind, name)| snapshot.definition(*kind, name))
            .map(|definition| parse::resource_of(definition))
            .collect();
        self.tell_registered(&registered, &mut snapshot).await?;
        Ok(snapshot)
    }

    /// Everything of these references that the cluster has: of definitions the namespace's own before the system
    /// namespace's.
    pub async fn snapshot(&self, namespace: &str, references: &References) -> Result<Snapshot, FetchError> {
        let mut snapshot = Snapshot::new(self.version().await?).within(self.bounds);
        let reads: Vec<_> = references
            .definitions
            .iter()
            .map(|(kind, name)| self.definition(namespace, *kind, name))
            .collect();
        let definitions: Vec<_> = stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await?;
        for ((kind, name), found) in references.definitions.iter().zip(definitions) {
            if let Some(asked) = version::asked(name) {
                let versions = found.versions.iter();
                versions.for_each(|version| snapshot.insert_known_version(*kind, asked.name, version));
            }
            let Some(definition) = found.definition else { continue };
            match definition.name() == name {
                true => snapshot.insert_definition(definition),
                false => snapshot.insert_definition_version(name, definition),
            }
        }
        for kind in snapshot.missing(&references.definitions) {
            for place in [namespace, SYSTEM_NAMESPACE] {
                for name in self.names(place, kind).await {
                    snapshot.insert_name(kind, name);
                }
            }
        }
        for (api_version, kind) in &references.kinds {
            if let Some(found) = self.kind(api_version, kind).await? {
                let resource = Resource { plural: found.resource.plural, namespaced: found.namespaced };
                snapshot.insert_resource(api_version, kind, resource);
            }
        }
        let reads: Vec<_> = references.objects.iter().map(|key| self.object(key)).collect();
        let objects: Vec<_> = stream::iter(reads).buffered(CONCURRENT_READS).try_collect().await?;
        for object in objects.into_iter().flatten() {
            snapshot.insert_object(object);
        }
        Ok(snapshot)
    }

    /// An object as it is, if it is there.
    pub async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, FetchError> {
        let askable = |name: &str| vela_runtime::api::is_part(name);
        if !askable(&key.name) || !key.namespace.is_empty() && !askable(&key.namespace) {
            // Nothing is called so.
            return Ok(None);
        }
        let Some(kind) = self.kind(&key.api_version, &key.kind).await? else { return Ok(None) };
        let found = kind.api(self.client.clone(), &key.namespace).get_opt(&key.name).await;
        let found = found.map_err(|source| FetchError::Api { what: key.to_string(), source })?;
        Ok(found.map(|object| with_type(object, &kind.resource)))
    }

    /// All objects of a kind in a namespace; none where the cluster does not know the kind.
    pub async fn objects(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
    ) -> Result<Vec<Value>, FetchError> {
        let Some(kind) = self.kind(api_version, kind).await? else { return Ok(Vec::new()) };
        let found = kind.api(self.client.clone(), namespace).list(&ListParams::default()).await;
        let what = || format!("{} in {namespace}", kind.resource.plural);
        let found = found.map_err(|source| FetchError::Api { what: what(), source })?;
        Ok(found.items.into_iter().map(|object| with_type(object, &kind.resource)).collect())
    }

    /// The resource (`<plural>.<group>`, in the core group the plural alone) of a kind, where it is installed.
    pub async fn resource(&self, api_version: &str, kind: &str) -> Result<Option<String>, FetchError> {
        let found = self.kind(api_version, kind).await?;
        Ok(found.map(|found| found.resource_name()))
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<discovery::Kind>, FetchError> {
        match self.discovery.resolve(api_version, kind).await {
            Ok(kind) => Ok(Some(kind)),
            Err(discovery::Error::Unknown { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn tell_registered(
        &self,
        resources: &BTreeSet<(String, String)>,
        snapshot: &mut Snapshot,
    ) -> Result<(), FetchError> {
        for (name, version) in resources {
            let kind = registered::kind(&self.client, name, version).await;
            let kind =
                kind.map_err(|source| FetchError::Api { what: format!("the kind of {name}"), source })?;
            if let Some(kind) = kind {
                snapshot.insert_registered(name, version, kind);
            }
        }
        Ok(())
    }

    async fn version(&self) -> Result<ClusterVersion, FetchError> {
        if let Some(known) = self.version.get() {
            return Ok(known.clone());
        }
        let version = self.client.apiserver_version().await;
        let version =
            version.map_err(|source| FetchError::Api { what: "the server's version".to_owned(), source })?;
        let version = ClusterVersion::from_version(&serde_json::to_value(version).unwrap_or_default());
        Ok(self.version.get_or_init(|| version).clone())
    }

    async fn definition(
        &self,
        namespace: &str,
        kind: DefinitionKind,
        name: &str,
    ) -> Result<Found, FetchError> {
        if let Some(copies) = &self.copies
            && let Some(found) = copies.get(&self.client, [namespace, SYSTEM_NAMESPACE], kind, name).await
        {
            return Ok(Found { definition: Some(found), versions: Vec::new() });
        }
        let places = [namespace, SYSTEM_NAMESPACE].map(|place| self.stored_definition(place, kind, name));
        let mut found = None;
        let mut versions = Vec::new();
        for (place, read) in [namespace, SYSTEM_NAMESPACE].into_iter().zip(join_all(places).await) {
            let stored = read?;
            versions.extend(stored.versions);
            if let Some(object) = stored.object.filter(|_| found.is_none()) {
                found = Some((place, object));
            }
        }
        let Some((place, object)) = found else { return Ok(Found { definition: None, versions }) };
        let title = || format!("{place}/{name}");
        let definition = Definition::from_object(object).map_err(|diagnostic| FetchError::Definition {
            kind: kind.kind(),
            name: title(),
            message: diagnostic.message,
        })?;
        Ok(Found { definition: Some(Arc::new(self.with_kinds(definition).await?)), versions })
    }

    /// The definition with the kinds that its template imports.
    pub async fn with_kinds(&self, definition: Definition) -> Result<Definition, FetchError> {
        let what = format!("the schemas that {definition} imports");
        with_kinds(&self.client, definition).await.map_err(|source| FetchError::Api { what, source })
    }

    async fn stored_definition(
        &self,
        namespace: &str,
        kind: DefinitionKind,
        name: &str,
    ) -> Result<Stored, FetchError> {
        let Some(asked) = version::asked(name) else {
            let object = self.ours(namespace, kind.kind(), name).await?;
            return Ok(Stored { object, versions: Vec::new() });
        };
        let Some(label) = record::name_label(kind) else { return Ok(Stored::default()) };
        // A version is kept in a record of its own. Most often it is named in full.
        let exact = format!("{}-v{}", asked.name, asked.version);
        if let Some(record) = self.ours(namespace, DEFINITION_REVISION, &exact).await?
            && let Some(kept) = version::kept(&exact, &record["spec"])
            && kept.kind == kind
        {
            return Ok(Stored {
                object: Some(as_kind(kept.definition, kind)),
                versions: vec![asked.version.to_owned()],
            });
        }
        let records = self.revisions(namespace, &format!("{label}={}", asked.name)).await?;
        let kept: BTreeMap<&str, &Value> = records
            .iter()
            .filter_map(|record| version::kept(record["metadata"]["name"].as_str()?, &record["spec"]))
            .filter(|kept| kept.kind == kind && kept.name == asked.name)
            .map(|kept| (kept.version, kept.definition))
            .collect();
        let chosen = version::choose(asked.version, kept.keys().copied());
        let object = chosen.and_then(|version| kept.get(version)).map(|kept| as_kind(kept, kind));
        Ok(Stored { object, versions: kept.keys().map(|version| (*version).to_owned()).collect() })
    }

    /// The DefinitionRevisions of a namespace with a label.
    async fn revisions(&self, namespace: &str, label: &str) -> Result<Vec<Value>, FetchError> {
        if !names::is_label(namespace) {
            return Ok(Vec::new());
        }
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", DEFINITION_REVISION));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let found = api.list(&ListParams::default().labels(label)).await;
        let what = || format!("{DEFINITION_REVISION}s in {namespace}");
        let found = found.map_err(|source| FetchError::Api { what: what(), source })?;
        Ok(found.items.into_iter().map(|object| with_type(object, &resource)).collect())
    }

    /// The definitions there are, for advice about one that is not: without an answer there is no advice.
    async fn names(&self, namespace: &str, kind: DefinitionKind) -> Vec<String> {
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind.kind()));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let some = ListParams::default().limit(NAMES_AT_MOST);
        let found = if namespace.is_empty() { None } else { api.list_metadata(&some).await.ok() };
        found.into_iter().flatten().filter_map(|object| object.metadata.name).collect()
    }

    async fn ours(&self, namespace: &str, kind: &str, name: &str) -> Result<Option<Value>, FetchError> {
        if !names::is_label(namespace) || !names::is_subdomain(name) {
            // Nothing is called so.
            return Ok(None);
        }
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let what = || format!("{kind} {namespace}/{name}");
        let found = api.get_opt(name).await.map_err(|source| FetchError::Api { what: what(), source })?;
        Ok(found.map(|object| with_type(object, &resource)))
    }
}

/// A kept definition says its kind only where whoever kept it wrote it.
fn as_kind(kept: &Value, kind: DefinitionKind) -> Value {
    let mut definition = kept.clone();
    definition["kind"] = kind.kind().into();
    definition
}

/// The engine reads kind and version from the object itself.
fn with_type(mut object: DynamicObject, resource: &ApiResource) -> Value {
    object.types.get_or_insert_with(|| kube::api::TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    });
    object.managed_fields_mut().clear();
    serde_json::to_value(object).unwrap_or_default()
}
