//! One reason why an object is refused: where, why, and in which words.
use std::fmt::Display;

use serde_json::Value;

/// The machine-readable kind of a cause, as the API spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CauseReason {
    /// The value has the right type but is not allowed.
    Invalid,
    /// A value that must be there is missing.
    Required,
    /// The value is not one of the allowed ones.
    NotSupported,
    /// The value must be unique and is not.
    Duplicate,
    /// The field may not be set here.
    Forbidden,
    /// The value has the wrong type.
    TypeInvalid,
    /// The value is longer than allowed.
    TooLong,
    /// The list has more elements than allowed.
    TooMany,
    /// A referenced thing does not exist.
    NotFound,
    /// Something went wrong while checking.
    Internal,
}

impl CauseReason {
    /// The word used in `status.details.causes[].reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            CauseReason::Invalid => "FieldValueInvalid",
            CauseReason::Required => "FieldValueRequired",
            CauseReason::NotSupported => "FieldValueNotSupported",
            CauseReason::Duplicate => "FieldValueDuplicate",
            CauseReason::Forbidden => "FieldValueForbidden",
            CauseReason::TypeInvalid => "FieldValueTypeInvalid",
            CauseReason::TooLong => "FieldValueTooLong",
            CauseReason::TooMany => "FieldValueTooMany",
            CauseReason::NotFound => "FieldValueNotFound",
            CauseReason::Internal => "InternalError",
        }
    }
}

/// One reason why an object is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The kind of the refusal.
    pub reason: CauseReason,
    /// The path of the field, e.g. `spec.ports[0].name`.
    pub field: String,
    /// The text after `field: `.
    pub message: String,
}

/// Values longer than this are cut in messages, so that one bad field cannot fill a screen.
const SHOWN_VALUE_BYTES: usize = 4096;

/// A value as messages show it: strings quoted, containers as compact JSON.
pub fn shown(value: &Value) -> String {
    let mut text = value.to_string();
    if text.len() > SHOWN_VALUE_BYTES {
        let mut end = SHOWN_VALUE_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

impl Cause {
    fn new(reason: CauseReason, field: impl Into<String>, message: String) -> Self {
        Cause { reason, field: field.into(), message }
    }

    /// The value is not allowed, for the reason in `detail`.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl Display) -> Self {
        Self::new(CauseReason::Invalid, field, format!("Invalid value: {}: {detail}", shown(value)))
    }

    /// Like [`Cause::invalid`], for a value of the wrong type.
    pub fn type_invalid(field: impl Into<String>, value: &Value, detail: impl Display) -> Self {
        Self::new(CauseReason::TypeInvalid, field, format!("Invalid value: {}: {detail}", shown(value)))
    }

    /// The field must be set.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let message =
            if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self::new(CauseReason::Required, field, message)
    }

    /// The value is none of `allowed` (shown in the given order).
    pub fn not_supported(field: impl Into<String>, value: &Value, allowed: &[&str]) -> Self {
        let list = allowed.iter().map(|a| format!("{a:?}")).collect::<Vec<_>>().join(", ");
        let message = if allowed.is_empty() {
            format!("Unsupported value: {}", shown(value))
        } else {
            format!("Unsupported value: {}: supported values: {list}", shown(value))
        };
        Self::new(CauseReason::NotSupported, field, message)
    }

    /// The value appears twice where it must be unique.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(CauseReason::Duplicate, field, format!("Duplicate value: {}", shown(value)))
    }

    /// The field may not be set, for the reason in `detail`.
    pub fn forbidden(field: impl Into<String>, detail: impl Display) -> Self {
        Self::new(CauseReason::Forbidden, field, format!("Forbidden: {detail}"))
    }

    /// The text is longer than `max` bytes.
    pub fn too_long(field: impl Into<String>, max: u64) -> Self {
        Self::new(CauseReason::TooLong, field, format!("Too long: may not be more than {max} bytes"))
    }

    /// The list has more than `max` items.
    pub fn too_many(field: impl Into<String>, actual: usize, max: u64) -> Self {
        Self::new(CauseReason::TooMany, field, format!("Too many: {actual}: must have at most {max} items"))
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
