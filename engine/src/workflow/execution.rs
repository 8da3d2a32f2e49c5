//! One step of a run at work: its template and what is recorded of its calls → the next call, or what became of the step.
//!
//! A call with an effect outside (a message sent, a job begun) is recorded before it is made and once it is answered, so that
//! a step that is evaluated again, by this process or the next one, does not make it twice. Where it is unknown whether it
//! was made, the step fails and says so.

use serde_json::Value as Json;

use super::debug::{self, DebugRecord};
use super::machine::{Machine, StepOutcome, Task};
use super::spec::StepOutput;
use super::values::StepRecord;
use crate::diagnostic::Diagnostics;
use crate::secrets::Secrets;
use crate::steps::{self, Answer, Question, StepRun, Stop, wrapped};

/// More calls of one step are a loop without end.
pub const CALLS_AT_MOST: usize = 1000;
/// The package of calls about configurations.
const CONFIG: &str = "config";
/// Answers nested deeper are not looked into.
const DEPTH_AT_MOST: usize = 128;

/// A step at work. It holds all it needs, so that it can be computed elsewhere.
pub struct Execution {
    id: String,
    parameter: Json,
    run: StepRun,
    record: StepRecord,
    outputs: Vec<StepOutput>,
    has_returns: bool,
    calls: usize,
    /// An answer it has holds a Secret.
    is_confidential: bool,
    /// The values that it saw, for a user who looks for a mistake.
    debug: Option<DebugRecord>,
    /// The confidential values, which no message may repeat: of its parameters, and of the objects that it read.
    secrets: Secrets,
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
        let record = machine.values().record_of(&task.id);
        let mut secrets = Secrets::default();
        secrets.add(&task.properties);
        Self {
            id: task.id.clone(),
            parameter: task.properties.clone(),
            run: step.run(&task.properties, &machine.context_of_step(&task.name)),
            is_confidential: record.is_confidential(),
            record,
            outputs: machine.outputs(&task.name).to_vec(),
            has_returns: true,
            calls: 0,
            debug: None,
            secrets,
        }
    }

    /// Tells the step from every other.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// From now on, what it sees is remembered.
    pub fn record_calls(&mut self) {
        self.debug.get_or_insert_default();
    }

    /// The record and the result; nothing where they are not remembered.
    pub fn seen(&self, progress: &Progress) -> Option<Json> {
        let outcome = match progress {
            Progress::Call(question) => format!("asks {} {}", question.provider, question.function),
            Progress::Ended(outcome) => debug::outcome(outcome),
        };
        Some(self.debug.as_ref()?.to_json(&self.parameter, self.is_confidential, &outcome))
    }

    /// Did it read a Secret, or what is kept in one? Then nothing that it gives may be shown.
    pub fn is_confidential(&self) -> bool {
        self.is_confidential
    }

    /// Goes on until the step needs an answer that is not recorded, or ends.
    pub fn advance(&mut self) -> Progress {
        match self.go_on() {
            Progress::Ended(outcome) => Progress::Ended(self.hidden(outcome)),
            call => call,
        }
    }

    /// The result of the step, without anything confidential in its messages. Values that it gives are not messages.
    pub fn hidden(&self, outcome: StepOutcome) -> StepOutcome {
        let hide = |message: String| self.secrets.hide(&message).into_owned();
        match outcome {
            StepOutcome::Done { outputs, message } => {
                let outputs = outputs.into_iter().map(|(name, value)| (name, value.map_err(&hide)));
                StepOutcome::Done { outputs: outputs.collect(), message: hide(message) }
            }
            StepOutcome::Suspend { field, duration, message } => {
                StepOutcome::Suspend { field, duration, message: hide(message) }
            }
            unhealthy @ StepOutcome::Unhealthy { .. } => unhealthy,
            StepOutcome::Wait { message } => StepOutcome::Wait { message: hide(message) },
            StepOutcome::Fail { message } => StepOutcome::Fail { message: hide(message) },
            StepOutcome::Break { message } => StepOutcome::Break { message: hide(message) },
            StepOutcome::Error { message } => StepOutcome::Error { message: hide(message) },
            StepOutcome::Broken { message } => StepOutcome::Broken { message: hide(message) },
        }
    }

    fn go_on(&mut self) -> Progress {
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
                        self.is_confidential |= asks_for_secret(&question);
                        self.debug.iter_mut().for_each(|debug| debug.asked(&question));
                        return Progress::Call(question);
                    }
                    Some(Ok(answer)) => {
                        self.is_confidential |= asks_for_secret(&question) || holds_secret(&answer, 0);
                        if let Some(debug) = &mut self.debug {
                            debug.asked(&question);
                            debug.answered(&answer);
                        }
                        self.secrets.add(&answer);
                        self.run.answer(wrapped(answer, question.has_returns))
                    }
                    Some(Err(message)) => return Progress::Ended(StepOutcome::Fail { message }),
                },
                stop => {
                    if let (Stop::Done(value), Some(debug)) = (&stop, &mut self.debug) {
                        // A value that is not concrete ends the step with an error that says so.
                        debug.done(value.to_json().unwrap_or_default());
                    }
                    return Progress::Ended(self.ended(stop));
                }
            };
            if let Err(found) = went_on {
                return Progress::Ended(StepOutcome::Broken { message: first(&found) });
            }
        }
    }

    /// Takes the answer to the call that it stopped at; null is none.
    ///
    /// # Errors
    /// The result of the step: all answers together are too large.
    pub fn answer(&mut self, answer: Json) -> Result<(), StepOutcome> {
        self.is_confidential |= holds_secret(&answer, 0);
        self.debug.iter_mut().for_each(|debug| debug.answered(&answer));
        self.secrets.add(&answer);
        let answered = self.run.answer(wrapped(answer, self.has_returns));
        answered.map_err(|found| StepOutcome::Broken { message: first(&found) })
    }

    /// The answer to a call that was made before, or why there is none.
    fn recorded(&self, question: &Question) -> Option<Result<Json, String>> {
        let call = self.record.call(&question.path)?;
        Some(call.answer.clone().ok_or_else(|| {
            format!(
                "{} {} at {} was begun before the process ended, and it is unknown whether it was done: look, and restart the \
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

/// Is it a call of the configurations, which are kept in Secrets?
fn asks_for_secret(question: &Question) -> bool {
    question.provider == CONFIG || question.function.to_ascii_lowercase().ends_with(CONFIG)
}

/// Is a Secret in it, or a list of them?
fn holds_secret(value: &Json, depth: usize) -> bool {
    match value {
        // Deeper values are not looked into, and may be anything.
        _ if depth > DEPTH_AT_MOST => true,
        Json::Object(fields) => {
            let kind = fields.get("kind").and_then(Json::as_str).unwrap_or_default();
            ["Secret", "SecretList"].contains(&kind)
                || fields.values().any(|field| holds_secret(field, depth + 1))
        }
        Json::Array(items) => items.iter().any(|item| holds_secret(item, depth + 1)),
        _ => false,
    }
}

fn first(found: &Diagnostics) -> String {
    found.iter().next().map_or_else(String::new, |first| first.message.clone())
}
