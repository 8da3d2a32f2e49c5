//! A CustomResourceDefinition as written in, the same with its defaults and its status out.

use serde_json::{Value, json};

/// Fills in what may be left out: singular, list kind, conversion strategy.
pub(crate) fn apply_defaults(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({ "strategy": "None" }));
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    if let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) {
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
    }
}

/// The status that a definition has as soon as it is stored: served at once, or refused because its names are taken.
/// `taken` is the plural of the other resource that has one of the names.
pub(crate) fn status(object: &Value, taken: Option<&str>, now: &str) -> Value {
    let spec = &object["spec"];
    let storage: Vec<Value> = spec["versions"]
        .as_array()
        .map(|list| list.iter().filter(|v| v["storage"] == true).map(|v| v["name"].clone()).collect())
        .unwrap_or_default();
    let mut stored =
        object.pointer("/status/storedVersions").and_then(Value::as_array).cloned().unwrap_or_default();
    for version in storage {
        if !stored.contains(&version) {
            stored.push(version);
        }
    }
    let condition = |kind: &str, ok: bool, reason: &str, message: &str| {
        let before = object
            .pointer("/status/conditions")
            .and_then(Value::as_array)
            .and_then(|list| list.iter().find(|c| c["type"] == kind));
        let status = if ok { "True" } else { "False" };
        let since = before
            .filter(|c| c["status"] == status)
            .and_then(|c| c["lastTransitionTime"].as_str())
            .unwrap_or(now);
        json!({ "lastTransitionTime": since, "message": message, "reason": reason, "status": status, "type": kind })
    };
    let conditions = match taken {
        None => json!([
            condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
            condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted"),
        ]),
        Some(plural) => json!([
            condition("NamesAccepted", false, "PluralConflict", &format!("{plural:?} is already in use")),
            condition("Established", false, "NotAccepted", "not all names are accepted"),
        ]),
    };
    json!({ "acceptedNames": if taken.is_none() { spec["names"].clone() } else { json!({ "kind": "", "plural": "" }) },
            "conditions": conditions, "storedVersions": stored })
}

/// Whether the definition's status says that it is served.
pub(crate) fn is_established(object: &Value) -> bool {
    object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .is_some_and(|list| list.iter().any(|c| c["type"] == "Established" && c["status"] == "True"))
}
