//! Where a run of a workflow is kept: its journal in `status.workflow`, its values in a ConfigMap; read and written past the
//! caches, because a step must not be run twice for a copy that is behind.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::workflow::{RunStatus, RunValues};
use vela_runtime::{Api, Key};

use super::owned::Application;
use super::reconciler::ApplicationReconciler;
use super::stopped::{Cause, Later, PhaseError, Stopped};
use crate::context::FIELD_MANAGER;
use crate::status::write_unless_changed;
use crate::workflow::First;

/// Characters of the uid that follow the name of a ConfigMap whose name somebody else has.
const SUFFIX_LENGTH: usize = 5;

/// The run of one application, as it is stored.
pub(super) struct RunStore<'a> {
    reconciler: &'a ApplicationReconciler,
    key: Key,
    /// The Application as it was last read or written.
    application: DynamicObject,
    /// Name of the ConfigMap.
    name: String,
    /// What is in it; nothing as long as it is not there.
    data: Option<BTreeMap<String, String>>,
}

impl<'a> RunStore<'a> {
    /// Reads how far the run of this revision is. One of another revision is over, and this one is at its beginning.
    pub(super) async fn read(
        reconciler: &'a ApplicationReconciler,
        owner: &Application<'_>,
        begin: RunStatus,
        now: Timestamp,
    ) -> Result<(Self, RunStatus, RunValues), Stopped> {
        let unavailable = |error: &kube::Error| Stopped::write(PhaseError::Apply, error, Some(error));
        let key = owner.key.clone();
        let live = reconciler.api(&key).get_opt(&key.name).await.map_err(|error| unavailable(&error))?;
        // Gone, or asking for something else by now: that wakes us.
        let is_current = |live: &DynamicObject| {
            live.metadata.uid == owner.object.metadata.uid
                && live.metadata.generation == owner.object.metadata.generation
        };
        let Some(application) = live.filter(is_current) else { return Err(Later::Soon.into()) };
        let written = application.data.get("status").and_then(|status| status.get("workflow"));
        let former = written.and_then(|written| RunStatus::read(written, now));
        let former = former.filter(|former| former.revision == begin.revision);
        let mut store = Self { reconciler, key, application, name: String::new(), data: None };
        let uid = store.find().await.map_err(|error| unavailable(&error))?;
        let Some(mut status) = former else {
            let mut status = begin;
            let values = RunValues::default();
            let uid = store.store_values(&values).await.map_err(|error| unavailable(&error))?.or(uid);
            status.context = Some(store.reference(uid));
            return Ok((store, status, values));
        };
        let values = match &store.data {
            Some(data) => RunValues::read(data).map_err(|why| {
                let what =
                    format!("the values of the workflow in ConfigMap {:?} cannot be read: {why}", store.name);
                PhaseError::Apply(Cause::refused(what))
            })?,
            None => RunValues::default(),
        };
        if let Some(uid) = uid {
            status.context = Some(store.reference(Some(uid)));
        }
        Ok((store, status, values))
    }

    /// The Application as it was last read or written.
    pub(super) fn into_application(self) -> DynamicObject {
        self.application
    }

    /// Finds the ConfigMap, or a name that is free. Gives its uid.
    async fn find(&mut self) -> Result<Option<String>, kube::Error> {
        let own = self.application.metadata.uid.clone().unwrap_or_default();
        let usual = format!("workflow-{}-context", self.key.name);
        let suffix: String = own.chars().filter(char::is_ascii_alphanumeric).take(SUFFIX_LENGTH).collect();
        for name in [usual.clone(), format!("{usual}-{suffix}")] {
            self.name = name;
            let Some(found) = self.values().get_opt(&self.name).await? else { return Ok(None) };
            let owners = found.metadata.owner_references.unwrap_or_default();
            if owners.iter().any(|owner| owner.uid == own) {
                self.data = Some(found.data.unwrap_or_default());
                return Ok(found.metadata.uid);
            }
        }
        Ok(None)
    }

    /// Stores how far the run is, where that is not stored yet.
    pub(super) async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), kube::Error> {
        if first == First::Status {
            self.store_status(status).await?;
        }
        self.store_values(values).await?;
        self.store_status(status).await
    }

    /// Writes the values. Gives the uid of what holds them, where they were written.
    async fn store_values(&mut self, values: &RunValues) -> Result<Option<String>, kube::Error> {
        let data = values.to_data();
        if self.data.as_ref() == Some(&data) {
            return Ok(None);
        }
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name, "namespace": self.key.namespace, "ownerReferences": [{
                "apiVersion": "core.oam.dev/v1beta1",
                "kind": "Application",
                "name": self.key.name,
                "uid": self.application.metadata.uid,
                "controller": true,
            }]},
            "data": data,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let written = self.values().patch(&self.name, &params, &Patch::Apply(&config_map)).await?;
        self.data = Some(data);
        Ok(written.metadata.uid)
    }

    /// Writes the journal, unless somebody wrote the application since it was read: a person who suspends or resumes is
    /// not overwritten.
    async fn store_status(&mut self, status: &RunStatus) -> Result<(), kube::Error> {
        let mut whole = self.application.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let journal = status.to_json();
        if whole.get("workflow") == Some(&journal) {
            return Ok(());
        }
        whole["workflow"] = journal;
        let api = self.reconciler.api(&self.key);
        let informer = &self.reconciler.applications;
        let written = write_unless_changed(&api, informer, &self.application, &whole).await?;
        if let Some(written) = written {
            self.application = written;
        }
        Ok(())
    }

    /// Where values are kept: bookkeeping, for which no author needs rights.
    fn values(&self) -> Api<ConfigMap> {
        Api::namespaced(self.reconciler.context.client.clone(), &self.key.namespace)
    }

    /// `status.workflow.contextBackend`.
    fn reference(&self, uid: Option<String>) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": self.name,
            "namespace": self.key.namespace,
            "uid": uid.unwrap_or_default(),
        })
    }
}
