//! A verdict: allowed, perhaps with a patch, or refused with every cause and its field; and the reply that says so.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json_patch::Patch;
use serde_json::{Value, json};
use vela_engine::{Code, Diagnostic, Diagnostics};

use crate::review::Review;

/// A longer list helps no user; API servers cut warnings off as well.
const CAUSES_AT_MOST: usize = 50;

/// May the object enter?
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why not; empty means it may.
    pub causes: Vec<Cause>,
    /// How it is refused, if it is.
    pub refusal: Refusal,
    /// The warnings for people.
    pub warnings: Vec<String>,
    /// How the object is changed on its way in.
    pub patch: Patch,
}

/// How an object is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusal {
    /// 422: fields of it are wrong.
    #[default]
    Invalid,
    /// 403: it may not enter as it is.
    Denied,
    /// 400: it cannot be read.
    BadRequest,
}

impl Refusal {
    fn code(self) -> (u16, &'static str) {
        match self {
            Self::Invalid => (422, "Invalid"),
            Self::Denied => (403, "Forbidden"),
            Self::BadRequest => (400, "BadRequest"),
        }
    }
}

/// One reason to refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Kind of mistake, in the words of `StatusCause`.
    pub reason: &'static str,
    /// Field of the object, such as `spec.components[0].type`; empty for the whole object.
    pub field: String,
    /// The error and its remedy.
    pub message: String,
}

impl Verdict {
    /// The object may enter.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// The object enters as it became.
    pub fn changed(review: &Review, object: &Value) -> Self {
        Self { patch: json_patch::diff(&review.object, object), ..Self::default() }
    }

    /// Refused for these causes, if there are any.
    pub fn refused(refusal: Refusal, causes: Vec<Cause>) -> Self {
        Self { causes, refusal, ..Self::default() }
    }

    /// The object cannot be read, or not be made into what it should be.
    pub fn bad_request(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::refused(Refusal::BadRequest, vec![Cause::invalid(field, message)])
    }

    /// The same verdict, but a refusal is of this kind.
    #[must_use]
    pub fn as_refusal(self, refusal: Refusal) -> Self {
        Self { refusal, ..self }
    }

    /// From what the engine found: errors refuse, warnings warn.
    pub fn from_diagnostics<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        let mut verdict = Self::default();
        for diagnostic in diagnostics {
            verdict.add(diagnostic);
        }
        verdict
    }

    /// Adds a finding of the engine: an error refuses, a warning warns.
    pub fn add(&mut self, diagnostic: &Diagnostic) {
        if diagnostic.is_error() {
            self.causes.push(Cause::from_diagnostic(diagnostic));
        } else {
            self.warnings.push(sentence(diagnostic, true));
        }
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
        } else if !self.patch.0.is_empty() {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(json!(self.patch).to_string()));
        }
        json!({
            "apiVersion": review.api_version,
            "kind": "AdmissionReview",
            "response": response,
        })
    }

    /// The refusal as API machinery shows it: a cause per field.
    fn status(&self, review: &Review) -> Value {
        let kind = review.object["kind"].as_str().unwrap_or_default();
        let name = review.object["metadata"]["name"].as_str().unwrap_or_default();
        let (code, reason) = self.refusal.code();
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
            "reason": reason,
            "code": code,
            "message": format!("{kind} {name:?} is invalid: {}{more}", lines.join("; ")),
            "details": { "kind": kind, "name": name, "causes": causes },
        })
    }
}

impl Cause {
    /// A field has a value that it must not have.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueInvalid", field: field.into(), message: message.into() }
    }

    /// A field is absent that must be there.
    pub fn required(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueRequired", ..Self::invalid(field, message) }
    }

    /// A field names something that is not there.
    pub fn not_found(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueNotFound", ..Self::invalid(field, message) }
    }

    /// A field has a value that is not one of the known ones.
    pub fn not_supported(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueNotSupported", ..Self::invalid(field, message) }
    }

    /// A list has too many items.
    pub fn too_many(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: "FieldValueTooMany", ..Self::invalid(field, message) }
    }

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

    /// The cause in one line, with its field.
    pub fn line(&self) -> String {
        match self.field.as_str() {
            "" => self.message.clone(),
            field => format!("{field}: {}", self.message),
        }
    }
}

/// The error, its place in the definition, and its remedy.
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
