//! Builds the Service of a workload's Dapr sidecar, and says whether a live one may be changed and how it differs.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::{apply, owner};

use crate::annotations::{APP_ID, ENABLED, HTTP_PORT, Sidecar};
use crate::workload::Workload;

/// The annotation that says what was applied.
const NOTE: &str = "dapr.io/applied";
/// Port on which every sidecar serves its HTTP API.
const SIDECAR_HTTP_PORT: i32 = 3500;

/// The Service through which a workload's sidecars are reached: headless, controlled by the workload.
///
/// # Errors
/// A workload that does not select its pods by labels: a Service could not find them.
pub(crate) fn service(workload: &Workload, sidecar: &Sidecar) -> Result<Value, String> {
    let selector = workload.match_labels();
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        return Err(
            "spec.selector.matchLabels is empty; a Service finds pods by labels, so give the selector one"
                .to_owned(),
        );
    }
    let mut annotations = sidecar.service_annotations.clone();
    annotations.extend(sidecar.reserved_annotations());
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": sidecar.service_name(),
            "namespace": workload.key.namespace,
            "labels": { ENABLED: "true" },
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": workload.kind.api_version(), "kind": workload.kind.kind,
                "name": workload.key.name, "uid": workload.uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": { "type": "ClusterIP", "clusterIP": "None", "selector": selector, "ports": ports(sidecar) },
    }))
}

fn ports(sidecar: &Sidecar) -> Value {
    let port = |name: &str, port: i32, target: i32| json!({ "name": name, "port": port, "targetPort": target, "protocol": "TCP" });
    json!([
        port("dapr-http", HTTP_PORT, SIDECAR_HTTP_PORT),
        port("dapr-grpc", sidecar.grpc_port, sidecar.grpc_port),
        port("dapr-internal", sidecar.internal_grpc_port, sidecar.internal_grpc_port),
        // There with metrics switched off, too: the sidecar has the port in any case.
        port("dapr-metrics", sidecar.metrics_port, sidecar.metrics_port),
    ])
}

/// Notes on a desired Service what it is, and says whether exactly that was applied to the live one.
pub(crate) fn note(desired: &mut DynamicObject, live: Option<&DynamicObject>) -> bool {
    apply::note(desired, live, NOTE)
}

/// The ports as they must be, where those of a live Service are others. Server-side apply alone would leave those that
/// another writer added, and a changed number beside the old one of the same name is refused.
pub(crate) fn other_ports(live: &DynamicObject, desired: &DynamicObject) -> Option<Value> {
    let parts = |ports: &Value| -> Vec<Value> {
        let ports = ports.as_array().map(Vec::as_slice).unwrap_or_default();
        ports
            .iter()
            .map(|port| json!([port["name"], port["port"], port["targetPort"], port["protocol"]]))
            .collect()
    };
    let wanted = &desired.data["spec"]["ports"];
    (parts(&live.data["spec"]["ports"]) != parts(wanted)).then(|| wanted.clone())
}

/// Whether a live Service may be changed for a workload: the workload controls it, or nothing does and it is marked as the one
/// of this application, as after a deletion of its owner alone.
///
/// # Errors
/// Whose it is, and what to do.
pub(crate) fn may_change(live: &DynamicObject, workload: &Workload, sidecar: &Sidecar) -> Result<(), String> {
    let is = |marks: &Option<std::collections::BTreeMap<String, String>>, name: &str, value: &str| {
        marks.as_ref().and_then(|marks| marks.get(name)).is_some_and(|found| found == value)
    };
    let marked =
        is(&live.metadata.labels, ENABLED, "true") && is(&live.metadata.annotations, APP_ID, &sidecar.app_id);
    if marked && owner::controller_of(live).is_none() {
        return Ok(());
    }
    owner::controlled_by(live, &workload.uid).map_err(|reason| format!("{reason}, or choose another app-id"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::annotations;
    use crate::workload::DEPLOYMENT;

    fn workload(selector: Value) -> Workload {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "n", "uid": "u"}, "spec": {"selector": selector},
        });
        Workload::of(DEPLOYMENT, &serde_json::from_value(object).unwrap())
    }

    fn sidecar(more: &[(&str, &str)]) -> Sidecar {
        let pairs = [&[("enabled", "true"), ("app-id", "shop")], more].concat();
        let map: BTreeMap<String, String> =
            pairs.iter().map(|(k, v)| (format!("dapr.io/{k}"), (*v).to_owned())).collect();
        annotations::read(&map).unwrap().unwrap()
    }

    fn live(object: Value) -> DynamicObject {
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn the_service_is_headless_and_belongs_to_the_workload() {
        let selector = json!({"matchLabels": {"app": "x"}, "matchExpressions": [{}]});
        let made = service(&workload(selector), &sidecar(&[("metrics-port", "9091")])).unwrap();
        assert_eq!(made["metadata"]["name"], "shop-dapr");
        assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(made["spec"]["clusterIP"], "None");
        assert_eq!(made["spec"]["selector"], json!({"app": "x"}));
        assert_eq!(made["metadata"]["annotations"]["prometheus.io/port"], "9091");
    }

    #[test]
    fn a_selector_without_labels_is_refused() {
        let message = service(&workload(json!({"matchExpressions": [{}]})), &sidecar(&[])).unwrap_err();
        assert!(message.contains("matchLabels"), "{message}");
    }

    #[test]
    fn only_marked_services_without_owner_are_taken_over() {
        let (workload, sidecar) = (workload(json!({"matchLabels": {"app": "x"}})), sidecar(&[]));
        let made = |labels: Value, annotations: Value, owners: Value| {
            let metadata = json!({"name": "shop-dapr", "labels": labels, "annotations": annotations, "ownerReferences": owners});
            may_change(
                &live(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata})),
                &workload,
                &sidecar,
            )
        };
        let owner = |uid: &str| json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": uid, "controller": true}]);
        let (label, annotation) = (json!({ENABLED: "true"}), json!({APP_ID: "shop"}));
        assert!(made(json!({}), json!({}), owner("u")).is_ok());
        assert!(made(label.clone(), annotation.clone(), json!([])).is_ok());
        assert!(made(label.clone(), annotation.clone(), owner("other")).is_err());
        assert!(made(json!({}), annotation, json!([])).is_err());
        let refused = made(label, json!({APP_ID: "other"}), json!([])).unwrap_err();
        assert!(refused.contains("another app-id"), "{refused}");
    }

    #[test]
    fn only_a_service_that_is_wanted_as_it_was_is_noted() {
        let workload = workload(json!({"matchLabels": {"app": "x"}}));
        let made = |more| live(service(&workload, &sidecar(more)).unwrap());
        let mut applied = made(&[("sidecar-svc-annotations", "a=1")]);
        assert!(!note(&mut applied, None));
        assert!(note(&mut made(&[("sidecar-svc-annotations", "a=1")]), Some(&applied)));
        assert!(!note(&mut made(&[]), Some(&applied)), "an annotation is not wanted any more");
    }

    #[test]
    fn ports_that_others_wrote_are_noticed() {
        let desired = service(&workload(json!({"matchLabels": {"app": "x"}})), &sidecar(&[])).unwrap();
        let desired = live(desired);
        assert_eq!(other_ports(&desired, &desired), None);
        let mut more = desired.clone();
        more.data["spec"]["ports"].as_array_mut().unwrap().push(json!({"name": "x", "port": 1}));
        assert_eq!(other_ports(&more, &desired), Some(desired.data["spec"]["ports"].clone()));
    }
}
