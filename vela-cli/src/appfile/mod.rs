//! An Appfile (a name and services, without a kind) → the Application that it stands for, with a way back from its fields.
//!
//! A key of a service is a trait where a trait of that name exists, else a parameter of the type of the service, as KubeVela
//! reads it. Reads no cluster and no file: the caller gives the types that exist.

mod origin;
mod reader;
mod types;

use serde_json::{Value, json};
use vela_engine::Document;
use vela_snapshot::{Reader, Source};

pub(crate) use self::origin::Origins;
use self::types::{KINDS, Types};
use crate::error::{Failure, Result};

/// The kind of scope that components name.
const HEALTH_SCOPE: &str = "healthscopes.core.oam.dev";
/// The names of files that commands look for where none is given, in this order.
pub(crate) const FILES: [&str; 3] = ["vela.yaml", "vela.json", "Appfile"];

/// Documents without Appfiles, and where the fields of those that were Appfiles stand.
#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) documents: Vec<Document>,
    pub(crate) origins: Origins,
    /// What is doubtful about the Appfiles.
    pub(crate) warnings: Vec<String>,
}

/// Is it an Appfile? It is no object, but has services.
pub(crate) fn is_appfile(document: &Document) -> bool {
    let has = |field: &str| document.value().get(field).is_some();
    has("services") && !has("kind") && !has("apiVersion")
}

/// The documents with each Appfile as the Application, in `namespace`, that it stands for; all mistakes of all come together.
pub(crate) async fn resolve<S: Source>(
    reader: &Reader<S>,
    namespace: &str,
    documents: Vec<Document>,
    unread: impl Fn(vela_snapshot::Error) -> Failure,
) -> Result<Resolved> {
    let mut resolved = Resolved::default();
    if !documents.iter().any(is_appfile) {
        resolved.documents = documents;
        return Ok(resolved);
    }
    let types = reader.all_definitions(namespace, &KINDS).await.map_err(unread)?;
    let mut failures = Vec::new();
    for document in documents {
        if !is_appfile(&document) {
            resolved.documents.push(document);
            continue;
        }
        let read = reader::read(&document, &Types(&types), namespace);
        resolved.warnings.extend(read.found.iter().filter(|one| !one.is_error()).map(ToString::to_string));
        if read.found.has_errors() {
            failures.push(Failure::from(read.found));
            continue;
        }
        resolved.documents.push(Document::from_object(read.application));
        resolved.origins.add(read.origin);
    }
    Failure::all(failures).map_or(Ok(resolved), Err)
}

/// The same Application with its components in a HealthScope, as KubeVela writes it, and that scope.
pub(crate) fn with_health_scope(application: &Document) -> (Value, Value) {
    let name = format!("{}-default-health", application.name());
    let mut value = application.value().clone();
    let components = value.pointer_mut("/spec/components").and_then(Value::as_array_mut);
    for component in components.into_iter().flatten() {
        if let Some(component) = component.as_object_mut() {
            let scopes = component.entry("scopes").or_insert_with(|| json!({}));
            if let Some(scopes) = scopes.as_object_mut() {
                scopes.entry(HEALTH_SCOPE).or_insert_with(|| json!(name));
            }
        }
    }
    let scope = json!({
        "apiVersion": "core.oam.dev/v1alpha2",
        "kind": "HealthScope",
        "metadata": {"name": name, "namespace": application.namespace()},
        "spec": {"workloadRefs": []},
    });
    (value, scope)
}
