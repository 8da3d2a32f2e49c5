//! An object as it was read from a cluster → the same as a manifest: without status, identity and what the cluster filled in for
//! that one object.

use serde_json::{Map, Value as Json};

/// Of the metadata, what a manifest says.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// Annotations that controllers of Kubernetes and kubectl write for one object.
const ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.kubernetes.io/selected-node",
];
/// Labels that the Job controller writes for one Job.
const LABELS: [&str; 5] = [
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "pod-template-hash",
];
/// The domain of the marks by which applications know their objects.
const OURS: &str = "oam.dev";

/// The manifest of an object.
pub(super) fn copied(object: &Json) -> Json {
    let mut copy = object.clone();
    let Some(fields) = copy.as_object_mut() else { return copy };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.retain(|field, _| METADATA.contains(&field.as_str()));
        without_marks(metadata);
    }
    let text = |field: &str| object.get(field).and_then(Json::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("v1", "Service") => of_service(fields),
        ("v1", "PersistentVolumeClaim") => without(fields, &["volumeName"]),
        ("v1", "Pod") => without(fields, &["nodeName"]),
        ("v1", "ServiceAccount") => {
            fields.remove("secrets");
        }
        ("batch/v1", "Job") => of_job(fields),
        _ => {}
    }
    copy
}

/// Labels and annotations that say something of this one object only.
fn without_marks(metadata: &mut Map<String, Json>) {
    for (field, known) in [("labels", &LABELS[..]), ("annotations", &ANNOTATIONS[..])] {
        let Some(all) = metadata.get_mut(field).and_then(Json::as_object_mut) else { continue };
        all.retain(|name, _| !known.contains(&name.as_str()) && !is_ours(name));
        if all.is_empty() {
            metadata.remove(field);
        }
    }
}

fn is_ours(name: &str) -> bool {
    let domain = name.split_once('/').map_or("", |(domain, _)| domain);
    domain == OURS || domain.strip_suffix(OURS).is_some_and(|before| before.ends_with('.'))
}

fn spec(fields: &mut Map<String, Json>) -> Option<&mut Map<String, Json>> {
    fields.get_mut("spec").and_then(Json::as_object_mut)
}

fn without(fields: &mut Map<String, Json>, names: &[&str]) {
    if let Some(spec) = spec(fields) {
        spec.retain(|field, _| !names.contains(&field.as_str()));
    }
}

/// Addresses and ports of the nodes belong to one Service; a headless one stays headless.
fn of_service(fields: &mut Map<String, Json>) {
    let Some(spec) = spec(fields) else { return };
    if spec.get("clusterIP").and_then(Json::as_str) != Some("None") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    spec.remove("healthCheckNodePort");
    for port in spec.get_mut("ports").and_then(Json::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.remove("nodePort");
        }
    }
}

/// The selector of a Job, and the labels that it goes by, are made anew for each, unless its author chose them.
fn of_job(fields: &mut Map<String, Json>) {
    let Some(spec) = spec(fields) else { return };
    if spec.get("manualSelector") == Some(&Json::Bool(true)) {
        return;
    }
    spec.remove("selector");
    let metadata = spec.get_mut("template").and_then(|template| template.get_mut("metadata"));
    if let Some(metadata) = metadata.and_then(Json::as_object_mut) {
        without_marks(metadata);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_belongs_to_one_object_is_left_out() {
        let read = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}, "status": {"x": 1},
            "metadata": {
                "name": "a", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [{"uid": "o"}], "finalizers": ["x/y"],
                "managedFields": [{}], "deletionTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app.oam.dev/name": "other", "oam.dev/x": "y", "team": "blue", "notoam.dev/x": "stays"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            },
        });
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
            "metadata": {"name": "a", "namespace": "shop", "labels": {"team": "blue", "notoam.dev/x": "stays"}},
        });
        assert_eq!(copied(&read), expected);
        assert_eq!(copied(&expected), expected, "a copy of a copy is the same");
    }

    #[test]
    fn addresses_of_a_service_are_left_out() {
        let service = |ip: &str| {
            json!({"apiVersion": "v1", "kind": "Service", "spec": {
                "clusterIP": ip, "clusterIPs": [ip], "healthCheckNodePort": 31000,
                "ports": [{"port": 80, "nodePort": 30080}],
            }})
        };
        assert_eq!(copied(&service("10.0.0.7"))["spec"], json!({"ports": [{"port": 80}]}));
        let headless = json!({"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]});
        assert_eq!(copied(&service("None"))["spec"], headless);
    }

    #[test]
    fn a_job_gets_its_selector_anew() {
        let job = |manual: bool| {
            json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {
                "manualSelector": manual, "selector": {"matchLabels": {"controller-uid": "u"}},
                "template": {"metadata": {"labels": {"controller-uid": "u", "app": "a"}}},
            }})
        };
        let copy = copied(&job(false));
        assert_eq!(copy["spec"]["selector"], Json::Null);
        assert_eq!(copy["spec"]["template"]["metadata"]["labels"], json!({"app": "a"}));
        assert_eq!(copied(&job(true)), job(true));
    }

    #[test]
    fn a_pod_and_a_claim_are_bound_to_nothing() {
        for (kind, field) in [("Pod", "nodeName"), ("PersistentVolumeClaim", "volumeName")] {
            let object = json!({"apiVersion": "v1", "kind": kind, "spec": {field: "one", "other": 1}});
            assert_eq!(copied(&object)["spec"], json!({"other": 1}), "{kind}");
        }
    }
}
