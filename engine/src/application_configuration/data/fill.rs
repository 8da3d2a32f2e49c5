//! Writes a value at paths of an object: lists are appended or merged by keys, everything else is set.

use serde_json::Value as Json;

use super::{MERGE_LIMIT, Path};
use crate::field_path::{self, Segment, type_name};

/// Writes the value to each path.
pub(super) fn fill(target: &mut Json, paths: &[Path], keys: &[String], value: &Json) -> Result<(), String> {
    for path in paths {
        let places = path.places(target);
        if places.is_empty() {
            return Err(format!("{path} matches nothing in the object"));
        }
        for place in places {
            write(target, &place, keys, value)
                .map_err(|error| format!("{path} cannot be written: {error}"))?;
        }
    }
    Ok(())
}

fn write(target: &mut Json, place: &[Segment], keys: &[String], value: &Json) -> Result<(), String> {
    let new = match value {
        Json::Array(new) => {
            let list = match field_path::get_at(target, place) {
                Ok(Json::Array(list)) => list.clone(),
                Ok(Json::Null) | Err(field_path::Error::NotFound(_)) => Vec::new(),
                Ok(other) => return Err(format!("expected an array, found {}", type_name(other))),
                Err(error) => return Err(error.to_string()),
            };
            Json::Array(merged(list, new, keys)?)
        }
        value => value.clone(),
    };
    field_path::set_at(target, place, new).map_err(|error| error.to_string())
}

/// Each new element takes the place of the first that agrees with it in any key, or comes to the end.
fn merged(mut list: Vec<Json>, new: &[Json], keys: &[String]) -> Result<Vec<Json>, String> {
    if keys.is_empty() {
        list.extend(new.iter().cloned());
        return Ok(list);
    }
    if (list.len() + new.len()).saturating_mul(new.len()) > MERGE_LIMIT {
        return Err("the lists are too long to be merged by keys".to_owned());
    }
    for element in new {
        let pairs: Vec<(&String, &str)> =
            keys.iter().filter_map(|key| Some((key, element.get(key)?.as_str()?))).collect();
        let agrees = |old: &&mut Json| {
            pairs.iter().any(|(key, value)| old.get(*key).and_then(Json::as_str) == Some(value))
        };
        match list.iter_mut().find(agrees) {
            Some(old) => *old = element.clone(),
            None => list.push(element.clone()),
        }
    }
    Ok(list)
}
