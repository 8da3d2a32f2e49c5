//! Delete: an object in; gone, or marked and waiting for its finalizers, out.

use std::sync::Arc;

use ::http::StatusCode;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::cause::Cause;
use crate::http::{Answer, Call, Query, read_object};
use crate::object;
use crate::read::selector;
use crate::registry::Resource;
use crate::server::Core;
use crate::status::{self, ApiError, ApiResult};
use crate::store::{self, Change, Entry, Key, Precondition, View};
use crate::write::key;

/// How often a deletion is tried again when others change the object.
const TRIES_MAX: usize = 100;
/// Waits for the namespace's content.
const NAMESPACE_FINALIZER: &str = "kubernetes";
/// Waits for the objects of a definition.
const DEFINITION_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
const ORPHAN_FINALIZER: &str = "orphan";

/// What becomes of the objects that an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// `DeleteOptions`, from the body or from the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    fn read(call: &Call) -> ApiResult<Self> {
        let mut options = Self::query(&call.query)?;
        if call.body.is_empty() {
            return Ok(options);
        }
        let body = read_object(&call.content_type, &call.body)?;
        if let Some(policy) = body["propagationPolicy"].as_str() {
            options.propagation = Some(propagation(policy)?);
        } else if let Some(orphan) = body["orphanDependents"].as_bool() {
            options.propagation = Some(if orphan { Propagation::Orphan } else { Propagation::Background });
        }
        if let Some(seconds) = body["gracePeriodSeconds"].as_i64() {
            options.grace_seconds = Some(seconds);
        }
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        options.uid = text("/preconditions/uid");
        options.resource_version = text("/preconditions/resourceVersion");
        options.dry_run |= body["dryRun"].as_array().is_some_and(|d| d.iter().any(|v| v == "All"));
        Ok(options)
    }

    fn query(query: &Query) -> ApiResult<Self> {
        let policy = query.text("propagationPolicy");
        Ok(Self {
            propagation: if policy.is_empty() { None } else { Some(propagation(policy)?) },
            grace_seconds: query.number("gracePeriodSeconds")?.and_then(|s| i64::try_from(s).ok()),
            dry_run: query.dry_run("DeleteOptions")?,
            ..Self::default()
        })
    }
}

fn propagation(policy: &str) -> ApiResult<Propagation> {
    match policy {
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => {
            let allowed = ["Foreground", "Background", "Orphan", "nil"];
            let cause = Cause::not_supported("propagationPolicy", &Value::from(other), &allowed);
            Err(ApiError::invalid_options("DeleteOptions", cause))
        }
    }
}

/// What a deletion came to.
pub(crate) enum Deleted {
    /// The object is gone; this was its last state.
    Gone(Arc<Entry>),
    /// The object waits for its finalizers.
    Waiting(Arc<Entry>),
}

impl Core {
    pub(crate) fn delete_one(
        &self,
        resource: &Resource,
        call: &Call,
        namespace: &str,
        name: &str,
    ) -> ApiResult<Answer> {
        self.require(resource, "delete")?;
        let options = DeleteOptions::read(call)?;
        let json = match self.delete(resource, namespace, name, &options)? {
            Deleted::Waiting(entry) => self.shaped(resource, &entry, call)?,
            // Kinds whose deletion shows the object are those that kube-apiserver shows, too.
            Deleted::Gone(entry)
                if matches!(
                    resource.kind.as_str(),
                    "Pod" | "Service" | "ServiceAccount" | "PersistentVolumeClaim" | "PersistentVolume"
                ) =>
            {
                self.shaped(resource, &entry, call)?
            }
            Deleted::Gone(entry) => {
                let status = status::deleted(resource.named(), name, object::uid(&entry));
                Bytes::from(status.to_string())
            }
        };
        Ok(Answer::ok(json))
    }

    pub(crate) fn delete_collection(&self, resource: &Resource, call: &Call) -> ApiResult<Answer> {
        self.require(resource, "deletecollection")?;
        let options = DeleteOptions::read(call)?;
        let selector = selector(resource, &call.query)?;
        let (entries, revision) = self.store.list(&resource.store, call.place.namespace.as_deref());
        let mut items = Vec::new();
        for entry in entries.iter().filter(|e| selector.matches(&crate::read::converted(resource, e))) {
            match self.delete(resource, object::namespace(entry), object::name(entry), &options) {
                Ok(Deleted::Gone(last) | Deleted::Waiting(last)) => {
                    items.push(crate::read::from_stored(resource, &last));
                }
                Err(error) if error.code == StatusCode::NOT_FOUND => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Answer::value(&json!({ "kind": resource.list_kind, "apiVersion": resource.api_version,
            "metadata": { "resourceVersion": revision.to_string() }, "items": items })))
    }

    pub(crate) fn delete(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> ApiResult<Deleted> {
        let key = key(resource, namespace, name);
        for _ in 0..TRIES_MAX {
            let stored = self.store.get(&key).ok_or_else(|| ApiError::not_found(resource.named(), name))?;
            check_preconditions(resource, name, &stored, options)?;
            if matches!(name, "default" | "kube-system" | "kube-public")
                && resource.store.as_ref() == "namespaces"
            {
                return Err(ApiError::forbidden(resource.named(), name, "this namespace may not be deleted"));
            }
            let mut next = stored.value().clone();
            let finalizers = wanted_finalizers(resource, &next, options);
            object::set_finalizers(&mut next, finalizers.clone());
            let grace = grace_seconds(resource, &stored, options);
            if finalizers.is_empty() && !has_namespace_content(resource, &next) && grace == 0 {
                if options.dry_run {
                    return Ok(Deleted::Gone(stored));
                }
                match self.store.write(&key, Precondition::Revision(stored.revision()), Change::Delete) {
                    Ok(last) => {
                        self.removed(resource, &last)?;
                        return Ok(Deleted::Gone(last));
                    }
                    Err(store::Error::Conflict) => continue,
                    Err(store::Error::NotFound) => return Ok(Deleted::Gone(stored)),
                    Err(error) => return Err(ApiError::internal(error)),
                }
            }
            if !object::is_deleting(&next) {
                let at = self.clock.now();
                let at = at.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(at);
                object::set_meta(&mut next, "deletionTimestamp", crate::server::seconds(at));
                object::set_meta(&mut next, "deletionGracePeriodSeconds", grace);
                if resource.generation {
                    let generation = next["metadata"]["generation"].as_i64().unwrap_or(0);
                    object::set_meta(&mut next, "generation", generation + 1);
                }
                if resource.store.as_ref() == "namespaces" {
                    object::set_at(&mut next, "status.phase", "Terminating".into());
                }
            }
            if next == *stored.value() || options.dry_run {
                return Ok(Deleted::Waiting(stored));
            }
            match self.store.write(&key, Precondition::Revision(stored.revision()), Change::Put(next)) {
                Ok(entry) => {
                    if resource.kind == "CustomResourceDefinition" {
                        return self.empty_definition(resource, &key, entry);
                    }
                    return Ok(Deleted::Waiting(entry));
                }
                Err(store::Error::Conflict) => {}
                Err(store::Error::NotFound) => return Ok(Deleted::Gone(stored)),
                Err(error) => return Err(ApiError::internal(error)),
            }
        }
        Err(crate::write::too_busy(resource, name))
    }

    /// Removes an object whose last finalizer is gone.
    pub(crate) fn remove(&self, resource: &Resource, key: &Key, entry: &Entry) -> ApiResult<()> {
        match self.store.write(key, Precondition::Revision(entry.revision()), Change::Delete) {
            Ok(last) => self.removed(resource, &last),
            // Whoever changed it meanwhile has seen that nothing holds it and removes it.
            Err(store::Error::Conflict | store::Error::NotFound) => Ok(()),
            Err(error) => Err(ApiError::internal(error)),
        }
    }

    fn removed(&self, resource: &Resource, last: &Entry) -> ApiResult<()> {
        if resource.kind == "CustomResourceDefinition" {
            self.registry.remove(object::name(last));
        }
        if let Some(definition) = &resource.custom {
            // The last object of a definition that is going away takes the definition with it.
            let definitions = "customresourcedefinitions.apiextensions.k8s.io";
            if let Some(entry) = View::get(&self.store, definitions, "", &definition.name)
                && object::is_deleting(&entry)
                && let Some(resource) =
                    self.registry.catalog().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            {
                let key = key(resource, "", &definition.name);
                self.empty_definition(resource, &key, entry)?;
            }
        }
        Ok(())
    }

    /// Deletes the objects of a definition that is going away, and the definition once there are none.
    fn empty_definition(&self, resource: &Resource, key: &Key, entry: Arc<Entry>) -> ApiResult<Deleted> {
        let catalog = self.registry.catalog();
        let Some(custom) = catalog.stored().iter().find(|r| r.store.as_ref() == key.name) else {
            return self.finish_definition(resource, key, entry);
        };
        for object in self.store.list(&custom.store, None).0 {
            if object::is_deleting(&object) {
                continue;
            }
            let result = self.delete(
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
        if !self.store.list(&custom.store, None).0.is_empty() {
            return Ok(Deleted::Waiting(entry));
        }
        self.finish_definition(resource, key, entry)
    }

    fn finish_definition(&self, resource: &Resource, key: &Key, entry: Arc<Entry>) -> ApiResult<Deleted> {
        let Some(now) = self.store.get(key) else { return Ok(Deleted::Gone(entry)) };
        let mut next = now.value().clone();
        let finalizers: Vec<String> = object::finalizers(&next)
            .into_iter()
            .filter(|f| *f != DEFINITION_FINALIZER)
            .map(str::to_owned)
            .collect();
        let held = !finalizers.is_empty();
        object::set_finalizers(&mut next, finalizers);
        let written = self.store.write(key, Precondition::Revision(now.revision()), Change::Put(next));
        match written {
            Ok(entry) if held => Ok(Deleted::Waiting(entry)),
            Ok(entry) => {
                self.remove(resource, key, &entry)?;
                Ok(Deleted::Gone(entry))
            }
            Err(_) => Ok(Deleted::Waiting(now)),
        }
    }

    /// `pods/eviction`: a deletion by another name.
    pub(crate) fn evict(&self, resource: &Resource, call: &Call, name: &str) -> ApiResult<Answer> {
        let namespace = call.place.namespace.as_deref().unwrap_or_default();
        self.delete(resource, namespace, name, &DeleteOptions::default())?;
        Ok(Answer {
            code: StatusCode::CREATED,
            json: Bytes::from(
                json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 })
                    .to_string(),
            ),
            warnings: Vec::new(),
        })
    }
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
    if resource.kind == "CustomResourceDefinition" && !object::is_deleting(object) {
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
pub(crate) fn is_graceful(object: &Value) -> bool {
    object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0 && object["kind"] == "Pod"
}

/// Whether a namespace still waits for its content to go.
pub(crate) fn has_namespace_content(resource: &Resource, object: &Value) -> bool {
    resource.store.as_ref() == "namespaces"
        && object
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|f| f == NAMESPACE_FINALIZER))
}
