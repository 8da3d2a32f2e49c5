//! A definition → the DefinitionRevision that holds its content.

use std::sync::Arc;

use kube::api::{DynamicObject, PostParams};
use serde_json::Value;
use vela_engine::Definition;
use vela_engine::definition::record;
use vela_engine::revision::Previous;
use vela_runtime::{Api, Key};

use super::error::Error;
use super::reconciler::DefinitionReconciler;
use crate::context::FIELD_MANAGER;

/// Numbers tried in one reconcile when revisions of that number exist with other content.
const TRIES: usize = 100;

/// A revision, and why it does not hold the present content if it does not.
pub(super) struct RecordedRevision {
    pub(super) revision: Arc<DynamicObject>,
    pub(super) conflict: Option<String>,
}

impl DefinitionReconciler {
    /// The revision that holds the present content; made where it is not there yet. The name of a version is given once:
    /// where another content has it, that one stays what the version means.
    pub(super) async fn revision(
        &self,
        key: &Key,
        definition: &Definition,
        status: &Value,
    ) -> Result<RecordedRevision, Error> {
        let mut latest = self.latest(key, status);
        let resource = &self.revisions.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        for _ in 0..TRIES {
            let next = record::revision(definition, latest.as_ref());
            let failed = |source| Error::Revision { name: next.name.clone(), source };
            let keeps = |stored: &DynamicObject| {
                record::keeps(&next.name, &stored.data["spec"], definition, &next.hash)
            };
            if let Some(known) = self.revisions.get(&Key::new(key.namespace.clone(), next.name.clone()))
                && keeps(&known)
            {
                return Ok(RecordedRevision { revision: known, conflict: None });
            }
            let object = serde_json::from_value(record::revision_object(definition, &next))?;
            match api.create(&params, &object).await {
                Ok(created) => {
                    self.revisions.observe(created.clone());
                    return Ok(RecordedRevision { revision: Arc::new(created), conflict: None });
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(source) => return Err(failed(source)),
            }
            // A reconcile that was cut off may have made it; a name that something else took is passed over.
            let stored = api.get(&next.name).await.map_err(failed)?;
            if keeps(&stored) {
                return Ok(RecordedRevision { revision: Arc::new(stored), conflict: None });
            }
            if let Some(version) = record::named_version(definition) {
                let conflict = record::conflict(version, &next.name);
                return Ok(RecordedRevision { revision: Arc::new(stored), conflict: Some(conflict) });
            }
            latest = Some(Previous { number: next.number, hash: String::new() });
        }
        Err(Error::Taken { tried: TRIES })
    }

    /// The newest revision: the status may have missed one when a reconcile was cut off.
    fn latest(&self, key: &Key, status: &Value) -> Option<Previous> {
        let previous = |name: &Value, hash: &Value| {
            Some(Previous { number: name.as_u64()?, hash: hash.as_str()?.to_owned() })
        };
        let named = &status["latestRevision"];
        let named = previous(&named["revision"], &named["revisionHash"]);
        let stored = self.of(key).into_iter().next_back().and_then(|object| {
            let spec = &object.data["spec"];
            previous(&spec["revision"], &spec["revisionHash"])
        });
        match (named, stored) {
            (Some(named), Some(stored)) if stored.number > named.number => Some(stored),
            (named, stored) => named.or(stored),
        }
    }

    /// The revisions of a definition, oldest first.
    pub(super) fn of(&self, key: &Key) -> Vec<Arc<DynamicObject>> {
        let Some(label) = record::name_label(self.kind) else { return Vec::new() };
        let belongs = |object: &DynamicObject| {
            object.metadata.namespace.as_deref() == Some(&key.namespace)
                && object.metadata.labels.as_ref().and_then(|labels| labels.get(label)) == Some(&key.name)
        };
        let mut found = self.revisions.list_where(belongs);
        found.sort_by_key(|object| object.data["spec"]["revision"].as_u64());
        found
    }
}
