//! Reads the value of a source, or says why it is not there yet.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::condition::{EMPTY, unmet};
use super::{Condition, Objects, Path};
use crate::observed::ObjectKey;

/// The result of a look at a source.
#[derive(Debug, PartialEq)]
pub(super) enum Readiness<'a> {
    /// The value; none where nothing was asked for.
    Ready(Option<Cow<'a, Json>>),
    /// Why not, in the words of the status.
    Waits(String),
}

/// A look at a source. An error is a value of a type the path cannot go through: waiting would not help.
pub(super) fn readiness<'a>(
    source: &ObjectKey,
    field: Option<&Path>,
    conditions: &[Condition],
    objects: &'a Objects,
    configuration: &Json,
) -> Result<Readiness<'a>, String> {
    if field.is_none() && conditions.is_empty() {
        return Ok(Readiness::Ready(None));
    }
    let Some(object) = objects.get(source) else {
        return Ok(Readiness::Waits(format!("failed to get object ({}/{})", source.namespace, source.name)));
    };
    let value = match field {
        None => Cow::Owned(Json::Null),
        Some(field) => match field.find(object) {
            Ok(Some(value)) => value,
            Ok(None) => return Ok(Readiness::Waits(format!("{field} not found in object"))),
            Err(error) => return Err(format!("{field} of {source} cannot be read: {error}")),
        },
    };
    let empty = conditions.is_empty() && value.as_str() == Some("");
    let reason = match empty {
        true => Some(EMPTY.to_owned()),
        false => unmet(conditions, object, Some(&value), configuration),
    };
    Ok(reason.map_or(Readiness::Ready(Some(value)), Readiness::Waits))
}
