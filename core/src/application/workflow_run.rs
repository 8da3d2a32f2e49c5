//! An Application whose workflow is run step by step: its run, from what is stored of it to what is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{DynamicObject, LogParams};
use serde_json::{Value, json};
use vela_crds::labels;
use vela_engine::status::Status;
use vela_engine::workflow::{
    Execution, Idle, Machine, Progress, RunLimits, RunPhase, RunStatus, RunValues, StepOutcome, StepPhase,
    WorkflowSpec,
};
use vela_engine::{Graph, ObjectKey, Secrets, policy};
use vela_runtime::smtp::Mail;
use vela_runtime::{Key, clock};

use super::apply::{self, Applied, Begun, Components, Order};
use super::debug::DebugRecords;
use super::error::Stopped;
use super::fetch;
use super::judge;
use super::observe::observe;
use super::outcome::Outcome;
use super::owned_kinds::{Application, application_of};
use super::reconciler::ApplicationReconciler;
use super::step_reach::StepReach;
use crate::author::Actor;
use crate::egress::{Answer, NoAnswer, Request};
use crate::reading::Selection;
use crate::workflow::{
    Apply, Applying, Effects, Executed, First, Form, Home, MayWrite, Network, Objects, OwnedObject, Owner,
    RunStore, execute, with_home,
};

/// The run of one application in one reconcile.
pub(super) struct WorkflowRun<'a> {
    reconciler: &'a ApplicationReconciler,
    graph: &'a Arc<Graph>,
    spec: &'a WorkflowSpec,
    acting: Actor,
    store: RunStore,
    status: RunStatus,
    values: RunValues,
    limits: RunLimits,
    executed: Executed,
    /// A value that a component takes is another one than before this reconcile.
    gives_anew: bool,
    /// For a user who looks for a mistake.
    debug: Option<DebugRecords>,
}

/// Where the run of an application is kept.
fn home(reconciler: &ApplicationReconciler, (key, acting): (&Key, &Actor)) -> Home {
    Home {
        api: reconciler.api(key),
        informer: reconciler.applications.clone(),
        client: reconciler.context.client.clone(),
        acting: acting.clone(),
        form: Form::Application,
    }
}

/// The values that steps of this revision gave until now and components take, by their names. `secrets` learns those that no
/// message may repeat.
pub(super) async fn given(
    reconciler: &ApplicationReconciler,
    (key, acting): (&Key, &Actor),
    graph: &Graph,
    secrets: &mut Secrets,
) -> Result<BTreeMap<String, Value>, Stopped> {
    let taken = graph.app_file().taken_of_steps();
    let (Some(spec), Some(object)) = (graph.rendered().plan().workflow(), reconciler.applications.get(key))
    else {
        return Ok(BTreeMap::new());
    };
    if taken.is_empty() {
        return Ok(BTreeMap::new());
    }
    let now = clock::now();
    let begin = RunStatus::begin(graph.identity().name(), spec.modes(), now);
    let values = RunStore::given(home(reconciler, (key, acting)), &object, &begin, now).await?;
    secrets.add(&json!({"kind": "Secret", "data": values.confidential()}));
    let options = &reconciler.context.options;
    let context = with_home(context(graph), options);
    let machine = Machine::new(spec, begin, values, context, options.workflow.clone());
    let given = taken.into_iter().filter_map(|name| Some((name.to_owned(), machine.input(name)?.clone())));
    Ok(given.filter(|(_, value)| !value.is_null()).collect())
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
        let home = home(reconciler, (&owner.key, &owner.acting));
        let (store, status, values) = RunStore::read(home, owner.object, begin, now).await?;
        let seed = owner.object.metadata.uid.clone().unwrap_or_default();
        let limits = RunLimits { seed, ..reconciler.context.options.workflow.clone() };
        let executed = Executed { begun: BTreeSet::new(), idle: Idle::Ended(status.phase) };
        let acting = owner.acting.clone();
        let is_debugged = policy::is_debugged(graph.app_file().document().value());
        let debug = is_debugged.then(|| DebugRecords::new(reconciler, owner));
        if let Some(debug) = debug.as_ref().filter(|_| status.steps.is_empty()) {
            debug.clear().await;
        }
        let gives_anew = false;
        Ok(Self {
            reconciler,
            graph,
            spec,
            acting,
            store,
            status,
            values,
            limits,
            executed,
            gives_anew,
            debug,
        })
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

    /// The result of the reconcile, after the run went as far as it could.
    pub(super) fn outcome(self, status: Status, applied: &Applied) -> Outcome {
        let mut status = status.of_run(self.status, &self.executed.begun);
        status.hide(self.store.hidden());
        let outcome = Outcome::applied(status, applied);
        let again = match self.executed.idle {
            Idle::Executing { after } => Some(after.unsigned_abs()),
            Idle::Suspended { until } => {
                until.map(|at| at.duration_since(clock::now()).max(SHORTEST).unsigned_abs())
            }
            Idle::Ended(_) => None,
        };
        // A component waits for this value: the next reconcile renders it.
        let rendered = self.gives_anew.then_some(Duration::ZERO);
        let again = [outcome.again, again, rendered].into_iter().flatten().min();
        let steered = Some(Arc::new(self.store.into_object()));
        Outcome { again, steered, ..outcome }
    }
}

/// The values that steps may name as `context`.
fn context(graph: &Graph) -> Value {
    let app = graph.app_file();
    let identity = graph.identity();
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

/// A time that is up is up in a moment.
const SHORTEST: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

impl Order for WorkflowRun<'_> {
    async fn run(&mut self, components: &mut Components<'_>) -> Result<Begun, apply::Error> {
        let context = with_home(context(self.graph), &self.reconciler.context.options);
        let (status, values) = (self.status.clone(), self.values.clone());
        let mut machine = Machine::new(self.spec, status, values, context, self.limits.clone());
        let plan = self.graph.rendered().plan();
        let mut effects = StepEffects {
            reconciler: self.reconciler,
            graph: self.graph,
            acting: &self.acting,
            store: &mut self.store,
            debug: self.debug.as_ref(),
            components,
        };
        let executed = execute(plan, &mut machine, &mut effects, clock::now).await?;
        let taken = self.graph.app_file().taken_of_steps();
        self.gives_anew = taken.iter().any(|name| machine.values().get(name) != self.values.get(name));
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
    store: &'s mut RunStore,
    debug: Option<&'s DebugRecords>,
    components: &'c mut Components<'w>,
}

impl Objects for StepEffects<'_, '_, '_, '_> {
    type Error = apply::Error;

    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, apply::Error> {
        let mut object = object;
        self.own(&mut object);
        if let Some(refusal) = self.reach().refusal(&object).await {
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
        let key = ObjectKey::of(&object);
        let read = self.reach().object(&key).await;
        if let (Ok(Some(found)), "Secret") = (&read, key.kind.as_str()) {
            self.store.hide(found);
        }
        Ok(read)
    }

    async fn list_objects(
        &mut self,
        selection: &Selection,
    ) -> Result<Result<Vec<Value>, String>, apply::Error> {
        Ok(self.reach().list(selection).await)
    }

    async fn delete_object(&mut self, object: &Value) -> Result<Result<(), String>, apply::Error> {
        let mut object = object.clone();
        self.place(&mut object);
        if let Some(refusal) = self.reach().refusal(&object).await {
            return Ok(Err(refusal));
        }
        let deleted = self.components.delete_object(&ObjectKey::of(&object)).await;
        Ok(deleted.map_err(|error| self.acting.explain_apply(&error)))
    }

    async fn change_object(
        &mut self,
        live: &Value,
        wanted: Value,
    ) -> Result<Result<Value, String>, apply::Error> {
        let app = self.graph.app_file();
        let own = Key::new(app.namespace(), app.name());
        let may_write = |live: &DynamicObject| match application_of(live).is_some_and(|owner| owner == own) {
            true => Ok(()),
            false => Err("it is not the application's, and is not patched".to_owned()),
        };
        Ok(self.reach().change(live, &wanted, &may_write).await)
    }

    async fn read_shared(
        &mut self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Value>, String>, apply::Error> {
        Ok(self.reach().read_shared(namespace, name).await)
    }

    async fn is_served(&mut self, api_version: &str, kind: &str) -> Result<bool, apply::Error> {
        Ok(self.reach().is_served(api_version, kind).await)
    }

    async fn list_shared(&mut self, label: &str) -> Result<Result<Vec<Value>, String>, apply::Error> {
        Ok(self.reach().list_shared(label).await)
    }

    async fn pod_log(
        &mut self,
        namespace: &str,
        pod: &str,
        params: LogParams,
    ) -> Result<Result<String, String>, apply::Error> {
        Ok(self.reach().log(namespace, pod, params).await)
    }

    async fn put_object(
        &mut self,
        object: Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, apply::Error> {
        Ok(self.reach().put(object, may_write).await)
    }

    async fn remove_object(
        &mut self,
        object: &Value,
        may_write: MayWrite,
    ) -> Result<Result<(), String>, apply::Error> {
        Ok(self.reach().remove(object, may_write).await)
    }
}

impl Network for StepEffects<'_, '_, '_, '_> {
    async fn send(&mut self, request: &Request) -> Result<Answer, NoAnswer> {
        self.reconciler.context.egress.ask(request).await
    }

    async fn send_mail(&mut self, mail: &Mail) -> Result<(), NoAnswer> {
        self.reconciler.context.egress.send_mail(mail).await
    }

    fn admits(&mut self, name: &str, limit: usize, period: Duration) -> bool {
        self.reconciler.context.egress.rate_limits().admits(name, limit, period)
    }
}

impl Owner for StepEffects<'_, '_, '_, '_> {
    fn components(&self) -> Vec<Value> {
        self.reach().written("components")
    }

    fn policies(&self) -> Vec<Value> {
        self.reach().written("policies")
    }

    fn terraform_components(&self) -> Vec<Value> {
        self.reach().terraform_components()
    }

    async fn owned_objects(&self, namespace: &str, name: &str) -> Result<Vec<OwnedObject>, String> {
        self.reach().owned(namespace, name)
    }

    fn placements(&self, policies: &[String]) -> Result<Vec<(String, String)>, String> {
        self.reach().placements(policies)
    }
}

impl StepEffects<'_, '_, '_, '_> {
    /// The reach of the steps beyond the objects of the application.
    fn reach(&self) -> StepReach<'_> {
        StepReach {
            context: &self.reconciler.context,
            records: &self.reconciler.records,
            acting: self.acting,
            app: self.graph.app_file(),
        }
    }

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
}

impl Apply<apply::Error> for StepEffects<'_, '_, '_, '_> {
    async fn due(&mut self) -> Result<Vec<usize>, apply::Error> {
        Ok(judge::due(self.reconciler, self.graph, observe(self.components.applied())).await?)
    }

    async fn apply(&mut self, nodes: &[usize]) -> Result<(), apply::Error> {
        self.components.apply(nodes).await
    }
}

impl Effects for StepEffects<'_, '_, '_, '_> {
    fn is_made(&self, node: usize) -> bool {
        self.components.is_made(node)
    }

    async fn look(&mut self, steps: Vec<Applying>) -> Result<Vec<Option<StepOutcome>>, apply::Error> {
        let observed = observe(self.components.applied());
        Ok(judge::applied(self.reconciler, self.graph, observed, steps).await?)
    }

    fn make_secrets(&self, nodes: &[usize]) -> bool {
        let mut objects = nodes.iter().flat_map(|node| self.graph.objects_of(*node));
        objects.any(|object| object.key().kind == "Secret")
    }

    async fn advance(&mut self, execution: Execution) -> Result<(Execution, Progress), apply::Error> {
        let mut execution = execution;
        if self.debug.is_some() {
            execution.record_calls();
        }
        let (execution, progress) = judge::advance(self.reconciler, execution).await?;
        if let Some(debug) = self.debug {
            debug.write(&execution, &progress, self.store.hidden()).await;
        }
        Ok((execution, progress))
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
