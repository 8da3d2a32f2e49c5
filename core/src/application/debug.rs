//! Writes the values that the steps of a workflow saw into a ConfigMap for each step, for people who look for a mistake;
//! only for an application with a policy `debug`. A run never fails for it.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::labels::DEBUG_OF;
use vela_engine::Secrets;
use vela_engine::workflow::{Execution, Progress};
use vela_runtime::{Api, Key};

use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use crate::context::FIELD_MANAGER;

/// Bytes of one record: what is larger is told without parameters, answers and value.
const BYTES_AT_MOST: usize = 256 * 1024;
/// Characters of the application's uid at the end of a name.
const SUFFIX_LENGTH: usize = 5;

/// The records of one application.
pub(super) struct DebugRecords {
    api: Api<ConfigMap>,
    key: Key,
    uid: String,
}

impl DebugRecords {
    pub(super) fn new(reconciler: &ApplicationReconciler, owner: &Application<'_>) -> Self {
        let key = owner.key.clone();
        let api = Api::namespaced(reconciler.context.client.clone(), &key.namespace);
        Self { api, key, uid: owner.object.metadata.uid.clone().unwrap_or_default() }
    }

    /// A new run begins: what is there is of former ones.
    pub(super) async fn clear(&self) {
        let params = ListParams::default().labels(&format!("{DEBUG_OF}={}", self.uid));
        let found = match self.api.list(&params).await {
            Ok(found) => found,
            Err(error) => return self.warn(&error),
        };
        for name in found.items.into_iter().filter_map(|one| one.metadata.name) {
            if let Err(error) = self.api.delete(&name, &DeleteParams::default()).await {
                self.warn(&error);
            }
        }
    }

    /// The values that a step saw so far.
    pub(super) async fn write(&self, execution: &Execution, progress: &Progress, hidden: &Secrets) {
        let Some(mut seen) = execution.seen(progress) else { return };
        let mut secrets = hidden.clone();
        secrets.add(&seen);
        secrets.hide_in(&mut seen);
        let name = self.name(execution.id());
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": self.key.namespace,
                "labels": {DEBUG_OF: self.uid},
                "ownerReferences": [{
                    "apiVersion": "core.oam.dev/v1beta1",
                    "kind": "Application",
                    "name": self.key.name,
                    "uid": self.uid,
                    "controller": true,
                }],
            },
            "data": {"debug": text(seen)},
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        if let Err(error) = self.api.patch(&name, &params, &Patch::Apply(&config_map)).await {
            self.warn(&error);
        }
    }

    /// As upstream names it.
    fn name(&self, step: &str) -> String {
        let end = self.uid.len().saturating_sub(SUFFIX_LENGTH);
        let suffix = self.uid.get(end..).unwrap_or_default();
        format!("{}-{step}-debug-{suffix}", self.key.name)
    }

    fn warn(&self, error: &kube::Error) {
        tracing::warn!(%error, application = %self.key, "cannot record what a step of the workflow saw");
    }
}

/// The record, or as much of it as fits.
fn text(mut seen: Value) -> String {
    let whole = format!("{seen:#}");
    if whole.len() <= BYTES_AT_MOST {
        return whole;
    }
    for call in seen["calls"].as_array_mut().into_iter().flatten() {
        *call = json!({"path": call["path"], "call": call["call"]});
    }
    if let Some(fields) = seen.as_object_mut() {
        fields.remove("parameter");
        fields.remove("value");
        fields.insert("left out".to_owned(), json!(format!("the whole takes {} bytes", whole.len())));
    }
    format!("{seen:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_told_without_its_content() {
        let of = |bytes: usize| {
            let value = "x".repeat(bytes);
            text(json!({"outcome": "done", "calls": [{"path": "a", "call": "kube read", "answer": value}]}))
        };
        assert!(of(10).contains("xxxxxxxxxx"));
        let cut = of(BYTES_AT_MOST);
        assert!(cut.len() < 1000 && cut.contains("kube read") && cut.contains("left out"), "{cut}");
    }
}
