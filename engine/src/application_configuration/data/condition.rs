//! Evaluates the conditions of a data flow on an object, and says which one does not hold.

use serde_json::Value as Json;

use super::{Condition, Operator, Path};

/// The values that the condition excludes, in the words people know from before.
pub(super) const EMPTY: &str = "value should not be empty";

/// The first condition that does not hold, as its reason. `value` is what was read where a condition names no field.
pub(super) fn unmet(
    conditions: &[Condition],
    object: &Json,
    value: Option<&Json>,
    configuration: &Json,
) -> Option<String> {
    conditions.iter().find_map(|condition| one(condition, object, value, configuration).err())
}

fn one(
    condition: &Condition,
    object: &Json,
    value: Option<&Json>,
    configuration: &Json,
) -> Result<(), String> {
    let checked = match (&condition.field, value) {
        (Some(field), _) => {
            text(field, object).map_err(|error| format!("can't get value to check {error}"))?
        }
        (None, Some(Json::String(value))) => value.clone(),
        (None, _) => return Err("can't get value to check FieldPath not specified".to_owned()),
    };
    let expected = || match (condition.value.as_str(), &condition.value_from) {
        ("", Some(from)) => {
            text(from, configuration).map_err(|error| format!("get valueFrom.fieldPath fail: {error}"))
        }
        (value, _) => Ok(value.to_owned()),
    };
    match condition.operator {
        Operator::Eq => {
            let expected = expected()?;
            match checked == expected {
                true => Ok(()),
                false => Err(format!("got({checked}) expected to be {expected}")),
            }
        }
        Operator::NotEq => {
            let expected = expected()?;
            match checked != expected {
                true => Ok(()),
                false => Err(format!("got({checked}) expected not to be {expected}")),
            }
        }
        Operator::NotEmpty if checked.is_empty() => Err(EMPTY.to_owned()),
        Operator::NotEmpty => Ok(()),
    }
}

fn text(path: &Path, object: &Json) -> Result<String, String> {
    match path.find(object).map_err(|error| error.to_string())?.as_deref() {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("{path}: not a string")),
        None => Err(format!("{path}: no such field")),
    }
}
