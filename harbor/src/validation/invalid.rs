//! One mistake, and how all of them are said to an author: in the words of an API server.

use serde_json::{Value, json};
use vela_crds::goharbor_io::GROUP;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// This value is not possible.
    Invalid(Value),
    /// It is not there.
    Required,
    /// It must not be there, or not like this.
    Forbidden,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// The path of the field.
    pub field: String,
    /// What is wrong.
    pub reason: Reason,
    /// What is expected.
    pub detail: String,
}

impl Invalid {
    pub(super) fn value(field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { field: field.to_owned(), reason: Reason::Invalid(value.into()), detail: detail.into() }
    }

    pub(super) fn required(field: &str, detail: impl Into<String>) -> Self {
        Self { field: field.to_owned(), reason: Reason::Required, detail: detail.into() }
    }

    pub(super) fn forbidden(field: &str, detail: impl Into<String>) -> Self {
        Self { field: field.to_owned(), reason: Reason::Forbidden, detail: detail.into() }
    }

    /// The mistake without its field.
    #[must_use]
    pub fn message(&self) -> String {
        match &self.reason {
            Reason::Invalid(value) => format!("Invalid value: {value}: {}", self.detail),
            Reason::Required => format!("Required value: {}", self.detail),
            Reason::Forbidden => format!("Forbidden: {}", self.detail),
        }
    }

    fn cause(&self) -> Value {
        let reason = match self.reason {
            Reason::Invalid(_) => "FieldValueInvalid",
            Reason::Required => "FieldValueRequired",
            Reason::Forbidden => "FieldValueForbidden",
        };
        json!({ "reason": reason, "message": self.message(), "field": self.field })
    }
}

impl std::fmt::Display for Invalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// All mistakes in one sentence.
#[must_use]
pub fn sentence(found: &[Invalid]) -> String {
    let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// The Status with which an API server refuses such an object.
#[must_use]
pub fn refusal(object: &Value, found: &[Invalid]) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    json!({
        "metadata": {},
        "status": "Failure",
        "reason": "Invalid",
        "code": 422,
        "message": format!("{kind}.{GROUP} \"{name}\" is invalid: {}", sentence(found)),
        "details": {
            "group": GROUP,
            "kind": kind,
            "name": name,
            "causes": found.iter().map(Invalid::cause).collect::<Vec<_>>(),
        },
    })
}
