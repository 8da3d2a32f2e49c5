//! Application → Snapshot: what the pure phases may know of the cluster, read from watches; may not change anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::parse::References;
use vela_engine::{Definition, DefinitionKind, Document, ObjectKey, Snapshot};
use vela_runtime::Api;
use vela_runtime::cache::Informer;
pub(crate) use vela_snapshot::Error;
use vela_snapshot::{Live, Reader, Watched};

use crate::context::Context;

/// Definitions and objects in reach of applications.
#[derive(Clone)]
pub(crate) struct ClusterReader {
    context: Context,
    reader: Reader<Watched>,
}

impl ClusterReader {
    /// Start the watches of all definition kinds.
    pub(crate) fn new(context: &Context) -> Self {
        let live = Live::new(context.client.clone(), context.discovery.clone());
        let watched = Watched::new(live, &context.cache).with_objects(&context.cache);
        let reader = Reader::new(watched, context.options.namespaces())
            .within(context.options.bounds())
            .applying_once(context.options.applications_once);
        Self { context: context.clone(), reader }
    }

    /// The watched definitions by kind.
    pub(crate) fn definitions(&self) -> &BTreeMap<DefinitionKind, Arc<Informer>> {
        self.reader.source().informers()
    }

    /// The watch of all revisions of definitions.
    pub(crate) fn revisions(&self) -> &Arc<Informer> {
        self.reader.source().revisions()
    }

    /// The reader of the cluster.
    pub(crate) fn reader(&self) -> &Reader<Watched> {
        &self.reader
    }

    /// The snapshot for an object in this namespace. It leaves out absent objects: the pure phases say so in their
    /// words.
    pub(crate) async fn snapshot(&self, namespace: &str, references: &References) -> Result<Snapshot, Error> {
        self.reader.snapshot(namespace, references).await
    }

    /// Tell the snapshot which kinds these resources are, as far as the cluster knows them.
    pub(crate) async fn insert_registered(
        &self,
        resources: &BTreeSet<(String, String)>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Error> {
        self.reader.insert_registered(resources, snapshot).await
    }

    /// An object as its kind's watch has it; of foreign kinds only objects with the label of an owner.
    pub(crate) async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, Error> {
        self.reader.object(key).await
    }

    /// Does the server still have these definitions, as they were read? The reconciler asks so before it deletes
    /// anything because of them: a cache may be behind.
    pub(crate) async fn confirm(
        &self,
        namespace: &str,
        definitions: &[Arc<Definition>],
    ) -> Result<bool, kube::Error> {
        for definition in definitions {
            // A version is frozen: it means what it meant.
            let informer = self.definitions().get(&definition.kind()).filter(|_| !is_frozen(definition));
            let Some(informer) = informer else { continue };
            let mut fresh = None;
            for namespace in self.reader.namespaces().around(namespace) {
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

    /// A definition as a revision recorded it; the caller remembers the answer.
    pub(crate) async fn recorded(&self, object: &DynamicObject) -> Result<Arc<Definition>, Error> {
        self.reader.definition(&Document::from_object(json(object))).await
    }

    /// The same definition as the cluster has it, where that has the same content: most records hold what is there anyway.
    pub(crate) async fn shared(&self, namespace: &str, definition: Arc<Definition>) -> Arc<Definition> {
        let stored = self.reader.stored(definition.kind(), namespace, definition.name()).await;
        let Ok(Some(stored)) = stored else { return definition };
        match self.reader.definition(&stored).await {
            Ok(live) if live.hash() == definition.hash() => live,
            _ => definition,
        }
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
