//! An Application whose workflow is run step by step: its run, from what is stored of it to what is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use vela_engine::Graph;
use vela_engine::status::Status;
use vela_engine::workflow::{
    Idle, Machine, RunLimits, RunPhase, RunStatus, RunValues, StepOutcome, StepOutput, StepPhase,
    WorkflowSpec,
};
use vela_runtime::clock;

use super::apply::{self, Applied, Begun, Components, Order};
use super::judge;
use super::observe::observe;
use super::outcome::Outcome;
use super::owned::Application;
use super::reconciler::ApplicationReconciler;
use super::run_store::RunStore;
use super::stopped::Stopped;
use crate::workflow::{Effects, Executed, First, execute};

/// The run of one application in one reconcile.
pub(super) struct WorkflowRun<'a> {
    reconciler: &'a ApplicationReconciler,
    graph: &'a Arc<Graph>,
    spec: &'a WorkflowSpec,
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
        Ok(Self { reconciler, graph, spec, store, status, values, limits, executed })
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
        Outcome { again, ..outcome }
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
            store: &mut self.store,
            components,
        };
        let executed = execute(plan, &mut machine, &mut effects, clock::now).await?;
        self.status = machine.status().clone();
        self.executed = executed;
        Ok(Begun { nodes: self.executed.begun.clone(), left_out: self.left_out() })
    }
}

/// Does what the steps ask for.
struct StepEffects<'r, 's, 'c, 'w> {
    reconciler: &'r ApplicationReconciler,
    graph: &'r Arc<Graph>,
    store: &'s mut RunStore<'r>,
    components: &'c mut Components<'w>,
}

impl Effects for StepEffects<'_, '_, '_, '_> {
    type Error = apply::Error;

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

    async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), apply::Error> {
        self.store.store(status, values, first).await.map_err(apply::Error::Run)
    }
}
