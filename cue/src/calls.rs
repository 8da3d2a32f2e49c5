//! A template with inputs in; one call after the other out, until all are answered; then the value.
//!
//! This module sends no request: the caller answers each call, and the answer is one more conjunct of the next instance.
//! The template is never compiled again.

use std::collections::HashSet;

use serde_json::Value as Json;

use crate::{
    diagnostic::{Code, Diagnostic, Diagnostics},
    evaluate::Step,
    input::Input,
    provider::Provider,
    source::{Source, Span},
    template::Template,
    value::Value,
};

pub use crate::call::{Answer, Call};
pub use crate::evaluate::CallFields;

/// Most calls of one run: more than any known step makes, and few enough that a step that never ends soon does.
pub const MAX_CALLS: usize = 500;

/// A run may use up the budget of one evaluation this many times.
const MAX_EVALUATIONS: u64 = 5;

/// Answers are read again in every evaluation: so many bytes of them count as one step.
const BYTES_OF_A_STEP: u64 = 256;

/// Most bytes of all answers of one run.
pub const MAX_ANSWERS: usize = 16 << 20;

/// How far a run is.
pub enum Progress {
    /// This call must be answered before the others are looked at.
    Ask(Call),
    /// The arguments of this call are unknown: no other call comes before it that could make them known.
    Wait(Call, Diagnostics),
    /// All calls are answered.
    Done(Value),
}

/// A run: a template, its inputs and the answers given so far.
pub struct Run {
    template: Template,
    fields: CallFields,
    inputs: Vec<(String, Json)>,
    answers: Vec<(Vec<Step>, Source)>,
    answered: HashSet<Vec<Step>>,
    asked: Option<Asked>,
    size: usize,
    spent: u64,
}

/// The call that was told last.
struct Asked {
    path: String,
    who: String,
    steps: Vec<Step>,
}

impl Run {
    /// A run of a template whose structs ask by these fields, with inputs: path and value.
    pub fn new(template: Template, fields: CallFields, inputs: Vec<(String, Json)>) -> Self {
        Self {
            template,
            fields,
            inputs,
            answers: Vec::new(),
            answered: HashSet::new(),
            asked: None,
            size: 0,
            spent: 0,
        }
    }

    /// The value as it is known with the answers given so far.
    ///
    /// # Errors
    /// The template, its inputs and the answers conflict; an unknown value is no error.
    pub fn value(&self) -> Result<Value, Diagnostics> {
        let inputs: Vec<Input<'_>> =
            self.inputs.iter().map(|(path, value)| Input::new(path, value)).collect();
        let instance = self.template.instantiate(&inputs);
        instance.add(&self.answers)?;
        let root = instance.root();
        root.validate(false)?;
        Ok(root)
    }

    /// All calls in their order, whether they can be made yet or not; those that are answered too.
    ///
    /// # Errors
    /// Those of [`Run::value`].
    pub fn calls(&self) -> Result<Vec<Call>, Diagnostics> {
        self.value()?.calls(&self.fields)
    }

    /// Goes on until an outside provider must be asked: calls that a local provider can compute are answered here.
    ///
    /// # Errors
    /// Those of [`Run::value`], a call of a provider that is not known or could not compute its answer, more than
    /// [`MAX_CALLS`] calls, or a budget that is used up.
    pub fn advance(&mut self, providers: &[&dyn Provider]) -> Result<Progress, Diagnostics> {
        self.asked = None;
        loop {
            let root = self.value()?;
            let calls = root.calls(&self.fields)?;
            self.spent += root.steps_used() + self.size as u64 / BYTES_OF_A_STEP;
            let mut more = false;
            for call in calls {
                if self.answered.contains(&call.steps) {
                    continue;
                }
                self.within_limits(&call)?;
                match call.params() {
                    Ok(_) => {}
                    Err(open) if open.is_incomplete() => return Ok(Progress::Wait(call, open)),
                    Err(wrong) => return Err(wrong),
                }
                self.asked =
                    Some(Asked { path: call.path.clone(), who: call.who(), steps: call.steps.clone() });
                match call.computed(providers)? {
                    None => return Ok(Progress::Ask(call)),
                    // The instance got no new conjunct, so the other calls are the same as before.
                    Some(Answer::Nothing) => self.answer(Answer::Nothing)?,
                    Some(answer) => {
                        self.answer(answer)?;
                        more = true;
                        break;
                    }
                }
            }
            if !more {
                return Ok(Progress::Done(root));
            }
        }
    }

    fn within_limits(&self, call: &Call) -> Result<(), Diagnostics> {
        let hint = Some("make fewer calls, and none for each answer of another".to_owned());
        if self.answered.len() >= MAX_CALLS {
            let text = format!("more than {MAX_CALLS} calls: one more is made at {}", call.path);
            return Err(call.failed(Code::Budget, text, hint));
        }
        let limit = self.template.budget().steps.saturating_mul(MAX_EVALUATIONS);
        if self.spent > limit {
            let text = format!("evaluation stopped after {limit} steps in {} calls", self.answered.len());
            return Err(call.failed(Code::Budget, text, hint));
        }
        Ok(())
    }

    /// Takes the answer to the call that was asked last.
    ///
    /// # Errors
    /// All answers together are larger than [`MAX_ANSWERS`].
    pub fn answer(&mut self, answer: Answer) -> Result<(), Diagnostics> {
        let Some(Asked { path, who, steps }) = self.asked.take() else { return Ok(()) };
        self.answered.insert(steps.clone());
        let (steps, json) = match answer {
            Answer::Nothing => return Ok(()),
            Answer::Returns(json) => {
                (steps.into_iter().chain([Step::Field(self.fields.returns.to_owned())]).collect(), json)
            }
            Answer::Fields(fields) => (steps, Json::Object(fields)),
        };
        // As text, so that a conflict shows both places: the template's and the answer's.
        let text = serde_json::to_string_pretty(&json).unwrap_or_default();
        self.size += text.len();
        if self.size > MAX_ANSWERS {
            let text = format!("the answers are larger than {MAX_ANSWERS} bytes together");
            let mut diagnostic = Diagnostic::new(Code::Budget, text, Span::NONE);
            diagnostic.path = path;
            diagnostic.hint = Some("ask for less".to_owned());
            return Err(Diagnostics::new(vec![diagnostic], self.template.sources().clone()));
        }
        self.answers.push((steps, Source::new(format!("answer of {who} to {path}"), text)));
        Ok(())
    }
}

impl Call {
    /// The answer, when it needs no outside provider.
    fn computed(&self, providers: &[&dyn Provider]) -> Result<Option<Answer>, Diagnostics> {
        let Some(provider) = providers.iter().find(|p| p.name() == self.provider) else {
            let known: Vec<&str> = providers.iter().map(|p| p.name()).collect();
            let text = format!("provider {:?} is not known", self.provider);
            let hint = format!("known providers: {}", known.join(", "));
            return Err(self.failed(Code::Reference, text, Some(hint)));
        };
        let answer = provider.compute(self).transpose();
        answer.map_err(|reason| self.failed(Code::Eval, format!("{} failed: {reason}", self.who()), None))
    }
}
