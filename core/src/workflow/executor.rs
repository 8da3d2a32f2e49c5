//! Runs the steps of a workflow one by one: what became of each is stored before the next begins.
//!
//! `vela_engine::workflow` decides what a step means, and which comes next; the runner of the workflow answers what touches the
//! cluster. A process that is ended goes on, as another one, with the step that was not done.

use std::collections::BTreeSet;

use jiff::Timestamp;
use vela_engine::Plan;
use vela_engine::definition::Language;
use vela_engine::steps::Step;
use vela_engine::workflow::{
    APPLY_COMPONENT, APPLY_IN_PARALLEL, DEPLOY, Execution, Idle, Machine, Next, Progress, StepOutcome,
    StepPhase, Task, applies_several, built_in,
};

use super::calls;
use super::effects::{Effects, First};
use super::providers::Called;

/// Where a deploy step is suspended that a person is to approve, as upstream names it.
const APPROVAL: &str = "suspend";

/// How far a reconcile came with a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executed {
    /// The nodes that were applied.
    pub(crate) begun: BTreeSet<usize>,
    /// Why it goes no further.
    pub(crate) idle: Idle,
}

/// Runs the steps as far as they may go on.
pub(crate) async fn execute<E: Effects>(
    plan: &Plan,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: fn() -> Timestamp,
) -> Result<Executed, E::Error> {
    let mut begun = apply_begun(plan, machine, effects).await?;
    // Every step is given out once, and their number is limited.
    loop {
        let task = match machine.next(now()) {
            Next::Execute(task) => task,
            Next::Idle(idle) => {
                effects.store(machine.status(), machine.values(), First::Values).await?;
                return Ok(Executed { begun, idle });
            }
        };
        let outcome = match task.type_.as_str() {
            type_ if type_ == APPLY_COMPONENT || applies_several(type_) => {
                if effects.make_secrets(plan.nodes_of_step(&task.name)) {
                    machine.conceal(&task.name);
                }
                match type_ {
                    APPLY_COMPONENT => apply(plan, &task, &mut begun, effects).await?,
                    _ => deploy(plan, &task, machine, &mut begun, effects).await?,
                }
            }
            _ => evaluate(plan, &task, machine, effects, now).await?,
        };
        let first = match outcome {
            StepOutcome::Suspend { .. } => First::Status,
            _ => First::Values,
        };
        machine.report(&task.name, outcome, now());
        effects.store(machine.status(), machine.values(), first).await?;
    }
}

/// Applies the components of finished steps again, so that they stay as the application says. A step that failed, for
/// example because its time was up, may have made its components or not: those that it made are applied again, too.
async fn apply_begun<E: Effects>(
    plan: &Plan,
    machine: &Machine<'_>,
    effects: &mut E,
) -> Result<BTreeSet<usize>, E::Error> {
    let of_phase = |phase| {
        let steps = machine.status().all().filter(move |step| step.phase == phase);
        steps.flat_map(|step| plan.nodes_of_step(&step.name)).copied()
    };
    let mut begun: BTreeSet<usize> = of_phase(StepPhase::Succeeded).collect();
    if !begun.is_empty() {
        effects.apply(&begun.iter().copied().collect::<Vec<_>>()).await?;
    }
    let made: Vec<usize> = of_phase(StepPhase::Failed).filter(|node| effects.is_made(*node)).collect();
    apply_due(&made, &mut begun, effects).await?;
    Ok(begun)
}

/// Applies each of these nodes as soon as those it depends on are healthy.
async fn apply_due<E: Effects>(
    nodes: &[usize],
    begun: &mut BTreeSet<usize>,
    effects: &mut E,
) -> Result<(), E::Error> {
    // Each round but the last applies a node more.
    loop {
        let mut due = Vec::new();
        for node in nodes.iter().filter(|node| !begun.contains(*node)) {
            if effects.look(&[*node], &[]).await?.is_none() {
                due.push(*node);
            }
        }
        if due.is_empty() {
            return Ok(());
        }
        begun.extend(&due);
        effects.apply(&due).await?;
    }
}

/// A step that applies a component: once in a reconcile, as soon as what the component depends on is healthy.
async fn apply<E: Effects>(
    plan: &Plan,
    task: &Task,
    begun: &mut BTreeSet<usize>,
    effects: &mut E,
) -> Result<StepOutcome, E::Error> {
    let nodes = plan.nodes_of_step(&task.name);
    if nodes.is_empty() {
        let component = task.properties["component"].as_str().unwrap_or_default();
        let message = format!("step {:?} applies component {component:?}, which does not exist", task.name);
        return Ok(StepOutcome::Broken { message });
    }
    let spec = plan.workflow().and_then(|spec| spec.step(&task.name));
    let outputs = spec.map(|step| step.outputs.as_slice()).unwrap_or_default();
    if let Some(outcome) = effects.look(nodes, outputs).await? {
        return Ok(outcome);
    }
    let new: Vec<usize> = nodes.iter().copied().filter(|node| begun.insert(*node)).collect();
    effects.apply(&new).await?;
    let outcome = effects.look(nodes, outputs).await?;
    Ok(outcome.unwrap_or_else(|| StepOutcome::Wait { message: "its objects were not seen yet".to_owned() }))
}

/// A step that applies several components, each as soon as those it depends on are healthy. Where a person is to approve it, it
/// waits for that first.
async fn deploy<E: Effects>(
    plan: &Plan,
    task: &Task,
    machine: &Machine<'_>,
    begun: &mut BTreeSet<usize>,
    effects: &mut E,
) -> Result<StepOutcome, E::Error> {
    if task.type_ == DEPLOY && task.properties["auto"] == false && !machine.is_resumed(task, APPROVAL) {
        let message = format!("Waiting approval to the deploy step {:?}", task.name);
        return Ok(StepOutcome::Suspend { field: APPROVAL.to_owned(), duration: None, message });
    }
    let nodes = plan.nodes_of_step(&task.name);
    apply_due(nodes, begun, effects).await?;
    let waits_for_none = task.type_ == APPLY_IN_PARALLEL && nodes.iter().all(|node| begun.contains(node));
    if nodes.is_empty() || waits_for_none {
        return Ok(StepOutcome::done());
    }
    let spec = plan.workflow().and_then(|spec| spec.step(&task.name));
    let outputs = spec.map(|step| step.outputs.as_slice()).unwrap_or_default();
    let outcome = effects.look(nodes, outputs).await?;
    Ok(outcome.unwrap_or_else(|| StepOutcome::Wait { message: "its objects were not seen yet".to_owned() }))
}

/// A step with a template: it is computed, and its calls are answered.
async fn evaluate<E: Effects>(
    plan: &Plan,
    task: &Task,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: fn() -> Timestamp,
) -> Result<StepOutcome, E::Error> {
    let step = match template(plan, task) {
        Ok(step) => step,
        Err(message) => return Ok(StepOutcome::Broken { message }),
    };
    let mut execution = Execution::begin(&step, task, machine);
    // The calls of one step are limited.
    loop {
        let (advanced, progress) = effects.advance(execution).await?;
        execution = advanced;
        // Before anything of it is stored.
        if execution.is_confidential() {
            machine.conceal(&task.name);
        }
        let question = match progress {
            Progress::Ended(outcome) => return Ok(outcome),
            Progress::Call(question) => question,
        };
        let answered = match calls::call(&question, task, machine, effects, now()).await? {
            Called::Answer(answer) => execution.answer(answer),
            Called::Ended(outcome) => Err(outcome),
        };
        if let Err(outcome) = answered {
            return Ok(execution.hidden(outcome));
        }
    }
}

/// The template of a step, or why there is none.
fn template(plan: &Plan, task: &Task) -> Result<Step, String> {
    if let Some(step) = built_in(&task.type_) {
        return step.map_err(|found| found.to_string());
    }
    match plan.step_definition(&task.name).map(|definition| (definition, definition.language())) {
        Some((definition, Language::Cue(text))) => {
            let step = Step::compile(&definition.title(), text, definition.era());
            step.map_err(|found| found.to_string())
        }
        _ => Err(format!("workflow step type {:?} is not supported yet", task.type_)),
    }
}
