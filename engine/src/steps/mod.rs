//! Runs the template of a workflow step: gives one question after the other, and how the step ends; sends no request
//! itself.
//!
//! A step is a CUE template that imports packages (`vela/kube`, `vela/builtin`, …). [`StepRun`] tells its calls in order;
//! the runner of the workflow answers them. Calls that need only their question (base64, dates, patches) are answered
//! here, and the step's calls on the workflow itself (wait, suspend, fail) come out as a word, not as a question.
//!
//! ```
//! use serde_json::json;
//! use vela_engine::definition::DEFAULT_ERA;
//! use vela_engine::steps::{Answer, Step, Stop};
//!
//! let text = r#"
//! import ("vela/kube", "vela/builtin")
//! read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "Pod", metadata: name: parameter.pod}}
//! wait: builtin.#ConditionalWait & {$params: continue: read.$returns.value.status.phase == "Running"}
//! parameter: pod: string
//! "#;
//! let step = Step::compile("step \"wait-for-pod\"", text, DEFAULT_ERA)?;
//! let mut run = step.run(&json!({"pod": "web"}), &json!({"name": "app"}));
//! let Stop::Ask(question) = run.advance()? else { panic!("it reads the pod first") };
//! assert_eq!((question.provider.as_str(), question.function.as_str()), ("kube", "read"));
//! assert_eq!(question.params["value"]["metadata"]["name"], "web");
//!
//! run.answer(Answer::Returns(json!({"value": {"status": {"phase": "Pending"}}})))?;
//! assert!(matches!(run.advance()?, Stop::Wait { .. }));
//! # Ok::<(), vela_engine::Diagnostics>(())
//! ```

mod compute;
mod control;
mod expression;
mod packages;
mod patching;
mod provider_check;
mod stop;

use std::sync::Arc;

use serde_json::Value as Json;
use vela_cue::calls::{Call, Progress, Run};
use vela_cue::{Era, Input, Provider, Source};

pub use expression::{condition, data, output, output_of};
pub(crate) use packages::CALLS;
pub use packages::{policy, workflow, workload};
pub use patching::patched_object as patched;
pub use provider_check::unanswered;
pub use stop::{Question, Stop};
pub use vela_cue::calls::Answer;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::render::{findings, missing, must_be_given};
use control::Control;

/// The names that every template may use without declaring them.
const SURROUNDINGS: &str = "\ncontext: _\nparameter: _\n";

/// A compiled step.
#[derive(Clone)]
pub struct Step {
    title: Arc<str>,
    template: vela_cue::Template,
    providers: &'static [&'static dyn Provider],
}

/// A step at work. The answers it has are all it knows; it can go on in another thread or be made again from them.
pub struct StepRun {
    title: Arc<str>,
    run: Run,
    providers: &'static [&'static dyn Provider],
    message: String,
    logs: Vec<Json>,
}

impl Step {
    /// Compiles the template of a workflow step as its era reads it; `title` is what diagnostics call it.
    ///
    /// # Errors
    /// All mistakes of the text, and imports of what is not offered.
    pub fn compile(title: &str, text: &str, era: Era) -> Result<Self, Diagnostics> {
        Self::with_providers(title, text, era, workflow())
    }

    /// Compiles a component or trait template that asks its own, smaller set of packages.
    ///
    /// # Errors
    /// All mistakes of the text, and imports of what is not offered.
    pub fn workload(title: &str, text: &str, era: Era) -> Result<Self, Diagnostics> {
        Self::with_providers(title, text, era, workload())
    }

    fn with_providers(
        title: &str,
        text: &str,
        era: Era,
        providers: &'static [&'static dyn Provider],
    ) -> Result<Self, Diagnostics> {
        // After the text, so that places in the text stay what they are.
        let source = Source::new(title, format!("{text}{SURROUNDINGS}")).with_era(era);
        let template = vela_cue::Template::compile_with(&[source], providers);
        let template = template.map_err(|found| findings(title, &found))?;
        Ok(Self { title: Arc::from(title), template, providers })
    }

    /// The parameters that must be given and are not among these.
    pub(crate) fn missing(&self, parameter: &Json) -> Diagnostics {
        let root = self.template.instantiate(&[Input::new("parameter", parameter)]).root();
        let mut found = Diagnostics::new();
        missing(&root.lookup("parameter"), 0, &mut |value| {
            found.push(Diagnostic::error(
                Code::Parameter,
                format!("{}: {}", self.title, must_be_given(value)),
            ));
        });
        found
    }

    /// The step with its properties and context, at its beginning.
    pub fn run(&self, parameter: &Json, context: &Json) -> StepRun {
        let inputs =
            vec![("parameter".to_owned(), parameter.clone()), ("context".to_owned(), context.clone())];
        StepRun {
            title: self.title.clone(),
            run: Run::new(self.template.clone(), CALLS, inputs),
            providers: self.providers,
            message: String::new(),
            logs: Vec::new(),
        }
    }
}

impl StepRun {
    /// Goes on until the step needs an answer or ends.
    ///
    /// # Errors
    /// The step, its parameters or an answer are wrong.
    pub fn advance(&mut self) -> Result<Stop, Diagnostics> {
        loop {
            let progress = self.run.advance(self.providers);
            match progress.map_err(|found| findings(&self.title, &found))? {
                Progress::Done(value) => return Ok(Stop::Done(value)),
                Progress::Wait(call, open) => {
                    let reason = open.iter().next().map(|first| first.message.clone()).unwrap_or_default();
                    return Ok(Stop::Wait { message: format!("{}: {reason}", call.path) });
                }
                Progress::Ask(call) => match control::control(&call) {
                    None => return Ok(Stop::Ask(self.question(&call)?)),
                    Some(Control::Message(message)) => self.message = message,
                    Some(Control::Log(log)) => self.logs.push(log),
                    Some(Control::Continue) => {}
                    Some(Control::Stop(stop)) => return Ok(stop),
                },
            }
            self.answer(Answer::Nothing)?;
        }
    }

    /// Takes the answer to the question, or the end of the suspension, that stopped the step last.
    ///
    /// # Errors
    /// All answers together are too large.
    pub fn answer(&mut self, answer: Answer) -> Result<(), Diagnostics> {
        self.run.answer(answer).map_err(|found| findings(&self.title, &found))
    }

    /// The last message that the step wants to show.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The step's logs: data to write, or where they are.
    pub fn logs(&self) -> &[Json] {
        &self.logs
    }

    /// All calls of the step as they stand now; the error of a question says what is not known yet.
    ///
    /// # Errors
    /// The step, its parameters or an answer are wrong.
    pub fn questions(&self) -> Result<Vec<(Question, Option<Diagnostics>)>, Diagnostics> {
        let calls = self.run.calls().map_err(|found| findings(&self.title, &found))?;
        Ok(calls.iter().map(|call| self.asked(call)).collect())
    }

    fn question(&self, call: &Call) -> Result<Question, Diagnostics> {
        match self.asked(call) {
            (question, None) => Ok(question),
            (_, Some(open)) => Err(open),
        }
    }

    fn asked(&self, call: &Call) -> (Question, Option<Diagnostics>) {
        let (params, open) = match call.params() {
            Ok(params) => (params, None),
            Err(found) => (Json::Null, Some(findings(&self.title, &found))),
        };
        let question = Question {
            path: call.path.clone(),
            provider: call.provider.clone(),
            function: call.function.clone(),
            params,
            has_returns: call.has_params(),
            patch: (call.function == "patch")
                .then(|| patching::encoded(&call.asked().field("patch")))
                .flatten(),
        };
        (question, open)
    }
}

/// An answer where the package of the call has its answers; some have no place for any.
pub(crate) fn wrapped(answer: Json, has_returns: bool) -> Answer {
    match answer {
        Json::Null => Answer::Nothing,
        Json::Object(fields) if !has_returns => Answer::Fields(fields),
        answer => Answer::Returns(answer),
    }
}

/// A finding without a place.
fn error(message: impl Into<String>) -> Diagnostics {
    crate::Diagnostic::error(Code::Template, message).into()
}
