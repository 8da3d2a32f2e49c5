//! The CRDs of goharbor.io, from the tables of their fields.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::GenerateError;
use super::table::{Tables, quantity};
use crate::goharbor_io::{GROUP, KINDS, Kind, OLDER_VERSION, SETTINGS, SHARED, VERSION};

/// Every CRD of goharbor.io. `volume` is the schema of a pod's volume.
///
/// # Errors
/// The table that cannot be read: a mistake in this crate.
pub(super) fn crds(volume: &Value) -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    KINDS.iter().chain(&SETTINGS).map(|kind| crd(kind, volume)).collect()
}

fn crd(kind: &Kind, volume: &Value) -> Result<CustomResourceDefinition, GenerateError> {
    let name = format!("{}.{GROUP}", kind.plural);
    let mut names = json!({
        "kind": kind.kind,
        "listKind": format!("{}List", kind.kind),
        "plural": kind.plural,
        "singular": kind.singular(),
        "categories": ["goharbor"],
    });
    if let Some(short) = kind.short {
        names["shortNames"] = json!([short]);
    }
    let served = if kind.has_older { &[OLDER_VERSION, VERSION][..] } else { &[VERSION][..] };
    let versions: Result<Vec<_>, _> = served.iter().map(|served| version(kind, served, volume)).collect();
    let versions = versions.map_err(|message| table_error(&name, message))?;
    let scope = if kind.is_namespaced { "Namespaced" } else { "Cluster" };
    let crd = json!({
        "metadata": { "name": name },
        "spec": { "group": GROUP, "names": names, "scope": scope, "versions": versions },
    });
    serde_json::from_value(crd).map_err(|source| GenerateError::Schema { crd: name, source })
}

fn table_error(crd: &str, message: String) -> GenerateError {
    GenerateError::Table { crd: crd.to_owned(), message }
}

fn version(kind: &Kind, version: &str, volume: &Value) -> Result<Value, String> {
    let older = version == OLDER_VERSION;
    let tables = Tables::new(SHARED, volume_source(volume), older)?;
    let fields = kind.older_fields.filter(|_| older).unwrap_or(kind.fields);
    let mut subresources = json!({ "status": {} });
    if kind.kind == "Registry" && !older {
        subresources["scale"] =
            json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" });
    }
    let mut columns = vec![
        json!({ "name": "Age", "type": "date", "priority": 1, "jsonPath": ".metadata.creationTimestamp" }),
        json!({
            "name": "Failure", "type": "string", "priority": 5,
            "description": "Why it failed",
            "jsonPath": ".status.conditions[?(@.type==\"Failed\")].message",
        }),
    ];
    if ["Harbor", "HarborCluster"].contains(&kind.kind) {
        let column = |name: &str, path: &str, description: &str| json!({ "name": name, "type": "string", "priority": 5, "jsonPath": path, "description": description });
        columns.insert(0, column("Public URL", ".spec.externalURL", "Where people reach it"));
        columns.insert(1, column("Version", ".spec.version", "The release of Harbor"));
    }
    if kind.kind == "HarborCluster" || !kind.has_older {
        columns.insert(
            0,
            json!({
                "name": "Status", "type": "string", "description": "How it is altogether", "jsonPath": ".status.status",
            }),
        );
    }
    Ok(json!({
        "name": version,
        "served": true,
        "storage": !older,
        "subresources": subresources,
        "additionalPrinterColumns": columns,
        "schema": { "openAPIV3Schema": {
            "type": "object",
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": { "type": "object" },
                "spec": tables.object(fields)?,
                "status": tables.object(kind.status)?,
            },
        } },
    }))
}

/// A volume without its name.
fn volume_source(volume: &Value) -> Value {
    let mut source = volume.clone();
    if let Some(properties) = source["properties"].as_object_mut() {
        properties.remove("name");
    }
    if let Some(schema) = source.as_object_mut() {
        schema.remove("required");
    }
    with_quantities("", &mut source);
    source
}

/// Names of quantities, and of maps of them.
const QUANTITIES: [&str; 4] = ["divisor", "limits", "requests", "sizeLimit"];

/// A quantity may be written as a number, too.
fn with_quantities(name: &str, schema: &mut Value) {
    if QUANTITIES.contains(&name) && schema["type"] == "string" {
        *schema = quantity();
    }
    for part in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(part) {
            with_quantities(name, inner);
        }
    }
    for (name, inner) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        with_quantities(name, inner);
    }
}
