//! What has no place in a version ⇄ an annotation with a list of paths and values.

use serde_json::{Value, json};

use super::error::Error;

/// Levels of a spec that are looked at; deeper values are taken as a whole.
const DEPTH: usize = 32;

/// A value, and the JSON pointer to it within the spec.
pub(super) type Waiting = Vec<(String, Value)>;

/// The annotation for what only this version has.
fn name(version: &str) -> String {
    format!("goharbor.io/fields-of-{version}")
}

/// What stands in `all` and not in `part`: of each branch the highest value that is absent.
pub(super) fn missing(all: &Value, part: &Value) -> Waiting {
    let mut found = Vec::new();
    collect(all, part, "", DEPTH, &mut found);
    found
}

fn collect(all: &Value, part: &Value, path: &str, depth: usize, found: &mut Waiting) {
    if all == part {
        return;
    }
    let inner: Vec<(String, &Value, Option<&Value>)> = match (all, part) {
        (Value::Object(all), Value::Object(part)) if depth > 0 => {
            all.iter().map(|(name, value)| (escaped(name), value, part.get(name))).collect()
        }
        (Value::Array(all), Value::Array(part)) if depth > 0 && all.len() == part.len() => all
            .iter()
            .zip(part)
            .enumerate()
            .map(|(at, (one, other))| (at.to_string(), one, Some(other)))
            .collect(),
        _ => {
            found.push((path.to_owned(), all.clone()));
            return;
        }
    };
    for (name, value, other) in inner {
        let path = format!("{path}/{name}");
        match other {
            Some(other) => collect(value, other, &path, depth.saturating_sub(1), found),
            None => found.push((path, value.clone())),
        }
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Puts values back where a client left the place for them: what stands there is newer, and where the object around it is gone, so are they.
pub(super) fn restore(spec: &mut Value, waiting: Waiting) {
    for (path, value) in waiting {
        let Some((parent, last)) = path.rsplit_once('/') else { continue };
        let Some(Value::Object(parent)) = spec.pointer_mut(parent) else { continue };
        let last = last.replace("~1", "/").replace("~0", "~");
        parent.entry(last).or_insert(value);
    }
}

/// Notes values; where there are none, no note of others stays.
pub(super) fn write(object: &mut Value, version: &str, waiting: &Waiting) -> Result<(), Error> {
    take(object, version)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).ok_or(Error::Metadata)?;
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    let annotations = annotations.as_object_mut().ok_or(Error::Metadata)?;
    annotations.insert(name(version), json!(json!(waiting).to_string()));
    Ok(())
}

/// The note, which is then gone.
pub(super) fn take(object: &mut Value, version: &str) -> Result<Waiting, Error> {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).ok_or(Error::Metadata)?;
    let Some(annotations) = metadata.get_mut("annotations").filter(|found| !found.is_null()) else {
        return Ok(Vec::new());
    };
    let annotations = annotations.as_object_mut().ok_or(Error::Metadata)?;
    let name = name(version);
    let Some(note) = annotations.remove(&name) else { return Ok(Vec::new()) };
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    serde_json::from_str(note.as_str().unwrap_or_default())
        .map_err(|error| Error::Note { name, reason: error.to_string() })
}
