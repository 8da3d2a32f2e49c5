//! Objects of built-in kinds → the cells of their Table rows.
use jiff::Timestamp;
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

fn since(value: &Value, pointer: &str, now: Timestamp) -> String {
    match text(value, pointer).parse::<Timestamp>() {
        Ok(at) => crate::table::age(now.duration_since(at)),
        Err(_) => "<unknown>".to_owned(),
    }
}

fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Labels as `a=b,c=d`.
fn labels(value: Option<&Value>) -> String {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    let text = pairs.map(|(k, v)| format!("{k}={}", scalar(Some(v)))).collect::<Vec<_>>().join(",");
    or(&text, "<none>").to_owned()
}

fn selector(object: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(exact) = object.pointer("/spec/selector/matchLabels").filter(|m| **m != json!({})) {
        parts.push(labels(Some(exact)));
    }
    for rule in list(object, "/spec/selector/matchExpressions") {
        let values: Vec<&str> = list(rule, "/values").iter().filter_map(Value::as_str).collect();
        let key = text(rule, "/key");
        parts.push(match text(rule, "/operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    or(&parts.join(","), "<none>").to_owned()
}

fn container_words(object: &Value, template: &str, field: &str) -> String {
    let containers = list(object, &format!("{template}/spec/containers"));
    containers.iter().map(|c| scalar(c.get(field))).collect::<Vec<_>>().join(",")
}

fn access_modes(value: &Value, pointer: &str) -> String {
    let short = |mode: &str| match mode {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(value, pointer).iter().map(|m| short(m.as_str().unwrap_or_default())).collect::<Vec<_>>().join(",")
}

/// The cells of one row, in the order of [`super::columns`].
pub fn cells(api_version: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let name = json!(text(object, "/metadata/name"));
    let age = json!(since(object, "/metadata/creationTimestamp", now));
    let template = "/spec/template";
    let workload = |more: &mut Vec<Value>| {
        more.push(container_words(object, template, "name").into());
        more.push(container_words(object, template, "image").into());
    };
    match (api_version, kind) {
        ("v1", "Pod") => pod(object, name, age),
        ("apps/v1", "Deployment") => {
            let ready =
                format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"));
            let updated = number(object, "/status/updatedReplicas");
            let available = number(object, "/status/availableReplicas");
            let mut out = vec![name, ready.into(), updated.into(), available.into(), age];
            workload(&mut out);
            out.push(selector(object).into());
            out
        }
        ("apps/v1", "ReplicaSet") | ("v1", "ReplicationController") => {
            let count = |p: &str| Value::from(number(object, p));
            let counts = [count("/spec/replicas"), count("/status/replicas"), count("/status/readyReplicas")];
            let mut out = vec![name];
            out.extend(counts);
            out.push(age);
            workload(&mut out);
            let plain = || labels(object.pointer("/spec/selector"));
            out.push(if kind == "ReplicaSet" { selector(object) } else { plain() }.into());
            out
        }
        ("apps/v1", "StatefulSet") => {
            let ready =
                format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"));
            let mut out = vec![name, ready.into(), age];
            workload(&mut out);
            out
        }
        ("apps/v1", "DaemonSet") => {
            let mut out = vec![name];
            for field in [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ] {
                out.push(number(object, &format!("/status/{field}")).into());
            }
            out.push(labels(object.pointer("/spec/template/spec/nodeSelector")).into());
            out.push(age);
            workload(&mut out);
            out.push(selector(object).into());
            out
        }
        ("batch/v1", "Job") => {
            let mut out = job(object, name, age, now);
            workload(&mut out);
            out.push(selector(object).into());
            out
        }
        ("batch/v1", "CronJob") => {
            let pattern = "/spec/jobTemplate/spec/template";
            let last = match text(object, "/status/lastScheduleTime") {
                "" => "<none>".to_owned(),
                _ => since(object, "/status/lastScheduleTime", now),
            };
            vec![
                name,
                text(object, "/spec/schedule").into(),
                or(text(object, "/spec/timeZone"), "<none>").into(),
                if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) { "True" } else { "False" }
                    .into(),
                list(object, "/status/active").len().into(),
                last.into(),
                age,
                container_words(object, pattern, "name").into(),
                container_words(object, pattern, "image").into(),
                "<none>".into(),
            ]
        }
        ("v1", "PodTemplate") => vec![
            name,
            container_words(object, "/template", "name").into(),
            container_words(object, "/template", "image").into(),
            labels(object.pointer("/template/metadata/labels")).into(),
        ],
        ("v1", "Service") => service(object, name, age),
        ("v1", "Endpoints") => vec![name, endpoints(object).into(), age],
        ("discovery.k8s.io/v1", "EndpointSlice") => endpoint_slice(object, name, age),
        ("v1", "Node") => node(object, name, age),
        ("v1" | "events.k8s.io/v1", "Event") => event(object, name, now),
        ("v1", "PersistentVolume" | "PersistentVolumeClaim") => volume(kind, object, name, age),
        ("networking.k8s.io/v1", "Ingress") => ingress(object, name, age),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => autoscaler(object, name, age),
        _ => simple(kind, object, name, age),
    }
}

/// Kinds whose cells are single fields.
fn simple(kind: &str, object: &Value, name: Value, age: Value) -> Vec<Value> {
    let field = |pointer: &str| Value::from(text(object, pointer));
    let count =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len);
    let created = || field("/metadata/creationTimestamp");
    match kind {
        "ConfigMap" => vec![name, (count("/data") + count("/binaryData")).into(), age],
        "Secret" => vec![name, field("/type"), count("/data").into(), age],
        "Namespace" => vec![name, field("/status/phase"), age],
        "LimitRange" | "Role" | "ClusterRole" | "CustomResourceDefinition" => vec![name, created()],
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
            let mut out = vec![name, role.into(), age];
            for wanted in ["User", "Group", "ServiceAccount"] {
                let subjects = list(object, "/subjects").iter().filter(|s| text(s, "/kind") == wanted);
                let names: Vec<String> = subjects
                    .map(|s| match text(s, "/namespace") {
                        "" => text(s, "/name").to_owned(),
                        namespace => format!("{namespace}/{}", text(s, "/name")),
                    })
                    .collect();
                out.push(names.join(", ").into());
            }
            out
        }
        "ResourceQuota" => {
            let part = |prefix: &str| {
                let hard = object.pointer("/spec/hard").and_then(Value::as_object);
                let pairs = hard
                    .into_iter()
                    .flatten()
                    .filter(|(k, _)| k.starts_with("limits.") == (prefix == "limits."));
                let used = |k: &str| scalar(object.pointer("/status/used").and_then(|u| u.get(k)));
                pairs
                    .map(|(k, v)| format!("{k}: {}/{}", used(k), scalar(Some(v))))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            vec![name, part("").into(), part("limits.").into(), age]
        }
        "ControllerRevision" => {
            let owner = list(object, "/metadata/ownerReferences")
                .iter()
                .find(|o| o.get("controller") == Some(&Value::Bool(true)));
            let controller = owner.map_or("<none>".to_owned(), |o| {
                let group = text(o, "/apiVersion").rsplit_once('/').map_or("", |(g, _)| g);
                let kind = text(o, "/kind").to_lowercase();
                let dot = if group.is_empty() { "" } else { "." };
                format!("{kind}{dot}{group}/{}", text(o, "/name"))
            });
            vec![name, controller.into(), number(object, "/revision").into(), age]
        }
        "IngressClass" => vec![name, field("/spec/controller"), "<none>".into(), age],
        "NetworkPolicy" => vec![name, labels(object.pointer("/spec/podSelector/matchLabels")).into(), age],
        "PodDisruptionBudget" => {
            let or_none = |p: &str| match object.pointer(p) {
                None | Some(Value::Null) => "N/A".to_owned(),
                value => scalar(value),
            };
            let allowed = number(object, "/status/disruptionsAllowed");
            vec![
                name,
                or_none("/spec/minAvailable").into(),
                or_none("/spec/maxUnavailable").into(),
                allowed.into(),
                age,
            ]
        }
        "Lease" => vec![name, field("/spec/holderIdentity"), age],
        "StorageClass" => {
            let grows = object.get("allowVolumeExpansion") == Some(&Value::Bool(true));
            vec![
                name,
                field("/provisioner"),
                field("/reclaimPolicy"),
                field("/volumeBindingMode"),
                grows.into(),
                age,
            ]
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            vec![name, list(object, "/webhooks").len().into(), age]
        }
        "ValidatingAdmissionPolicy" => {
            let param = or(text(object, "/spec/paramKind/kind"), "<unset>").to_owned();
            vec![name, list(object, "/spec/validations").len().into(), param.into(), age]
        }
        "ValidatingAdmissionPolicyBinding" => {
            let param = or(text(object, "/spec/paramRef/name"), "<unset>").to_owned();
            vec![name, field("/spec/policyName"), param.into(), age]
        }
        "PriorityClass" => {
            let default = object.get("globalDefault") == Some(&Value::Bool(true));
            vec![name, number(object, "/value").into(), default.into(), age, field("/preemptionPolicy")]
        }
        _ => vec![name, age],
    }
}

fn pod(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let statuses = list(object, "/status/containerStatuses");
    let ready = statuses.iter().filter(|s| s.get("ready") == Some(&Value::Bool(true))).count();
    let restarts: i64 = statuses.iter().map(|s| number(s, "/restartCount")).sum();
    let total = list(object, "/spec/containers").len();
    let mut shown = or(text(object, "/status/reason"), text(object, "/status/phase")).to_owned();
    for status in statuses {
        let waiting = text(status, "/state/waiting/reason");
        let ended = text(status, "/state/terminated/reason");
        if !waiting.is_empty() || !ended.is_empty() {
            shown = or(waiting, ended).to_owned();
        }
    }
    if object.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null()) {
        shown = "Terminating".to_owned();
    }
    let field = |pointer: &str| Value::from(or(text(object, pointer), "<none>"));
    vec![
        name,
        format!("{ready}/{total}").into(),
        shown.into(),
        restarts.to_string().into(),
        age,
        field("/status/podIP"),
        field("/spec/nodeName"),
        field("/status/nominatedNodeName"),
        "<none>".into(),
    ]
}

fn job(object: &Value, name: Value, age: Value, now: Timestamp) -> Vec<Value> {
    let is = |kind: &str| {
        list(object, "/status/conditions")
            .iter()
            .any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
    };
    let state =
        ["Complete", "Failed", "Suspended", "FailureTarget"].into_iter().find(|k| is(k)).unwrap_or("Running");
    let succeeded = number(object, "/status/succeeded");
    let done = match object.pointer("/spec/completions").and_then(Value::as_i64) {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None => match number(object, "/spec/parallelism") {
            0 | 1 => format!("{succeeded}/1"),
            several => format!("{succeeded}/1 of {several}"),
        },
    };
    let time = |p: &str| text(object, p).parse::<Timestamp>().ok();
    let duration = match (time("/status/startTime"), time("/status/completionTime")) {
        (Some(start), Some(end)) => crate::table::age(end.duration_since(start)),
        (Some(start), None) => crate::table::age(now.duration_since(start)),
        _ => String::new(),
    };
    vec![name, state.into(), done.into(), duration.into(), age]
}

fn service(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ty = text(object, "/spec/type");
    let outside: Vec<&str> = list(object, "/status/loadBalancer/ingress")
        .iter()
        .map(|i| or(text(i, "/ip"), text(i, "/hostname")))
        .chain(list(object, "/spec/externalIPs").iter().filter_map(Value::as_str))
        .collect();
    let external = match (ty, outside.is_empty()) {
        ("ExternalName", _) => text(object, "/spec/externalName").to_owned(),
        ("LoadBalancer", true) => "<pending>".to_owned(),
        (_, true) => "<none>".to_owned(),
        _ => outside.join(","),
    };
    let ports: Vec<String> = list(object, "/spec/ports")
        .iter()
        .map(|p| match number(p, "/nodePort") {
            0 => format!("{}/{}", number(p, "/port"), text(p, "/protocol")),
            node => format!("{}:{node}/{}", number(p, "/port"), text(p, "/protocol")),
        })
        .collect();
    vec![
        name,
        ty.into(),
        or(text(object, "/spec/clusterIP"), "<none>").into(),
        external.into(),
        or(&ports.join(","), "<none>").into(),
        age,
        labels(object.pointer("/spec/selector")).into(),
    ]
}

/// More addresses than this are counted, not listed.
const SHOWN_ENDPOINTS: usize = 3;

fn listed(all: &[String]) -> String {
    if all.is_empty() {
        return "<none>".to_owned();
    }
    let shown = all.iter().take(SHOWN_ENDPOINTS).cloned().collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(SHOWN_ENDPOINTS) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

fn endpoints(object: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(object, "/subsets") {
        for address in list(subset, "/addresses") {
            let ip = text(address, "/ip");
            let ports = list(subset, "/ports");
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|p| format!("{ip}:{}", number(p, "/port"))));
        }
    }
    listed(&all)
}

fn endpoint_slice(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ports: Vec<String> = list(object, "/ports").iter().map(|p| scalar(p.get("port"))).collect();
    let addresses: Vec<String> = list(object, "/endpoints")
        .iter()
        .flat_map(|e| list(e, "/addresses"))
        .map(|a| scalar(Some(a)))
        .collect();
    let ports = if ports.is_empty() { "<unset>".to_owned() } else { listed(&ports) };
    let addresses = if addresses.is_empty() { "<unset>".to_owned() } else { listed(&addresses) };
    vec![name, text(object, "/addressType").into(), ports.into(), addresses.into(), age]
}

fn node(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ready = list(object, "/status/conditions").iter().find(|c| text(c, "/type") == "Ready");
    let mut state = match ready.map(|c| text(c, "/status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        state.push_str(",SchedulingDisabled");
    }
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(k, _)| k.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    let address = |wanted: &str| {
        let found = list(object, "/status/addresses").iter().find(|a| text(a, "/type") == wanted);
        Value::from(or(found.map(|a| text(a, "/address")).unwrap_or_default(), "<none>"))
    };
    let info = |field: &str| Value::from(or(text(object, &format!("/status/nodeInfo/{field}")), "<unknown>"));
    vec![
        name,
        state.into(),
        or(&roles.join(","), "<none>").into(),
        age,
        text(object, "/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        info("kernelVersion"),
        info("containerRuntimeVersion"),
    ]
}

fn event(object: &Value, name: Value, now: Timestamp) -> Vec<Value> {
    let about = if object.get("regarding").is_some() { "/regarding" } else { "/involvedObject" };
    let kind = text(object, &format!("{about}/kind")).to_lowercase();
    let target = format!("{kind}/{}", text(object, &format!("{about}/name")));
    let first = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let last = ["/lastTimestamp", "/deprecatedLastTimestamp", "/series/lastObservedTime", "/eventTime"];
    let time = |pointers: &[&str]| {
        let found = pointers.iter().find(|p| !text(object, p).is_empty());
        found.map_or_else(|| "<unknown>".to_owned(), |p| since(object, p, now))
    };
    let message = or(text(object, "/message"), text(object, "/note"));
    let source = or(text(object, "/source/component"), text(object, "/reportingComponent"));
    vec![
        time(&last).into(),
        text(object, "/type").into(),
        text(object, "/reason").into(),
        target.into(),
        text(object, &format!("{about}/fieldPath")).into(),
        source.into(),
        message.trim().into(),
        time(&first).into(),
        number(object, "/count").max(1).into(),
        name,
    ]
}

fn volume(kind: &str, object: &Value, name: Value, age: Value) -> Vec<Value> {
    let field = |pointer: &str| Value::from(text(object, pointer));
    let class = or(text(object, "/spec/volumeAttributesClassName"), "<unset>").to_owned();
    let deleted = object.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null());
    let phase = if deleted { "Terminating" } else { text(object, "/status/phase") }.to_owned();
    let mode = text(object, "/spec/volumeMode").to_owned();
    if kind == "PersistentVolumeClaim" {
        let capacity = scalar(object.pointer("/status/capacity/storage"));
        return vec![
            name,
            phase.into(),
            field("/spec/volumeName"),
            capacity.into(),
            access_modes(object, "/status/accessModes").into(),
            field("/spec/storageClassName"),
            class.into(),
            age,
            mode.into(),
        ];
    }
    let claim = match text(object, "/spec/claimRef/name") {
        "" => String::new(),
        claim => format!("{}/{claim}", text(object, "/spec/claimRef/namespace")),
    };
    vec![
        name,
        scalar(object.pointer("/spec/capacity/storage")).into(),
        access_modes(object, "/spec/accessModes").into(),
        field("/spec/persistentVolumeReclaimPolicy"),
        phase.into(),
        claim.into(),
        field("/spec/storageClassName"),
        class.into(),
        field("/status/reason"),
        age,
        mode.into(),
    ]
}

fn ingress(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let hosts: Vec<&str> =
        list(object, "/spec/rules").iter().map(|r| text(r, "/host")).filter(|h| !h.is_empty()).collect();
    let addresses: Vec<&str> = list(object, "/status/loadBalancer/ingress")
        .iter()
        .map(|i| or(text(i, "/ip"), text(i, "/hostname")))
        .collect();
    let ports = if list(object, "/spec/tls").is_empty() { "80" } else { "80, 443" };
    vec![
        name,
        or(text(object, "/spec/ingressClassName"), "<none>").into(),
        or(&hosts.join(","), "*").into(),
        addresses.join(",").into(),
        ports.into(),
        age,
    ]
}

fn autoscaler(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let reference = format!(
        "{}/{}",
        text(object, "/spec/scaleTargetRef/kind"),
        text(object, "/spec/scaleTargetRef/name")
    );
    let targets: Vec<String> = list(object, "/spec/metrics")
        .iter()
        .map(|m| match m.pointer("/resource/target/averageUtilization") {
            Some(percent) => format!("{}: <unknown>/{percent}%", text(m, "/resource/name")),
            None => "<unknown>".to_owned(),
        })
        .collect();
    vec![
        name,
        reference.into(),
        or(&targets.join(", "), "<none>").into(),
        scalar(object.pointer("/spec/minReplicas")).into(),
        number(object, "/spec/maxReplicas").into(),
        number(object, "/status/currentReplicas").into(),
        age,
    ]
}
