//! What must be right in a Harbor beyond its schema.

use serde_json::Value;

use super::invalid::Invalid;
use super::{url, version};
use crate::field::Field;

/// The storages that a Harbor may have.
pub(crate) const STORAGES: [&str; 5] = ["s3", "swift", "azure", "gcs", "filesystem"];
const IP_FAMILIES: [&str; 2] = ["IPv4", "IPv6"];

pub(super) fn check(spec: &Field<'_>, before: Option<&Field<'_>>, found: &mut Vec<Invalid>) {
    network(spec, found);
    trace(&spec.get("trace"), found);
    one_of(&spec.get("imageChartStorage"), &STORAGES, found);
    external_url(spec, found);
    for name in ["database", "redis"] {
        let field = spec.get(name);
        if !field.is_set() {
            found.push(Invalid::required(field.path(), format!("{} should be configured", field.path())));
        }
    }
    registry_controller(spec, found);
    let at = spec.get("version");
    let old = before.map(|before| text(&before.get("version")));
    found.extend(version::check(at.path(), old, text(&at)));
}

fn text<'a>(field: &Field<'a>) -> &'a str {
    field.value().as_str().unwrap_or_default()
}

pub(super) fn external_url(spec: &Field<'_>, found: &mut Vec<Invalid>) {
    let field = spec.get("externalURL");
    if let Err(reason) = url::parse(text(&field)) {
        found.push(Invalid::value(field.path(), field.value().clone(), reason));
    }
}

pub(super) fn network(spec: &Field<'_>, found: &mut Vec<Invalid>) {
    let families = spec.get("network").get("ipFamilies");
    for (at, family) in families.value().as_array().into_iter().flatten().enumerate() {
        if !family.as_str().is_some_and(|family| IP_FAMILIES.contains(&family)) {
            let expected = IP_FAMILIES.map(|family| format!("{family:?}")).join(", ");
            let path = format!("{}[{at}]", families.path());
            found.push(Invalid::value(&path, family.clone(), format!("valid value is {expected}")));
        }
    }
}

/// Where traces go has to be said where there are any.
pub(super) fn trace(trace: &Field<'_>, found: &mut Vec<Invalid>) {
    if trace.get("enabled").value() != true {
        return;
    }
    let mut needs = |field: Field<'_>, whose: &str| {
        let there = field.is_set();
        if !there {
            found.push(Invalid::required(field.path(), format!("field is required {whose}")));
        }
        there
    };
    match text(&trace.get("provider")) {
        "jaeger" => {
            let jaeger = trace.get("jaeger");
            if needs(jaeger.clone(), "for jaeger provider") {
                let mode = text(&jaeger.get("mode"));
                if matches!(mode, "agent" | "collector") {
                    needs(jaeger.get(mode), &format!("in {mode} mode"));
                }
            }
        }
        "otel" => {
            needs(trace.get("otel"), "for otel provider");
        }
        // The schema names the others.
        _ => {}
    }
}

/// Exactly one of these has to be given.
pub(super) fn one_of(storage: &Field<'_>, kinds: &[&str], found: &mut Vec<Invalid>) {
    let given: Vec<_> = kinds.iter().copied().filter(|kind| storage.get(kind).is_set()).collect();
    match given.as_slice() {
        [_] => {}
        [] => {
            let detail = format!("no storage configuration; give one of {}", kinds.join(", "));
            found.push(Invalid::value(storage.path(), Value::Null, detail));
        }
        several => {
            let detail = "only 1 storage can be configured";
            found.push(Invalid::value(storage.path(), several.join(", "), detail));
        }
    }
}

/// Both run in one pod where they share a volume.
fn registry_controller(spec: &Field<'_>, found: &mut Vec<Invalid>) {
    if !spec.get("imageChartStorage").get("filesystem").is_set() {
        return;
    }
    for name in ["nodeSelector", "tolerations"] {
        let (own, other) = (spec.get("registryctl").get(name), spec.get("registry").get(name));
        let empty = match own.value() {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            other => other.is_null(),
        };
        if !empty && own.value() != other.value() {
            let detail = format!("must be empty or equal with {}", other.path());
            found.push(Invalid::forbidden(own.path(), detail));
        }
    }
}
