//! The run of a workflow that only applies components: it needs no memory, since its progress follows from the observed nodes. The
//! former journal adds what a step has reached before, and the times of that.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::services::Service;
use crate::graph::Graph;
use crate::plan::Plan;
use crate::workflow::{Reason, RunPhase, RunStatus, StepPhase, StepStatus, WAIT_HEALTHY};

/// The run as far as it was observed, without times; `finished` says that it was at its end already, whatever the nodes are like now.
pub(super) fn observed(graph: &Graph, services: &[Service], finished: bool) -> RunStatus {
    let plan = graph.rendered().plan();
    let start = Timestamp::UNIX_EPOCH;
    let steps = plan.steps().iter().enumerate().map(|(index, step)| {
        let seen: Vec<&Service> = step.nodes.iter().filter_map(|node| services.get(*node)).collect();
        let is_healthy = !seen.is_empty() && seen.iter().all(|service| service.health.healthy);
        let is_begun = seen.iter().any(|service| service.applied);
        let (phase, reason, message) = match plan.failing().filter(|failing| failing.step == index) {
            Some(failing) => (StepPhase::Failed, None, failing.message.clone()),
            None if finished || is_healthy => (StepPhase::Succeeded, None, String::new()),
            None if is_begun => (StepPhase::Running, Some(Reason::Wait), WAIT_HEALTHY.to_owned()),
            None => (StepPhase::Pending, None, pending(plan, index)),
        };
        let begun = StepStatus::begin(step.name.clone(), &step.name, step.type_, phase, start);
        StepStatus { reason, message, ..begun }
    });
    RunStatus {
        phase: if finished { RunPhase::Succeeded } else { RunPhase::Executing },
        finished,
        steps: steps.collect(),
        ..RunStatus::begin(graph.identity().name(), plan.mode().to_owned(), start)
    }
}

/// The observed run after what was written of it before; the journal of another revision is another run's. Equal content gives an
/// equal journal.
pub(super) fn continued(run: &RunStatus, former: Option<&Json>, now: Timestamp) -> RunStatus {
    let former = former.and_then(|former| RunStatus::read(former, now));
    let former = former.filter(|former| former.revision == run.revision);
    let step = |step: &StepStatus| {
        let former = former.as_ref().and_then(|former| former.steps.iter().find(|old| old.id == step.id));
        match former {
            Some(former) => step_after(step, former, now),
            None => StepStatus { first: now, last: now, ..step.clone() },
        }
    };
    RunStatus {
        steps: run.steps.iter().map(step).collect(),
        start: former.as_ref().map_or(now, |former| former.start),
        end: run.finished.then(|| former.as_ref().and_then(|former| former.end).unwrap_or(now)),
        ..run.clone()
    }
}

/// A step that succeeded has succeeded, whatever becomes of its components later in the run.
fn step_after(step: &StepStatus, former: &StepStatus, now: Timestamp) -> StepStatus {
    if former.phase == StepPhase::Succeeded && step.phase != StepPhase::Failed {
        return former.clone();
    }
    let is_same = (step.phase, step.reason, &step.message) == (former.phase, former.reason, &former.message);
    StepStatus { first: former.first, last: if is_same { former.last } else { now }, ..step.clone() }
}

/// The names of the steps that it waits for, in the words of upstream.
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
