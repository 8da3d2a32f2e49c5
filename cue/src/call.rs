//! One question to a provider, and its answer.

use serde_json::{Map, Value as Json};

use crate::{
    diagnostic::{Code, Diagnostic, Diagnostics},
    evaluate::{Asking, Step},
    source::Span,
    value::{FieldOptions, Value},
};

/// The field of what is asked.
const PARAMS: &str = "$params";

/// The field of what is answered.
pub(crate) const RETURNS: &str = "$returns";

/// One question to a provider.
#[derive(Clone)]
pub struct Call {
    /// Where in the value it stands.
    pub path: String,
    /// Who is asked: `#provider`.
    pub provider: String,
    /// What is asked for: `#do`.
    pub function: String,
    /// The struct that asks.
    pub value: Value,
    pub(crate) steps: Vec<Step>,
}

/// What a call is answered with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is done, and there is nothing to tell.
    Nothing,
    /// The value of `$returns`.
    Returns(Json),
    /// Fields beside those that ask, for packages without `$returns`.
    Fields(Map<String, Json>),
}

impl Call {
    /// What is asked: `$params`, or all fields where a package of the first kind has none.
    ///
    /// Fails while it is not complete; that is [`Progress::Wait`](crate::Progress::Wait) and no mistake.
    pub fn params(&self) -> Result<Json, Diagnostics> {
        self.asked().to_json()
    }

    /// The same as a value, with the comments it is written with.
    pub fn asked(&self) -> Value {
        let params = self.value.field(PARAMS);
        if params.exists() { params } else { self.value.clone() }
    }

    /// Whether its package has `$params` and `$returns`, or all fields side by side.
    pub fn has_params(&self) -> bool {
        let options = FieldOptions { optional: true, ..FieldOptions::default() };
        self.value.fields(options).iter().any(|field| field.name == PARAMS || field.name == RETURNS)
    }
}

impl Call {
    fn new(path: String, asking: (String, String), value: Value, steps: Vec<Step>) -> Self {
        let (provider, function) = asking;
        Self { path, provider, function, value, steps }
    }

    pub(crate) fn who(&self) -> String {
        format!("{} {}", self.provider, self.function)
    }

    pub(crate) fn failed(&self, code: Code, message: String, hint: Option<String>) -> Diagnostics {
        let place = self.value.origins().first().map_or(Span::NONE, |origin| origin.span);
        let mut diagnostic = Diagnostic::new(code, message, place);
        diagnostic.path.clone_from(&self.path);
        diagnostic.hint = hint;
        Diagnostics::new(vec![diagnostic], self.value.sources())
    }
}

impl Value {
    /// All parts that ask a provider for something, in the order in which they ask.
    pub fn calls(&self) -> Result<Vec<Call>, Diagnostics> {
        let call = |(asking, value): (Asking, Self)| {
            Call::new(value.path(), (asking.provider, asking.function), value, asking.path)
        };
        Ok(self.asking()?.into_iter().map(call).collect())
    }
}
