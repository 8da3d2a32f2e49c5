//! A source that reads the watched stores of a process first, and asks the API server for what they do not hold.
//!
//! A watch may be behind. A caller that deletes or refuses because of what it reads here asks [`Live`] first.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::ApiResource;
use serde_json::Value;
use vela_crds::{
    ComponentDefinition, DefinitionRevision, PolicyDefinition, ScopeDefinition, TraitDefinition,
    WorkloadDefinition, labels,
};
use vela_engine::reference::{Reference, Referenced};
use vela_engine::{Bounds, ClusterVersion, DefinitionKind, Document, ObjectKey, is_global};
use vela_runtime::cache::{Cache, Informer, Watch};
use vela_runtime::{Key, api};

use crate::live::Live;
use crate::registered::ApiKind;
use crate::source::{Error, KindOf, Source, Version};
use crate::typed::with_type;

/// Looks into the watches of a process first.
#[derive(Clone, Debug)]
pub struct Watched {
    live: Live,
    definitions: Arc<BTreeMap<DefinitionKind, Arc<Informer>>>,
    revisions: Arc<Informer>,
    /// Where objects are watched too.
    objects: Option<Cache>,
}

impl Watched {
    /// The watches of all kinds of definitions that rendering needs, and of their revisions; objects are asked for.
    pub fn new(live: Live, cache: &Cache) -> Self {
        let watch = |resource| cache.informer(Watch::full(resource));
        let definitions = BTreeMap::from([
            (DefinitionKind::Component, watch(ApiResource::erase::<ComponentDefinition>(&()))),
            (DefinitionKind::Trait, watch(ApiResource::erase::<TraitDefinition>(&()))),
            (DefinitionKind::Workload, watch(ApiResource::erase::<WorkloadDefinition>(&()))),
            (DefinitionKind::Scope, watch(ApiResource::erase::<ScopeDefinition>(&()))),
            (DefinitionKind::Policy, watch(ApiResource::erase::<PolicyDefinition>(&()))),
        ]);
        let revisions = watch(ApiResource::erase::<DefinitionRevision>(&()));
        Self { live, definitions: Arc::new(definitions), revisions, objects: None }
    }

    /// The same with objects from watches: of foreign kinds only those with the label of an owner.
    #[must_use]
    pub fn with_objects(self, cache: &Cache) -> Self {
        Self { objects: Some(cache.clone()), ..self }
    }

    /// The watched definitions by kind.
    pub fn informers(&self) -> &BTreeMap<DefinitionKind, Arc<Informer>> {
        &self.definitions
    }

    /// The watch of all revisions of definitions.
    pub fn revisions(&self) -> &Arc<Informer> {
        &self.revisions
    }

    /// The API server itself.
    pub fn live(&self) -> &Live {
        &self.live
    }

    fn informer(&self, kind: DefinitionKind) -> Option<&Arc<Informer>> {
        self.definitions.get(&kind).filter(|informer| informer.is_synced())
    }
}

impl Source for Watched {
    async fn cluster_version(&self) -> Result<ClusterVersion, Error> {
        self.live.cluster_version().await
    }

    async fn definition(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Document>, Error> {
        let Some(informer) = self.informer(kind) else {
            return self.live.definition(kind, namespace, name).await;
        };
        let found = informer.get(&Key::new(namespace, name));
        Ok(found.map(|found| document(&found, informer)))
    }

    async fn versions(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
        asked: Option<&str>,
    ) -> Result<Vec<Version>, Error> {
        if !self.revisions.is_synced() {
            return self.live.versions(kind, namespace, name, asked).await;
        }
        let found = self.revisions.list_prefixed(namespace, &format!("{name}-v"));
        let resource = &self.revisions.watch().resource;
        let found = found.iter().map(|found| with_type((**found).clone(), resource));
        Ok(found.filter_map(|found| Version::of(&found, kind, name, namespace)).collect())
    }

    async fn names(&self, kind: DefinitionKind, namespace: &str) -> Vec<String> {
        let Some(informer) = self.informer(kind) else { return self.live.names(kind, namespace).await };
        let found = informer.list_prefixed(namespace, "");
        found.iter().filter_map(|found| found.metadata.name.clone()).collect()
    }

    async fn definitions(&self, kind: DefinitionKind, namespace: &str) -> Result<Vec<Document>, Error> {
        let Some(informer) = self.informer(kind) else { return self.live.definitions(kind, namespace).await };
        Ok(informer.list_prefixed(namespace, "").iter().map(|found| document(found, informer)).collect())
    }

    async fn global_policies(&self, namespace: &str) -> Result<Vec<Document>, Error> {
        let Some(informer) = self.informer(DefinitionKind::Policy) else {
            return self.live.global_policies(namespace).await;
        };
        // Every reconcile asks for them: the others are not copied.
        let all = informer.list_prefixed(namespace, "");
        let global = all.iter().filter(|one| is_global(&one.data));
        Ok(global.map(|found| document(found, informer)).collect())
    }

    async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Error> {
        let Some(cache) = &self.objects else { return self.live.object(key).await };
        if !api::is_part(&key.name) {
            return Ok(None);
        }
        let Some(kind) = self.live.served(&key.api_version, &key.kind).await? else { return Ok(None) };
        let watch = Watch::full(kind.resource);
        let watch = match (key.group(), key.kind.as_str()) {
            (vela_crds::GROUP, _) => watch,
            ("apps", "ControllerRevision") => watch.labelled(labels::CONTROLLER_REVISION_COMPONENT),
            _ => watch.labelled(labels::APP_NAME),
        };
        let informer = cache.informer(watch);
        informer.synced().await?;
        let found = informer.get(&Key::new(key.namespace.clone(), key.name.clone()));
        Ok(found.map(|found| with_type((*found).clone(), &informer.watch().resource)))
    }

    async fn kind(&self, api_version: &str, kind: &str) -> Result<Option<KindOf>, Error> {
        self.live.kind(api_version, kind).await
    }

    async fn registered(&self, resource: &str, version: &str) -> Result<Option<ApiKind>, Error> {
        self.live.registered(resource, version).await
    }

    async fn referenced(
        &self,
        reference: &Reference,
        own: &str,
        bounds: Bounds,
    ) -> Result<Option<Referenced>, Error> {
        self.live.referenced(reference, own, bounds).await
    }

    async fn schemas(&self, api_version: &str) -> Result<Option<Value>, Error> {
        self.live.schemas(api_version).await
    }
}

fn document(object: &kube::api::DynamicObject, informer: &Informer) -> Document {
    Document::from_object(with_type(object.clone(), &informer.watch().resource))
}
