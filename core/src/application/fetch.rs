//! Application → Snapshot: what the pure phases may know of the cluster, read from watches; may not change anything.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::parse::References;
use vela_engine::{Definition, DefinitionKind, Document, ObjectKey, Snapshot, Templates, parse, transform};
use vela_runtime::Api;
use vela_runtime::cache::Informer;
pub(crate) use vela_snapshot::Error;
use vela_snapshot::{Live, Reader, Watched};

use super::recorded_definitions;
use crate::blocking::{NotComputed, run_blocking};
use crate::context::Context;
pub(crate) use crate::reading::json;

/// Definitions and objects in reach of applications.
#[derive(Clone)]
pub(crate) struct ClusterReader {
    context: Context,
    reader: Reader<Watched>,
    /// The templates of policies that change applications.
    templates: Templates,
}

impl ClusterReader {
    /// Start the watches of all definition kinds.
    pub(crate) fn new(context: &Context) -> Self {
        let live = Live::new(context.client.clone(), context.discovery.clone());
        let watched = Watched::new(live, &context.cache).with_objects(&context.cache);
        let reader = Reader::new(watched, context.options.namespaces())
            .within(context.options.bounds())
            .applying_once(context.options.applications_once)
            .with_policies(context.options.policies);
        Self { context: context.clone(), reader, templates: Templates::default() }
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

    /// What an application names itself, as policies leave it, by these definitions.
    pub(crate) async fn application(
        &self,
        namespace: &str,
        document: &Document,
        by: ReadBy<'_>,
    ) -> Result<Snapshot, NotRead> {
        let mut references = by.references(document);
        let mut snapshot = self.reader.snapshot(namespace, &references).await?;
        by.insert(document, &mut snapshot);
        if by.has_live_policies() {
            self.reader.insert_global_policies(namespace, document, &mut snapshot).await?;
        }
        if !self.reader.policies().application || !transform::is_needed(document, &snapshot) {
            return Ok(snapshot);
        }
        let (application, seen) = (document.clone(), snapshot.clone());
        let compute = move |templates: &Templates| {
            Ok::<_, Infallible>(transform::transform(&application, &seen, templates))
        };
        let computed = run_blocking(&self.context.computations, &self.templates, compute).await?;
        let Ok(Some(transformed)) = computed else { return Ok(snapshot) };
        let asked = references.clone();
        references.include(&by.references(transformed.document()));
        if references != asked {
            snapshot = self.reader.snapshot(namespace, &references).await?;
        }
        by.insert(transformed.document(), &mut snapshot);
        snapshot.insert_transformed(transformed);
        Ok(snapshot)
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

/// The definitions by which an application is read.
#[derive(Clone, Copy)]
pub(crate) enum ReadBy<'a> {
    /// Those that are there now.
    Live,
    /// Those that a revision recorded, under the names they were asked for by.
    Recorded(&'a [(String, Arc<Definition>)]),
    /// The same but for policies, which are those that are there now.
    RecordedButPolicies(&'a [(String, Arc<Definition>)]),
}

impl ReadBy<'_> {
    fn has_live_policies(self) -> bool {
        !matches!(self, Self::Recorded(_))
    }

    /// The needs of the application that no record answers.
    fn references(self, document: &Document) -> References {
        let mut references = parse::references(document);
        match self {
            Self::Live => {}
            Self::Recorded(_) => references.definitions.clear(),
            Self::RecordedButPolicies(_) => {
                references.definitions.retain(|(kind, _)| *kind == DefinitionKind::Policy);
            }
        }
        references
    }

    fn insert(self, document: &Document, snapshot: &mut Snapshot) {
        match self {
            Self::Live => {}
            Self::Recorded(definitions) => recorded_definitions::insert(definitions, document, snapshot),
            Self::RecordedButPolicies(definitions) => {
                let is_other = |(_, one): &&(String, Arc<Definition>)| one.kind() != DefinitionKind::Policy;
                let others: Vec<_> = definitions.iter().filter(is_other).cloned().collect();
                recorded_definitions::insert(&others, document, snapshot);
            }
        }
    }
}

/// Why it is not known what an application names.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRead {
    /// The cluster did not say it.
    #[error(transparent)]
    Cluster(#[from] Error),
    /// Policies that change applications could not be run.
    #[error(transparent)]
    NotComputed(#[from] NotComputed),
}

/// Was the definition read from a revision of it?
fn is_frozen(definition: &Definition) -> bool {
    let version = definition.object().pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.is_some_and(|version| version.contains('/'))
}
