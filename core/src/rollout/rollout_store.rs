//! The objects that ask for rollouts, of one kind → read from the server, held by a finalizer, their status stored once a reconcile.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams, TypeMeta};
use serde::Serialize;
use serde_json::json;
use vela_crds::{Condition, Conditioned};
use vela_engine::Secrets;
use vela_engine::rollout::Effect;
use vela_engine::rollout::state::BATCH_PROGRESSING;
use vela_runtime::Api;
use vela_runtime::cache::Informer;
use vela_runtime::{Failure, Key, events};

use super::reconcile_inputs::{StatusReport, Step};
use crate::context::{Context, FIELD_MANAGER};
use crate::status;

/// The objects of one kind.
pub(super) struct Stored {
    pub(super) context: Context,
    pub(super) informer: Arc<Informer>,
    /// Put on an object that may hold workloads.
    pub(super) finalizer: &'static str,
}

impl Stored {
    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.informer.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }

    /// The object as it is stored; nothing when it is gone. A copy that is behind would make a step again that was made.
    pub(super) async fn read(&self, key: &Key) -> Result<Option<Box<DynamicObject>>, Failure> {
        let Some(mut live) = self.api(key).get_opt(&key.name).await? else { return Ok(None) };
        let resource = &self.informer.watch().resource;
        let (api_version, kind) = (resource.api_version.clone(), resource.kind.clone());
        live.types = Some(TypeMeta { api_version, kind });
        Ok(Some(Box::new(live)))
    }

    /// Is our finalizer on it?
    pub(super) fn is_held(&self, live: &DynamicObject) -> bool {
        live.metadata.finalizers.iter().flatten().any(|each| each == self.finalizer)
    }

    /// Put our finalizer on or take it off.
    pub(super) async fn hold(&self, live: &DynamicObject, on: bool) -> Result<Step, Failure> {
        let mut held = live.metadata.finalizers.clone().unwrap_or_default();
        held.retain(|each| each != self.finalizer);
        if on {
            held.push(self.finalizer.to_owned());
        }
        let patch = json!({"metadata": {
            "finalizers": held,
            "resourceVersion": live.metadata.resource_version,
            "uid": live.metadata.uid,
        }});
        let key = Key::of(live);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match self.api(&key).patch(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) if on => Ok(Step::Next(Box::new(written))),
            Ok(_) => Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Step::LookAgain),
            Err(error) => Err(error.into()),
        }
    }

    /// Take an annotation off.
    pub(super) async fn unmark(&self, live: &DynamicObject, annotation: &str) -> Result<Step, Failure> {
        let patch = json!({"metadata": {
            "annotations": {annotation: null},
            "resourceVersion": live.metadata.resource_version,
            "uid": live.metadata.uid,
        }});
        let key = Key::of(live);
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match self.api(&key).patch(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) => Ok(Step::Next(Box::new(written))),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Step::LookAgain),
            Err(error) => Err(error.into()),
        }
    }

    /// Store the status and tell what is new in it; answers whether there is another step.
    pub(super) async fn store(
        &self,
        live: &DynamicObject,
        mut status: impl Conditioned + Serialize,
        report: StatusReport,
    ) -> Result<Step, Failure> {
        for effect in &report.effects {
            set(&mut status, effect, &report.secrets);
        }
        let status = serde_json::to_value(&status).map_err(Failure::terminal)?;
        let old = live.data.get("status").cloned().unwrap_or_else(|| json!({}));
        let Some(patch) = status::difference(&old, &status) else {
            return Ok(Step::Next(Box::new(live.clone())));
        };
        let key = Key::of(live);
        // No other process may have stored a step meanwhile.
        let patch = json!({
            "metadata": {"uid": live.metadata.uid, "resourceVersion": live.metadata.resource_version},
            "status": patch,
        });
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let written = match self.api(&key).patch_status(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(written) => written,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Step::Rest(None)),
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(Step::LookAgain),
            Err(error) => return Err(error.into()),
        };
        let regarding = events::reference(live);
        for note in &report.notes {
            let message = report.secrets.hide(&note.message);
            match note.warning {
                true => self.context.events.warning(&regarding, note.reason, &message).await,
                false => self.context.events.normal(&regarding, note.reason, &message).await,
            }
        }
        Ok(Step::Next(Box::new(written)))
    }
}

/// Set one condition; the time changes with its words only.
fn set(status: &mut impl Conditioned, effect: &Effect, secrets: &Secrets) {
    let now = status::now();
    let condition = match effect {
        Effect::Condition { type_, holds: true, message } => {
            let message = message.as_deref().map(|message| secrets.hide(message).into_owned());
            Condition { message, ..Condition::is_true(type_, "", now) }
        }
        Effect::Condition { type_, holds: false, message } => {
            let message = secrets.hide(message.as_deref().unwrap_or_default()).into_owned();
            Condition::is_false(type_, "", message, now)
        }
        Effect::BatchBegan(message) => {
            // A batch that begins anew begins now, also under the words of a former one.
            status.conditions_mut().retain(|each| each.condition_type != BATCH_PROGRESSING);
            Condition { message: Some(message.clone()), ..Condition::is_true(BATCH_PROGRESSING, "", now) }
        }
    };
    status.set_condition(condition);
}
