//! What templates may know of their surroundings: the `context` value.

use serde_json::{Map, Value as Json, json};

use crate::parse::{AppFile, Component};
use crate::revision::Identity;

/// The context of a component's templates, without `output` and `outputs`.
pub(super) fn of(app: &AppFile, component: &Component, identity: &Identity, unnamed_revision: bool) -> Json {
    let document = app.document().value();
    let metadata = |key: &str| {
        document.get("metadata").and_then(|metadata| metadata.get(key)).filter(|v| v.is_object()).cloned()
    };
    let annotations = metadata("annotations").unwrap_or_else(|| Json::Object(Map::new()));
    let annotation = |key: &str| annotations.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
    let (revision, number) = match unnamed_revision {
        true => ("", 0),
        false => (identity.name(), identity.number()),
    };
    let components = app.document().value().get("spec").and_then(|spec| spec.get("components")).cloned();
    json!({
        "name": component.name,
        "namespace": app.namespace(),
        "appName": app.name(),
        "appRevision": revision,
        "appRevisionNum": number,
        "appLabels": metadata("labels").unwrap_or_else(|| Json::Object(Map::new())),
        "publishVersion": annotation("app.oam.dev/publishVersion"),
        "workflowName": annotation("app.oam.dev/workflowName"),
        "replicaKey": "",
        "revision": "",
        "cluster": "",
        "clusterVersion": app.cluster_version().to_json(),
        "components": components,
        "appAnnotations": annotations,
    })
}
