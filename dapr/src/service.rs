//! Builds the Service of a workload's Dapr sidecar.

use serde_json::{Value, json};

use crate::annotations::{APP_ID, ENABLED, SUFFIX, Sidecar};

/// Name of the Service of an application.
#[must_use]
pub fn name(app_id: &str) -> String {
    format!("{app_id}{SUFFIX}")
}

/// The Service through which a workload's sidecars are reached: headless, controlled by the workload.
///
/// # Errors
/// A workload that does not select its pods by labels: a Service could not find them.
pub fn service(workload: &Value, sidecar: &Sidecar) -> Result<Value, String> {
    let selector = &workload["spec"]["selector"]["matchLabels"];
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        return Err(
            "spec.selector.matchLabels is empty; a Service finds pods by labels, so give the selector one"
                .to_owned(),
        );
    }
    let mut annotations = json!({ APP_ID: sidecar.app_id });
    let mut ports = vec![
        json!({ "name": "dapr-http", "port": 80, "targetPort": 3500, "protocol": "TCP" }),
        json!({ "name": "dapr-grpc", "port": 50001, "targetPort": 50001, "protocol": "TCP" }),
        json!({ "name": "dapr-internal", "port": 50002, "targetPort": 50002, "protocol": "TCP" }),
    ];
    if let Some(port) = sidecar.metrics_port {
        ports.push(json!({ "name": "dapr-metrics", "port": port, "targetPort": port, "protocol": "TCP" }));
        annotations["prometheus.io/scrape"] = json!("true");
        annotations["prometheus.io/port"] = json!(port.to_string());
        annotations["prometheus.io/path"] = json!("/");
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name(&sidecar.app_id),
            "namespace": workload["metadata"]["namespace"],
            "labels": { ENABLED: "true" },
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "Deployment",
                "name": workload["metadata"]["name"], "uid": workload["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "clusterIP": "None", "selector": selector, "ports": ports },
    }))
}
