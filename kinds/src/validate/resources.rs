//! The rules of kinds without pods.
use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::{Value, json};

use super::fields::{at, immutable, list, not_negative, text};
use super::{names, pods};
use crate::cause::{Cause, CauseReason};

/// Data of one ConfigMap or Secret.
const MAX_DATA_BYTES: usize = 1_048_576;
const PORT_RANGE: std::ops::RangeInclusive<i64> = 1..=65535;
const PORT_RULE: &str = "must be between 1 and 65535, inclusive";

pub(super) fn service(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let ty = text(new, "/spec/type");
    let ports = list(new, "/spec/ports");
    let headless = text(new, "/spec/clusterIP") == "None";
    if ports.is_empty() && !headless && ty != "ExternalName" {
        out.push(Cause::required("spec.ports", ""));
    }
    if ty == "ExternalName" {
        let name = text(new, "/spec/externalName");
        if name.is_empty() {
            out.push(Cause::required("spec.externalName", ""));
        } else {
            let plain = name.strip_suffix('.').unwrap_or(name);
            pods::all("spec.externalName", &name.into(), names::subdomain(plain), out);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        service_port(port, &format!("spec.ports[{i}]"), ports.len() > 1, &mut seen, out);
    }
    let mut pairs = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
        let protocol = text(port, "/protocol");
        if !pairs.insert((number, protocol)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            out.push(Cause {
                reason: CauseReason::Duplicate,
                field: format!("spec.ports[{i}]"),
                message: format!("Duplicate value: {shown}"),
            });
        }
    }
    if !types.contains(&ty) {
        out.push(Cause::not_supported("spec.type", &ty.into(), &types));
    }
    let affinity = text(new, "/spec/sessionAffinity");
    if !["ClientIP", "None"].contains(&affinity) {
        out.push(Cause::not_supported("spec.sessionAffinity", &affinity.into(), &["ClientIP", "None"]));
    }
    let address = text(new, "/spec/clusterIP");
    if !address.is_empty() && !headless && address.parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        out.push(Cause::invalid("spec.clusterIPs[0]", &address.into(), detail));
    }
    if let Some(old) = old {
        let before = text(old, "/spec/clusterIP");
        let kept = text(old, "/spec/type") == "ExternalName" || ty == "ExternalName" || before.is_empty();
        if !kept && before != address {
            let shown = json!([address]);
            out.push(Cause::invalid("spec.clusterIPs[0]", &shown, "may not change once set"));
        }
    }
}

fn service_port<'a>(
    port: &'a Value,
    path: &str,
    several: bool,
    seen: &mut BTreeSet<&'a str>,
    out: &mut Vec<Cause>,
) {
    let name = text(port, "/name");
    if name.is_empty() {
        if several {
            out.push(Cause::required(format!("{path}.name"), ""));
        }
    } else {
        pods::all(&format!("{path}.name"), &name.into(), names::label(name), out);
        if !seen.insert(name) {
            out.push(Cause::duplicate(format!("{path}.name"), &name.into()));
        }
    }
    let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
    if !PORT_RANGE.contains(&number) {
        out.push(Cause::invalid(format!("{path}.port"), &number.into(), PORT_RULE));
    }
    pods::protocol(port, path, out);
    pods::port_reference(port.get("targetPort"), &format!("{path}.targetPort"), out);
}

pub(super) fn config_map(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    let mut size = 0;
    for part in ["data", "binaryData"] {
        for (key, value) in new.get(part).and_then(Value::as_object).into_iter().flatten() {
            let field = format!("{part}[{key}]");
            pods::all(&field, &key.as_str().into(), names::data_key(key), out);
            size += value.as_str().map_or(0, str::len);
            if part == "data" && new.get("binaryData").and_then(|b| b.get(key)).is_some() {
                out.push(Cause::invalid(
                    field,
                    &key.as_str().into(),
                    "duplicate of key present in binaryData",
                ));
            }
        }
    }
    if size > MAX_DATA_BYTES {
        out.push(Cause::too_long("", MAX_DATA_BYTES as u64));
    }
    frozen(new, old, &["data", "binaryData"], out);
}

fn frozen(new: &Value, old: Option<&Value>, parts: &[&str], out: &mut Vec<Cause>) {
    let Some(old) = old.filter(|o| o.get("immutable") == Some(&Value::Bool(true))) else { return };
    if new.get("immutable") != Some(&Value::Bool(true)) {
        out.push(Cause::forbidden("immutable", "field is immutable when `immutable` is set"));
    }
    for part in parts {
        if new.get(*part) != old.get(*part) {
            out.push(Cause::forbidden(*part, "field is immutable when `immutable` is set"));
        }
    }
}

pub(super) fn secret(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    let data = new.get("data").and_then(Value::as_object);
    let mut size = 0;
    for (key, value) in data.into_iter().flatten() {
        pods::all(&format!("data[{key}]"), &key.as_str().into(), names::data_key(key), out);
        size += value.as_str().map_or(0, |t| t.len() / 4 * 3);
    }
    if size > MAX_DATA_BYTES {
        out.push(Cause::too_long("data", MAX_DATA_BYTES as u64));
    }
    let required: &[&str] = match text(new, "/type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    for key in required {
        match data.and_then(|d| d.get(*key)).and_then(Value::as_str) {
            None => out.push(Cause::required(format!("data[{key}]"), "")),
            Some(text) if key.contains("docker") => {
                let plain = base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default();
                if serde_json::from_slice::<Value>(&plain).is_err() {
                    let detail = "<secret contents redacted>";
                    out.push(Cause::invalid(format!("data[{key}]"), &detail.into(), "invalid character"));
                }
            }
            Some(_) => {}
        }
    }
    if let Some(old) = old {
        immutable("type", old, new, out);
    }
    frozen(new, old, &["data"], out);
}

pub(super) fn claim(new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    if list(new, "/spec/accessModes").is_empty() {
        out.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    if at(new, "/spec/resources/requests/storage").is_none() {
        out.push(Cause::required("spec.resources[storage]", ""));
    }
    let fixed = |o: &Value| {
        let mut spec = o.get("spec").cloned().unwrap_or(Value::Null);
        if let Some(map) = spec.as_object_mut() {
            for name in ["resources", "volumeName", "volumeAttributesClassName"] {
                map.remove(name);
            }
        }
        spec
    };
    if old.is_some_and(|old| fixed(old) != fixed(new)) {
        out.push(Cause::forbidden(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
}

pub(super) fn ingress(new: &Value, out: &mut Vec<Cause>) {
    let rules = list(new, "/spec/rules");
    if rules.is_empty() && at(new, "/spec/defaultBackend").is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        out.push(Cause::invalid("spec", &Value::Null, detail));
    }
    for (i, rule) in rules.iter().enumerate() {
        let here = format!("spec.rules[{i}]");
        let host = text(rule, "/host");
        if !host.is_empty() {
            let plain = host.strip_prefix("*.").unwrap_or(host);
            pods::all(&format!("{here}.host"), &host.into(), names::subdomain(plain), out);
        }
        if rule.get("http").is_some() && list(rule, "/http/paths").is_empty() {
            out.push(Cause::required(format!("{here}.http.paths"), ""));
        }
        for (j, path) in list(rule, "/http/paths").iter().enumerate() {
            ingress_path(path, &format!("{here}.http.paths[{j}]"), out);
        }
    }
    if let Some(backend) = at(new, "/spec/defaultBackend") {
        ingress_backend(backend, "spec.defaultBackend", out);
    }
}

fn ingress_path(path: &Value, here: &str, out: &mut Vec<Cause>) {
    let types = ["Exact", "ImplementationSpecific", "Prefix"];
    match text(path, "/pathType") {
        "" => out.push(Cause::required(format!("{here}.pathType"), "pathType must be specified")),
        kind @ ("Exact" | "Prefix") => {
            let at = text(path, "/path");
            if !at.starts_with('/') {
                out.push(Cause::invalid(format!("{here}.path"), &at.into(), "must be an absolute path"));
            }
            let _ = kind;
        }
        "ImplementationSpecific" => {
            let at = text(path, "/path");
            if !at.is_empty() && !at.starts_with('/') {
                out.push(Cause::invalid(format!("{here}.path"), &at.into(), "must be an absolute path"));
            }
        }
        other => out.push(Cause::not_supported(format!("{here}.pathType"), &other.into(), &types)),
    }
    if let Some(backend) = path.get("backend") {
        // The real server looks no further into a path without a type.
        if !text(path, "/pathType").is_empty() {
            ingress_backend(backend, &format!("{here}.backend"), out);
        }
    }
}

fn ingress_backend(backend: &Value, here: &str, out: &mut Vec<Cause>) {
    let Some(service) = backend.get("service") else {
        if backend.get("resource").is_none() {
            out.push(Cause::required(here, "port name or number is required"));
        }
        return;
    };
    if text(service, "/name").is_empty() {
        out.push(Cause::required(format!("{here}.service.name"), ""));
    }
    let (name, number) = (
        text(service, "/port/name"),
        at(service, "/port/number").and_then(Value::as_i64).unwrap_or_default(),
    );
    if !name.is_empty() && number != 0 {
        out.push(Cause::invalid(here, &"".into(), "cannot set both port name & port number"));
    } else if name.is_empty() && number == 0 {
        out.push(Cause::required(here, "port name or number is required"));
    } else if name.is_empty() && !PORT_RANGE.contains(&number) {
        out.push(Cause::invalid(format!("{here}.service.port.number"), &number.into(), PORT_RULE));
    }
}

pub(super) fn autoscaler(new: &Value, out: &mut Vec<Cause>) {
    let number = |name: &str| new.get("spec").and_then(|spec| spec.get(name)).and_then(Value::as_i64);
    let (least, most) = (number("minReplicas"), number("maxReplicas").unwrap_or_default());
    if let Some(least) = least.filter(|n| *n < 1) {
        out.push(Cause::invalid("spec.minReplicas", &least.into(), "must be greater than or equal to 1"));
    }
    if most < 1 {
        out.push(Cause::invalid("spec.maxReplicas", &most.into(), "must be greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        out.push(Cause::invalid(
            "spec.maxReplicas",
            &most.into(),
            "must be greater than or equal to `minReplicas`",
        ));
    }
    for name in ["kind", "name"] {
        if text(new, &format!("/spec/scaleTargetRef/{name}")).is_empty() {
            out.push(Cause::required(format!("spec.scaleTargetRef.{name}"), ""));
        }
    }
    let version = text(new, "/spec/scaleTargetRef/apiVersion");
    if !version.contains('/') && version != "v1" {
        out.push(Cause::invalid(
            "spec.scaleTargetRef.apiVersion",
            &version.into(),
            "apiVersion must specify API group",
        ));
    }
}

pub(super) fn disruption_budget(new: &Value, out: &mut Vec<Cause>) {
    let field = |name: &str| new.get("spec").and_then(|spec| spec.get(name)).cloned().unwrap_or(Value::Null);
    let (least, most) = (field("minAvailable"), field("maxUnavailable"));
    if !least.is_null() && !most.is_null() {
        // The real message shows the fields in the order of the program's struct.
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{}}}",
            field("selector"),
            field("unhealthyPodEvictionPolicy"),
        );
        out.push(Cause {
            reason: CauseReason::Invalid,
            field: "spec".to_owned(),
            message: format!("Invalid value: {shown}: minAvailable and maxUnavailable cannot be both set"),
        });
    }
    for (name, value) in [("minAvailable", &least), ("maxUnavailable", &most)] {
        let path = format!("spec.{name}");
        match value {
            Value::String(text) => {
                let digits = text.strip_suffix('%').unwrap_or_default();
                if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
                    let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
                    out.push(Cause::invalid(path, value, detail));
                }
            }
            _ => not_negative(new, &path, out),
        }
    }
}

pub(super) fn role_binding(kind: &str, new: &Value, old: Option<&Value>, out: &mut Vec<Cause>) {
    let allowed: &[&str] = if kind == "RoleBinding" { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    let role = text(new, "/roleRef/kind");
    if !allowed.contains(&role) {
        out.push(Cause::not_supported("roleRef.kind", &role.into(), allowed));
    }
    if text(new, "/roleRef/name").is_empty() {
        out.push(Cause::required("roleRef.name", ""));
    }
    for (i, subject) in list(new, "/subjects").iter().enumerate() {
        let here = format!("subjects[{i}]");
        if text(subject, "/name").is_empty() {
            out.push(Cause::required(format!("{here}.name"), ""));
        }
        let kinds = ["Group", "ServiceAccount", "User"];
        let kind_of = text(subject, "/kind");
        if !kinds.contains(&kind_of) {
            out.push(Cause::not_supported(format!("{here}.kind"), &kind_of.into(), &kinds));
        }
        if kind == "ClusterRoleBinding"
            && kind_of == "ServiceAccount"
            && text(subject, "/namespace").is_empty()
        {
            out.push(Cause::required(format!("{here}.namespace"), ""));
        }
    }
    if let Some(old) = old
        && old.get("roleRef") != new.get("roleRef")
    {
        let value = new.get("roleRef").cloned().unwrap_or(Value::Null);
        out.push(Cause::invalid("roleRef", &value, "cannot change roleRef"));
    }
}
