//! Environment variables of rendered containers: one of each name, with one source.
//!
//! A template that copies a list and a trait that adds to it know nothing of each other, and only the API server looks at
//! the whole. Of two entries of one name the last one holds, as it does in a container; an entry with both a value and a
//! source is what no API server takes.

use serde_json::Value as Json;

use super::labels::Owner;
use super::{RenderedObject, maker};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place};
use crate::field_path;

/// Where objects keep the description of their pods.
const POD_SPECS: [&str; 4] =
    ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec/podTemplate/spec"];
/// The containers of a pod.
const CONTAINERS: [&str; 2] = ["initContainers", "containers"];
/// Parameters nested deeper are not searched for a name.
const DEPTH_LIMIT: usize = 16;
/// More places of one name are not looked for.
const PLACE_LIMIT: usize = 16;

/// Leaves one entry of each name, and tells what was left out or cannot be.
pub(super) fn settle(objects: &mut [RenderedObject], owner: &Owner<'_>, found: &mut Diagnostics) {
    let component = owner.app.components().iter().position(|one| one.name == owner.component.name);
    for rendered in objects {
        let (path, _) = maker(owner.app, component.unwrap_or_default(), &rendered.role);
        for pod in POD_SPECS {
            // Not by `pointer_mut`, which allocates for each name: every object of every render comes here.
            let mut names = pod.split('/').filter(|name| !name.is_empty());
            let Some(pod) = names.try_fold(&mut rendered.object, |value, name| value.get_mut(name)) else {
                continue;
            };
            for containers in CONTAINERS {
                let containers = pod.get_mut(containers).and_then(Json::as_array_mut);
                for container in containers.into_iter().flatten() {
                    settle_one(container, &path, owner, found);
                }
            }
        }
    }
}

fn settle_one(container: &mut Json, path: &str, owner: &Owner<'_>, found: &mut Diagnostics) {
    let who = container.get("name").and_then(Json::as_str).unwrap_or("").to_owned();
    let Some(entries) = container.get_mut("env").and_then(Json::as_array_mut) else { return };
    let mut kept: Vec<Json> = Vec::with_capacity(entries.len());
    for entry in std::mem::take(entries) {
        let name = name(&entry).to_owned();
        let earlier = kept.iter_mut().find(|other| !name.is_empty() && self::name(other) == name);
        let Some(earlier) = earlier else {
            kept.push(entry);
            continue;
        };
        if *earlier != entry {
            let message = format!(
                "environment variable {name:?} of container {who:?} is given twice; the last one holds"
            );
            found.push(placed(Diagnostic::warning(Code::DuplicateName, message), &name, path, owner));
        }
        *earlier = entry;
    }
    for entry in &kept {
        let value = entry.get("value").and_then(Json::as_str).is_some_and(|value| !value.is_empty());
        if value && entry.get("valueFrom").is_some_and(|from| !from.is_null()) {
            let name = name(entry);
            let message = format!(
                "environment variable {name:?} of container {who:?} is given both a value and a source (valueFrom)"
            );
            let mut error = placed(Diagnostic::error(Code::DuplicateName, message), name, path, owner);
            let rename = "give one of them another name, or take one away";
            error.hint = Some(match error.hint {
                Some(hint) => format!("{hint}; {rename}"),
                None => rename.to_owned(),
            });
            found.push(error);
        }
    }
    *entries = kept;
}

fn name(entry: &Json) -> &str {
    entry.get("name").and_then(Json::as_str).unwrap_or("")
}

/// The finding at the last place that names the variable; the first one is in the hint.
fn placed(finding: Diagnostic, name: &str, path: &str, owner: &Owner<'_>) -> Diagnostic {
    let document = owner.app.document();
    let mut paths = Vec::new();
    let component = owner.component;
    let base = format!("{}.{}", component.path, owner.app.era().properties_field());
    mentions(&component.properties, name, &mut base.clone(), 0, &mut paths);
    for trait_ in &component.traits {
        mentions(&trait_.properties, name, &mut format!("{}.properties", trait_.path), 0, &mut paths);
    }
    let first = paths.first().map(|first| match document.places().value(first) {
        Some(Place { file, line, column }) => format!("{file}:{line}:{column} ({first})"),
        None => first.clone(),
    });
    match (paths.last(), first) {
        (Some(last), Some(first)) if paths.len() > 1 => {
            finding.at(document, last.clone()).hint(format!("the other one is at {first}"))
        }
        (Some(only), _) => finding.at(document, only.clone()),
        (None, _) => finding.at(document, path),
    }
}

/// Where parameters say the name: as a text, or as the name of a field.
fn mentions(value: &Json, name: &str, path: &mut String, depth: usize, found: &mut Vec<String>) {
    if depth > DEPTH_LIMIT || found.len() >= PLACE_LIMIT {
        return;
    }
    let length = path.len();
    match value {
        Json::String(text) if text == name => found.push(path.clone()),
        Json::Object(fields) => {
            for (key, value) in fields {
                field_path::push_field(path, key);
                if key == name {
                    found.push(path.clone());
                } else {
                    mentions(value, name, path, depth + 1, found);
                }
                path.truncate(length);
            }
        }
        Json::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                field_path::push_index(path, index);
                mentions(value, name, path, depth + 1, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
