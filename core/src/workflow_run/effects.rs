//! The reach of a WorkflowRun's steps: the objects that they apply carry the labels of the run, outlive it, and are in no
//! record.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{DynamicObject, LogParams};
use serde_json::{Value, json};
use vela_crds::labels::{WORKFLOW_RUN_NAME, WORKFLOW_RUN_NAMESPACE};
use vela_engine::workflow::{Execution, Progress, RunStatus, RunValues, StepOutcome};
use vela_engine::{AppFile, ObjectKey, Templates};
use vela_runtime::Key;
use vela_runtime::apply::Conflicts;
use vela_runtime::smtp::Mail;

use super::error::Error;
use crate::application::step_reach::StepReach;
use crate::application::tracker_store::Records;
use crate::author::Actor;
use crate::blocking::run_blocking;
use crate::context::Context;
use crate::egress::{Answer, NoAnswer, Request};
use crate::reading::Selection;
use crate::workflow::{
    Apply, Applying, Effects, First, MayWrite, Network, Objects, OwnedObject, Owner, RunStore,
};

/// Does what the steps of one run ask for.
pub(super) struct RunEffects<'a> {
    pub(super) context: &'a Context,
    pub(super) records: &'a Records,
    pub(super) acting: &'a Actor,
    pub(super) templates: &'a Arc<Templates>,
    /// The run as an Application of nothing but a workflow.
    pub(super) app: &'a AppFile,
    pub(super) store: &'a mut RunStore,
}

impl RunEffects<'_> {
    fn reach(&self) -> StepReach<'_> {
        StepReach { context: self.context, records: self.records, acting: self.acting, app: self.app }
    }

    /// An object that names no namespace is in that of the run.
    fn place(&self, object: &mut Value) {
        let metadata = &mut object["metadata"];
        if metadata["namespace"].as_str().is_none_or(str::is_empty) {
            metadata["namespace"] = Value::from(self.app.namespace());
        }
    }

    /// The object as one of the run.
    fn own(&self, object: &mut Value) {
        self.place(object);
        let all = &mut object["metadata"]["labels"];
        if !all.is_object() {
            *all = json!({});
        }
        all[WORKFLOW_RUN_NAME] = Value::from(self.app.name());
        all[WORKFLOW_RUN_NAMESPACE] = Value::from(self.app.namespace());
    }

    /// Applies an object that no other than runs of this namespace made.
    async fn apply_own(&self, object: Value) -> Result<Value, String> {
        if let Some(refusal) = self.reach().refusal(&object).await {
            return Err(refusal);
        }
        let name = ObjectKey::of(&object);
        let mut parsed: DynamicObject =
            serde_json::from_value(object).map_err(|error| format!("{name}: {error}"))?;
        let kind = self.context.discovery.resolve_object(&parsed).await;
        if kind.is_ok_and(|kind| !kind.namespaced) {
            parsed.metadata.namespace = None;
        }
        let namespace = self.app.namespace();
        let guard = |live: &DynamicObject| is_of_runs(live, namespace);
        let applied = self.acting.applier().apply(&parsed, None, false, Conflicts::Force, &guard).await;
        applied.map_err(|error| self.acting.explain_apply(&error))?;
        // As it is in the cluster now.
        match self.reach().object(&name).await {
            Ok(Some(live)) => Ok(live),
            Ok(None) => Err(format!("{name} was applied, and is gone")),
            Err(why) => Err(why),
        }
    }
}

/// May a run of this namespace write or delete the object? A run leaves alone what an application, a person or another
/// run made.
fn is_of_runs(live: &DynamicObject, namespace: &str) -> Result<(), String> {
    let labels = live.metadata.labels.as_ref();
    match labels.and_then(|labels| labels.get(WORKFLOW_RUN_NAMESPACE)) {
        Some(own) if own == namespace => Ok(()),
        _ => Err(format!(
            "it exists and was made by no WorkflowRun of namespace {namespace}; give it another name, or hand it over with the \
             label {WORKFLOW_RUN_NAMESPACE}={namespace}"
        )),
    }
}

impl Objects for RunEffects<'_> {
    type Error = Error;

    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, Error> {
        let mut object = object;
        self.own(&mut object);
        Ok(self.apply_own(object).await)
    }

    async fn read_object(&mut self, object: &Value) -> Result<Result<Option<Value>, String>, Error> {
        let mut object = object.clone();
        self.place(&mut object);
        let name = ObjectKey::of(&object);
        let read = self.reach().object(&name).await;
        if let (Ok(Some(found)), "Secret") = (&read, name.kind.as_str()) {
            self.store.hide(found);
        }
        Ok(read)
    }

    async fn list_objects(&mut self, selection: &Selection) -> Result<Result<Vec<Value>, String>, Error> {
        Ok(self.reach().list(selection).await)
    }

    async fn delete_object(&mut self, object: &Value) -> Result<Result<(), String>, Error> {
        let mut object = object.clone();
        self.place(&mut object);
        if let Some(refusal) = self.reach().refusal(&object).await {
            return Ok(Err(refusal));
        }
        let ObjectKey { api_version, kind, namespace, name, .. } = ObjectKey::of(&object);
        let own = self.app.namespace();
        let guard = |live: &DynamicObject| is_of_runs(live, own);
        let key = Key::new(namespace, name);
        let deleted = self.acting.applier().delete(&api_version, &kind, &key, None, &guard).await;
        Ok(deleted.map(drop).map_err(|error| self.acting.explain_apply(&error)))
    }

    async fn change_object(&mut self, live: &Value, wanted: Value) -> Result<Result<Value, String>, Error> {
        let namespace = self.app.namespace();
        let may_write = |live: &DynamicObject| is_of_runs(live, namespace);
        Ok(self.reach().change(live, &wanted, &may_write).await)
    }

    async fn read_shared(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Value>, String>, Error> {
        Ok(self.reach().read_shared(namespace, name).await)
    }

    async fn is_served(&mut self, api_version: &str, kind: &str) -> Result<bool, Error> {
        Ok(self.reach().is_served(api_version, kind).await)
    }

    async fn list_shared(&mut self, label: &str) -> Result<Result<Vec<Value>, String>, Error> {
        Ok(self.reach().list_shared(label).await)
    }

    async fn pod_log(
        &mut self,
        namespace: &str,
        pod: &str,
        params: LogParams,
    ) -> Result<Result<String, String>, Error> {
        Ok(self.reach().log(namespace, pod, params).await)
    }

    async fn put_object(&mut self, object: Value, may_write: MayWrite) -> Result<Result<(), String>, Error> {
        Ok(self.reach().put(object, may_write).await)
    }

    async fn remove_object(
        &mut self,
        object: &Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, Error> {
        Ok(self.reach().remove(object, may_write).await)
    }
}

impl Network for RunEffects<'_> {
    async fn send(&mut self, request: &Request) -> Result<Answer, NoAnswer> {
        self.context.egress.ask(request).await
    }

    async fn send_mail(&mut self, mail: &Mail) -> Result<(), NoAnswer> {
        self.context.egress.send_mail(mail).await
    }

    fn admits(&mut self, name: &str, limit: usize, period: Duration) -> bool {
        self.context.egress.rate_limits().admits(name, limit, period)
    }
}

/// A run has neither components nor policies.
impl Owner for RunEffects<'_> {
    async fn owned_objects(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, String> {
        self.reach().owned(namespace, name)
    }

    fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String> {
        self.reach().placements(policies)
    }
}

/// It has no components: a step that applies one is refused before anything is run.
impl Apply<Error> for RunEffects<'_> {
    async fn due(&mut self) -> Result<Vec<usize>, Error> {
        Ok(Vec::new())
    }

    async fn apply(&mut self, _nodes: &[usize]) -> Result<(), Error> {
        Ok(())
    }
}

impl Effects for RunEffects<'_> {
    fn is_made(&self, _node: usize) -> bool {
        false
    }

    async fn look(&mut self, steps: Vec<Applying>) -> Result<Vec<Option<StepOutcome>>, Error> {
        Ok(vec![None; steps.len()])
    }

    fn make_secrets(&self, _nodes: &[usize]) -> bool {
        false
    }

    async fn advance(&mut self, mut execution: Execution) -> Result<(Execution, Progress), Error> {
        let advance = move |_: &Templates| {
            let progress = execution.advance();
            Ok::<_, std::convert::Infallible>((execution, progress))
        };
        let Ok(advanced) = run_blocking(&self.context.computations, self.templates, advance).await?;
        Ok(advanced)
    }

    async fn store(&mut self, status: &RunStatus, values: &RunValues, first: First) -> Result<(), Error> {
        Ok(self.store.store(status, values, first).await?)
    }
}
