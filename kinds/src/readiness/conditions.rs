//! The conditions of a live object → what they say of it.

use serde_json::Value;

use super::verdict::Readiness;

/// Is a condition of this type true?
pub fn holds(object: &Value, type_: &str) -> bool {
    condition(object, type_).is_some_and(|found| found["status"] == "True")
}

/// The condition of a type.
pub fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    conditions(object).find(|found| found["type"] == type_)
}

/// All conditions of an object.
pub(super) fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

/// The message of a condition, where it has one.
pub(super) fn message_of(condition: &Value) -> Option<String> {
    condition["message"].as_str().filter(|message| !message.is_empty()).map(str::to_owned)
}

/// A condition that has no sentence, for people.
pub(super) fn named(condition: &Value) -> String {
    let part = |field: &str| condition[field].as_str().unwrap_or_default();
    let colon = if part("reason").is_empty() { "" } else { ": " };
    format!("condition {} is {}{colon}{}", part("type"), part("status"), part("reason"))
}

/// A few words, and what a condition adds to them.
pub(super) fn with_reason(words: &str, condition: &Value) -> String {
    message_of(condition).map_or_else(|| words.to_owned(), |message| format!("{words}: {message}"))
}

/// The verdict of one condition that is true when all is well.
pub(super) fn by(condition: &Value) -> Readiness {
    match condition["status"] == "True" {
        true => Readiness::current(message_of(condition).unwrap_or_default()),
        false => Readiness::in_progress(message_of(condition).unwrap_or_else(|| named(condition))),
    }
}
