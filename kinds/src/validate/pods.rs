//! The rules of pod specs.
use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, list, text};
use super::names;
use crate::cause::{Cause, CauseReason};
use crate::check::quantity;

const PORT_RANGE: std::ops::RangeInclusive<i64> = 1..=65535;
const PORT_RULE: &str = "must be between 1 and 65535, inclusive";

pub(super) fn all(field: &str, value: &Value, problems: Vec<String>, out: &mut Vec<Cause>) {
    out.extend(problems.into_iter().map(|p| Cause::invalid(field, value, p)));
}

/// A pod spec; `path` is where it stands.
pub(super) fn spec(spec: Option<&Value>, path: &str, out: &mut Vec<Cause>) {
    let nothing = Value::Null;
    let spec = spec.unwrap_or(&nothing);
    let volumes = volumes(spec, path, out);
    let containers = list(spec, "/containers");
    if containers.is_empty() {
        out.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut seen = BTreeSet::new();
    for (part, containers) in [("containers", containers), ("initContainers", list(spec, "/initContainers"))]
    {
        for (i, one) in containers.iter().enumerate() {
            let here = format!("{path}.{part}[{i}]");
            container(one, &here, &volumes, out);
            let name = text(one, "/name");
            if !name.is_empty() && !seen.insert(name) {
                out.push(Cause::duplicate(format!("{here}.name"), &name.into()));
            }
        }
    }
    let policy = text(spec, "/restartPolicy");
    if !["Always", "OnFailure", "Never"].contains(&policy) {
        let field = format!("{path}.restartPolicy");
        out.push(match policy {
            "" => Cause::required(field, ""),
            other => Cause::not_supported(field, &other.into(), &["Always", "OnFailure", "Never"]),
        });
    }
    let policy = text(spec, "/dnsPolicy");
    let known = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
    if !policy.is_empty() && !known.contains(&policy) {
        out.push(Cause::not_supported(format!("{path}.dnsPolicy"), &policy.into(), &known));
    }
    let account = text(spec, "/serviceAccountName");
    if !account.is_empty() {
        all(&format!("{path}.serviceAccountName"), &account.into(), names::subdomain(account), out);
    }
    if let Some(grace) =
        spec.get("terminationGracePeriodSeconds").filter(|v| v.as_i64().is_some_and(|n| n < 0))
    {
        let field = format!("{path}.terminationGracePeriodSeconds");
        out.push(Cause::invalid(field, grace, "must be greater than or equal to 0"));
    }
}

fn volumes<'a>(spec: &'a Value, path: &str, out: &mut Vec<Cause>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    for (i, volume) in list(spec, "/volumes").iter().enumerate() {
        let here = format!("{path}.volumes[{i}]");
        let sources: Vec<&String> =
            volume.as_object().into_iter().flatten().map(|(k, _)| k).filter(|k| *k != "name").collect();
        let mut problems = Vec::new();
        // The order in which the real server looks at sources: those it knows first come first.
        let mut ordered = sources.clone();
        ordered.sort_by_key(|s| (!matches!(s.as_str(), "emptyDir"), s.as_str() != "hostPath", s.to_string()));
        for extra in ordered.iter().skip(1) {
            problems
                .push(Cause::forbidden(format!("{here}.{extra}"), "may not specify more than 1 volume type"));
        }
        let required = [
            ("secret", "secretName"),
            ("configMap", "name"),
            ("persistentVolumeClaim", "claimName"),
            ("hostPath", "path"),
        ];
        for (source, field) in required {
            if volume.get(source).is_some_and(|s| text(s, &format!("/{field}")).is_empty()) {
                problems.push(Cause::required(format!("{here}.{source}.{field}"), ""));
            }
        }
        let bad_source = !problems.is_empty();
        out.extend(problems);
        let name = text(volume, "/name");
        let field = format!("{here}.name");
        if name.is_empty() {
            out.push(Cause::required(field, ""));
            continue;
        }
        let wrong = names::label(name);
        if !wrong.is_empty() {
            all(&field, &name.into(), wrong, out);
        } else if seen.contains(name) {
            out.push(Cause::duplicate(field, &name.into()));
        } else if !bad_source {
            seen.insert(name);
        }
    }
    seen
}

fn container(container: &Value, path: &str, volumes: &BTreeSet<&str>, out: &mut Vec<Cause>) {
    let name = text(container, "/name");
    if name.is_empty() {
        out.push(Cause::required(format!("{path}.name"), ""));
    } else {
        all(&format!("{path}.name"), &name.into(), names::label(name), out);
    }
    let image = text(container, "/image");
    if image.is_empty() {
        out.push(Cause::required(format!("{path}.image"), ""));
    } else if image.trim() != image {
        out.push(Cause::invalid(
            format!("{path}.image"),
            &image.into(),
            "must not have leading or trailing whitespace",
        ));
    }
    probes(container, path, out);
    ports(container, path, out);
    environment(container, path, out);
    mounts(container, path, volumes, out);
    let policy = text(container, "/imagePullPolicy");
    let known = ["Always", "IfNotPresent", "Never"];
    if !known.contains(&policy) {
        out.push(Cause::not_supported(format!("{path}.imagePullPolicy"), &policy.into(), &known));
    }
    resources(container, path, out);
}

fn ports(container: &Value, path: &str, out: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (i, port) in list(container, "/ports").iter().enumerate() {
        let here = format!("{path}.ports[{i}]");
        let name = text(port, "/name");
        if !name.is_empty() {
            let problems = names::port(name);
            if !problems.is_empty() {
                all(&format!("{here}.name"), &name.into(), problems, out);
            } else if !seen.insert(name) {
                out.push(Cause::duplicate(format!("{here}.name"), &name.into()));
            }
        }
        let number = port.get("containerPort").and_then(Value::as_i64).unwrap_or_default();
        if number == 0 {
            out.push(Cause::required(format!("{here}.containerPort"), ""));
        } else if !PORT_RANGE.contains(&number) {
            out.push(Cause::invalid(format!("{here}.containerPort"), &number.into(), PORT_RULE));
        }
        protocol(port, &here, out);
    }
}

pub(super) fn protocol(port: &Value, path: &str, out: &mut Vec<Cause>) {
    let known = ["SCTP", "TCP", "UDP"];
    match text(port, "/protocol") {
        "" => out.push(Cause::required(format!("{path}.protocol"), "")),
        word if !known.contains(&word) => {
            out.push(Cause::not_supported(format!("{path}.protocol"), &word.into(), &known));
        }
        _ => {}
    }
}

fn environment(container: &Value, path: &str, out: &mut Vec<Cause>) {
    const SOURCES: [&str; 5] =
        ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    for (i, variable) in list(container, "/env").iter().enumerate() {
        let here = format!("{path}.env[{i}]");
        let name = text(variable, "/name");
        if name.is_empty() {
            out.push(Cause::required(format!("{here}.name"), ""));
        } else {
            all(&format!("{here}.name"), &name.into(), names::variable(name), out);
        }
        let Some(from) = variable.get("valueFrom").filter(|v| !v.is_null()) else { continue };
        let field = format!("{here}.valueFrom");
        let given = SOURCES.iter().filter(|s| from.get(**s).is_some()).count();
        if given == 0 {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            out.push(Cause::invalid(field, &"".into(), detail));
            continue;
        }
        if !text(variable, "/value").is_empty() {
            out.push(Cause::invalid(
                field.clone(),
                &"".into(),
                "may not be specified when `value` is not empty",
            ));
        } else if given > 1 {
            out.push(Cause::invalid(
                field.clone(),
                &"".into(),
                "may not have more than one field specified at a time",
            ));
        }
        for source in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(reference) = from.get(source) {
                if text(reference, "/name").is_empty() {
                    out.push(Cause::required(format!("{field}.{source}.name"), ""));
                }
                if text(reference, "/key").is_empty() {
                    out.push(Cause::required(format!("{field}.{source}.key"), ""));
                }
            }
        }
        if let Some(reference) = from.get("fieldRef")
            && text(reference, "/fieldPath").is_empty()
        {
            out.push(Cause::required(format!("{field}.fieldRef.fieldPath"), ""));
        }
    }
}

fn mounts(container: &Value, path: &str, volumes: &BTreeSet<&str>, out: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    for (i, mount) in list(container, "/volumeMounts").iter().enumerate() {
        let here = format!("{path}.volumeMounts[{i}]");
        let name = text(mount, "/name");
        if name.is_empty() {
            out.push(Cause::required(format!("{here}.name"), ""));
        }
        if !volumes.contains(name) {
            out.push(Cause {
                reason: CauseReason::NotFound,
                field: format!("{here}.name"),
                message: format!("Not found: {name:?}"),
            });
        }
        let at = text(mount, "/mountPath");
        if at.is_empty() {
            out.push(Cause::required(format!("{here}.mountPath"), ""));
        } else if !seen.insert(at) {
            out.push(Cause::invalid(format!("{here}.mountPath"), &at.into(), "must be unique"));
        }
    }
}

fn probes(container: &Value, path: &str, out: &mut Vec<Cause>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name).filter(|p| p.is_object()) else { continue };
        let here = format!("{path}.{name}");
        handler(probe, &here, out);
        for field in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            if let Some(value) = probe.get(field).filter(|v| v.as_i64().is_some_and(|n| n < 0)) {
                out.push(Cause::invalid(
                    format!("{here}.{field}"),
                    value,
                    "must be greater than or equal to 0",
                ));
            }
        }
        let success = probe.get("successThreshold").and_then(Value::as_i64).unwrap_or(1);
        if name != "readinessProbe" && success != 1 {
            out.push(Cause::invalid(format!("{here}.successThreshold"), &success.into(), "must be 1"));
        }
    }
    for name in ["postStart", "preStop"] {
        if let Some(hook) = container.get("lifecycle").and_then(|hooks| hooks.get(name)) {
            handler(hook, &format!("{path}.lifecycle.{name}"), out);
        }
    }
}

fn handler(owner: &Value, path: &str, out: &mut Vec<Cause>) {
    let given: Vec<&str> = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"]
        .into_iter()
        .filter(|h| owner.get(*h).is_some_and(|v| !v.is_null()))
        .collect();
    if given.is_empty() {
        out.push(Cause::required(path, "must specify a handler type"));
    }
    for (i, name) in given.iter().enumerate() {
        let here = format!("{path}.{name}");
        if i > 0 {
            out.push(Cause::forbidden(here, "may not specify more than 1 handler type"));
            continue;
        }
        let Some(action) = owner.get(*name) else { continue };
        if *name == "exec" && list(action, "/command").is_empty() {
            out.push(Cause::required(format!("{here}.command"), ""));
        }
        if matches!(*name, "httpGet" | "tcpSocket" | "grpc") {
            port_reference(action.get("port"), &format!("{here}.port"), out);
        }
    }
}

/// A port number, or the name of a port.
pub(super) fn port_reference(port: Option<&Value>, field: &str, out: &mut Vec<Cause>) {
    match port {
        Some(Value::String(name)) => all(field, &name.as_str().into(), names::port(name), out),
        other => {
            let number = other.and_then(Value::as_i64).unwrap_or_default();
            if !PORT_RANGE.contains(&number) {
                out.push(Cause::invalid(field, &number.into(), PORT_RULE));
            }
        }
    }
}

fn resources(container: &Value, path: &str, out: &mut Vec<Cause>) {
    let amount = |value: &Value| match value {
        Value::String(text) => quantity(text),
        other => other.as_f64(),
    };
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let limits = at(container, "/resources/limits").and_then(Value::as_object);
    let requests = at(container, "/resources/requests").and_then(Value::as_object);
    for (part, map) in [("limits", limits), ("requests", requests)] {
        for (name, value) in map.into_iter().flatten() {
            let field = format!("{path}.resources.{part}");
            if amount(value).is_some_and(|n| n < 0.0) {
                let detail = "must be greater than or equal to 0";
                out.push(Cause::invalid(format!("{field}[{name}]"), &said(value).into(), detail));
            }
            if part == "requests" {
                let limit = limits.and_then(|l| l.get(name));
                if let (Some(limit), Some(wanted)) = (limit, amount(value))
                    && amount(limit).is_some_and(|most| wanted > most)
                {
                    let detail = format!("must be less than or equal to {name} limit of {}", said(limit));
                    out.push(Cause::invalid(field, &said(value).into(), detail));
                }
            }
        }
    }
}

/// Of a pod that exists only a few fields may change.
pub(super) fn update(new: &Value, old: &Value, out: &mut Vec<Cause>) {
    fn fixed(pod: &Value) -> Value {
        let mut spec = pod.get("spec").cloned().unwrap_or(Value::Null);
        if let Some(map) = spec.as_object_mut() {
            for name in [
                "activeDeadlineSeconds",
                "tolerations",
                "terminationGracePeriodSeconds",
                "schedulingGates",
                "nodeName",
            ] {
                map.remove(name);
            }
            for part in ["containers", "initContainers"] {
                for container in map.get_mut(part).and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(container) = container.as_object_mut() {
                        container.remove("image");
                    }
                }
            }
        }
        spec
    }
    if fixed(new) != fixed(old) {
        out.push(Cause::forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ));
    }
}
