//! Runs the steps of a workflow: what became of each is stored before one begins that has effects outside. Steps that apply components
//! and do not wait for each other are run at the same time.
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

use super::apply_due;
use super::calls;
use super::deployed_components;
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
        let (applying, other) = together(task, machine, now());
        if !applying.is_empty() {
            // An apply that is done again does no harm: it is stored with what comes next.
            apply(plan, &applying, machine, &mut begun, (effects, now)).await?;
        }
        let Some(task) = other else { continue };
        if !applying.is_empty() {
            effects.store(machine.status(), machine.values(), First::Values).await?;
        }
        let outcome = match awaits_approval(&task, machine) {
            true => approval(&task),
            false => evaluate((plan, &mut begun), &task, machine, effects, now).await?,
        };
        let first = match outcome {
            StepOutcome::Suspend { .. } => First::Status,
            _ => First::Values,
        };
        machine.report(&task.name, outcome, now());
        effects.store(machine.status(), machine.values(), first).await?;
    }
}

/// The steps that apply components and may run at the same time as this one, and the step of another kind that comes next.
fn together(first: Task, machine: &mut Machine<'_>, now: Timestamp) -> (Vec<Task>, Option<Task>) {
    let mut applying = Vec::new();
    let mut next = Some(first);
    while let Some(task) = next {
        let applies = task.type_ == APPLY_COMPONENT || applies_several(&task.type_);
        if !applies || awaits_approval(&task, machine) {
            return (applying, Some(task));
        }
        applying.push(task);
        next = machine.beside(now);
    }
    (applying, None)
}

/// Is a person to approve the step first?
fn awaits_approval(task: &Task, machine: &Machine<'_>) -> bool {
    task.type_ == DEPLOY && task.properties["auto"] == false && !machine.is_resumed(task, APPROVAL)
}

fn approval(task: &Task) -> StepOutcome {
    let message = format!("Waiting approval to the deploy step {:?}", task.name);
    StepOutcome::Suspend { field: APPROVAL.to_owned(), duration: None, message }
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
    let made = of_phase(StepPhase::Failed).filter(|node| effects.is_made(*node) && !begun.contains(node));
    let made = made.collect();
    begun.extend(apply_due(effects, made).await?);
    Ok(begun)
}

/// Steps that apply components, each component as soon as those it depends on are healthy.
async fn apply<E: Effects>(
    plan: &Plan,
    tasks: &[Task],
    machine: &mut Machine<'_>,
    begun: &mut BTreeSet<usize>,
    (effects, now): (&mut E, fn() -> Timestamp),
) -> Result<(), E::Error> {
    let mut wanted = BTreeSet::new();
    for task in tasks {
        let nodes = plan.nodes_of_step(&task.name);
        if effects.make_secrets(nodes) {
            machine.conceal(&task.name);
        }
        wanted.extend(nodes.iter().filter(|node| !begun.contains(*node)));
    }
    begun.extend(apply_due(effects, wanted).await?);
    let asked = tasks.iter().map(|task| {
        let spec = plan.workflow().and_then(|spec| spec.step(&task.name));
        let outputs = spec.map(|step| step.outputs.clone()).unwrap_or_default();
        (plan.nodes_of_step(&task.name).to_vec(), outputs)
    });
    let looked = effects.look(asked.collect()).await?;
    for (task, seen) in tasks.iter().zip(looked) {
        machine.report(&task.name, result(plan, task, begun, seen), now());
    }
    Ok(())
}

/// The result of a step that applies components, as they were seen.
fn result(plan: &Plan, task: &Task, begun: &BTreeSet<usize>, seen: Option<StepOutcome>) -> StepOutcome {
    let nodes = plan.nodes_of_step(&task.name);
    if nodes.is_empty() && task.type_ == APPLY_COMPONENT {
        let component = task.properties["component"].as_str().unwrap_or_default();
        let message = format!("step {:?} applies component {component:?}, which does not exist", task.name);
        return StepOutcome::Broken { message };
    }
    let waits_for_none = task.type_ == APPLY_IN_PARALLEL && nodes.iter().all(|node| begun.contains(node));
    if nodes.is_empty() || waits_for_none {
        return StepOutcome::done();
    }
    seen.unwrap_or_else(|| StepOutcome::Wait { message: "its objects were not seen yet".to_owned() })
}

/// A step with a template: it is computed, and its calls are answered.
async fn evaluate<E: Effects>(
    (plan, begun): (&Plan, &mut BTreeSet<usize>),
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
        let deployed = deployed_components::call((plan, task), &question, begun, effects).await?;
        let called = match deployed {
            Some(called) => called,
            None => calls::call(&question, task, machine, effects, now()).await?,
        };
        let answered = match called {
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
