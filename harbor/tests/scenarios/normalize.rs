//! Makes recorded and desired objects comparable: what differs by chance or by time is taken out of both.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Files whose lines are compared; of others the values.
const LINES: [&str; 2] = ["nginx.conf", "app.conf"];

/// The object without what only a server knows.
pub(crate) fn normalized(mut object: Value) -> Value {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    for place in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
        if let Some(annotations) = object.pointer_mut(place).and_then(Value::as_object_mut) {
            for (name, value) in annotations.iter_mut() {
                if name.contains("checksum.goharbor.io/") || is_stamp(name, &namespace) {
                    *value = json!("<checksum>");
                }
            }
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    for owner in object["metadata"]["ownerReferences"].as_array_mut().into_iter().flatten() {
        owner["uid"] = json!("<uid>");
    }
    match object["kind"].as_str().unwrap() {
        "ConfigMap" => files(&mut object),
        "Secret" => secret(&mut object),
        "Deployment" => {
            for container in
                object.pointer_mut("/spec/template/spec/containers").unwrap().as_array_mut().unwrap()
            {
                environment(container);
            }
        }
        "Service" => {
            // An API server adds these where they are not given.
            let spec = object["spec"].as_object_mut().unwrap();
            for field in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy", "sessionAffinity"] {
                spec.remove(field);
            }
        }
        _ => {}
    }
    object
}

fn is_stamp(name: &str, namespace: &str) -> bool {
    name.contains(&format!(".{namespace}.")) && (name.ends_with("/uuid") || name.ends_with("/version"))
}

fn files(object: &mut Value) {
    let map = object.as_object_mut().unwrap();
    let mut files = BTreeMap::new();
    if let Some(Value::Object(encoded)) = map.remove("binaryData") {
        for (name, text) in encoded {
            let text = String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap();
            files.insert(name, text);
        }
    }
    if let Some(Value::Object(decoded)) = map.remove("x-binaryData-decoded") {
        for (name, text) in decoded {
            files.insert(name, text.as_str().unwrap().to_owned());
        }
    }
    for (name, text) in files {
        map.insert(format!("file {name}"), file(&name, &text));
    }
}

fn file(name: &str, text: &str) -> Value {
    if LINES.contains(&name) {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        return lines.collect();
    }
    without_nothing(serde_saphyr::from_str(text).unwrap())
}

/// A field that holds nothing is none.
fn without_nothing(value: Value) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nothing(value)))
            .collect(),
        other => other,
    }
}

fn secret(object: &mut Value) {
    let map = object.as_object_mut().unwrap();
    let values = map.remove("x-data").or_else(|| map.remove("stringData")).unwrap_or_default();
    let mut values: BTreeMap<String, Value> = serde_json::from_value(values).unwrap_or_default();
    // The defaults of a Secret write its texts as an API server stores them.
    if let Some(Value::Object(encoded)) = map.remove("data") {
        for (key, text) in encoded {
            let text = String::from_utf8(STANDARD.decode(text.as_str().unwrap()).unwrap()).unwrap();
            values.insert(key, json!(text));
        }
    }
    for key in ["htpasswd", "REGISTRY_HTTP_SECRET"] {
        if let Some(value) = values.get_mut(key) {
            *value = json!("<generated>");
        }
    }
    for value in values.values_mut() {
        // Whether a few letters are of both cases depends on chance.
        let text = value.as_str().unwrap();
        if text.starts_with("<generated: ") {
            *value = json!(text.replace("lower, ", "").replace("upper, ", ""));
        }
    }
    map.insert("values".to_owned(), json!(values));
}

/// Some of the variables were recorded in an order that depends on chance; a value that is empty is not said.
fn environment(container: &mut Value) {
    let Some(Value::Array(list)) = container.as_object_mut().unwrap().remove("env") else { return };
    let mut variables = BTreeMap::new();
    for mut variable in list {
        if variable["value"] == "" {
            variable.as_object_mut().unwrap().remove("value");
        }
        let name = variable["name"].as_str().unwrap().to_owned();
        assert!(variables.insert(name.clone(), variable).is_none(), "{name} twice");
    }
    container["env by name"] = json!(variables);
}

/// Where two values differ, and how.
pub(crate) fn differences(wanted: &Value, recorded: &Value, path: &str, found: &mut Vec<String>) {
    match (wanted, recorded) {
        (Value::Object(wanted), Value::Object(recorded)) => {
            let names: std::collections::BTreeSet<_> = wanted.keys().chain(recorded.keys()).collect();
            for name in names {
                let nothing = Value::Null;
                let (one, other) =
                    (wanted.get(name).unwrap_or(&nothing), recorded.get(name).unwrap_or(&nothing));
                differences(one, other, &format!("{path}/{name}"), found);
            }
        }
        (Value::Array(wanted), Value::Array(recorded)) if wanted.len() == recorded.len() => {
            for (at, (one, other)) in wanted.iter().zip(recorded).enumerate() {
                differences(one, other, &format!("{path}/{at}"), found);
            }
        }
        _ if wanted == recorded => {}
        _ => found.push(format!("{path}: {wanted} was recorded as {recorded}")),
    }
}
