//! Fourth part of a write: an object as it would be stored in, the causes for which it is refused out.

use serde_json::Value;
use vela_kinds::names::{self, label_value, qualified_name};

use crate::catalog::Resource;
use crate::cause::Cause;
use crate::status::{ApiError, ApiResult};
use crate::{builtin, crd, object};

/// All annotations of an object together.
const ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;
const FINALIZERS_MAX: usize = 1000;

/// Finalizers that need no domain.
const STANDARD_FINALIZERS: &[&str] =
    &["orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io"];

/// Refuses a new object, or one that replaces `old`, that breaks a rule of its kind.
pub(super) fn check(resource: &Resource, new: &Value, old: Option<&Value>) -> ApiResult<()> {
    let mut causes = metadata(resource, new, old);
    match resource.structural() {
        Some(structural) => causes.extend(structural.validate(new, old)),
        None if resource.is_definition() => {
            causes.extend(crd::Definition::read(new).err().into_iter().flatten())
        }
        None => causes.extend(builtin::validate(&resource.api_version, &resource.kind, new, old)),
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(resource.named(), object::name(new), &causes))
}

/// Checks the metadata of a new object, or of one that replaces `old`.
fn metadata(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = object::name(new);
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
    } else if let Err(why) = object_name(resource, name) {
        causes.push(Cause::invalid("metadata.name", &Value::from(name), why));
    }
    let Some(metadata) = object::metadata(new) else { return causes };
    if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
        for (key, value) in labels {
            if let Err(why) = qualified_name(key) {
                causes.push(Cause::invalid("metadata.labels", &Value::from(key.as_str()), why));
            }
            let text = value.as_str().unwrap_or_default();
            if let Err(why) = label_value(text) {
                causes.push(Cause::invalid("metadata.labels", value, why));
            }
        }
    }
    if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
        let mut bytes = 0;
        for (key, value) in annotations {
            bytes += key.len() + value.as_str().map_or(0, str::len);
            if let Err(why) = qualified_name(&key.to_lowercase()) {
                causes.push(Cause::invalid("metadata.annotations", &Value::from(key.as_str()), why));
            }
        }
        if bytes > ANNOTATIONS_MAX_BYTES {
            causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS_MAX_BYTES as u64));
        }
    }
    let finalizers = object::finalizers(new);
    if finalizers.len() > FINALIZERS_MAX {
        causes.push(Cause::too_many("metadata.finalizers", finalizers.len(), FINALIZERS_MAX as u64));
    }
    for (at, finalizer) in finalizers.iter().enumerate() {
        if let Err(why) = qualified_name(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", &Value::from(*finalizer), why));
        } else if !resource.is_custom()
            && !finalizer.contains('/')
            && !STANDARD_FINALIZERS.contains(finalizer)
        {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(format!("metadata.finalizers[{at}]"), &Value::from(*finalizer), why));
        }
    }
    if let Some(old) = old.filter(|old| object::is_deleting(old)) {
        let before = object::finalizers(old);
        if let Some(added) = finalizers.iter().find(|f| !before.contains(f)) {
            causes.push(Cause::forbidden(
                "metadata.finalizers",
                format!("no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added:?}}}"),
            ));
        }
    }
    owner_references(metadata.get("ownerReferences"), &mut causes);
    causes
}

fn owner_references(references: Option<&Value>, causes: &mut Vec<Cause>) {
    let Some(list) = references.and_then(Value::as_array) else { return };
    let mut controllers = 0;
    for reference in list {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if reference[field].as_str().unwrap_or_default().is_empty() {
                let place = format!("metadata.ownerReferences.{field}");
                causes.push(Cause::invalid(place, &Value::from(""), "must not be empty"));
            }
        }
        controllers += usize::from(reference["controller"] == true);
    }
    if controllers > 1 {
        causes.push(Cause::invalid(
            "metadata.ownerReferences",
            &Value::Array(list.clone()),
            "Only one reference can have Controller set to true",
        ));
    }
}

/// Checks a name by the rule of its kind.
fn object_name(resource: &Resource, name: &str) -> Result<(), String> {
    match resource.is_custom() {
        true => names::subdomain(name),
        false => names::object_name(&resource.kind, name),
    }
}
