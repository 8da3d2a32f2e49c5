//! Maintains the condition list of an object; a condition's time moves only when its status moves.

use serde_json::{Map, Value, json};

/// One condition as users read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its type, for example `Ready`.
    pub type_: String,
    /// True, or false.
    pub status: bool,
    /// One word why.
    pub reason: String,
    /// A sentence; may be empty.
    pub message: String,
}

impl Condition {
    /// A condition that holds.
    pub fn yes(type_: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { type_: type_.into(), status: true, reason: reason.into(), message: String::new() }
    }

    /// A condition that does not hold, and why.
    pub fn no(type_: impl Into<String>, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { type_: type_.into(), status: false, reason: reason.into(), message: message.into() }
    }
}

/// Put the conditions into the list: others stay, and an equal status keeps its transition time.
pub fn set(conditions: &mut Vec<Value>, new: &[Condition], now: &str) {
    for condition in new {
        let status = if condition.status { "True" } else { "False" };
        let at = conditions.iter().position(|old| old["type"] == condition.type_.as_str());
        let since = at
            .and_then(|at| conditions.get(at))
            .filter(|old| old["status"] == status)
            .and_then(|old| old["lastTransitionTime"].as_str())
            .unwrap_or(now)
            .to_owned();
        let mut fields = Map::new();
        fields.insert("type".into(), json!(condition.type_));
        fields.insert("status".into(), json!(status));
        fields.insert("reason".into(), json!(condition.reason));
        fields.insert("lastTransitionTime".into(), json!(since));
        if !condition.message.is_empty() {
            fields.insert("message".into(), json!(condition.message));
        }
        match at.and_then(|at| conditions.get_mut(at)) {
            Some(old) => *old = Value::Object(fields),
            None => conditions.push(Value::Object(fields)),
        }
    }
}

/// The current time as objects carry it: RFC 3339, whole seconds.
pub fn now() -> String {
    let now = crate::clock::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
