//! An Application whose workflow is run step by step: its run, from what is stored of it to what is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::labels;
use vela_engine::status::Status;
use vela_engine::workflow::{
    Execution, Idle, Machine, Progress, RunLimits, RunPhase, RunStatus, RunValues, StepOutcome, StepOutput,
    StepPhase, WorkflowSpec,
};
use vela_engine::{Graph, ObjectKey};
use vela_runtime::apply as runtime_apply;
use vela_runtime::clock;

use super::apply::{self, Applied, Begun, Components, Order};
use super::fetch;
use super::judge;
use super::observe::observe;
use super::outcome::Outcome;
use super::owned::Application;
use super::reconciler::ApplicationReconciler;
use super::run_store::RunStore;
use super::stopped::Stopped;
use crate::author::Actor;
use crate::workflow::{Effects, Executed, First, Objects, execute};

/// The run of one application in one reconcile.
pub(super) struct WorkflowRun<'a> {
    reconciler: &'a ApplicationReconciler,
    graph: &'a Arc<Graph>,
    spec: &'a WorkflowSpec,
    acting: Actor,
    store: RunStore<'a>,
    status: RunStatus,
    values: RunValues,
    limits: RunLimits,
    executed: Executed,
}

impl<'a> WorkflowRun<'a> {
    /// As far as it is stored.
    pub(super) async fn read(
        reconciler: &'a ApplicationReconciler,
        owner: &Application<'_>,
        graph: &'a Arc<Graph>,
        spec: &'a WorkflowSpec,
    ) -> Result<Self, Stopped> {
        let now = clock::now();
        let begin = RunStatus::begin(graph.identity().name(), spec.modes(), now);
        let (store, status, values) = RunStore::read(reconciler, owner, begin, now).await?;
        let seed = owner.object.metadata.uid.clone().unwrap_or_default();
        let limits = RunLimits { seed, ..RunLimits::default() };
        let executed = Executed { begun: BTreeSet::new(), idle: Idle::Ended(status.phase) };
        let acting = owner.acting.clone();
        Ok(Self { reconciler, graph, spec, acting, store, status, values, limits, executed })
    }

    /// The nodes of a run that came to its end, but for those that its steps applied.
    pub(super) fn left_out(&self) -> BTreeSet<usize> {
        if self.status.phase != RunPhase::Succeeded || !self.status.finished {
            return BTreeSet::new();
        }
        let plan = self.graph.rendered().plan();
        let done = self.status.all().filter(|step| step.phase == StepPhase::Succeeded);
        let applied: BTreeSet<usize> =
            done.flat_map(|step| plan.nodes_of_step(&step.name)).copied().collect();
        (0..self.graph.len()).filter(|node| !applied.contains(node)).collect()
    }

    /// How many nodes a run that ended otherwise will never begin.
    fn blocked(&self) -> usize {
        match self.status.finished && self.status.phase != RunPhase::Succeeded {
            true => self.graph.len().saturating_sub(self.executed.begun.len()),
            false => 0,
        }
    }

    /// What the reconcile came to, after the run went as far as it could.
    pub(super) fn outcome(self, status: Status, applied: &Applied) -> Outcome {
        let status = status.of_run(self.status, &self.executed.begun);
        let outcome = Outcome::applied(status, applied);
        let again = match self.executed.idle {
            Idle::Executing { after } => Some(after.unsigned_abs()),
            Idle::Suspended { until } => {
                until.map(|at| at.duration_since(clock::now()).max(SHORTEST).unsigned_abs())
            }
            Idle::Ended(_) => None,
        };
        let again = [outcome.again, again].into_iter().flatten().min();
        let steered = Some(Arc::new(self.store.into_application()));
        Outcome { again, steered, ..outcome }
    }

    /// What steps may name as `context`.
    fn context(&self) -> Value {
        let app = self.graph.app_file();
        let identity = self.graph.identity();
        let metadata = |field: &str| app.document().value()["metadata"][field].clone();
        json!({
            "name": app.name(),
            "appName": app.name(),
            "namespace": app.namespace(),
            "appRevision": identity.name(),
            "appRevisionNum": identity.number(),
            "appLabels": metadata("labels"),
            "appAnnotations": metadata("annotations"),
        })
    }
}

/// A time that is up is up in a moment.
const SHORTEST: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

impl Order for WorkflowRun<'_> {
    async fn run(&mut self, components: &mut Components<'_>) -> Result<Begun, apply::Error> {
        let context = self.context();
        let (status, values) = (self.status.clone(), self.values.clone());
        let mut machine = Machine::new(self.spec, status, values, context, self.limits.clone());
        let plan = self.graph.rendered().plan();
        let mut effects = StepEffects {
            reconciler: self.reconciler,
            graph: self.graph,
            acting: &self.acting,
            store: &mut self.store,
            components,
        };
        let executed = execute(plan, &mut machine, &mut effects, clock::now).await?;
        self.status = machine.status().clone();
        self.executed = executed;
        let blocked = self.blocked();
        Ok(Begun { nodes: self.executed.begun.clone(), left_out: self.left_out(), blocked })
    }
}

/// Does what the steps ask for.
struct StepEffects<'r, 's, 'c, 'w> {
    reconciler: &'r ApplicationReconciler,
    graph: &'r Arc<Graph>,
    acting: &'s Actor,
    store: &'s mut RunStore<'r>,
    components: &'c mut Components<'w>,
}

impl Objects for StepEffects<'_, '_, '_, '_> {
    type Error = apply::Error;

    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, apply::Error> {
        let mut object = object;
        self.own(&mut object);
        if let Some(refusal) = self.refusal(&object).await {
            return Ok(Err(refusal));
        }
        let name = ObjectKey::of(&object);
        let rules = self.graph.rendered().plan().rules().of(&object);
        let mut parsed: DynamicObject = match serde_json::from_value(object) {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(format!("{name}: {error}"))),
        };
        let kind = self.reconciler.context.discovery.resolve_object(&parsed).await;
        if kind.is_ok_and(|kind| !kind.namespaced) {
            parsed.metadata.namespace = None;
        }
        let applied = self.components.apply_object(&name, parsed, rules).await?;
        Ok(applied.map(|live| fetch::json(&live)))
    }

    async fn read_object(&mut self, object: &Value) -> Result<Result<Option<Value>, String>, apply::Error> {
        let mut object = object.clone();
        self.place(&mut object);
        let (key, app) = (ObjectKey::of(&object), self.graph.app_file());
        if let Some((message, hint)) = app.bounds().refusal_of_reading(&key, app.namespace()) {
            return Ok(Err(format!("{message}; {hint}")));
        }
        let kind = match self.reconciler.context.discovery.resolve(&key.api_version, &key.kind).await {
            Ok(kind) => kind,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let read = kind.api(self.acting.client(), &key.namespace).get_opt(&key.name).await;
        Ok(read
            .map(|found| found.map(|found| fetch::json(&found)))
            .map_err(|error| runtime_apply::explain(&error)))
    }
}

impl StepEffects<'_, '_, '_, '_> {
    /// An object that names no namespace is in that of the application.
    fn place(&self, object: &mut Value) {
        let metadata = &mut object["metadata"];
        if metadata["namespace"].as_str().is_none_or(str::is_empty) {
            metadata["namespace"] = Value::from(self.graph.app_file().namespace());
        }
    }

    /// The object as one of the application, by which everybody finds it.
    fn own(&self, object: &mut Value) {
        self.place(object);
        let app = self.graph.app_file();
        let all = &mut object["metadata"]["labels"];
        if !all.is_object() {
            *all = json!({});
        }
        all[labels::APP_NAME] = Value::from(app.name());
        all[labels::APP_NAMESPACE] = Value::from(app.namespace());
        all[labels::APP_REVISION] = Value::from(self.graph.identity().name());
    }

    /// Why the application may not make the object.
    async fn refusal(&self, object: &Value) -> Option<String> {
        let app = self.graph.app_file();
        if let Some((message, hint)) = app.bounds().refusal(object, app.namespace()) {
            return Some(format!("{message}; {hint}"));
        }
        let key = ObjectKey::of(object);
        let kind = self.reconciler.context.discovery.resolve(&key.api_version, &key.kind).await;
        if kind.is_ok_and(|kind| !kind.namespaced) {
            return app.bounds().refusal_of_cluster(&key).map(|(message, hint)| format!("{message}; {hint}"));
        }
        None
    }
}

impl Effects for StepEffects<'_, '_, '_, '_> {
    async fn apply(&mut self, nodes: &[usize]) -> Result<(), apply::Error> {
        self.components.apply(nodes).await
    }

    async fn look(
        &mut self,
        nodes: &[usize],
        outputs: &[StepOutput],
    ) -> Result<Option<StepOutcome>, apply::Error> {
        let observed = observe(self.components.applied());
        Ok(judge::applied(self.reconciler, self.graph, observed, (nodes, outputs)).await?)
    }

    async fn advance(&mut self, execution: Execution) -> Result<(Execution, Progress), apply::Error> {
        Ok(judge::advance(self.reconciler, execution).await?)
    }

    async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), apply::Error> {
        self.store.store(status, values, first).await.map_err(apply::Error::Run)
    }
}
