//! How the workflow of a revision ended → the status of its ApplicationRevision, once.
//!
//! A user who goes back to a former version looks there which one ended well. It records no outcome of a revision whose
//! components were only applied, unless it was published: its ApplicationRevision would cost every application a request more.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::{ApplicationRevision, annotations};
use vela_runtime::apply::text_hash;
use vela_runtime::{Api, Key};

use super::reconciler::ApplicationReconciler;
use crate::context::FIELD_MANAGER;

impl ApplicationReconciler {
    /// Store how the workflow ended, where it has. That comes before the application's own status, so that a process that ends
    /// between the two does it again.
    pub(super) async fn store_outcome(&self, application: &Key, status: &Value) -> Result<(), kube::Error> {
        let workflow = &status["workflow"];
        let revision = status["latestRevision"]["name"].as_str().filter(|_| workflow["finished"] == true);
        let Some(revision) = revision else { return Ok(()) };
        let outcome = json!({"succeeded": workflow["status"] == "succeeded", "workflow": workflow});
        let content = text_hash(&format!("{revision} {outcome}"));
        if self.outcomes.has(application, &content) {
            return Ok(());
        }
        let resource = ApiResource::erase::<ApplicationRevision>(&());
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &application.namespace, &resource);
        let Some(stored) = api.get_opt(revision).await? else { return Ok(()) };
        let is_stored = |field: &str| stored.data["status"].get(field) == outcome.get(field);
        if !(is_stored("succeeded") && is_stored("workflow")) {
            let params =
                PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
            let patch = Patch::Merge(json!({"status": outcome}));
            match api.patch_status(revision, &params, &patch).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.outcomes.insert(application, content);
        Ok(())
    }
}

/// Is the application published under a version of its author's?
pub(super) fn is_published(application: &DynamicObject) -> bool {
    let annotations = application.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.get(annotations::PUBLISH_VERSION).is_some_and(|one| !one.is_empty()))
}
