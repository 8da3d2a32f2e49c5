//! One question to a provider, and its answer.

use serde_json::{Map, Value as Json};

use crate::{
    diagnostic::{Code, Diagnostic, Diagnostics},
    evaluate::{Asking, CallFields, Step},
    source::Span,
    value::{FieldOptions, Value},
};

/// One question to a provider.
#[derive(Clone)]
pub struct Call {
    /// Where in the value it stands.
    pub path: String,
    /// The provider.
    pub provider: String,
    /// The function.
    pub function: String,
    /// The struct that asks.
    pub value: Value,
    pub(crate) steps: Vec<Step>,
    fields: CallFields,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is done, and there is nothing to tell.
    Nothing,
    /// The value of the field that takes answers ([`CallFields::returns`]).
    Returns(Json),
    /// Fields beside those that ask, for packages without such a field.
    Fields(Map<String, Json>),
}

impl Call {
    /// The arguments: the field for them ([`CallFields::params`]), or all fields where there is none.
    ///
    /// # Errors
    /// The call is wrong, or not known yet: that is [`Progress::Wait`](crate::calls::Progress::Wait) and no mistake.
    pub fn params(&self) -> Result<Json, Diagnostics> {
        self.asked().to_json()
    }

    /// The same as a value, with the comments it is written with.
    pub fn asked(&self) -> Value {
        let params = self.value.field(self.fields.params);
        if params.exists() { params } else { self.value.clone() }
    }

    /// Whether its package has fields for what is asked and answered, or all fields side by side.
    pub fn has_params(&self) -> bool {
        let options = FieldOptions { optional: true, ..FieldOptions::default() };
        self.value
            .fields(options)
            .iter()
            .any(|field| field.name == self.fields.params || field.name == self.fields.returns)
    }
}

impl Call {
    fn new(asking: Asking, value: Value, fields: CallFields) -> Self {
        let Asking { path: steps, function, provider, .. } = asking;
        Self { path: value.path(), provider, function, value, steps, fields }
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
    /// All parts that ask for something by these fields, in the order in which they ask.
    ///
    /// # Errors
    /// The value cannot be evaluated as far as its calls, or is nested too deeply.
    pub fn calls(&self, fields: &CallFields) -> Result<Vec<Call>, Diagnostics> {
        let asking = self.asking(fields)?.into_iter();
        Ok(asking.map(|(asking, value)| Call::new(asking, value, *fields)).collect())
    }
}
