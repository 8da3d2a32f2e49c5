//! The reconcile of a WorkflowRun: its steps, of its own or of a Workflow, are run by the same machine as those of an Application.
//!
//! fetch → parse → plan → run → status. A run that is over is left alone; one that is restarted (its status emptied) begins
//! anew. The objects that its steps apply carry its labels and outlive it.

mod effects;
mod error;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use vela_crds::WorkflowRun;
use vela_engine::workflow::{
    Idle, Machine, RunLimits, RunStatus, application_of_run, context_of_run, workflow_of_run,
};
use vela_engine::{Document, Plan, Snapshot, Templates, parse, plan, revision};
use vela_runtime::cache::{Change, Informer, Watch};
use vela_runtime::dynamic_watch::{self, DynamicWatches};
use vela_runtime::{
    Action, Api, CONFLICT_WAIT, Controller, Failure, Key, Predicate, Reconciler, clock, conditions,
};

use self::effects::RunEffects;
use self::error::Error;
use crate::application::fetch::{self, ClusterReader};
use crate::application::tracker_store::Records;
use crate::author::Actor;
use crate::context::Context;
use crate::status::write_unless_changed;
use crate::workflow::{Form, Home, RunStore, execute, with_home};

/// The version of Workflows.
const API_VERSION: &str = "core.oam.dev/v1alpha1";
/// The shortest wait: a time may be up in this moment.
const SHORTEST: Duration = Duration::from_secs(1);

/// The controller of WorkflowRuns.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let reconciler = WorkflowRunReconciler::new(context);
    let (runs, workflows) = (reconciler.runs.clone(), reconciler.workflows.clone());
    let woken_by = Predicate::status_aside().or(Predicate::new(is_steered));
    let controller =
        Controller::new("workflowrun", reconciler).for_kind(runs.only(woken_by)).workers(workers);
    workflows.wake(controller.queue());
    controller
}

/// Did a person suspend, resume, end or restart the run? That is written to its status.
fn is_steered(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return false };
    let flags = |object: &DynamicObject| {
        let status = &object.data["status"];
        let steps = status["steps"].as_array().into_iter().flatten();
        let sub_steps = steps.clone().flat_map(|step| step["subSteps"].as_array().into_iter().flatten());
        let suspending = steps.chain(sub_steps).filter(|step| step["phase"] == "suspending").count();
        (status["suspend"] == true, status["terminated"] == true, suspending, status["startTime"].is_string())
    };
    let (old, new) = (flags(old), flags(new));
    (old.0, old.1, old.2) != (new.0, new.1, new.2) || old.3 && !new.3
}

struct WorkflowRunReconciler {
    context: Context,
    runs: Arc<Informer>,
    cluster: ClusterReader,
    records: Records,
    templates: Arc<Templates>,
    /// The runs that wait for each Workflow.
    workflows: DynamicWatches,
}

impl Reconciler for WorkflowRunReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(run) = self.runs.get(&key) else {
            self.workflows.forget(&key);
            return Ok(Action::Done);
        };
        if run.metadata.deletion_timestamp.is_some() || run.data["status"]["finished"] == true {
            self.workflows.forget(&key);
            return Ok(Action::Done);
        }
        match self.run(&key, &run).await {
            Ok(Idle::Executing { after }) => Ok(Action::RequeueAfter(after.unsigned_abs().max(SHORTEST))),
            Ok(Idle::Suspended { until: Some(at) }) => {
                let wait = at.duration_since(clock::now());
                let wait = if wait.is_negative() { SHORTEST } else { wait.unsigned_abs().max(SHORTEST) };
                Ok(Action::RequeueAfter(wait))
            }
            Ok(Idle::Suspended { until: None } | Idle::Ended(_)) => Ok(Action::Done),
            Err(error) if !error.is_news() => Ok(Action::RequeueAfter(CONFLICT_WAIT)),
            Err(error) => {
                let why = error.to_string();
                self.report(&key, &run, &why).await?;
                Err(Failure::retry(format!("workflow run {key} cannot go on: {why}")))
            }
        }
    }
}

impl WorkflowRunReconciler {
    /// Starts the watch.
    fn new(context: &Context) -> Self {
        let (client, discovery) = (context.client.clone(), &context.discovery);
        Self {
            context: context.clone(),
            runs: context.cache.informer(Watch::full(ApiResource::erase::<WorkflowRun>(&()))),
            cluster: ClusterReader::new(context),
            records: Records::new(context),
            templates: Arc::new(Templates::default()),
            workflows: DynamicWatches::new(client, &context.cache, discovery, &[]).metadata_only(),
        }
    }

    /// Goes on with the run as far as it may.
    async fn run(&self, key: &Key, object: &DynamicObject) -> Result<Idle, Error> {
        let acting = Actor::for_author(&self.context, object)?;
        let written = fetch::json(object);
        let workflow = self.workflow(key, &acting, &written).await?;
        let document = application_of_run(&written, workflow.as_ref()).map_err(Error::Refused)?;
        let plan = self.plan(key, &document).await?;
        let Some(spec) = plan.workflow() else {
            return Err(Error::Refused("spec: a WorkflowRun needs steps".to_owned()));
        };
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let begin = RunStatus::begin(&uid, spec.modes(), clock::now());
        let (mut store, status, values) =
            RunStore::read(self.home(key, &acting), object, begin, clock::now()).await?;
        let run_context = with_home(context_of_run(&written), &self.context.options);
        let limits = RunLimits { seed: uid, ..self.context.options.workflow.clone() };
        let mut machine = Machine::new(spec, status, values, run_context, limits);
        let mut effects = RunEffects {
            context: &self.context,
            records: &self.records,
            acting: &acting,
            templates: &self.templates,
            app: plan.revision().app_file(),
            store: &mut store,
        };
        Ok(execute(&plan, &mut machine, &mut effects, clock::now).await?.idle)
    }

    /// The Workflow that the run names; a change of it wakes the run.
    async fn workflow(&self, key: &Key, acting: &Actor, run: &Value) -> Result<Option<Value>, Error> {
        let look = self.workflows.track(key);
        let Some(name) = workflow_of_run(run) else { return Ok(None) };
        let missing = || {
            Error::Refused(format!(
                "spec.workflowRef: there is no Workflow {name:?} in namespace {}",
                key.namespace
            ))
        };
        let named = Key::new(key.namespace.clone(), name);
        let kind = match look.metadata(API_VERSION, "Workflow", &named).await {
            Ok((kind, _)) => kind,
            Err(dynamic_watch::Error::Missing { .. }) => return Err(missing()),
            Err(error) => return Err(Error::Unavailable(error.to_string())),
        };
        let found = kind.api(acting.client(), &key.namespace).get_opt(name).await;
        let found = found.map_err(|error| Error::Unavailable(acting.explain(&error)))?;
        found.map(|found| Some(fetch::json(&found))).ok_or_else(missing)
    }

    /// The steps to run, with their definitions.
    async fn plan(&self, key: &Key, document: &Document) -> Result<Plan, Error> {
        let references = parse::references(document);
        let snapshot = self.cluster.snapshot(&key.namespace, &references).await;
        let snapshot: Snapshot = snapshot.map_err(|error| Error::Unavailable(error.to_string()))?;
        let app_file = parse::parse(document, &snapshot)?;
        Ok(plan::plan(revision::revision(app_file, None))?)
    }

    /// Where the run is kept.
    fn home(&self, key: &Key, acting: &Actor) -> Home {
        Home {
            api: self.api(key),
            informer: self.runs.clone(),
            client: self.context.client.clone(),
            acting: acting.clone(),
            form: Form::WorkflowRun,
        }
    }

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.runs.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }

    /// Says why the run cannot begin or go on. How far it is stays as it was.
    async fn report(&self, key: &Key, run: &DynamicObject, why: &str) -> Result<(), kube::Error> {
        // The steps may have written how far they are since.
        let newest = self.runs.get(key).filter(|newest| newest.metadata.uid == run.metadata.uid);
        let Some(newest) = newest else { return Ok(()) };
        let mut status = newest.data.get("status").cloned().unwrap_or_else(|| json!({}));
        if status["conditions"][0]["message"] == why {
            return Ok(());
        }
        status["conditions"] = json!([{
            "type": "WorkflowRun",
            "status": "False",
            "reason": "ReconcileError",
            "message": why,
            "lastTransitionTime": conditions::now(),
        }]);
        if status["status"].is_null() {
            status["status"] = json!("initializing");
        }
        match write_unless_changed(&self.api(key), &self.runs, &newest, &status).await {
            // Another writer was faster, and is reconciled.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            written => written.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::StoreError;

    #[test]
    fn a_write_that_lost_is_not_reported() {
        let refusal = |code: u16| {
            let status = kube::core::Status::failure("no", "No").with_code(code);
            Error::Store(StoreError::Client(kube::Error::Api(status.boxed())))
        };
        assert!(!refusal(409).is_news() && refusal(403).is_news());
        assert!(!Error::Store(StoreError::Behind).is_news());
        assert!(Error::Refused("no".to_owned()).is_news());
    }
}
