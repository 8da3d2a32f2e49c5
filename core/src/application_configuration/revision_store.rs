//! The ApplicationRevisions of configurations: what each was rendered from when it was applied completely.
//!
//! A configuration that people write has no revisions of its own in KubeVela. Here each content that was applied completely is
//! recorded like an Application's, with its components and the definitions it was rendered by.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;
use vela_crds::{ApplicationRevision, labels};
use vela_engine::application_configuration::last_good;
use vela_engine::{Definition, Document, Snapshot};
use vela_runtime::{Failure, Key};

use crate::application::application_revision;
use crate::application::fetch::ClusterReader;
use crate::application::revision_reader::{ReadError, RevisionReader};
use crate::application::revisions::{Revisions, Writing, belongs};
use crate::author;
use crate::context::Context;

/// Revisions that are remembered.
const REMEMBERED_AT_MOST: usize = 1000;
/// The part of a revision's name after the configuration's: an Application of the same name has revisions, too.
const SUFFIX: &str = ".configuration";

/// The revisions of configurations.
#[derive(Clone)]
pub(super) struct RevisionStore {
    context: Context,
    revisions: Revisions,
    reader: RevisionReader<Option<Arc<StoredRevision>>>,
}

/// The definitions of the last apply of a configuration.
pub(super) struct StoredRevision {
    pub(super) name: String,
    pub(super) spec: Value,
    definitions: Vec<(String, Arc<Definition>)>,
}

impl RevisionStore {
    pub(super) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        Self {
            context: context.clone(),
            revisions: Revisions::new(context),
            reader: RevisionReader::new(context, resource, REMEMBERED_AT_MOST),
        }
    }

    /// The last recorded content; nothing where the controllers did not record it themselves.
    pub(super) async fn last(
        &self,
        cluster: &ClusterReader,
        configuration: &DynamicObject,
    ) -> Result<Option<Arc<StoredRevision>>, ReadError> {
        let Some(newest) = self.newest(configuration) else { return Ok(None) };
        let stored = Key::of(&newest);
        let name = &stored.name;
        let read = |found: DynamicObject| async move {
            let own = author::is_own_record(&self.context, &found).await;
            if !own.map_err(|error| vela_runtime::apply::explain(&error))? {
                return Ok::<_, ReadError>(None);
            }
            let namespace = configuration.metadata.namespace.as_deref().unwrap_or_default();
            let definitions = application_revision::definitions(cluster, &found, namespace).await?;
            let spec = found.data["spec"].clone();
            Ok(Some(Arc::new(StoredRevision { name: name.clone(), spec, definitions })))
        };
        Ok(self.reader.get(&stored, Some(&newest), "", read).await?.flatten())
    }

    /// Record what was applied completely, unless it was recorded last.
    pub(super) async fn record(&self, configuration: &DynamicObject, spec: &Value) -> Result<(), Failure> {
        let hash = last_good::hash(spec);
        if let Some(newest) = self.newest(configuration)
            && newest.metadata.labels.as_ref().and_then(|all| all.get(labels::APP_REVISION_HASH))
                == Some(&hash)
        {
            return Ok(());
        }
        let of = counted_under(&Key::of(configuration));
        let number = self.revisions.newest(&of).map_or(1, |(number, _)| number.saturating_add(1));
        let name = format!("{}-v{number}", of.name);
        let writing = Writing { owner: configuration, of: &of, name: &name, hash: &hash, spec: spec.clone() };
        self.revisions.write(writing).await.map_err(Failure::retry)?;
        self.revisions.limit(&of, &[&name], None).await;
        Ok(())
    }

    /// The newest revision of this very configuration, metadata only.
    fn newest(&self, configuration: &DynamicObject) -> Option<Arc<DynamicObject>> {
        let newest = self.revisions.newest(&counted_under(&Key::of(configuration)));
        newest.map(|(_, revision)| revision).filter(|revision| belongs(revision, configuration))
    }
}

impl StoredRevision {
    /// Put what was there then into the snapshot. `then` is the configuration as it asked then.
    pub(super) fn insert_into(&self, then: &Document, snapshot: &mut Snapshot) {
        for (_, definition) in &self.definitions {
            snapshot.insert_definition(definition.clone());
        }
        last_good::insert_into(then, &self.spec, snapshot);
    }
}

/// The name that the revisions of a configuration begin with.
fn counted_under(key: &Key) -> Key {
    Key::new(key.namespace.clone(), format!("{}{SUFFIX}", key.name))
}
