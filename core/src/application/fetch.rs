//! Application → Snapshot: what the pure phases may know of the world, read from caches; may not change anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use tokio::sync::OnceCell;
use vela_crds::{
    ComponentDefinition, DefinitionRevision, ScopeDefinition, TraitDefinition, WorkloadDefinition, labels,
};
use vela_engine::definition::version::{self, Asked};
use vela_engine::parse::References;
use vela_engine::{ClusterVersion, Definition, DefinitionKind, Diagnostics, ObjectKey, Snapshot};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::cache::{Informer, Watch};
use vela_webhooks::kinds::with_kinds;

use super::registered::Registered;
use crate::context::Context;
use crate::successors;

/// Why the snapshot could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot ask the cluster for its version: {0}")]
    Version(#[source] kube::Error),
    #[error(transparent)]
    Object(#[from] vela_runtime::cache::NotSynced),
    #[error(transparent)]
    Kind(#[from] vela_runtime::discovery::Error),
    #[error("cannot read the schemas that a definition imports: {0}")]
    Schemas(#[source] kube::Error),
    #[error("cannot ask the cluster for the kind that a definition registers: {0}")]
    Registered(#[from] kube::Error),
    #[error("{0}")]
    Definition(Diagnostics),
}

/// Definitions by kind and name, each with the version of the object it was read from.
type Read = HashMap<(DefinitionKind, Key), (String, Arc<Definition>)>;

/// Definitions in reach of applications, each read and compiled once per version.
#[derive(Clone)]
pub(crate) struct World {
    context: Context,
    definitions: Arc<BTreeMap<DefinitionKind, Arc<Informer>>>,
    revisions: Arc<Informer>,
    read: Arc<Mutex<Read>>,
    version: Arc<OnceCell<ClusterVersion>>,
    registered: Arc<Registered>,
}

impl World {
    /// Start the watches of all definition kinds.
    pub(crate) fn new(context: &Context) -> Self {
        let watch = |resource| context.cache.informer(Watch::full(resource));
        let definitions = BTreeMap::from([
            (DefinitionKind::Component, watch(ApiResource::erase::<ComponentDefinition>(&()))),
            (DefinitionKind::Trait, watch(ApiResource::erase::<TraitDefinition>(&()))),
            (DefinitionKind::Workload, watch(ApiResource::erase::<WorkloadDefinition>(&()))),
            (DefinitionKind::Scope, watch(ApiResource::erase::<ScopeDefinition>(&()))),
        ]);
        Self {
            context: context.clone(),
            definitions: Arc::new(definitions),
            revisions: watch(ApiResource::erase::<DefinitionRevision>(&())),
            read: Arc::default(),
            version: Arc::default(),
            registered: Arc::default(),
        }
    }

    /// The watched definitions by kind.
    pub(crate) fn definitions(&self) -> &BTreeMap<DefinitionKind, Arc<Informer>> {
        &self.definitions
    }

    /// The snapshot for an object in this namespace. What is absent is left out: the pure phases say so in their words.
    pub(crate) async fn snapshot(&self, namespace: &str, references: &References) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot::new(self.version().await?).within(self.context.options.bounds());
        for (kind, name) in &references.definitions {
            // The application's own namespace wins over the shared one.
            if let Some(object) = self.find(*kind, namespace, name) {
                snapshot.insert_definition(self.definition(*kind, &object).await?);
            } else if let Some(asked) = version::asked(name)
                && let Some(object) = self.version_of(*kind, namespace, asked, &mut snapshot)
            {
                snapshot.insert_definition_version(name, self.definition(*kind, &object).await?);
            }
        }
        for kind in snapshot.missing(&references.definitions) {
            let Some(informer) = self.definitions.get(&kind) else { continue };
            let places: Vec<&str> = self.namespaces(namespace).collect();
            for key in informer.keys().into_iter().filter(|key| places.contains(&key.namespace.as_str())) {
                snapshot.insert_name(kind, key.name);
            }
        }
        for (api_version, kind) in &references.kinds {
            match self.context.discovery.resolve(api_version, kind).await {
                Ok(known) => snapshot.insert_resource(
                    api_version,
                    kind,
                    vela_engine::snapshot::Resource {
                        plural: known.resource.plural.clone(),
                        namespaced: known.namespaced,
                    },
                ),
                Err(vela_runtime::discovery::Error::Unknown { .. }) => {
                    if let Some(known) = successors::kind(&self.context.discovery, api_version, kind).await? {
                        // Definitions are registered under the old group and the plural, which never changed.
                        let resource = vela_engine::snapshot::Resource {
                            plural: known.resource.plural,
                            namespaced: known.namespaced,
                        };
                        snapshot.insert_resource(api_version, kind, resource);
                        snapshot.insert_not_served(api_version, kind);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        for key in &references.objects {
            if let Some(object) = self.object(key).await? {
                snapshot.insert_object(json(&object));
            }
        }
        Ok(snapshot)
    }

    /// Tell the snapshot which kinds these resources are, as far as the cluster knows them.
    pub(crate) async fn tell_registered(
        &self,
        resources: &BTreeSet<(String, String)>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Error> {
        for (name, version) in resources {
            if let Some(kind) = self.registered.kind(&self.context, name, version).await? {
                snapshot.insert_registered(name, version, kind);
            }
        }
        Ok(())
    }

    /// An object as its kind's cache has it; of kinds that are not ours only objects labelled as somebody's.
    pub(crate) async fn object(&self, key: &ObjectKey) -> Result<Option<Arc<DynamicObject>>, Error> {
        let kind = match self.context.discovery.resolve(&key.api_version, &key.kind).await {
            Ok(kind) => kind,
            Err(vela_runtime::discovery::Error::Unknown { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let watch = Watch::full(kind.resource);
        let watch = match (key.group(), key.kind.as_str()) {
            (vela_crds::GROUP, _) => watch,
            ("apps", "ControllerRevision") => watch.labelled(labels::CONTROLLER_REVISION_COMPONENT),
            _ => watch.labelled(labels::APP_NAME),
        };
        let informer = self.context.cache.informer(watch);
        informer.synced().await?;
        Ok(informer.get(&Key::new(key.namespace.clone(), key.name.clone())))
    }

    /// A definition as the cache has it, from the first namespace that has it.
    pub(crate) fn find(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Option<Arc<DynamicObject>> {
        let informer = self.definitions.get(&kind)?;
        self.namespaces(namespace).find_map(|namespace| informer.get(&Key::new(namespace, name)))
    }

    /// The definition that `name@vX` means, as its DefinitionRevision keeps it, of the first namespace that has one; the
    /// snapshot is told of all there are.
    fn version_of(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        asked: Asked<'_>,
        snapshot: &mut Snapshot,
    ) -> Option<DynamicObject> {
        let mut chosen = None;
        for namespace in self.namespaces(namespace) {
            let found = self.revisions.list_prefixed(namespace, &format!("{}-v", asked.name));
            let kept = found.iter().filter_map(|revision| {
                let name = revision.metadata.name.as_deref()?;
                let kept = version::kept(name, revision.data.get("spec")?)?;
                (kept.kind == kind && kept.name == asked.name)
                    .then_some((kept.version, (revision, kept.definition)))
            });
            let kept: BTreeMap<&str, _> = kept.collect();
            kept.keys().for_each(|version| snapshot.insert_known_version(kind, asked.name, version));
            if chosen.is_none()
                && let Some(version) = version::choose(asked.version, kept.keys().copied())
                && let Some((revision, definition)) = kept.get(version)
            {
                let mut frozen: Value = (*definition).clone();
                // What is kept in the cache is told apart by the object that keeps it.
                frozen["metadata"]["namespace"] = revision.metadata.namespace.clone().into();
                let stored = revision.metadata.resource_version.as_deref().unwrap_or_default();
                frozen["metadata"]["resourceVersion"] = format!("{}-v{version}/{stored}", asked.name).into();
                frozen["kind"] = kind.kind().into();
                chosen = Some(serde_json::from_value(frozen).ok()?);
            }
        }
        chosen
    }

    /// The watch of all revisions of definitions.
    pub(crate) fn revisions(&self) -> &Arc<Informer> {
        &self.revisions
    }

    /// Where definitions are looked for, in this order.
    fn namespaces<'n>(&'n self, namespace: &'n str) -> impl Iterator<Item = &'n str> {
        let options = &self.context.options;
        let first = options.first_namespace.as_deref().into_iter();
        first.chain([namespace, options.system_namespace.as_str()])
    }

    /// Does the server still have these definitions, as they were read? Asked before anything is deleted because of
    /// them: a cache may be behind.
    pub(crate) async fn confirm(
        &self,
        namespace: &str,
        definitions: &[Arc<Definition>],
    ) -> Result<bool, kube::Error> {
        for definition in definitions {
            // A version is frozen: it means what it meant.
            let informer = self.definitions.get(&definition.kind()).filter(|_| !is_frozen(definition));
            let Some(informer) = informer else { continue };
            let mut fresh = None;
            for namespace in self.namespaces(namespace) {
                let resource = &informer.watch().resource;
                let api: Api<DynamicObject> =
                    Api::namespaced_with(self.context.client.clone(), namespace, resource);
                fresh = api.get_opt(definition.name()).await?;
                if fresh.is_some() {
                    break;
                }
            }
            let same = fresh.is_some_and(|fresh| fresh.data.get("spec") == Some(definition.spec()));
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn definition(
        &self,
        kind: DefinitionKind,
        object: &DynamicObject,
    ) -> Result<Arc<Definition>, Error> {
        let key = (kind, Key::of(object));
        let version = object.metadata.resource_version.clone().unwrap_or_default();
        let lock = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, definition)) = lock().get(&key)
            && *known == version
        {
            return Ok(definition.clone());
        }
        let definition =
            Definition::from_object(json(object)).map_err(|error| Error::Definition(error.into()))?;
        let definition = with_kinds(&self.context.client, definition).await.map_err(Error::Schemas)?;
        // Kinds that are not served yet may be later: then the definition is read again.
        let complete = definition.imports().len() == definition.packages().len();
        let definition = Arc::new(definition);
        if complete {
            lock().insert(key, (version, definition.clone()));
        }
        Ok(definition)
    }

    /// A definition as a revision recorded it; whoever asks remembers the answer.
    pub(crate) async fn recorded(&self, object: &DynamicObject) -> Result<Arc<Definition>, Error> {
        let definition =
            Definition::from_object(json(object)).map_err(|error| Error::Definition(error.into()))?;
        Ok(Arc::new(with_kinds(&self.context.client, definition).await.map_err(Error::Schemas)?))
    }

    /// The same definition as the cluster has it, where that has the same content: most records hold what is there anyway.
    pub(crate) async fn shared(&self, namespace: &str, definition: Arc<Definition>) -> Arc<Definition> {
        let Some(object) = self.find(definition.kind(), namespace, definition.name()) else {
            return definition;
        };
        match self.definition(definition.kind(), &object).await {
            Ok(live) if live.hash() == definition.hash() => live,
            _ => definition,
        }
    }

    async fn version(&self) -> Result<ClusterVersion, Error> {
        let ask = || async {
            let version = self.context.client.apiserver_version().await.map_err(Error::Version)?;
            Ok(ClusterVersion::from_version(&serde_json::to_value(version).unwrap_or(Value::Null)))
        };
        self.version.get_or_try_init(ask).await.cloned()
    }
}

/// Was the definition read from a revision of it?
fn is_frozen(definition: &Definition) -> bool {
    let version = definition.object().pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.is_some_and(|version| version.contains('/'))
}

/// An object as plain JSON. Objects come from JSON, so the way back cannot fail.
pub(crate) fn json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or(Value::Null)
}
