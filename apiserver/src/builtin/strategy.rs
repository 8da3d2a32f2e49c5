//! The kind's own changes on create and update, after defaults and before validation.
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn ensure<'a>(map: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    let slot = map.entry(name.to_owned()).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    slot.as_object_mut()
}

/// Completes a new object.
pub(crate) fn prepare_create(api_version: &str, kind: &str, new: &mut Value) {
    match (api_version, kind) {
        ("v1", "Pod") => pod(new),
        ("v1", "Service") => service_families(new),
        ("v1", "PersistentVolumeClaim") => {
            if let Some(map) = new.as_object_mut() {
                map.insert("status".to_owned(), json!({"phase": "Pending"}));
            }
        }
        ("batch/v1", "Job") => job(new),
        ("apps/v1", "DaemonSet") => template_generation(new, 1),
        _ => {}
    }
}

/// Completes a changed object with what stays as it was.
pub(crate) fn prepare_update(api_version: &str, kind: &str, old: &Value, new: &mut Value) {
    match (api_version, kind) {
        ("v1", "Service") => preserve_addresses(old, new),
        ("apps/v1", "DaemonSet") => {
            let before = text(old, "/metadata/annotations/deprecated.daemonset.template.generation");
            let changed = old.pointer("/spec/template") != new.pointer("/spec/template")
                || old.pointer("/spec/updateStrategy") != new.pointer("/spec/updateStrategy");
            template_generation(new, before.parse::<i64>().unwrap_or(1) + i64::from(changed));
        }
        ("batch/v1", "Job") => {
            for path in ["/spec/selector", "/spec/template/metadata/labels"] {
                if let (None, Some(kept)) = (new.pointer(path), old.pointer(path).cloned()) {
                    let parts: Vec<&str> = path.split('/').skip(1).collect();
                    put(new, &parts, kept);
                }
            }
        }
        ("v1", "Pod") => {
            for path in [["spec", "nodeName"], ["spec", "priority"], ["spec", "preemptionPolicy"]] {
                let pointer = format!("/{}", path.join("/"));
                if let (None, Some(kept)) = (new.pointer(&pointer), old.pointer(&pointer).cloned()) {
                    put(new, &path, kept);
                }
            }
        }
        _ => {}
    }
}

fn put(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut at = object.as_object_mut();
    for part in parents {
        at = at.and_then(|map| ensure(map, part));
    }
    if let Some(map) = at {
        map.insert((*last).to_owned(), value);
    }
}

fn pod(new: &mut Value) {
    let class = quality_of_service(new);
    let Some(map) = new.as_object_mut() else { return };
    map.insert("status".to_owned(), json!({"phase": "Pending", "qosClass": class}));
    let Some(spec) = ensure(map, "spec") else { return };
    spec.entry("priority").or_insert_with(|| 0.into());
    spec.entry("preemptionPolicy").or_insert_with(|| "PreemptLowerPriority".into());
    for name in ["serviceAccountName", "serviceAccount"] {
        spec.entry(name).or_insert_with(|| "default".into());
    }
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if let Some(list) = tolerations.as_array_mut() {
        for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
            let known = list.iter().any(|t| {
                matches!(text(t, "/key"), k if k == key || k.is_empty())
                    && matches!(text(t, "/effect"), "NoExecute" | "")
            });
            if !known {
                list.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
            }
        }
    }
}

/// How well a pod says what it needs: everything limited, something said, or nothing.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers =
        pod.pointer("/spec/containers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let filled = |c: &Value, part: &str| {
        c.pointer(&format!("/resources/{part}")).and_then(Value::as_object).is_some_and(|m| !m.is_empty())
    };
    if !containers.iter().any(|c| filled(c, "limits") || filled(c, "requests")) {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|c| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = c.pointer(&format!("/resources/limits/{name}"));
            limit.is_some() && limit == c.pointer(&format!("/resources/requests/{name}"))
        })
    });
    if guaranteed { "Guaranteed" } else { "Burstable" }
}

fn service_families(new: &mut Value) {
    if text(new, "/spec/type") == "ExternalName" {
        return;
    }
    let headless_without_pods =
        text(new, "/spec/clusterIP") == "None" && new.pointer("/spec/selector").is_none();
    let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    let policy = if headless_without_pods { "RequireDualStack" } else { "SingleStack" };
    spec.entry("ipFamilyPolicy").or_insert_with(|| policy.into());
}

fn preserve_addresses(old: &Value, new: &mut Value) {
    if text(new, "/spec/type") == "ExternalName" {
        return;
    }
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
        let pointer = format!("/spec/{name}");
        let absent = new.pointer(&pointer).is_none_or(|v| v.is_null() || *v == json!("") || *v == json!([]));
        if let (true, Some(kept)) = (absent, old.pointer(&pointer).cloned()) {
            put(new, &["spec", name], kept);
        }
    }
    if !matches!(text(new, "/spec/type"), "NodePort" | "LoadBalancer") {
        return;
    }
    let before = old.pointer("/spec/ports").and_then(Value::as_array).cloned().unwrap_or_default();
    let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        if port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0 {
            continue;
        }
        let same = before.iter().find(|o| {
            ["port", "protocol"].iter().all(|n| o.get(*n) == port.get(*n))
                || o.get("name") == port.get("name")
        });
        if let (Some(kept), Some(map)) = (same.and_then(|o| o.get("nodePort")).cloned(), port.as_object_mut())
        {
            map.insert("nodePort".to_owned(), kept);
        }
    }
    service_families(new);
}

fn job(new: &mut Value) {
    if new.pointer("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let (name, uid) = (text(new, "/metadata/name").to_owned(), text(new, "/metadata/uid").to_owned());
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    for (key, value) in labels {
        put(new, &["spec", "template", "metadata", "labels", key], value.as_str().into());
    }
    let has_labels =
        new.pointer("/metadata/labels").and_then(Value::as_object).is_some_and(|m| !m.is_empty());
    if !has_labels {
        let labels = new.pointer("/spec/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        put(new, &["metadata", "labels"], labels);
    }
    put(new, &["spec", "selector"], json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
}

fn template_generation(new: &mut Value, generation: i64) {
    const KEY: &str = "deprecated.daemonset.template.generation";
    put(new, &["metadata", "annotations", KEY], generation.to_string().into());
}
