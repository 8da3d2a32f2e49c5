//! The record of a step for people who look for a mistake: its parameters, its calls with their answers, and its result.
//! Of a step that saw a Secret it holds only the names of the calls.

use serde_json::{Value as Json, json};

use super::machine::StepOutcome;
use crate::steps::Question;

/// Calls of one step that are told.
const CALLS_AT_MOST: usize = 100;

/// The record of a step so far.
#[derive(Debug, Clone, Default)]
pub(super) struct DebugRecord {
    calls: Vec<Json>,
    value: Option<Json>,
}

impl DebugRecord {
    /// It asks.
    pub(super) fn asked(&mut self, question: &Question) {
        if self.calls.len() < CALLS_AT_MOST {
            let call = format!("{} {}", question.provider, question.function);
            self.calls.push(json!({"path": question.path, "call": call, "params": question.params}));
        }
    }

    /// The call that it asked last has this answer.
    pub(super) fn answered(&mut self, answer: &Json) {
        if let Some(last) = self.calls.last_mut().filter(|call| call.get("answer").is_none()) {
            last["answer"] = answer.clone();
        }
    }

    /// It is done, and is this.
    pub(super) fn done(&mut self, value: Json) {
        self.value = Some(value);
    }

    /// As it is shown, with what it came to.
    pub(super) fn to_json(&self, parameter: &Json, is_confidential: bool, outcome: &str) -> Json {
        let mut shown = json!({"outcome": outcome});
        if is_confidential {
            let names = self.calls.iter().map(|call| json!({"path": call["path"], "call": call["call"]}));
            shown["calls"] = names.collect();
            shown["hidden"] = json!("the step saw a Secret: its parameters, answers and value are not shown");
            return shown;
        }
        shown["parameter"] = parameter.clone();
        shown["calls"] = json!(self.calls);
        if let Some(value) = &self.value {
            shown["value"] = value.clone();
        }
        shown
    }
}

/// The result of a step, in words.
pub(super) fn outcome(outcome: &StepOutcome) -> String {
    let (word, message) = match outcome {
        StepOutcome::Done { message, .. } => ("done", message),
        StepOutcome::Unhealthy { .. } => return "waits: its components are not healthy".to_owned(),
        StepOutcome::Wait { message } => ("waits", message),
        StepOutcome::Suspend { message, .. } => ("is suspended", message),
        StepOutcome::Fail { message } => ("has failed", message),
        StepOutcome::Break { message } => ("ends the workflow", message),
        StepOutcome::Error { message } => ("goes wrong", message),
        StepOutcome::Broken { message } => ("is broken", message),
    };
    if message.is_empty() { word.to_owned() } else { format!("{word}: {message}") }
}
