//! A program in → its Deployment out, with probes, limits and a security context. Every controller that vela installs runs so.

use serde_json::{Value, json};

/// A program of ours and how it is started.
pub(super) struct Program<'a> {
    /// Name of the Deployment, its container and its account.
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    pub(super) image: &'a str,
    pub(super) args: Vec<String>,
    /// Names and numbers; one of them is `health`.
    pub(super) ports: &'a [(&'a str, u16)],
    /// The former pod ends before the next one starts.
    pub(super) recreate: bool,
}

/// What its pods are found by.
pub(super) fn labels(name: &str) -> Value {
    json!({"app.kubernetes.io/name": name})
}

pub(super) fn deployment(program: &Program<'_>) -> Value {
    let Program { name, namespace, image, args, ports, recreate } = program;
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": "health"}, "periodSeconds": 10});
    let ports: Vec<Value> =
        ports.iter().map(|(name, port)| json!({"name": name, "containerPort": port})).collect();
    let container = json!({
        "name": name,
        "image": image,
        "args": args,
        "ports": ports,
        "livenessProbe": probe("/healthz"),
        "readinessProbe": probe("/readyz"),
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    });
    let labels = labels(name);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "strategy": {"type": if *recreate { "Recreate" } else { "RollingUpdate" }},
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": name, "containers": [container]},
            },
        },
    })
}
