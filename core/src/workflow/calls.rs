//! Makes the calls of a step. One with an effect outside is stored before it is made, and its answer before the step goes on, so
//! that the next evaluation of the step, in this process or the next, does not make it twice.

use jiff::Timestamp;
use serde_json::Value;
use vela_engine::steps::Question;
use vela_engine::workflow::{Machine, StepOutcome, Task};

use super::effects::{Effects, First};
use super::providers::{self, Asked, Called};

/// The result of a call.
pub(super) async fn call<E: Effects>(
    question: &Question,
    task: &Task,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: Timestamp,
) -> Result<Called, E::Error> {
    match question.has_effect_outside() {
        true => call_once(question, task, machine, effects, now).await,
        false => ask(question, task, machine, effects, now).await,
    }
}

async fn ask<E: Effects>(
    question: &Question,
    task: &Task,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: Timestamp,
) -> Result<Called, E::Error> {
    let asked = Asked { question, step: &task.id, values: machine.values_mut(), now };
    providers::call(effects, asked).await
}

async fn call_once<E: Effects>(
    question: &Question,
    task: &Task,
    machine: &mut Machine<'_>,
    effects: &mut E,
    now: Timestamp,
) -> Result<Called, E::Error> {
    let path = question.path.as_str();
    if let Err(ended) = record(machine, task, path, None) {
        return Ok(ended);
    }
    // The id of the step, under which the call is found again, is in the status: that is stored first.
    effects.store(machine.status(), machine.values(), First::Status).await?;
    let called = ask(question, task, machine, effects, now).await?;
    let called = match called {
        Called::Answer(answer) => match record(machine, task, path, Some(answer.clone())) {
            Ok(()) => Called::Answer(answer),
            Err(ended) => return Ok(ended),
        },
        // It may have been made, which is all that is known of it.
        Called::Ended(StepOutcome::Fail { message }) => {
            return Ok(Called::Ended(StepOutcome::Fail { message }));
        }
        Called::Ended(outcome) => {
            machine.values_mut().forget_call(&task.id, path);
            Called::Ended(outcome)
        }
    };
    effects.store(machine.status(), machine.values(), First::Values).await?;
    Ok(called)
}

/// The call begins, or has its answer. Where that cannot be stored it is not made again.
fn record(machine: &mut Machine<'_>, task: &Task, path: &str, answer: Option<Value>) -> Result<(), Called> {
    machine.values_mut().record(&task.id, path, answer).map_err(|why| {
        let message = format!("{path}: what it was answered cannot be kept: {why}");
        Called::Ended(StepOutcome::Fail { message })
    })
}
