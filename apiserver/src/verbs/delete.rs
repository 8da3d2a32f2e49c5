//! Delete: an object in; gone, or marked and waiting for its finalizers, out.

use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use serde_json::Value;

use super::context::Context;
use super::delete_options::DeleteOptions;
use super::render;
use crate::catalog::{DEFINITIONS, Resource};
use crate::clock::seconds;
use crate::http::{Answer, Call};
use crate::object;
use crate::propagation::Propagation;
use crate::status::{self, ApiError, ApiResult};
use crate::store::{self, Change, Entry, Key, Precondition};

/// How often a deletion is tried again when others change the object.
const TRIES_MAX: usize = 100;
/// Waits for the namespace's content.
const NAMESPACE_FINALIZER: &str = "kubernetes";
/// Waits for the objects of a definition.
const DEFINITION_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
const ORPHAN_FINALIZER: &str = "orphan";

/// The result of a deletion.
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Entry>),
    /// The object waits for its finalizers.
    Waiting(Arc<Entry>),
}

/// Deletes the object that the path names.
pub(crate) fn delete(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    resource.require("delete")?;
    let options = DeleteOptions::read(call)?;
    let name = call.name();
    let json = match delete_object(context, resource, call.namespace(), name, &options)? {
        Deleted::Waiting(entry) => render::one(context, resource, &entry, call)?,
        // Kinds whose deletion shows the object are those that kube-apiserver shows, too.
        Deleted::Gone(entry)
            if matches!(
                resource.kind.as_str(),
                "Pod" | "Service" | "ServiceAccount" | "PersistentVolumeClaim" | "PersistentVolume"
            ) =>
        {
            render::one(context, resource, &entry, call)?
        }
        Deleted::Gone(entry) => {
            let status = status::deleted(resource.named(), name, object::uid(&entry));
            Bytes::from(status.to_string())
        }
    };
    Ok(Answer::ok(json))
}

/// Deletes an object, for every verb that deletes one.
pub(crate) fn delete_object(
    context: &Context<'_>,
    resource: &Resource,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> ApiResult<Deleted> {
    let key = resource.key(namespace, name);
    for _ in 0..TRIES_MAX {
        let stored = context.store.get(&key).ok_or_else(|| ApiError::not_found(resource.named(), name))?;
        check_preconditions(resource, name, &stored, options)?;
        context.admission.delete(resource, name)?;
        let mut next = stored.value().clone();
        let finalizers = wanted_finalizers(resource, &next, options);
        object::set_finalizers(&mut next, finalizers.clone());
        let grace = grace_seconds(resource, &stored, options);
        if finalizers.is_empty() && !has_namespace_content(resource, &next) && grace == 0 {
            if options.dry_run {
                return Ok(Deleted::Gone(stored));
            }
            match context.store.write(&key, Precondition::Revision(stored.revision()), Change::Delete) {
                Ok(last) => {
                    removed(context, resource, &last)?;
                    return Ok(Deleted::Gone(last));
                }
                Err(store::Error::Conflict) => continue,
                Err(store::Error::NotFound) => return Ok(Deleted::Gone(stored)),
                Err(error) => return Err(ApiError::internal(error)),
            }
        }
        mark(context, resource, grace, &mut next);
        if next == *stored.value() || options.dry_run {
            return Ok(Deleted::Waiting(stored));
        }
        match context.store.write(&key, Precondition::Revision(stored.revision()), Change::Put(next)) {
            Ok(entry) if resource.is_definition() => {
                return empty_definition(context, resource, &key, entry);
            }
            Ok(entry) => return Ok(Deleted::Waiting(entry)),
            Err(store::Error::Conflict) => {}
            Err(store::Error::NotFound) => return Ok(Deleted::Gone(stored)),
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
    Err(ApiError::modified(resource.named(), name))
}

/// Marks an object as one that is going, unless it is marked.
fn mark(context: &Context<'_>, resource: &Resource, grace: i64, next: &mut Value) {
    if object::is_deleting(next) {
        return;
    }
    let at = context.clock.now();
    let at = at.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(at);
    object::set_meta(next, "deletionTimestamp", seconds(at));
    object::set_meta(next, "deletionGracePeriodSeconds", grace);
    if resource.generation {
        let generation = next["metadata"]["generation"].as_i64().unwrap_or(0);
        object::set_meta(next, "generation", generation + 1);
    }
    if resource.is_namespace() {
        object::set_at(next, "status.phase", "Terminating".into());
    }
}

/// Whether nothing holds a marked object any more.
pub(super) fn is_ended(resource: &Resource, object: &Value) -> bool {
    object::is_deleting(object)
        && object::finalizers(object).is_empty()
        && !has_namespace_content(resource, object)
        && !is_graceful(object)
}

/// Removes a stored object whose last finalizer goes with this write; false if another client has changed it since. The
/// state without finalizers is not stored before: a process that is killed between two writes would leave an object that
/// nothing holds and no client can end.
pub(super) fn remove(
    context: &Context<'_>,
    resource: &Resource,
    key: &Key,
    stored: &Entry,
) -> ApiResult<bool> {
    match context.store.write(key, Precondition::Revision(stored.revision()), Change::Delete) {
        Ok(last) => removed(context, resource, &last).map(|()| true),
        Err(store::Error::Conflict | store::Error::NotFound) => Ok(false),
        Err(error) => Err(ApiError::internal(error)),
    }
}

/// Goes on with the deletions that a process left unfinished which was killed in the middle of them: objects that nothing
/// holds, as earlier releases left them, and definitions with their objects.
pub(crate) fn resume(context: &Context<'_>) -> ApiResult<()> {
    let catalog = context.catalog.catalog();
    for resource in catalog.stored() {
        for entry in context.store.list(&resource.store, None).0 {
            // Most objects are not going, and a look at the text costs far less than a value.
            if !entry.mentions("deletionTimestamp") {
                continue;
            }
            let key = resource.key(object::namespace(&entry), object::name(&entry));
            if is_ended(resource, &entry) {
                remove(context, resource, &key, &entry)?;
            } else if resource.is_definition() && object::is_deleting(&entry) {
                empty_definition(context, resource, &key, entry)?;
            }
        }
    }
    Ok(())
}

/// The effects of a removal: a definition is served no longer, and the last object of a definition that is going away
/// takes the definition with it.
fn removed(context: &Context<'_>, resource: &Resource, last: &Entry) -> ApiResult<()> {
    if resource.is_definition() {
        context.catalog.remove(object::name(last));
    }
    let Some(definition) = &resource.custom else { return Ok(()) };
    if let Some(entry) = context.store.find(DEFINITIONS, "", &definition.name)
        && object::is_deleting(&entry)
        && let Some(resource) = context.catalog.catalog().by_store(DEFINITIONS)
    {
        let key = resource.key("", &definition.name);
        empty_definition(context, resource, &key, entry)?;
    }
    Ok(())
}

/// Deletes the objects of a definition that is going away, and the definition once there are none.
fn empty_definition(
    context: &Context<'_>,
    resource: &Resource,
    key: &Key,
    entry: Arc<Entry>,
) -> ApiResult<Deleted> {
    let catalog = context.catalog.catalog();
    let Some(custom) = catalog.stored().iter().find(|r| r.store.as_ref() == key.name) else {
        return finish_definition(context, resource, key, entry);
    };
    for object in context.store.list(&custom.store, None).0 {
        if object::is_deleting(&object) {
            continue;
        }
        let result = delete_object(
            context,
            custom,
            object::namespace(&object),
            object::name(&object),
            &DeleteOptions::default(),
        );
        match result {
            Err(error) if error.code != StatusCode::NOT_FOUND => return Err(error),
            _ => {}
        }
    }
    if !context.store.list(&custom.store, None).0.is_empty() {
        return Ok(Deleted::Waiting(entry));
    }
    finish_definition(context, resource, key, entry)
}

fn finish_definition(
    context: &Context<'_>,
    resource: &Resource,
    key: &Key,
    entry: Arc<Entry>,
) -> ApiResult<Deleted> {
    let Some(now) = context.store.get(key) else { return Ok(Deleted::Gone(entry)) };
    let mut next = now.value().clone();
    let finalizers: Vec<String> = object::finalizers(&next)
        .into_iter()
        .filter(|f| *f != DEFINITION_FINALIZER)
        .map(str::to_owned)
        .collect();
    if finalizers.is_empty() {
        return match remove(context, resource, key, &now)? {
            true => Ok(Deleted::Gone(now)),
            false => Ok(Deleted::Waiting(now)),
        };
    }
    object::set_finalizers(&mut next, finalizers);
    let written = context.store.write(key, Precondition::Revision(now.revision()), Change::Put(next));
    Ok(Deleted::Waiting(written.unwrap_or(now)))
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    stored: &Entry,
    options: &DeleteOptions,
) -> ApiResult<()> {
    for (what, asked, found) in [
        ("UID", &options.uid, object::uid(stored)),
        ("ResourceVersion", &options.resource_version, object::meta(stored, "resourceVersion")),
    ] {
        if let Some(asked) = asked
            && asked != found
        {
            let why = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}"
            );
            return Err(ApiError::precondition(resource.named(), name, &why));
        }
    }
    Ok(())
}

fn wanted_finalizers(resource: &Resource, object: &Value, options: &DeleteOptions) -> Vec<String> {
    let mut finalizers: Vec<String> = object::finalizers(object).into_iter().map(str::to_owned).collect();
    if resource.is_definition() && !object::is_deleting(object) {
        finalizers.push(DEFINITION_FINALIZER.into());
    }
    if let Some(propagation) = options.propagation {
        finalizers.retain(|f| f != FOREGROUND_FINALIZER && f != ORPHAN_FINALIZER);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND_FINALIZER.into()),
            Propagation::Orphan => finalizers.push(ORPHAN_FINALIZER.into()),
        }
    }
    finalizers.dedup();
    finalizers
}

/// How long an object stays after it was marked: only pods that run somewhere have time to end.
fn grace_seconds(resource: &Resource, stored: &Value, options: &DeleteOptions) -> i64 {
    if resource.store.as_ref() != "pods"
        || stored.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default().is_empty()
        || matches!(stored.pointer("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"))
    {
        return 0;
    }
    let default = stored.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    options.grace_seconds.unwrap_or(default).max(0)
}

/// Whether a marked object still has time to end.
fn is_graceful(object: &Value) -> bool {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0 && object["kind"] == "Pod"
}

/// Whether a namespace still waits for its content to go.
fn has_namespace_content(resource: &Resource, object: &Value) -> bool {
    resource.is_namespace()
        && object
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|f| f == NAMESPACE_FINALIZER))
}
