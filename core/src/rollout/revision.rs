//! An ApplicationRevision → what it renders: the application as it was, with the definitions as they were.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use vela_crds::{ApplicationRevision, labels};
use vela_engine::{Document, Graph, Secrets, Snapshot, Templates, graph, parse, plan, render, revision};
use vela_runtime::Key;
use vela_runtime::apply::explain;
use vela_runtime::cache::{Informer, Watch};

use super::lookup_error::Missing;
use crate::application::application_revision;
use crate::application::fetch::{ClusterReader, ReadBy};
use crate::application::revision_reader::{ReadError, RevisionReader};
use crate::author;
use crate::blocking::{NotComputed, run_blocking};
use crate::context::Context;
use crate::successors;

/// Rendered revisions that are remembered: a rollout looks at two of them in every reconcile.
const REMEMBERED_AT_MOST: usize = 64;

/// A rendered revision.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// Its application.
    pub(crate) application: Key,
    pub(crate) graph: Arc<Graph>,
    /// Its confidential values, which no message may repeat.
    pub(crate) secrets: Arc<Secrets>,
}

/// The revisions of the cluster, rendered once each.
#[derive(Clone)]
pub(crate) struct Revisions {
    context: Context,
    /// Metadata only: a revision holds whole definitions.
    stored: Arc<Informer>,
    cluster: ClusterReader,
    templates: Arc<Templates>,
    revisions: RevisionReader<Rendered>,
}

impl Revisions {
    pub(crate) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        Self {
            context: context.clone(),
            stored: context.cache.informer(Watch::metadata(resource.clone())),
            revisions: RevisionReader::new(context, resource, REMEMBERED_AT_MOST),
            cluster: ClusterReader::new(context),
            templates: Arc::new(Templates::default()),
        }
    }

    /// The watch of all revisions, metadata only.
    pub(crate) fn stored(&self) -> &Arc<Informer> {
        &self.stored
    }

    /// The content hash that the revision carries.
    pub(super) fn content(&self, key: &Key) -> Option<String> {
        self.stored.get(key)?.metadata.labels.as_ref()?.get(labels::APP_REVISION_HASH).cloned()
    }

    /// The revision of that name; nothing when it is not there.
    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Rendered>, Missing> {
        let stored = self.stored.get(key);
        let read = |found| async move {
            let own = author::is_own_record(&self.context, &found).await;
            let own = own.map_err(|error| {
                format!("cannot ask for the name of vela-core's account: {}", explain(&error))
            })?;
            if !own {
                return Err(Missing::Revision(format!(
                    "ApplicationRevision {key} is not what vela-core recorded, as far as its annotations say, and is not rolled out: \
                     a user wrote it, or it is older than the webhooks; delete it and write the application anew"
                )));
            }
            self.render(key, &found).await
        };
        self.revisions.get(key, stored.as_deref(), "", read).await
    }

    async fn render(&self, key: &Key, object: &DynamicObject) -> Result<Rendered, Missing> {
        let number = key.name.rsplit_once("-v").and_then(|(name, number)| Some((name, number.parse().ok()?)));
        let (name, number): (&str, u64) =
            number.ok_or_else(|| format!("{key} is no name of a revision: expected <application>-v<N>"))?;
        let name = object
            .metadata
            .labels
            .as_ref()
            .and_then(|all| all.get(labels::APP_NAME))
            .map_or(name, String::as_str);
        let application = Key::new(key.namespace.clone(), name);
        let document = application_revision::application_of(object, &application)
            .ok_or_else(|| format!("ApplicationRevision {key}: spec.application.spec is missing"))?;
        let mut secrets = Secrets::default();
        secrets.add(document.value());
        let snapshot = self.snapshot(object, &document).await?;
        let message =
            |error: String| secrets.hide(&format!("ApplicationRevision {key}: {error}")).into_owned();
        let graph = self.render_graph(document, snapshot, number).await;
        let graph = graph.map_err(|missing| missing.reworded(message))?;
        // A revision may be older than the cluster's release.
        let graph = successors::succeeded(&self.context.discovery, graph).await;
        let graph = graph.map_err(|error| message(error.to_string()))?;
        graph.objects().for_each(|each| secrets.add(&each.object));
        Ok(Rendered { application, graph: Arc::new(graph), secrets: Arc::new(secrets) })
    }

    /// The objects of the cluster, with the definitions as they were recorded.
    async fn snapshot(&self, object: &DynamicObject, document: &Document) -> Result<Snapshot, ReadError> {
        let message = |error: &dyn std::fmt::Display| error.to_string();
        let definitions =
            application_revision::definitions(&self.cluster, object, document.namespace()).await?;
        let by = ReadBy::Recorded(&definitions);
        let snapshot = self.cluster.application(document.namespace(), document, by).await;
        let mut snapshot = snapshot.map_err(|error| message(&error))?;
        let registered = parse::registered(snapshot.as_transformed(document), &snapshot);
        self.cluster.insert_registered(&registered, &mut snapshot).await.map_err(|error| message(&error))?;
        Ok(snapshot)
    }

    /// The pure phases, from the document to the graph.
    async fn render_graph(
        &self,
        document: Document,
        snapshot: Snapshot,
        number: u64,
    ) -> Result<Graph, Missing> {
        let compute = move |templates: &Templates| {
            let app_file = parse::parse(&document, &snapshot)?;
            let plan = plan::plan(revision::recorded(app_file, number))?;
            graph::graph(render::render(&plan, templates, &render::Inputs::default())?)
        };
        let rendered = run_blocking(&self.context.computations, &self.templates, compute).await;
        let rendered = rendered.map_err(|error| match error {
            NotComputed::Ends => Missing::Ends,
            error => Missing::Failed(error.to_string()),
        })?;
        rendered.map_err(|error| Missing::Failed(error.to_string()))
    }
}
