//! First part of a write: what the client sent in, the object that it asks for out, or why it cannot be one.

use serde_json::Value;

use super::context::Context;
use super::options::{FieldValidation, ObjectRef, WriteOptions};
use crate::catalog::{DEFINITIONS, Resource};
use crate::status::{ApiError, ApiResult};
use crate::{builtin, object};

/// Letters of generated names: no vowels, so no words.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// Longest `generateName` that is kept whole in front of the suffix.
const GENERATED_BASE_MAX: usize = 58;

/// A new object: checked against the path, with a name, without unknown fields and without what only the server sets.
/// Warnings come back.
pub(super) fn new_object(
    context: &Context<'_>,
    resource: &Resource,
    namespace: &str,
    name: Option<&str>,
    new: &mut Value,
    options: &WriteOptions,
) -> ApiResult<Vec<String>> {
    check_identity(resource, namespace, name, new)?;
    if !object::meta(new, "resourceVersion").is_empty() {
        return Err(ApiError::untyped("resourceVersion should not be set on objects to be created"));
    }
    if let Some(definition) = &resource.custom
        && context
            .store
            .find(DEFINITIONS, "", &definition.name)
            .is_some_and(|found| object::is_deleting(&found))
    {
        return Err(ApiError::definition_terminating(resource.named()));
    }
    let warnings = drop_unknown_fields(resource, new, options)?;
    if object::name(new).is_empty() && !object::meta(new, "generateName").is_empty() {
        let base: String = object::meta(new, "generateName").chars().take(GENERATED_BASE_MAX).collect();
        object::set_meta(new, "name", format!("{base}{}", suffix(context.ids.next())));
    }
    if resource.namespaced {
        object::set_meta(new, "namespace", namespace);
    } else {
        object::remove_meta(new, "namespace");
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object::remove_meta(new, field);
    }
    // Status is written by itself.
    if resource.status
        && let Some(map) = new.as_object_mut()
    {
        map.remove("status");
    }
    Ok(warnings)
}

/// The wanted state of an object that exists: checked against the path and against what it was read at. Warnings come
/// back.
pub(super) fn changed_object(
    target: &ObjectRef<'_>,
    old: &Value,
    new: &mut Value,
    options: &WriteOptions,
) -> ApiResult<Vec<String>> {
    let ObjectRef { resource, namespace, name, .. } = *target;
    check_identity(resource, namespace, Some(name), new)?;
    let asked = object::meta(new, "resourceVersion");
    let conditional = !asked.is_empty() && asked != "0";
    if conditional && asked != object::meta(old, "resourceVersion") {
        return Err(ApiError::modified(resource.named(), name));
    }
    let uid = object::uid(new);
    if !uid.is_empty() && uid != object::uid(old) {
        let found = object::uid(old);
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {found}");
        return Err(ApiError::conflict(resource.named(), name, &why));
    }
    drop_unknown_fields(resource, new, options)
}

/// Checks that what the body says of itself agrees with the path.
pub(super) fn check_identity(
    resource: &Resource,
    namespace: &str,
    name: Option<&str>,
    body: &Value,
) -> ApiResult<()> {
    let Some(map) = body.as_object() else {
        return Err(ApiError::bad_request("the body must be one object, not a list or a scalar"));
    };
    let text = |field: &str| map.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if kind.is_empty() {
        return Err(ApiError::bad_request(format!(
            "Object 'Kind' is missing in '{}'",
            crate::cause::shown(body)
        )));
    }
    if api_version != resource.api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        )));
    }
    if kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: the path names the latter",
            resource.version, resource.kind
        )));
    }
    if map.get("metadata").is_some_and(|m| !m.is_object() && !m.is_null()) {
        return Err(ApiError::bad_request("metadata must be an object"));
    }
    let stated = object::namespace(body);
    if resource.namespaced && !stated.is_empty() && stated != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if let Some(name) = name {
        let stated = object::name(body);
        // An object without a name takes the one of the path.
        if !stated.is_empty() && stated != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({stated}) does not match the name on the URL ({name})"
            )));
        }
    }
    Ok(())
}

/// Drops fields that the schema does not know and says so as the client wished.
fn drop_unknown_fields(
    resource: &Resource,
    body: &mut Value,
    options: &WriteOptions,
) -> ApiResult<Vec<String>> {
    let unknown = match resource.structural() {
        Some(_) if resource.custom.as_ref().is_some_and(|d| d.preserve_unknown) => Vec::new(),
        Some(structural) => structural.prune(body),
        None => {
            builtin::check_types(&resource.api_version, &resource.kind, body)
                .map_err(ApiError::bad_request)?;
            builtin::prune(&resource.api_version, &resource.kind, body)
        }
    };
    let lines: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match options.field_validation {
        FieldValidation::Strict if !lines.is_empty() => {
            let kind = &resource.kind;
            let version = &resource.version;
            let errors = lines.join(", ");
            Err(ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {errors}"
            )))
        }
        FieldValidation::Warn => Ok(lines),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

/// Five random letters.
fn suffix(random: uuid::Uuid) -> String {
    random
        .as_bytes()
        .iter()
        .take(SUFFIX_LENGTH)
        .filter_map(|byte| SUFFIX_LETTERS.get(usize::from(*byte) % SUFFIX_LETTERS.len()))
        .map(|letter| char::from(*letter))
        .collect()
}
