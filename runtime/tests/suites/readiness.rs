//! When an object counts as ready, kind by kind.

use serde_json::{Value, json};
use vela_runtime::readiness;

fn judge(api_version: &str, kind: &str, spec: Value, status: Value) -> (bool, String) {
    let object = json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status,
    });
    let readiness = readiness::of(&object);
    (readiness.ready, readiness.message)
}

#[test]
fn a_deployment_is_ready_when_the_change_is_through() {
    let through =
        json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3});
    assert_eq!(
        judge("apps/v1", "Deployment", json!({"replicas": 3}), through.clone()),
        (true, "3/3 replicas ready".into())
    );
    for (field, value) in
        [("observedGeneration", 1), ("updatedReplicas", 2), ("availableReplicas", 2), ("replicas", 4)]
    {
        let mut status = through.clone();
        status[field] = json!(value);
        assert!(!judge("apps/v1", "Deployment", json!({"replicas": 3}), status).0, "{field}");
    }
    assert!(!judge("apps/v1", "Deployment", json!({}), json!({})).0);
}

#[test]
fn other_kinds_have_their_own_rules() {
    let established = json!({"conditions": [{"type": "Established", "status": "True"}]});
    for (version, kind, spec, status, ready) in [
        ("batch/v1", "Job", json!({"completions": 2}), json!({"succeeded": 2}), true),
        ("batch/v1", "Job", json!({"completions": 2}), json!({"succeeded": 1}), false),
        (
            "batch/v1",
            "Job",
            json!({}),
            json!({"succeeded": 1, "conditions": [{"type": "Failed", "status": "True"}]}),
            false,
        ),
        (
            "v1",
            "Pod",
            json!({}),
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            true,
        ),
        ("v1", "Pod", json!({}), json!({"phase": "Pending"}), false),
        ("v1", "Pod", json!({}), json!({"phase": "Succeeded"}), true),
        ("v1", "PersistentVolumeClaim", json!({}), json!({"phase": "Bound"}), true),
        ("v1", "Service", json!({"type": "ClusterIP"}), json!({}), true),
        ("v1", "Service", json!({"type": "LoadBalancer"}), json!({"loadBalancer": {}}), false),
        (
            "apps/v1",
            "DaemonSet",
            json!({}),
            json!({"observedGeneration": 2, "desiredNumberScheduled": 1, "numberReady": 1, "updatedNumberScheduled": 1}),
            true,
        ),
        (
            "apps/v1",
            "StatefulSet",
            json!({"replicas": 1}),
            json!({"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 0}),
            false,
        ),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", json!({}), established, true),
        ("example.com/v1", "Thing", json!({}), json!({}), true),
        (
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": "Ready", "status": "False", "message": "broken"}]}),
            false,
        ),
    ] {
        assert_eq!(judge(version, kind, spec.clone(), status.clone()).0, ready, "{kind} {spec} {status}");
    }
}
