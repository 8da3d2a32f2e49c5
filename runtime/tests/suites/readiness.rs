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

/// What a dependant waits for, on the first of June 2026.
fn dependency(object: &Value) -> (bool, String) {
    let readiness = readiness::dependency(object, "2026-06-01T00:00:00Z".parse().unwrap());
    (readiness.ready, readiness.message)
}

fn with(api_version: &str, kind: &str, more: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// Type, status and reason.
type Said = (&'static str, &'static str, &'static str);

fn conditions(all: &[Said]) -> Value {
    let all =
        all.iter().map(|(type_, status, reason)| json!({"type": type_, "status": status, "reason": reason}));
    json!({"status": {"conditions": all.collect::<Vec<_>>()}})
}

#[test]
fn conditions_decide_what_a_dependant_waits_for() {
    let cases: [(&[Said], bool); 22] = [
        (&[], false),
        (&[("Ready", "True", "")], true),
        (&[("Ready", "False", "")], false),
        (&[("Ready", "Unknown", "")], false),
        (&[("Available", "True", "")], true),
        (&[("Available", "False", "")], false),
        (&[("Ready", "True", ""), ("Available", "False", "")], false),
        (&[("InProgress", "False", "")], true),
        (&[("InProgress", "True", "")], false),
        (&[("InProgress", "Unknown", "")], false),
        (&[("Progressing", "False", "")], true),
        (&[("Progressing", "True", "ReplicaSetUpdated")], false),
        (&[("Progressing", "True", "NewReplicaSetAvailable")], true),
        (&[("Progressing", "False", "ProgressDeadlineExceeded"), ("Available", "True", "")], false),
        (&[("Progressing", "True", "NewReplicaSetAvailable"), ("Available", "True", "")], true),
        (&[("Progressing", "True", "NewReplicaSetAvailable"), ("Available", "False", "")], false),
        (&[("Failed", "False", "")], true),
        (&[("Failed", "True", "")], false),
        (&[("InProgress", "False", ""), ("Failed", "True", "")], false),
        (&[("InProgress", "False", ""), ("Failed", "False", "")], true),
        (&[("ReplicaFailure", "True", ""), ("Available", "True", "")], false),
        (&[("Whatever", "False", "")], true),
    ];
    for (all, ready) in cases {
        let found = dependency(&with("example.com/v1", "Thing", &conditions(all)));
        assert_eq!(found.0, ready, "{all:?}: {}", found.1);
        let found = dependency(&with("apps/v1", "Deployment", &conditions(all)));
        assert_eq!(found.0, ready, "{all:?}: {}", found.1);
    }
    let failed = conditions(&[("Failed", "True", "dependencyStatus")]);
    assert_eq!(
        dependency(&with("example.com/v1", "Thing", &failed)).1,
        "condition Failed is True: dependencyStatus"
    );
    let mut old = conditions(&[("Ready", "True", "")]);
    old["status"]["observedGeneration"] = json!(1);
    assert!(!dependency(&with("example.com/v1", "Thing", &old)).0);
}

#[test]
fn what_a_dependant_needs_of_each_kind() {
    let issued = |end: &str| {
        let mut issued = conditions(&[("Ready", "True", "")]);
        issued["status"]["notAfter"] = json!(end);
        issued
    };
    let tls = |key: &str| json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": key}});
    let going = json!({"metadata": {"deletionTimestamp": "2026-05-31T00:00:00Z"}});
    let ready = conditions(&[("Ready", "True", "")]);
    let none = json!({});
    for (version, kind, more, expected) in [
        ("v1", "ConfigMap", &none, true),
        ("v1", "ConfigMap", &going, false),
        ("v1", "Service", &none, true),
        ("v1", "Secret", &none, true),
        ("v1", "Secret", &tls("eA=="), true),
        ("v1", "Secret", &tls(""), false),
        ("networking.k8s.io/v1", "Ingress", &none, true),
        ("networking.k8s.io/v1", "NetworkPolicy", &none, true),
        ("cert-manager.io/v1", "Certificate", &none, false),
        ("cert-manager.io/v1", "Certificate", &ready, true),
        ("cert-manager.io/v1", "Certificate", &issued("2026-06-02T00:00:00Z"), true),
        ("cert-manager.io/v1", "Certificate", &issued("2026-06-01T00:00:00Z"), false),
        ("cert-manager.io/v1", "Certificate", &issued("soon"), false),
        ("cert-manager.io/v1", "Issuer", &none, false),
        ("cert-manager.io/v1", "Issuer", &ready, true),
        ("v1", "PersistentVolumeClaim", &none, false),
        ("batch/v1", "Job", &none, false),
    ] {
        let object = with(version, kind, more);
        assert_eq!(dependency(&object).0, expected, "{object}");
    }
    let lacking = readiness::secret_with(&json!({"data": {"a": "eA=="}}), &["a", "b", "c"]);
    assert_eq!((lacking.ready, lacking.message.as_str()), (false, "lacks b, c"));
    assert!(!judge("cert-manager.io/v1", "Certificate", json!({}), json!({})).0);
}
