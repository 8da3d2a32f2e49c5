//! One step of a run at work: its template and what is recorded of its calls → the next call, or what became of the step.
//!
//! A call with an effect outside (a message sent, a job begun) is recorded before it is made and once it is answered, so that
//! a step that is evaluated again, by this process or the next one, does not make it twice. Where nobody knows whether it was
//! made, the step fails and says so.

use serde_json::Value as Json;

use super::machine::{Machine, StepOutcome, Task};
use super::spec::StepOutput;
use super::values::StepRecord;
use crate::diagnostic::Diagnostics;
use crate::steps::{self, Answer, Question, StepRun, Stop};

/// More calls of one step are a loop without end.
pub const CALLS_AT_MOST: usize = 1000;

/// A step at work. It holds all it needs, so that it can be computed elsewhere.
pub struct Execution {
    run: StepRun,
    record: StepRecord,
    outputs: Vec<StepOutput>,
    has_returns: bool,
    calls: usize,
}

/// How far a step at work is.
pub enum Progress {
    /// It needs an answer.
    Call(Question),
    /// It is at its end, for now.
    Ended(StepOutcome),
}

impl Execution {
    /// The step that a machine gave out, at its beginning.
    pub fn begin(step: &steps::Step, task: &Task, machine: &Machine<'_>) -> Self {
        Self {
            run: step.run(&task.properties, &machine.context_of_step(&task.name)),
            record: machine.values().record_of(&task.id),
            outputs: machine.outputs(&task.name).to_vec(),
            has_returns: true,
            calls: 0,
        }
    }

    /// Goes on until the step needs an answer that is not recorded, or ends.
    pub fn advance(&mut self) -> Progress {
        loop {
            let stop = match self.run.advance() {
                Ok(stop) => stop,
                Err(found) => return Progress::Ended(StepOutcome::Error { message: first(&found) }),
            };
            self.calls += 1;
            if self.calls > CALLS_AT_MOST {
                let message = format!("the step makes more than {CALLS_AT_MOST} calls");
                return Progress::Ended(StepOutcome::Broken { message });
            }
            let went_on = match stop {
                Stop::Suspend { path, .. } if self.record.is_resumed(&path) => {
                    self.run.answer(Answer::Nothing)
                }
                Stop::Ask(question) => match self.recorded(&question) {
                    None => {
                        self.has_returns = question.has_returns;
                        return Progress::Call(question);
                    }
                    Some(Ok(answer)) => self.run.answer(wrapped(answer, question.has_returns)),
                    Some(Err(message)) => return Progress::Ended(StepOutcome::Fail { message }),
                },
                stop => return Progress::Ended(self.ended(stop)),
            };
            if let Err(found) = went_on {
                return Progress::Ended(StepOutcome::Broken { message: first(&found) });
            }
        }
    }

    /// Takes the answer to the call that it stopped at.
    ///
    /// # Errors
    /// What became of the step: all answers together are too large.
    pub fn answer(&mut self, answer: Json) -> Result<(), StepOutcome> {
        let answered = self.run.answer(wrapped(answer, self.has_returns));
        answered.map_err(|found| StepOutcome::Broken { message: first(&found) })
    }

    /// The answer to a call that was made before, or why there is none.
    fn recorded(&self, question: &Question) -> Option<Result<Json, String>> {
        let call = self.record.call(&question.path)?;
        Some(call.answer.clone().ok_or_else(|| {
            format!(
                "{} {} at {} was begun before the process ended, and nobody knows whether it was done: look, and restart the \
                 workflow from this step where it was not",
                question.provider, question.function, question.path
            )
        }))
    }

    fn ended(&self, stop: Stop) -> StepOutcome {
        let shown =
            |message: String| if message.is_empty() { self.run.message().to_owned() } else { message };
        match stop {
            Stop::Wait { message } => StepOutcome::Wait { message: shown(message) },
            Stop::Suspend { path, duration, message } => {
                StepOutcome::Suspend { field: path, duration, message }
            }
            Stop::Fail { message } => StepOutcome::Fail { message: shown(message) },
            Stop::Break { message } => StepOutcome::Break { message: shown(message) },
            Stop::Done(value) => {
                let outputs = self.outputs.iter().map(|output| {
                    let given = steps::output(&value, &output.value_from).map_err(|found| first(&found));
                    (output.name.clone(), given)
                });
                StepOutcome::Done { outputs: outputs.collect(), message: self.run.message().to_owned() }
            }
            Stop::Ask(question) => StepOutcome::Broken {
                message: format!("{} {} is not answered", question.provider, question.function),
            },
        }
    }
}

/// An answer where the package of the call has its answers.
fn wrapped(answer: Json, has_returns: bool) -> Answer {
    match answer {
        Json::Object(fields) if !has_returns => Answer::Fields(fields),
        answer => Answer::Returns(answer),
    }
}

fn first(found: &Diagnostics) -> String {
    found.iter().next().map_or_else(String::new, |first| first.message.clone())
}
