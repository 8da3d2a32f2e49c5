//! Create, update, patch: a body and the stored object in, the next state in the store out.
//!
//! Every write goes through [`Core::add`] or [`Core::change`], whoever makes it, so that identity, generation,
//! defaults, validation and managed fields are the same for a client and for the server's own controllers.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::{Map, Value};

use crate::cause::Cause;
use crate::http::{Answer, Call, read_object, read_yaml};
use crate::registry::Resource;
use crate::server::Core;
use crate::status::{ApiError, ApiResult};
use crate::store::{self, Change, Entry, Key, Precondition};
use crate::{apply, builtin, object, patch, validate};

/// How often a write without a resource version is tried again when others write the same object.
const TRIES_MAX: usize = 100;
/// Letters of generated names: no vowels, so no words.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// Longest `generateName` that is kept whole in front of the suffix.
const GENERATED_BASE_MAX: usize = 58;

/// What to do with fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options that all writes have.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: bool,
}

impl WriteOptions {
    /// For writes of the server itself.
    pub(crate) fn own(manager: &str) -> Self {
        Self {
            dry_run: false,
            manager: manager.to_owned(),
            field_validation: FieldValidation::Ignore,
            force: false,
        }
    }

    pub(crate) fn read(call: &Call) -> ApiResult<Self> {
        let manager = match call.query.text("fieldManager") {
            // Clients that do not say who they are are known by their program's name.
            "" => call.user_agent.split('/').next().unwrap_or_default().to_owned(),
            named => named.to_owned(),
        };
        let field_validation = match call.query.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            "Ignore" => FieldValidation::Ignore,
            other => {
                return Err(ApiError::bad_request(format!(
                    "invalid fieldValidation {other:?}: expected Ignore, Warn or Strict"
                )));
            }
        };
        Ok(Self {
            dry_run: call.query.dry_run(match call.method {
                Method::POST => "CreateOptions",
                Method::PUT => "UpdateOptions",
                _ => "PatchOptions",
            })?,
            manager: if manager.is_empty() { "unknown".into() } else { manager },
            field_validation,
            force: call.query.flag("force"),
        })
    }
}

/// The outcome of a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) entry: Arc<Entry>,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn key(resource: &Resource, namespace: &str, name: &str) -> Key {
    Key { resource: resource.store.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
}

impl Core {
    pub(crate) fn create(&self, resource: &Resource, call: &Call) -> ApiResult<Answer> {
        self.require(resource, "create")?;
        if resource.namespaced && call.place.namespace.is_none() {
            return Err(ApiError::method_not_allowed());
        }
        let options = WriteOptions::read(call)?;
        let body = read_object(&call.content_type, &call.body)?;
        let namespace = call.place.namespace.as_deref().unwrap_or_default();
        let written = self.add(resource, namespace, None, body, &options)?;
        self.written(resource, call, written)
    }

    /// GET, PUT, PATCH and DELETE of one object or of its `status`.
    pub(crate) fn object_verb(&self, resource: &Resource, call: &Call, sub: &str) -> ApiResult<Answer> {
        let namespace = call.place.namespace.as_deref().unwrap_or_default();
        let name = call.place.name.as_deref().unwrap_or_default();
        match call.method {
            Method::GET => self.get(resource, call, namespace, name),
            Method::DELETE if sub.is_empty() => self.delete_one(resource, call, namespace, name),
            Method::PUT => {
                self.require(resource, "update")?;
                let options = WriteOptions::read(call)?;
                let body = read_object(&call.content_type, &call.body)?;
                check_identity(resource, namespace, Some(name), &body)?;
                let written = self.change(resource, namespace, name, sub, &options, |_| Ok(body.clone()))?;
                self.written(resource, call, written)
            }
            Method::PATCH => {
                self.require(resource, "patch")?;
                let written = self.patch(resource, call, namespace, name, sub)?;
                self.written(resource, call, written)
            }
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    pub(crate) fn require(&self, resource: &Resource, verb: &str) -> ApiResult<()> {
        if resource.allows(verb) { Ok(()) } else { Err(ApiError::method_not_allowed()) }
    }

    pub(crate) fn written(&self, resource: &Resource, call: &Call, written: Written) -> ApiResult<Answer> {
        let json = self.shaped(resource, &written.entry, call)?;
        let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
        Ok(Answer { code, json, warnings: written.warnings })
    }

    fn patch(
        &self,
        resource: &Resource,
        call: &Call,
        namespace: &str,
        name: &str,
        sub: &str,
    ) -> ApiResult<Written> {
        let options = WriteOptions::read(call)?;
        let refused = |error: patch::Error| match error.kind {
            patch::ErrorKind::BadRequest => ApiError::bad_request(error.message),
            patch::ErrorKind::Unprocessable => ApiError::unprocessable(error.message),
        };
        let parse = || -> ApiResult<Value> {
            serde_json::from_slice(&call.body)
                .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))
        };
        match call.content_type.as_str() {
            "application/json-patch+json" => {
                let body = parse()?;
                self.change(resource, namespace, name, sub, &options, |old| {
                    patch::json::apply(old, &body).map_err(refused)
                })
            }
            "application/merge-patch+json" => {
                let body = parse()?;
                self.change(resource, namespace, name, sub, &options, |old| {
                    patch::merge::apply(old, &body).map_err(refused)
                })
            }
            "application/strategic-merge-patch+json" if !resource.is_custom() => {
                let body = parse()?;
                self.change(resource, namespace, name, sub, &options, |old| {
                    patch::strategic::apply(old, &body, &resource.api_version, &resource.kind)
                        .map_err(refused)
                })
            }
            "application/apply-patch+yaml" => {
                if call.query.text("fieldManager").is_empty() {
                    let cause = Cause::required("fieldManager", "is required for apply patch");
                    return Err(ApiError::invalid_options("PatchOptions", cause));
                }
                let body = read_yaml(&call.body)?;
                self.apply(resource, namespace, name, sub, body, &options)
            }
            _ => {
                let accepted = if resource.is_custom() {
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                } else {
                    "application/json-patch+json, application/merge-patch+json, \
                     application/strategic-merge-patch+json, application/apply-patch+yaml"
                };
                Err(ApiError::unsupported_media_type(format!(
                    "the body of the request was in an unknown format - accepted media types include: {accepted}"
                )))
            }
        }
    }

    /// Server-side apply.
    fn apply(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        sub: &str,
        mut body: Value,
        options: &WriteOptions,
    ) -> ApiResult<Written> {
        check_identity(resource, namespace, Some(name), &body)?;
        object::set_meta(&mut body, "name", name);
        if object::metadata(&body).is_some_and(|m| m.contains_key("managedFields")) {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        // Fields the schema does not know are refused by the apply itself: nobody can own them.
        let now = self.clock.text();
        let structural = resource.custom_version().and_then(|v| v.structural.clone());
        let request = apply::Request {
            manager: &options.manager,
            force: options.force,
            subresource: Some(sub).filter(|s| !s.is_empty()),
            api_version: &resource.api_version,
            now: &now,
            status_subresource: resource.status,
            schema: schema_of(resource, structural.as_deref()),
        };
        let merge = |live: Option<&Value>| {
            apply::server_side(live, &body, &request).map_err(|error| refused_apply(resource, name, error))
        };
        for _ in 0..TRIES_MAX {
            let result = if self.store.get(&key(resource, namespace, name)).is_some() {
                self.change_with(resource, namespace, name, sub, options, false, |old| merge(Some(old)))
            } else if sub.is_empty() {
                if !object::meta(&body, "uid").is_empty() {
                    return Err(ApiError::conflict(
                        resource.named(),
                        name,
                        "uid mismatch: the provided object specified uid that does not exist",
                    ));
                }
                self.add_with(resource, namespace, Some(name), merge(None)?, options, false)
            } else {
                Err(ApiError::not_found(resource.named(), name))
            };
            match result {
                // Created or deleted between the look and the write: look again.
                Err(error) if matches!(error.reason, "AlreadyExists") => {}
                Err(error) => return Err(error),
                Ok(written) => return Ok(written),
            }
        }
        Err(too_busy(resource, name))
    }

    /// Writes a new object.
    pub(crate) fn add(
        &self,
        resource: &Resource,
        namespace: &str,
        name: Option<&str>,
        body: Value,
        options: &WriteOptions,
    ) -> ApiResult<Written> {
        self.add_with(resource, namespace, name, body, options, true)
    }

    fn add_with(
        &self,
        resource: &Resource,
        namespace: &str,
        name: Option<&str>,
        mut body: Value,
        options: &WriteOptions,
        track: bool,
    ) -> ApiResult<Written> {
        check_identity(resource, namespace, name, &body)?;
        if !object::meta(&body, "resourceVersion").is_empty() {
            return Err(ApiError::untyped("resourceVersion should not be set on objects to be created"));
        }
        if let Some(definition) = &resource.custom
            && self
                .store
                .find("customresourcedefinitions.apiextensions.k8s.io", "", &definition.name)
                .is_some_and(|found| object::is_deleting(&found))
        {
            return Err(ApiError::definition_terminating(resource.named()));
        }
        let warnings = self.check_fields(resource, &mut body, options)?;
        if object::name(&body).is_empty() && !object::meta(&body, "generateName").is_empty() {
            let base: String = object::meta(&body, "generateName").chars().take(GENERATED_BASE_MAX).collect();
            object::set_meta(&mut body, "name", format!("{base}{}", suffix(self.ids.next())));
        }
        if resource.namespaced {
            object::set_meta(&mut body, "namespace", namespace);
            self.check_namespace(resource, namespace, object::name(&body))?;
        } else {
            object::remove_meta(&mut body, "namespace");
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            object::remove_meta(&mut body, field);
        }
        object::set_meta(&mut body, "uid", self.ids.next().to_string());
        object::set_meta(&mut body, "creationTimestamp", self.clock.text());
        if resource.generation {
            object::set_meta(&mut body, "generation", 1);
        } else {
            object::remove_meta(&mut body, "generation");
        }
        // Status is written through its own door.
        if resource.status
            && let Some(map) = body.as_object_mut()
        {
            map.remove("status");
        }
        drop_empty_metadata(&mut body);
        apply_defaults(resource, &mut body);
        // Managed fields hold what the client sent and its defaults, not what the server adds afterwards.
        if track {
            self.track(resource, "", None, &mut body, options);
        }
        self.prepare(resource, None, &mut body);
        self.admit_create(resource, &mut body)?;
        let causes = self.validate(resource, &body, None);
        if !causes.is_empty() {
            return Err(ApiError::invalid(resource.named(), object::name(&body), &causes));
        }
        crate::read::to_stored(resource, &mut body);
        let name = object::name(&body).to_owned();
        let key = key(resource, namespace, &name);
        if options.dry_run {
            if self.store.get(&key).is_some() {
                return Err(ApiError::already_exists(resource.named(), &name));
            }
            return Ok(Written { entry: Arc::new(Entry::new(body, 0)), created: true, warnings });
        }
        let entry = self
            .store
            .write(&key, Precondition::Absent, Change::Put(body))
            .map_err(|error| refused_write(resource, &name, &error))?;
        self.wrote(resource, &entry);
        Ok(Written { entry, created: true, warnings })
    }

    /// Changes an object: `next` makes the wanted state from the present one.
    pub(crate) fn change(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        sub: &str,
        options: &WriteOptions,
        next: impl Fn(&Value) -> ApiResult<Value>,
    ) -> ApiResult<Written> {
        self.change_with(resource, namespace, name, sub, options, true, next)
    }

    #[allow(clippy::too_many_arguments)] // Names of one object and what to do with it; a struct would only rename them.
    fn change_with(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        sub: &str,
        options: &WriteOptions,
        track: bool,
        next: impl Fn(&Value) -> ApiResult<Value>,
    ) -> ApiResult<Written> {
        let key = key(resource, namespace, name);
        for _ in 0..TRIES_MAX {
            let stored = self.store.get(&key).ok_or_else(|| ApiError::not_found(resource.named(), name))?;
            let old = crate::read::from_stored(resource, &stored);
            let mut new = next(&old)?;
            check_identity(resource, namespace, Some(name), &new)?;
            let asked = object::meta(&new, "resourceVersion").to_owned();
            let conditional = !asked.is_empty() && asked != "0";
            if conditional && asked != object::meta(&old, "resourceVersion") {
                return Err(ApiError::conflict(
                    resource.named(),
                    name,
                    "the object has been modified; please apply your changes to the latest version and try again",
                ));
            }
            let uid = object::uid(&new);
            if !uid.is_empty() && uid != object::uid(&old) {
                return Err(ApiError::conflict(
                    resource.named(),
                    name,
                    &format!(
                        "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                        object::uid(&old)
                    ),
                ));
            }
            let warnings = self.check_fields(resource, &mut new, options)?;
            let mut new = settle(resource, sub, &old, new);
            apply_defaults(resource, &mut new);
            if track {
                self.track(resource, sub, Some(&old), &mut new, options);
            }
            self.prepare(resource, Some(&old), &mut new);
            if sub != "status"
                && resource.generation
                && content(&new, resource.status) != content(&old, resource.status)
            {
                let generation =
                    object::metadata(&old).and_then(|m| m.get("generation")).and_then(Value::as_i64);
                object::set_meta(&mut new, "generation", generation.unwrap_or(0) + 1);
            }
            let causes = self.validate(resource, &new, Some(&old));
            if !causes.is_empty() {
                return Err(ApiError::invalid(resource.named(), name, &causes));
            }
            if unchanged(&old, &new) {
                return Ok(Written { entry: stored, created: false, warnings });
            }
            crate::read::to_stored(resource, &mut new);
            if options.dry_run {
                let entry = Arc::new(Entry::new(new, stored.revision()));
                return Ok(Written { entry, created: false, warnings });
            }
            let done = object::is_deleting(&new)
                && object::finalizers(&new).is_empty()
                && !crate::delete::has_namespace_content(resource, &new)
                && !crate::delete::is_graceful(&new);
            let expect = Precondition::Revision(stored.revision());
            match self.store.write(&key, expect, Change::Put(new)) {
                Ok(entry) => {
                    self.wrote(resource, &entry);
                    if done {
                        self.remove(resource, &key, &entry)?;
                    }
                    return Ok(Written { entry, created: false, warnings });
                }
                // Somebody else was quicker: a patch is made again on what they wrote.
                Err(store::Error::Conflict) => {}
                Err(error) => return Err(refused_write(resource, name, &error)),
            }
        }
        Err(too_busy(resource, name))
    }

    /// What the kind does to a new state by itself.
    fn prepare(&self, resource: &Resource, old: Option<&Value>, new: &mut Value) {
        if resource.is_custom() {
            return;
        }
        let (api_version, kind) = (resource.api_version.as_str(), resource.kind.as_str());
        if kind == "CustomResourceDefinition" {
            let status = crate::crd::status(new, &self.registry, &self.clock.text());
            if let Some(map) = new.as_object_mut() {
                map.insert("status".into(), status);
            }
        }
        match old {
            None => builtin::prepare_create(api_version, kind, new),
            Some(old) => builtin::prepare_update(api_version, kind, old, new),
        }
    }

    fn validate(&self, resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = validate::metadata(resource, new, old);
        match resource.custom_version().and_then(|v| v.structural.as_ref()) {
            Some(structural) => causes.extend(structural.validate(new, old)),
            None if resource.kind == "CustomResourceDefinition" => {
                if let Err(more) = crate::crd::Definition::read(new) {
                    causes.extend(more);
                }
            }
            None => causes.extend(builtin::validate(&resource.api_version, &resource.kind, new, old)),
        }
        causes
    }

    /// Drops fields that the schema does not know and says so as the client wished.
    fn check_fields(
        &self,
        resource: &Resource,
        body: &mut Value,
        options: &WriteOptions,
    ) -> ApiResult<Vec<String>> {
        let unknown = match resource.custom_version().and_then(|v| v.structural.as_ref()) {
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

    fn track(
        &self,
        resource: &Resource,
        sub: &str,
        old: Option<&Value>,
        new: &mut Value,
        options: &WriteOptions,
    ) {
        let now = self.clock.text();
        let structural = resource.custom_version().and_then(|v| v.structural.clone());
        let request = apply::Request {
            manager: &options.manager,
            force: false,
            subresource: Some(sub).filter(|s| !s.is_empty()),
            api_version: &resource.api_version,
            now: &now,
            status_subresource: resource.status,
            schema: schema_of(resource, structural.as_deref()),
        };
        apply::track_update(old, new, &request);
    }

    fn check_namespace(&self, resource: &Resource, namespace: &str, name: &str) -> ApiResult<()> {
        use crate::store::View;
        let Some(found) = View::get(&self.store, "namespaces", "", namespace) else {
            let named = crate::status::Named { group: "", plural: "namespaces", kind: "Namespace" };
            return Err(ApiError::not_found(named, namespace));
        };
        if object::is_deleting(&found) {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            return Err(ApiError::namespace_terminating(resource.named(), name, namespace, &why));
        }
        Ok(())
    }

    /// What follows a write before anybody is answered: a definition is served as soon as it is stored.
    pub(crate) fn wrote(&self, resource: &Resource, entry: &Entry) {
        if resource.kind == "CustomResourceDefinition" && resource.group == "apiextensions.k8s.io" {
            match crate::crd::Definition::read(entry) {
                Ok(definition) if crate::crd::is_established(entry) => self.registry.put(definition),
                _ => self.registry.remove(object::name(entry)),
            }
        }
    }
}

/// Keeps what a client may not change.
fn settle(resource: &Resource, sub: &str, old: &Value, mut new: Value) -> Value {
    if sub == "status" {
        let mut next = old.clone();
        if let (Some(next), Some(new)) = (next.as_object_mut(), new.as_object_mut()) {
            match new.remove("status") {
                Some(status) => next.insert("status".into(), status),
                None => next.remove("status"),
            };
        }
        // Server-side apply has already worked out who owns what.
        if let Some(fields) = object::metadata(&new).and_then(|m| m.get("managedFields")) {
            object::set_meta(&mut next, "managedFields", fields.clone());
        }
        return next;
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "generateName",
    ] {
        object::keep_meta(&mut new, old, field);
    }
    if (resource.status || sub == "finalize")
        && let Some(map) = new.as_object_mut()
    {
        match old.get("status") {
            Some(status) => map.insert("status".into(), status.clone()),
            None => map.remove("status"),
        };
    }
    drop_empty_metadata(&mut new);
    new
}

fn apply_defaults(resource: &Resource, object: &mut Value) {
    match resource.custom_version().and_then(|v| v.structural.as_ref()) {
        Some(structural) => structural.apply_defaults(object),
        None if resource.kind == "CustomResourceDefinition" => crate::crd::apply_defaults(object),
        None => builtin::apply_defaults(&resource.api_version, &resource.kind, object),
    }
}

fn schema_of<'a>(
    resource: &'a Resource,
    structural: Option<&'a crate::schema::Structural>,
) -> apply::Schema<'a> {
    match structural {
        Some(structural) => apply::Schema::Crd(structural),
        None => apply::Schema::BuiltIn { api_version: &resource.api_version, kind: &resource.kind },
    }
}

fn refused_apply(resource: &Resource, name: &str, error: apply::Error) -> ApiError {
    match error {
        apply::Error::BadRequest(message) => ApiError::bad_request(message),
        apply::Error::Untyped(message) => ApiError::untyped(message),
        apply::Error::Invalid(causes) => ApiError::invalid(resource.named(), name, &causes),
        apply::Error::Conflict(conflicts) => {
            let error = apply::Error::Conflict(conflicts);
            let message = error.to_string();
            let apply::Error::Conflict(conflicts) = error else { return ApiError::bad_request(message) };
            let causes: Vec<(String, String)> =
                conflicts.iter().map(|c| (c.field.clone(), format!("conflict with {}", c.with()))).collect();
            ApiError::apply_conflict(message, &causes)
        }
    }
}

fn refused_write(resource: &Resource, name: &str, error: &store::Error) -> ApiError {
    match error {
        store::Error::NotFound => ApiError::not_found(resource.named(), name),
        store::Error::AlreadyExists => ApiError::already_exists(resource.named(), name),
        store::Error::Conflict => too_busy(resource, name),
        other => ApiError::internal(other),
    }
}

pub(crate) fn too_busy(resource: &Resource, name: &str) -> ApiError {
    ApiError::conflict(
        resource.named(),
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// Checks that what the body says of itself agrees with the path.
fn check_identity(resource: &Resource, namespace: &str, name: Option<&str>, body: &Value) -> ApiResult<()> {
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

fn drop_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object::metadata_mut(object) {
        metadata.retain(|field, value| match value {
            Value::Null => false,
            Value::Object(map) => !map.is_empty() || !matches!(field.as_str(), "labels" | "annotations"),
            Value::Array(list) => !list.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        });
    }
}

/// What the generation counts: everything but metadata, and status where it has its own door.
fn content(object: &Value, status_apart: bool) -> Map<String, Value> {
    let mut map = object.as_object().cloned().unwrap_or_default();
    map.remove("metadata");
    map.remove("apiVersion");
    if status_apart {
        map.remove("status");
    }
    map
}

/// Whether nothing but the times in managed fields differs.
fn unchanged(old: &Value, new: &Value) -> bool {
    let without = |object: &Value| {
        let mut object = object.clone();
        object::remove_meta(&mut object, "resourceVersion");
        if let Some(list) =
            object.get_mut("metadata").and_then(|m| m.get_mut("managedFields")).and_then(Value::as_array_mut)
        {
            for entry in list {
                if let Some(map) = entry.as_object_mut() {
                    map.remove("time");
                }
            }
        }
        object
    };
    without(old) == without(new)
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
