//! The catalog in, OpenAPI v3 documents out: an index, and one document per group and version.

mod kinds;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::builtin::types::{self, ListKind};
use crate::catalog::{Catalog, Resource};
use crate::status::{ApiError, ApiResult};

/// Documents kept ready; a sandbox with more groups makes some of them again.
const CACHED_MAX: usize = 128;
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Documents already made, by path and by generation of the catalog.
#[derive(Debug)]
pub(crate) struct Cache {
    documents: Mutex<HashMap<(String, u64), Bytes>>,
    /// Clients keep documents by address and hash; another server at the same address must not share it.
    nonce: String,
}

impl Default for Cache {
    fn default() -> Self {
        Self { documents: Mutex::default(), nonce: uuid::Uuid::new_v4().simple().to_string() }
    }
}

/// The index of documents, or the document at `path`.
pub(crate) fn answer(catalog: &Catalog, cache: &Cache, path: &str) -> ApiResult<Bytes> {
    match path.strip_prefix("/openapi/v3") {
        Some("") => Ok(Bytes::from(index(catalog, &cache.nonce).to_string())),
        Some(rest) => cached(catalog, cache, rest.trim_start_matches('/')),
        None => Err(ApiError::no_such_path()),
    }
}

fn cached(catalog: &Catalog, cache: &Cache, path: &str) -> ApiResult<Bytes> {
    let place = (path.to_owned(), catalog.generation);
    let lock = || cache.documents.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(ready) = lock().get(&place) {
        return Ok(ready.clone());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let (group, version) = match parts.as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return Err(ApiError::no_such_path()),
    };
    let resources = catalog
        .groups
        .get(group)
        .and_then(|versions| versions.iter().find(|(v, _)| v == version))
        .map(|(_, resources)| resources)
        .ok_or_else(ApiError::no_such_path)?;
    let made = Bytes::from(document(path, resources).to_string());
    let mut documents = lock();
    if documents.len() >= CACHED_MAX {
        documents.clear();
    }
    documents.insert(place, made.clone());
    Ok(made)
}

fn group_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn index(catalog: &Catalog, nonce: &str) -> Value {
    let mut paths = Map::new();
    for (group, versions) in &catalog.groups {
        for (version, _) in versions {
            let path = group_path(group, version);
            let url = format!("/openapi/v3/{path}?hash={nonce}-{}", catalog.generation);
            paths.insert(path, json!({ "serverRelativeURL": url }));
        }
    }
    json!({ "paths": paths })
}

fn document(path: &str, resources: &[std::sync::Arc<Resource>]) -> Value {
    let mut generator = SchemaSettings::openapi3().into_generator();
    let mut custom = Map::new();
    let mut paths = Map::new();
    for resource in resources {
        let name = match resource.custom_version() {
            Some(version) => {
                let name = custom_name(resource);
                custom.insert(name.clone(), custom_schema(resource, &version.schema));
                kinds::add_meta(&mut generator);
                name
            }
            None => match kinds::add(&mut generator, &resource.api_version, &resource.kind) {
                Some(name) => name,
                None => continue,
            },
        };
        add_paths(&mut paths, path, resource, &name);
    }
    kinds::add_delete_options(&mut generator);
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    for (name, schema) in &mut schemas {
        enrich(name, schema);
    }
    schemas.extend(custom);
    for resource in resources {
        let name = match resource.custom_version() {
            Some(_) => custom_name(resource),
            None => kinds::name(&resource.api_version, &resource.kind).unwrap_or_default(),
        };
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
        }
    }
    json!({ "openapi": "3.0.0", "info": { "title": "vela sandbox", "version": "unversioned" },
            "paths": paths, "components": { "schemas": schemas } })
}

fn gvk(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "kind": resource.kind })
}

/// `com.example.v1.Widget` for group `example.com`.
fn custom_name(resource: &Resource) -> String {
    let reversed: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind)
}

/// The schema of a custom resource with what every object has.
fn custom_schema(resource: &Resource, schema: &Value) -> Value {
    let mut schema = schema.clone();
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({ "type": "string", "description": API_VERSION });
    properties["kind"] = json!({ "type": "string", "description": KIND });
    properties["metadata"] = json!({
        "description": "Standard object's metadata.",
        "allOf": [{ "$ref": format!("#/components/schemas/{META}ObjectMeta") }],
    });
    if resource.status && properties["status"].is_null() {
        properties["status"] = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    }
    schema
}

const API_VERSION: &str = "The versioned schema of this representation of the object: group and version.";
const KIND: &str = "The REST resource that this object represents, in CamelCase. It cannot be changed.";

/// Adds what the generated schemas lack and clients merge by: list types, keys and patch strategies.
fn enrich(name: &str, schema: &mut Value) {
    let short = name
        .strip_prefix("io.k8s.api.")
        .map(str::to_owned)
        .or_else(|| name.strip_prefix(META).map(|rest| format!("meta.v1.{rest}")));
    let Some(known) = short.and_then(|short| types::table().structs.iter().find(|s| s.name == short)) else {
        return;
    };
    // Rust's types require what is always written; clients may leave it out all the same.
    let required: Vec<&str> = known.fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
    if let Some(map) = schema.as_object_mut() {
        map.remove("required");
        if !required.is_empty() {
            map.insert("required".into(), required.into());
        }
    }
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for field in &known.fields {
        let Some(property) = properties.get_mut(&field.name).and_then(Value::as_object_mut) else { continue };
        match (&field.list, &field.ty) {
            (ListKind::Map(keys), _) => {
                property.insert("x-kubernetes-list-type".into(), "map".into());
                property.insert("x-kubernetes-list-map-keys".into(), keys.clone().into());
            }
            (ListKind::Set, _) => {
                property.insert("x-kubernetes-list-type".into(), "set".into());
            }
            (ListKind::Atomic, types::Type::List(_)) if !field.patch.merge => {
                property.insert("x-kubernetes-list-type".into(), "atomic".into());
            }
            (ListKind::Atomic, _) => {}
        }
        let strategy = match (field.patch.merge, field.patch.retain_keys) {
            (true, true) => "merge,retainKeys",
            (true, false) => "merge",
            (false, true) => "retainKeys",
            (false, false) => "",
        };
        if !strategy.is_empty() {
            property.insert("x-kubernetes-patch-strategy".into(), strategy.into());
        }
        if let Some(key) = &field.patch.key {
            property.insert("x-kubernetes-patch-merge-key".into(), key.clone().into());
        }
        if let Some(default) = &field.default {
            property.insert("default".into(), default.clone());
        }
        if !field.allowed.is_empty() {
            property.insert("enum".into(), field.allowed.clone().into());
        }
    }
}

fn add_paths(paths: &mut Map<String, Value>, group_path: &str, resource: &Resource, schema: &str) {
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("/{group_path}{scope}/{}", resource.plural);
    let content =
        json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } });
    let operation = |action: &str, parameters: &[&str], body: Option<&str>| {
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } }))
            .collect();
        let mut operation = json!({
            "parameters": parameters,
            "responses": { "200": { "description": "OK", "content": content } },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(resource),
        });
        if let Some(media) = body {
            operation["requestBody"] = json!({ "content": { media: content["application/json"] } });
        }
        operation
    };
    let written = ["dryRun", "fieldManager", "fieldValidation"];
    let name = json!([{ "name": "name", "in": "path", "required": true, "schema": { "type": "string", "uniqueItems": true } }]);
    paths.insert(
        collection.clone(),
        json!({
            "get": operation("list", &["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"], None),
            "post": operation("post", &written, Some("application/json")),
            "delete": operation("deletecollection", &["labelSelector", "fieldSelector", "dryRun"], None),
        }),
    );
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({
            "parameters": name,
            "get": operation("get", &[], None),
            "put": operation("put", &written, Some("application/json")),
            "patch": operation("patch", &["dryRun", "fieldManager", "fieldValidation", "force"], Some("application/apply-patch+yaml")),
            "delete": operation("delete", &["dryRun", "gracePeriodSeconds", "propagationPolicy"], None),
        }),
    );
    if resource.namespaced {
        let all = format!("/{group_path}/{}", resource.plural);
        paths.insert(
            all,
            json!({ "get": operation("list", &["labelSelector", "fieldSelector", "limit"], None) }),
        );
    }
    for (sub, present) in [("status", resource.status), ("scale", resource.scale.is_some())] {
        if present {
            let mut shown = json!({ "parameters": name, "get": operation("get", &[], None),
                "put": operation("put", &written, Some("application/json")),
                "patch": operation("patch", &written, Some("application/apply-patch+yaml")) });
            if sub == "scale" {
                for verb in ["get", "put", "patch"] {
                    shown[verb]["x-kubernetes-group-version-kind"] =
                        json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
                }
            }
            paths.insert(format!("{collection}/{{name}}/{sub}"), shown);
        }
    }
}
