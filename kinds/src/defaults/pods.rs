//! The defaults of a pod spec: its volumes, containers and probes.

use serde_json::{Value, json};

use super::fields::{Object, ensure, inner, items, set, set_text, text};

pub(super) fn pod_spec(spec: &mut Object) {
    set_text(spec, "dnsPolicy", "ClusterFirst");
    set_text(spec, "restartPolicy", "Always");
    set(spec, "terminationGracePeriodSeconds", 30);
    set(spec, "securityContext", json!({}));
    set_text(spec, "schedulerName", "default-scheduler");
    if !text(spec, "serviceAccountName").is_empty() {
        let name = text(spec, "serviceAccountName").to_owned();
        spec.insert("serviceAccount".to_owned(), name.into());
    } else if !text(spec, "serviceAccount").is_empty() {
        let name = text(spec, "serviceAccount").to_owned();
        spec.insert("serviceAccountName".to_owned(), name.into());
    }
    for name in ["hostNetwork", "hostPID", "hostIPC"] {
        // Absent and false are one.
        if spec.get(name) == Some(&Value::Bool(false)) {
            spec.remove(name);
        }
    }
    items(spec, "volumes").for_each(volume);
    for list in ["initContainers", "containers"] {
        items(spec, list).for_each(container);
    }
}

pub(super) fn volume(volume: &mut Object) {
    const SOURCES_WITH_MODE: [&str; 4] = ["secret", "configMap", "downwardAPI", "projected"];
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in SOURCES_WITH_MODE {
        if let Some(source) = inner(volume, source) {
            // 0644 in octal.
            set(source, "defaultMode", 420);
            items(source, "items").for_each(field_ref);
            for part in items(source, "sources") {
                if let Some(token) = inner(part, "serviceAccountToken") {
                    set(token, "expirationSeconds", 3600);
                }
                if let Some(api) = inner(part, "downwardAPI") {
                    items(api, "items").for_each(field_ref);
                }
            }
        }
    }
    if let Some(path) = inner(volume, "hostPath") {
        set(path, "type", "");
    }
    let claim = inner(volume, "ephemeral")
        .and_then(|e| inner(e, "volumeClaimTemplate"))
        .and_then(|t| inner(t, "spec"));
    if let Some(claim) = claim {
        set_text(claim, "volumeMode", "Filesystem");
    }
}

pub(super) fn field_ref(owner: &mut Object) {
    if let Some(field) = inner(owner, "fieldRef") {
        set_text(field, "apiVersion", "v1");
    }
}

pub(super) fn container(container: &mut Object) {
    let image = text(container, "image").to_owned();
    set_text(container, "imagePullPolicy", pull_policy(&image));
    set_text(container, "terminationMessagePath", "/dev/termination-log");
    set_text(container, "terminationMessagePolicy", "File");
    items(container, "ports").for_each(|port| set_text(port, "protocol", "TCP"));
    for env in items(container, "env") {
        if let Some(from) = inner(env, "valueFrom") {
            field_ref(from);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = inner(container, name) {
            set_probe(probe);
        }
    }
    if let Some(lifecycle) = inner(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(get) = inner(lifecycle, name).and_then(|h| inner(h, "httpGet")) {
                http_get(get);
            }
        }
    }
}

pub(super) fn set_probe(probe: &mut Object) {
    for (name, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        let slot = probe.entry(name.to_owned()).or_insert(Value::Null);
        if slot.is_null() || *slot == json!(0) {
            *slot = value.into();
        }
    }
    if let Some(get) = inner(probe, "httpGet") {
        http_get(get);
    }
    if let Some(grpc) = inner(probe, "grpc") {
        set(grpc, "service", "");
    }
}

pub(super) fn http_get(get: &mut Object) {
    set_text(get, "path", "/");
    set_text(get, "scheme", "HTTP");
}

/// `Always` for images that may change under their name, `IfNotPresent` for the others.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if image.contains('@') {
        return "IfNotPresent";
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.rsplit_once(':') {
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ => "Always",
    }
}

/// A running pod requests what it limits where it says nothing else.
pub(super) fn requests_follow_limits(spec: &mut Object) {
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            let Some(resources) = inner(container, "resources") else { continue };
            let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { continue };
            if let Some(requests) = ensure(resources, "requests") {
                for (name, value) in limits {
                    set(requests, &name, value);
                }
            }
        }
    }
}
