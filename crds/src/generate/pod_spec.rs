//! Spells out the schema of a pod spec as the CRDs that carry one need it.

use serde_json::{Map, Value, json};

/// What is written as a quantity; elsewhere a number or text is a port or a share of pods.
const QUANTITIES: &[&str] = &["limits", "requests", "overhead", "divisor", "sizeLimit"];

/// References whose name may be left out: it then is the empty one.
const NAMELESS: &[&str] = &["configMap", "secret", "imagePullSecrets"];

/// Takes the texts out, which are Kubernetes' own and thousands of lines long, loosens what its types are stricter
/// about than its API, and adds what the
/// API server would otherwise miss only in the pods.
pub(super) fn loosen(schema: &mut Value) {
    visit("", schema);
}

/// `name` is the property that holds the schema, through lists and maps.
fn visit(name: &str, schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("description");
    map.remove("title");
    if QUANTITIES.contains(&name) && map.remove("x-kubernetes-int-or-string").is_some() {
        map.remove("anyOf");
        map.insert("type".to_owned(), "string".into());
    }
    if NAMELESS.contains(&name) || name.ends_with("Ref") {
        not_required(map, "name");
    }
    if name == "hostAliases" {
        not_required(map, "ip");
    }
    if name == "ports"
        && let Some(protocol) = map.get_mut("items").and_then(|i| i.pointer_mut("/properties/protocol"))
    {
        protocol["default"] = "TCP".into();
    }
    if name == "projected" {
        map.insert("required".to_owned(), json!(["sources"]));
    }
    for part in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(part) {
            visit(name, inner);
        }
    }
    for (name, inner) in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        visit(name, inner);
    }
}

fn not_required(schema: &mut Map<String, Value>, name: &str) {
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|one| one != name);
        if required.is_empty() {
            schema.remove("required");
        }
    }
}
