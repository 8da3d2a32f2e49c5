//! Definitions that the watches of this process keep → the same definitions without a request.
//!
//! A copy may be behind the cluster, so it only ever lets something in: what is refused by copies is judged again by what
//! the API server has. What a copy let in wrongly, the controller tells; it renders from the same copies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::ApiResource;
use kube::{Client, ResourceExt as _};
use vela_crds::{ComponentDefinition, ScopeDefinition, TraitDefinition, WorkloadDefinition};
use vela_engine::{Definition, DefinitionKind};
use vela_runtime::Key;
use vela_runtime::cache::{Cache, Informer, Watch};

use crate::kinds::with_kinds;

/// Definitions kept as they were read; beyond this the memory begins anew.
const READ_AT_MOST: usize = 2000;

/// Definitions by kind and name, each with the version of the object it was read from.
type Read = BTreeMap<(DefinitionKind, Key), (String, Arc<Definition>)>;

/// What the watches keep.
#[derive(Clone)]
pub(crate) struct Copies {
    informers: Arc<BTreeMap<DefinitionKind, Arc<Informer>>>,
    read: Arc<Mutex<Read>>,
}

impl Copies {
    /// The watches of all kinds of definitions that somebody watches anyway.
    pub(crate) fn new(cache: &Cache) -> Self {
        let watch = |resource| cache.informer(Watch::full(resource));
        let informers = BTreeMap::from([
            (DefinitionKind::Component, watch(ApiResource::erase::<ComponentDefinition>(&()))),
            (DefinitionKind::Trait, watch(ApiResource::erase::<TraitDefinition>(&()))),
            (DefinitionKind::Workload, watch(ApiResource::erase::<WorkloadDefinition>(&()))),
            (DefinitionKind::Scope, watch(ApiResource::erase::<ScopeDefinition>(&()))),
        ]);
        Self { informers: Arc::new(informers), read: Arc::default() }
    }

    /// The definition of the first namespace that has it. Nothing where no copy is there, before the first list, and for
    /// what cannot be read: then the API server is asked.
    pub(crate) async fn get(
        &self,
        client: &Client,
        namespaces: [&str; 2],
        kind: DefinitionKind,
        name: &str,
    ) -> Option<Arc<Definition>> {
        let informer = self.informers.get(&kind).filter(|informer| informer.is_synced())?;
        let object = namespaces.into_iter().find_map(|namespace| informer.get(&Key::new(namespace, name)))?;
        let key = (kind, Key::of(&object));
        let version = object.resource_version()?;
        let lock = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, definition)) = lock().get(&key)
            && *known == version
        {
            return Some(definition.clone());
        }
        let definition = Definition::from_object(serde_json::to_value(&*object).ok()?).ok()?;
        let definition = Arc::new(with_kinds(client, definition).await.ok()?);
        // Kinds that are not served yet may be later.
        if definition.imports().len() == definition.packages().len() {
            let mut read = lock();
            if read.len() >= READ_AT_MOST {
                read.clear();
            }
            read.insert(key, (version, definition.clone()));
        }
        Some(definition)
    }
}
