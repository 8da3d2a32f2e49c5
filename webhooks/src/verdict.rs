//! A verdict: allowed, or refused with every cause and its field; and the reply that says so.

use serde_json::{Value, json};
use vela_engine::{Code, Diagnostic, Diagnostics};

use crate::review::Review;

/// A longer list helps nobody; API servers cut warnings off as well.
const CAUSES_AT_MOST: usize = 50;

/// May the object enter?
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why not; empty means it may.
    pub causes: Vec<Cause>,
    /// What people should know all the same.
    pub warnings: Vec<String>,
}

/// One reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Kind of mistake, in the words of `StatusCause`.
    pub reason: &'static str,
    /// Field of the object, such as `spec.components[0].type`; empty for the whole object.
    pub field: String,
    /// What is wrong and what to do.
    pub message: String,
}

impl Verdict {
    /// The object may enter.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// From what the engine found: errors refuse, warnings warn.
    pub fn from_diagnostics<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        let mut verdict = Self::default();
        for diagnostic in diagnostics {
            if diagnostic.is_error() {
                verdict.causes.push(Cause::from_diagnostic(diagnostic));
            } else {
                verdict.warnings.push(sentence(diagnostic, true));
            }
        }
        verdict
    }

    /// From the result of a phase.
    pub fn from_result<T>(
        result: &Result<T, Diagnostics>,
        warnings: impl FnOnce(&T) -> &Diagnostics,
    ) -> Self {
        match result {
            Ok(value) => Self::from_diagnostics(warnings(value).iter()),
            Err(diagnostics) => Self::from_diagnostics(diagnostics.iter()),
        }
    }

    /// Whether the object may enter.
    pub fn is_allowed(&self) -> bool {
        self.causes.is_empty()
    }

    /// The AdmissionReview that answers a review.
    pub fn reply(&self, review: &Review) -> Value {
        let mut response = json!({ "uid": review.uid, "allowed": self.is_allowed() });
        if !self.warnings.is_empty() {
            let shown: Vec<_> = self.warnings.iter().take(CAUSES_AT_MOST).collect();
            response["warnings"] = json!(shown);
        }
        if !self.is_allowed() {
            response["status"] = self.status(review);
        }
        json!({
            "apiVersion": review.api_version,
            "kind": "AdmissionReview",
            "response": response,
        })
    }

    /// The refusal as API machinery shows it: 422 with a cause per field.
    fn status(&self, review: &Review) -> Value {
        let kind = review.object["kind"].as_str().unwrap_or_default();
        let name = review.object["metadata"]["name"].as_str().unwrap_or_default();
        let lines: Vec<String> = self.causes.iter().take(CAUSES_AT_MOST).map(Cause::line).collect();
        let left_out = self.causes.len().saturating_sub(CAUSES_AT_MOST);
        let more = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
        let causes: Vec<Value> = self
            .causes
            .iter()
            .take(CAUSES_AT_MOST)
            .map(|c| json!({ "reason": c.reason, "field": c.field, "message": c.message }))
            .collect();
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": "Invalid",
            "code": 422,
            "message": format!("{kind} {name:?} is invalid: {}{more}", lines.join("; ")),
            "details": { "kind": kind, "name": name, "causes": causes },
        })
    }
}

impl Cause {
    /// From an error of the engine.
    pub fn from_diagnostic(diagnostic: &Diagnostic) -> Self {
        let reason = match diagnostic.code {
            Code::MissingField => "FieldValueRequired",
            Code::DuplicateName | Code::Collision => "FieldValueDuplicate",
            Code::UnknownDefinition | Code::UnknownReference => "FieldValueNotFound",
            Code::NotSupported | Code::WrongWorkload => "FieldValueNotSupported",
            _ => "FieldValueInvalid",
        };
        Self { reason, field: diagnostic.path.clone(), message: sentence(diagnostic, false) }
    }

    fn line(&self) -> String {
        match self.field.as_str() {
            "" => self.message.clone(),
            field => format!("{field}: {}", self.message),
        }
    }
}

/// What is wrong, where in the definition, and what to do.
fn sentence(diagnostic: &Diagnostic, with_path: bool) -> String {
    let mut text = String::new();
    if with_path && !diagnostic.path.is_empty() {
        text.push_str(&diagnostic.path);
        text.push_str(": ");
    }
    text.push_str(&diagnostic.message);
    if let Some(place) = &diagnostic.definition {
        text.push_str(&format!(" ({place})"));
    }
    if let Some(hint) = &diagnostic.hint {
        text.push_str(&format!("; {hint}"));
    }
    text
}
