//! An exposed host and its routes → an Ingress.

use serde_json::{Value, json};

use super::node::{Node, kinds};
use crate::error::Error;
use crate::field::Field;

/// Requests below a path go to a port of a Service.
pub(super) fn route(path: &str, service: &str, port: i64) -> Value {
    let backend = json!({ "service": { "name": service, "port": { "number": port } } });
    json!({ "path": path, "pathType": "Prefix", "backend": backend })
}

/// The Ingress of `expose`; the annotations of its author win over those that are given here.
pub(super) fn ingress(
    name: &str,
    expose: &Field<'_>,
    mut annotations: Value,
    paths: Vec<Value>,
) -> Result<Node, Error> {
    let given = expose.get("ingress");
    let host = given.get("host").text()?;
    for (annotation, value) in given.get("annotations").map()? {
        annotations[annotation] = json!(value);
    }
    let mut spec = json!({ "rules": [{ "host": host, "http": { "paths": paths } }] });
    if let Some(class) = given.get("ingressClassName").text_or_none()? {
        spec["ingressClassName"] = json!(class);
    }
    if let Some(secret) = expose.get("tls").get("certificateRef").text_or_none()? {
        spec["tls"] = json!([{ "hosts": [host], "secretName": secret }]);
    }
    let object = json!({ "metadata": { "annotations": annotations }, "spec": spec });
    Ok(Node::new(kinds::INGRESS, name, object))
}
