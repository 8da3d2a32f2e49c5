//! The run of a workflow: what its steps may do now, and how far each of them is; `core` carries the steps out.
//!
//! A workflow of steps that only apply components follows from what is seen of their objects: that comes in; the nodes that
//! may be applied and the journal in `status.workflow` go out. Any other is run by a [`Machine`], which knows of no
//! object: a [`WorkflowSpec`], the [`RunStatus`] so far and the [`RunValues`] between steps come in; the step that is to be run
//! next goes out, and its outcome comes in.

mod back_off;
mod built_in;
mod conditions;
mod debug;
mod duration;
mod execution;
mod finding;
mod journal;
mod machine;
mod order;
mod phase;
mod read;
mod restart;
mod run_object;
mod run_status;
mod spec;
mod steering;
mod step_result;
mod values;
mod verbs;

use std::collections::BTreeSet;

use crate::graph::Graph;
use crate::health;
use crate::observed::Observed;
use crate::plan::Plan;
use crate::render::Templates;

pub use built_in::built_in;
pub(crate) use built_in::built_in_parameters;
pub use duration::duration;
pub use execution::{CALLS_AT_MOST, Execution, Progress};
pub use finding::SpecFinding;
pub use machine::{Idle, Machine, Next, RunLimits, StepOutcome, Task};
pub use phase::{Reason, RunPhase, StepPhase};
pub(crate) use restart::check as check_restart;
pub use restart::{Restart, SCHEDULED_AT};
pub use run_object::{application_of_run, context_of_run, workflow_of_run};
pub use run_status::{RunStatus, StepStatus};
pub(crate) use spec::step_type;
pub use spec::{
    APPLY_COMPONENT, APPLY_IN_PARALLEL, APPLY_REMAINING, BUILT_IN_STEPS, DEPLOY, DEPLOY_TO_ENV,
    DEPLOY_TO_RUNTIME, Mode, STEP_GROUP, STEPS_AT_MOST, SUSPEND, StepInput, StepOutput, StepRetry, StepSpec,
    WorkflowSpec, applies_several,
};
pub use steering::{Order, Then, Unsteerable, patch, refused, run_of, steer, steerable};
pub use step_result::{applied, live_value};
pub use values::{BYTES_AT_MOST, RecordedCall, RunValues};
pub use verbs::Refusal;

/// Nodes that may be applied now: all they wait for are healthy, they are not pending, and no step before them failed.
pub fn due(graph: &Graph, observed: &Observed, templates: &Templates) -> Vec<usize> {
    let plan = graph.rendered().plan();
    let nodes = plan.nodes();
    let awaited: BTreeSet<usize> = nodes.iter().flat_map(|node| &node.waits_for).copied().collect();
    let healthy: BTreeSet<usize> = awaited
        .into_iter()
        .filter(|index| health::component(graph, *index, observed, templates).is_dispatched())
        .collect();
    graph
        .waves()
        .iter()
        .flatten()
        .copied()
        .filter(|index| plan.failing().is_none_or(|failing| !failing.blocked.contains(index)))
        .filter(|index| graph.pending(*index).is_empty())
        .filter(|index| nodes[*index].waits_for.is_subset(&healthy))
        .collect()
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRun {
    /// Its name, which also tells it from the others of the run.
    pub name: String,
    /// Its type.
    pub type_: &'static str,
    /// How far it is.
    pub phase: StepPhase,
    /// Why it is no further, in words; empty when it succeeded.
    pub message: String,
}

/// The run of the workflow of one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    mode: &'static str,
    steps: Vec<StepRun>,
    finished: bool,
}

/// The observation of one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSeen {
    /// It is as its step wants it.
    pub healthy: bool,
    /// All its objects were applied and seen.
    pub applied: bool,
}

impl Run {
    /// The run as far as it is; `finished` says that it was at its end already, whatever the nodes are like now.
    pub fn of(plan: &Plan, nodes: &[NodeSeen], finished: bool) -> Self {
        let steps = plan.steps().iter().enumerate().map(|(index, step)| {
            let seen: Vec<NodeSeen> =
                step.nodes.iter().filter_map(|node| nodes.get(*node)).copied().collect();
            let is_healthy = !seen.is_empty() && seen.iter().all(|node| node.healthy);
            let is_begun = seen.iter().any(|node| node.applied);
            let (phase, message) = match plan.failing().filter(|failing| failing.step == index) {
                Some(failing) => (StepPhase::Failed, failing.message.clone()),
                None if finished || is_healthy => (StepPhase::Succeeded, String::new()),
                None if is_begun => (StepPhase::Running, "wait healthy".to_owned()),
                None => (StepPhase::Pending, pending(plan, index)),
            };
            StepRun { name: step.name.clone(), type_: step.type_, phase, message }
        });
        Self { mode: plan.mode(), steps: steps.collect(), finished }
    }

    /// The steps in order.
    pub fn steps(&self) -> &[StepRun] {
        &self.steps
    }

    /// The readable part.
    pub(crate) fn messages(&mut self) -> impl Iterator<Item = &mut String> {
        self.steps.iter_mut().map(|step| &mut step.message)
    }
}

/// For which steps it waits, in the words of upstream.
fn pending(plan: &Plan, index: usize) -> String {
    let own = &plan.steps()[index].nodes;
    let awaited = own.iter().flat_map(|node| &plan.nodes()[*node].waits_for).copied();
    let awaited: BTreeSet<usize> = awaited.filter(|node| !own.contains(node)).collect();
    let steps = plan.steps().iter().enumerate().filter(|(other, _)| *other != index);
    let names: Vec<&str> = steps
        .filter(|(_, step)| step.nodes.iter().any(|node| awaited.contains(node)))
        .map(|(_, step)| step.name.as_str())
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("Pending on DependsOn: {}", names.join(", ")),
    }
}
