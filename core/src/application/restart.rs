//! The annotation and the noted time by which a workflow runs again → the status without the former run.
//!
//! The time is written to the status before the annotation goes, and the former run goes in one write with the time: a process
//! that is ended between two writes neither forgets the run nor begins it twice.

use std::time::Duration;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::annotations::WORKFLOW_RESTART;
use vela_engine::workflow::{Restart, SCHEDULED_AT};
use vela_runtime::{Action, Key, clock};

use super::error::Later;
use super::reconciler::ApplicationReconciler;
use crate::context::FIELD_MANAGER;
use crate::status::write_unless_changed;

/// The shortest wait: a run may have ended in this moment.
const SHORTEST: Duration = Duration::from_secs(1);

impl ApplicationReconciler {
    /// Begins what is due. Gives what follows where something was written; nothing where the reconcile goes on.
    pub(super) async fn restart(
        &self,
        key: &Key,
        application: &DynamicObject,
    ) -> Result<Option<Action>, kube::Error> {
        let status = application.data.get("status").unwrap_or(&Value::Null);
        let written = match Restart::of(annotation(application), status, clock::now()) {
            Some(Restart::Note(at)) => {
                let mut status = if status.is_object() { status.clone() } else { json!({}) };
                status[SCHEDULED_AT] = json!(at.to_string());
                self.note(key, application, &status).await
            }
            Some(Restart::Begin) => {
                let mut status = status.clone();
                if let Some(fields) = status.as_object_mut() {
                    fields.remove("workflow");
                    fields.remove(SCHEDULED_AT);
                }
                let api = self.api(key);
                write_unless_changed(&api, &self.applications, application, &status).await.map(drop)
            }
            Some(Restart::Wait(_)) | None => return Ok(None),
        };
        match written {
            // Another writer was faster: the next reconcile sees it.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            written => written?,
        }
        Ok(Some(Later::Soon.action()))
    }

    /// Writes the status with the time, then takes the annotation away.
    async fn note(&self, key: &Key, application: &DynamicObject, status: &Value) -> Result<(), kube::Error> {
        let api = self.api(key);
        let written = write_unless_changed(&api, &self.applications, application, status).await?;
        let noted = written.as_ref().unwrap_or(application);
        let patch = json!({"metadata": {
            "annotations": {WORKFLOW_RESTART: null},
            "resourceVersion": noted.metadata.resource_version,
            "uid": noted.metadata.uid,
        }});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = api.patch(&key.name, &params, &Patch::Merge(&patch)).await?;
        self.applications.observe(written);
        Ok(())
    }
}

/// When the reconcile comes again for it, where nothing else wakes it.
pub(super) fn wait(application: &DynamicObject, status: &Value) -> Option<Duration> {
    let now = clock::now();
    match Restart::of(annotation(application), status, now)? {
        Restart::Wait(at) => Some(at.duration_since(now).unsigned_abs().max(SHORTEST)),
        Restart::Begin => Some(SHORTEST),
        Restart::Note(_) => None,
    }
}

fn annotation(application: &DynamicObject) -> Option<&str> {
    application.metadata.annotations.as_ref()?.get(WORKFLOW_RESTART).map(String::as_str)
}
