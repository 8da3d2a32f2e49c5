//! The values built-in kinds get where nothing was given, as the real API server fills them in.
mod fields;
mod pods;

use serde_json::{Value, json};

use self::fields::{Object, ensure, inner, items, set, set_text, text};
use self::pods::{pod_spec, requests_follow_limits};
use super::types::{self, Type};

/// Fills in the defaults of a built-in kind.
pub fn apply_defaults(api_version: &str, kind: &str, object: &mut Value) {
    let Some(ty) = types::table().kind_type(api_version, kind) else { return };
    if let Some(map) = object.as_object_mut() {
        map.retain(|_, v| !v.is_null());
        of_kind(kind, map);
    }
    fill(object, ty);
}

/// Numbers, flags and texts whose empty value is the same as none: the real server does not keep it.
const EMPTY_IS_ABSENT: &[(&str, &[&str])] = &[
    ("core.v1.Probe", &["initialDelaySeconds"]),
    ("core.v1.Container", &["stdin", "stdinOnce", "tty", "workingDir"]),
    ("core.v1.ContainerPort", &["hostPort", "hostIP", "name"]),
    ("core.v1.EnvVar", &["value"]),
    ("core.v1.VolumeMount", &["readOnly", "subPath"]),
    ("core.v1.PodSpec", &["nodeName", "hostname", "subdomain", "priorityClassName"]),
    ("core.v1.ServiceSpec", &["publishNotReadyAddresses", "externalName", "loadBalancerIP"]),
    ("core.v1.ServicePort", &["nodePort", "name"]),
    ("apps.v1.DeploymentSpec", &["minReadySeconds", "paused"]),
    ("apps.v1.ReplicaSetSpec", &["minReadySeconds"]),
    ("apps.v1.StatefulSetSpec", &["minReadySeconds"]),
    ("apps.v1.DaemonSetSpec", &["minReadySeconds"]),
];

/// Parts of the object that are always written, and the defaults that stand in the types.
fn fill(value: &mut Value, ty: &Type) {
    match (ty, value) {
        (Type::Struct(at), Value::Object(map)) => {
            let Some(known) = types::table().get(*at) else { return };
            if let Some((_, names)) = EMPTY_IS_ABSENT.iter().find(|(name, _)| *name == known.name) {
                map.retain(|name, value| {
                    let empty = *value == json!(0) || *value == json!(false) || *value == json!("");
                    !(empty && names.contains(&name.as_str()))
                });
            }
            // Not all of the many fields of a kind: only those that are written where they are absent.
            for field in known.filled().filter(|field| !is_type_meta(&field.name)) {
                if map.get(&field.name).is_some_and(|value| !value.is_null()) {
                    continue;
                }
                if let Some(default) = &field.default {
                    map.insert(field.name.clone(), default.clone());
                } else {
                    let mut empty = match &field.ty {
                        Type::Struct(_) => Value::Object(Object::new()),
                        other => types::empty(other),
                    };
                    fill(&mut empty, &field.ty);
                    map.insert(field.name.clone(), empty);
                }
            }
            for (name, inner) in map.iter_mut().filter(|(name, _)| !is_type_meta(name)) {
                if let Some(field) = known.field(name) {
                    fill(inner, &field.ty);
                }
            }
        }
        (Type::List(item), Value::Array(list)) => list.iter_mut().for_each(|v| fill(v, item)),
        (Type::Map(item), Value::Object(map)) => map.values_mut().for_each(|v| fill(v, item)),
        _ => {}
    }
}

fn is_type_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind")
}

fn of_kind(kind: &str, object: &mut Object) {
    match kind {
        "Pod" => {
            if let Some(spec) = inner(object, "spec") {
                set(spec, "enableServiceLinks", true);
                pod_spec(spec);
                requests_follow_limits(spec);
            }
        }
        "PodTemplate" => template(object, "template"),
        "Deployment" => with_spec(object, deployment),
        "ReplicaSet" => with_spec(object, |spec| {
            set(spec, "replicas", 1);
            template(spec, "template");
        }),
        "ReplicationController" => replication_controller(object),
        "StatefulSet" => with_spec(object, stateful_set),
        "DaemonSet" => {
            with_spec(object, daemon_set);
            // The conversion of every request writes it, so it belongs to the client that makes it; counted later.
            if let Some(annotations) = ensure(object, "metadata").and_then(|m| ensure(m, "annotations")) {
                set(annotations, "deprecated.daemonset.template.generation", "0");
            }
        }
        "Job" => with_spec(object, job_spec),
        "CronJob" => with_spec(object, |spec| {
            set_text(spec, "concurrencyPolicy", "Allow");
            set(spec, "suspend", false);
            set(spec, "successfulJobsHistoryLimit", 3);
            set(spec, "failedJobsHistoryLimit", 1);
            let job = inner(spec, "jobTemplate").and_then(|t| inner(t, "spec"));
            if let Some(job) = job {
                template(job, "template");
            }
        }),
        "Service" => with_spec(object, service),
        "Secret" => {
            set_text(object, "type", "Opaque");
            string_data(object);
        }
        "Namespace" => {
            let name = object.get("metadata").and_then(|m| m.get("name")).cloned();
            if let (Some(name), Some(labels)) =
                (name, ensure(object, "metadata").and_then(|m| ensure(m, "labels")))
            {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name);
            }
            if let Some(status) = ensure(object, "status") {
                set_text(status, "phase", "Active");
            }
        }
        "PersistentVolumeClaim" => {
            if let Some(status) = ensure(object, "status") {
                set_text(status, "phase", "Pending");
            }
            with_spec(object, |spec| set_text(spec, "volumeMode", "Filesystem"));
        }
        "PersistentVolume" => {
            if let Some(status) = ensure(object, "status") {
                set_text(status, "phase", "Pending");
            }
            with_spec(object, |spec| {
                set_text(spec, "persistentVolumeReclaimPolicy", "Retain");
                set_text(spec, "volumeMode", "Filesystem");
                if let Some(path) = inner(spec, "hostPath") {
                    set(path, "type", "");
                }
            });
        }
        "StorageClass" => {
            set_text(object, "reclaimPolicy", "Delete");
            set_text(object, "volumeBindingMode", "Immediate");
        }
        "PriorityClass" => set_text(object, "preemptionPolicy", "PreemptLowerPriority"),
        "HorizontalPodAutoscaler" => with_spec(object, |spec| {
            set(spec, "minReplicas", 1);
            if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                let target = json!({"type": "Utilization", "averageUtilization": 80});
                let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
                spec.insert("metrics".to_owned(), metric);
            }
        }),
        "NetworkPolicy" => with_spec(object, network_policy),
        "RoleBinding" | "ClusterRoleBinding" => role_binding(object),
        "Endpoints" => items(object, "subsets").for_each(|subset| {
            items(subset, "ports").for_each(|port| set_text(port, "protocol", "TCP"));
        }),
        "EndpointSlice" => items(object, "ports").for_each(|port| {
            set(port, "name", "");
            set_text(port, "protocol", "TCP");
        }),
        "MutatingWebhookConfiguration" => items(object, "webhooks").for_each(|hook| {
            set_text(hook, "reinvocationPolicy", "Never");
            webhook(hook);
        }),
        "ValidatingWebhookConfiguration" => items(object, "webhooks").for_each(webhook),
        "CustomResourceDefinition" => with_spec(object, custom_resource_definition),
        _ => {}
    }
}

fn with_spec(object: &mut Object, change: impl FnOnce(&mut Object)) {
    if let Some(spec) = ensure(object, "spec") {
        change(spec);
    }
}

fn template(map: &mut Object, name: &str) {
    if let Some(spec) = ensure(map, name).and_then(|t| ensure(t, "spec")) {
        pod_spec(spec);
    }
}

fn deployment(spec: &mut Object) {
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = ensure(spec, "strategy") {
        set_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = ensure(strategy, "rollingUpdate")
        {
            set(rolling, "maxUnavailable", "25%");
            set(rolling, "maxSurge", "25%");
        }
    }
    template(spec, "template");
}

/// Plain texts of a Secret are stored encoded.
fn string_data(object: &mut Object) {
    use base64::Engine as _;
    let Some(Value::Object(plain)) = object.remove("stringData") else { return };
    if let Some(data) = ensure(object, "data") {
        for (key, value) in plain {
            let encoded =
                base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap_or_default());
            data.insert(key, encoded.into());
        }
    }
}

fn replication_controller(object: &mut Object) {
    with_spec(object, |spec| {
        set(spec, "replicas", 1);
        template(spec, "template");
        let labels = spec.get("template").and_then(|t| t.pointer("/metadata/labels")).cloned();
        if let Some(labels) = labels {
            set(spec, "selector", labels);
        }
    });
}

fn stateful_set(spec: &mut Object) {
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set_text(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = ensure(spec, "updateStrategy") {
        set_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = ensure(strategy, "rollingUpdate")
        {
            set(rolling, "partition", 0);
        }
    }
    if let Some(policy) = ensure(spec, "persistentVolumeClaimRetentionPolicy") {
        set_text(policy, "whenDeleted", "Retain");
        set_text(policy, "whenScaled", "Retain");
    }
    template(spec, "template");
    for claim in items(spec, "volumeClaimTemplates") {
        set_text(claim, "apiVersion", "v1");
        set_text(claim, "kind", "PersistentVolumeClaim");
        of_kind("PersistentVolumeClaim", claim);
    }
}

fn daemon_set(spec: &mut Object) {
    set(spec, "revisionHistoryLimit", 10);
    if let Some(strategy) = ensure(spec, "updateStrategy") {
        set_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = ensure(strategy, "rollingUpdate")
        {
            set(rolling, "maxUnavailable", 1);
            set(rolling, "maxSurge", 0);
        }
    }
    template(spec, "template");
}

fn job_spec(spec: &mut Object) {
    if spec.get("completions").is_none_or(Value::is_null)
        && spec.get("parallelism").is_none_or(Value::is_null)
    {
        set(spec, "completions", 1);
    }
    set(spec, "parallelism", 1);
    set(spec, "backoffLimit", 6);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    set(spec, "manualSelector", false);
    let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set(spec, "podReplacementPolicy", policy);
    template(spec, "template");
}

fn service(spec: &mut Object) {
    set_text(spec, "sessionAffinity", "None");
    if text(spec, "sessionAffinity") == "ClientIP" {
        let config = ensure(spec, "sessionAffinityConfig").and_then(|c| ensure(c, "clientIP"));
        if let Some(config) = config {
            set(config, "timeoutSeconds", 10800);
        }
    }
    set_text(spec, "type", "ClusterIP");
    let ty = text(spec, "type").to_owned();
    if matches!(ty.as_str(), "NodePort" | "LoadBalancer") {
        set_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if ty != "ExternalName" {
        set_text(spec, "internalTrafficPolicy", "Cluster");
    }
    if ty == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in items(spec, "ports") {
        set_text(port, "protocol", "TCP");
        let target = port.get("targetPort");
        if target.is_none_or(|t| t.is_null() || *t == json!(0) || *t == json!("")) {
            let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
            port.insert("targetPort".to_owned(), number);
        }
    }
}

fn network_policy(spec: &mut Object) {
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            items(rule, "ports").for_each(|port| set_text(port, "protocol", "TCP"));
        }
    }
    let types = if spec.get("egress").and_then(Value::as_array).is_some_and(|l| !l.is_empty()) {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    set(spec, "policyTypes", types);
}

fn role_binding(object: &mut Object) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if let Some(role) = inner(object, "roleRef") {
        set_text(role, "apiGroup", GROUP);
    }
    for subject in items(object, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            set_text(subject, "apiGroup", GROUP);
        }
    }
}

fn webhook(hook: &mut Object) {
    set_text(hook, "failurePolicy", "Fail");
    set_text(hook, "matchPolicy", "Equivalent");
    set(hook, "namespaceSelector", json!({}));
    set(hook, "objectSelector", json!({}));
    set(hook, "timeoutSeconds", 10);
    if let Some(service) = inner(hook, "clientConfig").and_then(|c| inner(c, "service")) {
        set(service, "port", 443);
    }
    items(hook, "rules").for_each(|rule| set_text(rule, "scope", "*"));
}

fn custom_resource_definition(spec: &mut Object) {
    // A conversion that is written names its strategy itself.
    set(spec, "conversion", json!({"strategy": "None"}));
    if let Some(conversion) = inner(spec, "conversion") {
        let service = inner(conversion, "webhook")
            .and_then(|w| inner(w, "clientConfig"))
            .and_then(|c| inner(c, "service"));
        if let Some(service) = service {
            set(service, "port", 443);
        }
    }
    if let Some(names) = inner(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            set_text(names, "singular", &kind.to_lowercase());
            set_text(names, "listKind", &format!("{kind}List"));
        }
    }
}
