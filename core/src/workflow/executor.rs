//! Runs the steps of a workflow one by one: what became of each is stored before the next begins.
//!
//! What a step means, and which comes next, is decided by `vela_engine::workflow`; what touches the cluster is asked of whoever
//! runs the workflow. A process that is ended goes on, as another one, with the step that was not done.

use std::collections::BTreeSet;

use jiff::Timestamp;
use vela_engine::Plan;
use vela_engine::definition::Language;
use vela_engine::steps::Step;
use vela_engine::workflow::{
    APPLY_COMPONENT, Execution, Idle, Machine, Next, Progress, RunStatus, RunValues, StepOutcome, StepOutput,
    StepPhase, Task, built_in,
};

use super::providers::{self, Called, Objects};

/// What of a run is stored first. A process may be ended between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// What a step gave is there before anybody reads that the step is done.
    Values,
    /// That a step is suspended is read before its suspension is recorded: the other way round it would look as though
    /// somebody had resumed it.
    Status,
}

/// Who does what the steps ask for, and stores how far they are.
pub(crate) trait Effects: Objects {
    /// Apply these nodes, several at the same time.
    async fn apply(&mut self, nodes: &[usize]) -> Result<(), Self::Error>;

    /// What became of a step that applies these nodes and gives these values; nothing where one is to be applied.
    async fn look(
        &mut self,
        nodes: &[usize],
        outputs: &[StepOutput],
    ) -> Result<Option<StepOutcome>, Self::Error>;

    /// Compute a step as far as it goes without an answer.
    async fn advance(&mut self, execution: Execution) -> Result<(Execution, Progress), Self::Error>;

    /// Store how far the run is, where it came further.
    async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), Self::Error>;
}

/// How far a reconcile came with a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Executed {
    /// The nodes that were applied.
    pub(crate) begun: BTreeSet<usize>,
    /// Why it goes no further.
    pub(crate) idle: Idle,
}

/// Runs the steps as far as they may go on. What steps applied that are done already is applied as well: it stays as the
/// application says.
pub(crate) async fn execute<E: Effects>(
    plan: &Plan,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: fn() -> Timestamp,
) -> Result<Executed, E::Error> {
    let done = machine.status().all().filter(|step| step.phase == StepPhase::Succeeded);
    let mut begun: BTreeSet<usize> = done.flat_map(|step| plan.nodes_of_step(&step.name)).copied().collect();
    if !begun.is_empty() {
        effects.apply(&begun.iter().copied().collect::<Vec<_>>()).await?;
    }
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
            APPLY_COMPONENT => apply(plan, &task, &mut begun, effects).await?,
            _ => evaluate(plan, &task, machine, effects).await?,
        };
        let first = match outcome {
            StepOutcome::Suspend { .. } => First::Status,
            _ => First::Values,
        };
        machine.report(&task.name, outcome, now());
        effects.store(machine.status(), machine.values(), first).await?;
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

/// A step with a template: it is computed, and its calls are answered.
async fn evaluate<E: Effects>(
    plan: &Plan,
    task: &Task,
    machine: &Machine<'_>,
    effects: &mut E,
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
        let question = match progress {
            Progress::Ended(outcome) => return Ok(outcome),
            Progress::Call(question) => question,
        };
        let answered = match providers::call(effects, &question).await? {
            Called::Answer(answer) => execution.answer(answer),
            Called::Ended(outcome) => Err(outcome),
        };
        if let Err(outcome) = answered {
            return Ok(outcome);
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
