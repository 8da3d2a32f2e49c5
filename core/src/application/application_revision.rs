//! An ApplicationRevision → what it recorded: the application as it was, with the definitions as they were.
//!
//! A revision is believed only where its content gives the hash that the application's status or record names: who may
//! write revisions cannot make an application something else.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use vela_crds::{ApplicationRevision, labels};
use vela_engine::revision::{Previous, asked};
use vela_engine::{Definition, DefinitionKind, Document, parse, revision};
use vela_runtime::Key;

use super::fetch::{ClusterReader, ReadBy};
use super::revision_reader::{ReadError, RevisionReader};
use crate::context::Context;

/// Revisions that are remembered.
const REMEMBERED_AT_MOST: usize = 1000;

/// Where the recorded definitions of a revision stand.
const RECORDED: [(&str, DefinitionKind); 6] = [
    ("componentDefinitions", DefinitionKind::Component),
    ("traitDefinitions", DefinitionKind::Trait),
    ("workloadDefinitions", DefinitionKind::Workload),
    ("scopeDefinitions", DefinitionKind::Scope),
    ("workflowStepDefinitions", DefinitionKind::WorkflowStep),
    ("policyDefinitions", DefinitionKind::Policy),
];

/// The content of a recorded revision.
#[derive(Debug)]
pub(super) struct RecordedApplication {
    /// Name of the revision.
    pub(super) name: String,
    /// Its number and content hash.
    pub(super) previous: Previous,
    application: Document,
    definitions: Vec<(String, Arc<Definition>)>,
}

impl RecordedApplication {
    /// Does the application ask for what it asked for then?
    pub(super) fn is_asked_by(&self, application: &Document) -> bool {
        asked(&self.application) == asked(application)
    }

    /// Was it published under this version?
    pub(super) fn is_published_as(&self, version: &str) -> bool {
        asked(&self.application).1 == Some(version)
    }

    /// The application as it is now, but for what it asks for.
    pub(super) fn asked_then(&self, application: &Document) -> Document {
        let mut value = application.value().clone();
        value["spec"] = self.application.value()["spec"].clone();
        Document::from_object(value)
    }

    /// The definitions, under the names they were asked for by.
    pub(super) fn definitions(&self) -> &[(String, Arc<Definition>)] {
        &self.definitions
    }

    /// Was this definition used as it is?
    pub(super) fn has(&self, definition: &Definition) -> bool {
        self.definitions.iter().any(|(_, recorded)| recorded.hash() == definition.hash())
    }
}

/// Reads revisions, each once.
#[derive(Clone)]
pub(super) struct RecordedApplications {
    cluster: ClusterReader,
    revisions: RevisionReader<Option<Arc<RecordedApplication>>>,
}

impl RecordedApplications {
    pub(super) fn new(context: &Context, cluster: &ClusterReader) -> Self {
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        Self {
            cluster: cluster.clone(),
            revisions: RevisionReader::new(context, resource, REMEMBERED_AT_MOST),
        }
    }

    /// The content of this revision of the application; nothing where its content is not the named one.
    pub(super) async fn get(
        &self,
        application: &Key,
        expected: &Previous,
        stored: Option<&DynamicObject>,
    ) -> Result<Option<Arc<RecordedApplication>>, ReadError> {
        let Some(stored) = stored else { return Ok(None) };
        let read = |found| async move {
            let recorded = self.read(application, expected, &found).await?;
            Ok::<_, ReadError>(recorded.map(Arc::new))
        };
        let recorded = self.revisions.get(&Key::of(stored), Some(stored), &expected.hash, read).await?;
        Ok(recorded.flatten())
    }

    async fn read(
        &self,
        application: &Key,
        expected: &Previous,
        object: &DynamicObject,
    ) -> Result<Option<RecordedApplication>, ReadError> {
        let labelled = object.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_REVISION_HASH));
        let Some(document) = application_of(object, application).filter(|_| labelled == Some(&expected.hash))
        else {
            return Ok(None);
        };
        let Ok(definitions) = definitions(&self.cluster, object, &application.namespace).await else {
            return Ok(None);
        };
        let mut shared = Vec::with_capacity(definitions.len());
        for (name, definition) in definitions {
            shared.push((name, self.cluster.shared(&application.namespace, definition).await));
        }
        let read_error = |error: super::fetch::Error| error.to_string();
        let by = ReadBy::Recorded(&shared);
        let snapshot = self.cluster.application(&application.namespace, &document, by).await;
        let mut snapshot = snapshot.map_err(|error| error.to_string())?;
        let registered = parse::registered(snapshot.as_transformed(&document), &snapshot);
        self.cluster.insert_registered(&registered, &mut snapshot).await.map_err(read_error)?;
        let hash = parse::parse(&document, &snapshot).ok().map(|app_file| revision::hash(&app_file));
        if hash.as_ref() != Some(&expected.hash) {
            tracing::debug!(application = %application, revision = %Key::of(object), "the revision is not what its hash says");
            return Ok(None);
        }
        let name = object.metadata.name.clone().unwrap_or_default();
        let previous = expected.clone();
        Ok(Some(RecordedApplication { name, previous, application: document, definitions: shared }))
    }
}

/// The application that a revision recorded, under its own name; nothing where none is recorded.
pub(crate) fn application_of(revision: &DynamicObject, application: &Key) -> Option<Document> {
    let mut written = revision.data.pointer("/spec/application")?.clone();
    if !written["spec"].is_object() {
        return None;
    }
    // Release 1.0 records neither.
    written["metadata"]["name"] = json!(application.name);
    written["metadata"]["namespace"] = json!(application.namespace);
    Some(Document::from_object(written))
}

/// The definitions that a revision recorded, under the names they were asked for by.
pub(crate) async fn definitions(
    cluster: &ClusterReader,
    revision: &DynamicObject,
    namespace: &str,
) -> Result<Vec<(String, Arc<Definition>)>, ReadError> {
    let recorded_in = revision.metadata.name.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for (field, kind) in RECORDED {
        for (asked, definition) in revision.data["spec"][field].as_object().into_iter().flatten() {
            let frozen = frozen(definition, kind, recorded_in, namespace)?;
            let definition = cluster.recorded(&frozen).await.map_err(|error| error.to_string())?;
            found.push((asked.clone(), definition));
        }
    }
    Ok(found)
}

/// A recorded definition as an object: it means what it meant, whatever became of the live one.
fn frozen(
    definition: &Value,
    kind: DefinitionKind,
    revision: &str,
    namespace: &str,
) -> Result<DynamicObject, ReadError> {
    let mut definition = definition.clone();
    let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    definition["kind"] = json!(kind.kind());
    // A slash marks a definition that was read from a record.
    definition["metadata"]["resourceVersion"] = json!(format!("{namespace}/{revision}"));
    serde_json::from_value(definition).map_err(|error| {
        format!("ApplicationRevision {revision}: definition {name:?} cannot be read: {error}")
    })
}
