//! The schemas of the API in, `kinds/src/types.txt` out: the fields of each type, as a server merges and completes them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::facts::RELEASE;
use super::served::Served;

/// Kinds that are not served and whose types are known all the same.
const EXTRA: [(&str, &str); 2] = [("v1", "Binding"), ("autoscaling/v1", "Scale")];
/// What stands before the short names of types.
const PREFIXES: [&str; 3] =
    ["io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apiextensions-apiserver.pkg.apis."];
/// Types whose values are single ones.
const SCALARS: [(&str, &str); 4] = [
    ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", "time"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "time"),
    ("io.k8s.apimachinery.pkg.api.resource.Quantity", "quantity"),
    ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", "intstr"),
];

/// A type that a kind is made of: its full name, and apiVersion and kind where it is a kind itself.
pub(super) struct Reached {
    full: String,
    kind: Option<String>,
}

/// Every type that the kinds are made of, by its short name.
pub(super) fn reached(
    schemas: &Map<String, Value>,
    served: &[Served],
) -> Result<BTreeMap<String, Reached>, String> {
    let served = served.iter().map(|kind| (kind.api_version.as_str(), kind.kind.as_str()));
    let mut reached = BTreeMap::new();
    let mut open = Vec::new();
    for (api_version, kind) in served.chain(EXTRA) {
        let full = of_kind(schemas, api_version, kind)
            .ok_or_else(|| format!("{api_version} {kind}: Kubernetes {RELEASE} has no schema of it"))?;
        open.push((full.to_owned(), Some(format!("{api_version} {kind}"))));
    }
    while let Some((full, kind)) = open.pop() {
        let Some((short, schema)) = short(&full).zip(structure(schemas, &full)) else { continue };
        let known = reached.get(short).is_some_and(|known: &Reached| known.kind.is_some() || kind.is_none());
        if !known {
            references(schema, &mut |inner| open.push((inner.to_owned(), None)));
            reached.insert(short.to_owned(), Reached { full: full.clone(), kind });
        }
    }
    Ok(reached)
}

/// The text of the file.
pub(super) fn text(schemas: &Map<String, Value>, types: &BTreeMap<String, Reached>) -> String {
    let mut out = format!(
        "; The types of the built-in kinds, one per block: `#name [= apiVersion Kind] [atomic]`, then one field per line:\n\
         ; name[!required] type [map=keys|set] [atomic] [merge[=key]] [retainKeys] [enum=A|B] [zero] [default=json].\n\
         ; `zero` marks fields that are always written, with their empty value where nothing was given.\n\
         ; Types: scalars, `any`, `[item]`, `{{value}}`, or the name of another block.\n\
         ; Made by `cargo xtask codegen` of the OpenAPI v3 documents a Kubernetes {RELEASE} API server publishes; do not edit.\n"
    );
    for (short, found) in types {
        let schema = &schemas[&found.full];
        let kind = found.kind.as_ref().map(|kind| format!(" = {kind}")).unwrap_or_default();
        out.push_str(&format!("#{short}{kind}{}\n", atomic(schema)));
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let mark = if required.iter().any(|r| r == name) { "!" } else { "" };
            out.push_str(&format!("{name}{mark} {}{}\n", type_of(schemas, property), rules(property)));
        }
    }
    out
}

/// The full name of the schema of a kind.
fn of_kind<'a>(schemas: &'a Map<String, Value>, api_version: &str, kind: &str) -> Option<&'a str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let wanted = json!({ "group": group, "version": version, "kind": kind });
    let is_it = |schema: &Value| {
        let names = schema["x-kubernetes-group-version-kind"].as_array();
        // Options of requests belong to every group.
        names.is_some_and(|names| names.as_slice() == [wanted.clone()])
    };
    schemas.iter().find(|(_, schema)| is_it(schema)).map(|(name, _)| name.as_str())
}

fn short(full: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| full.strip_prefix(prefix))
}

/// The schema of a type that has fields.
fn structure<'a>(schemas: &'a Map<String, Value>, full: &str) -> Option<&'a Value> {
    schemas.get(full).filter(|schema| schema["properties"].is_object())
}

/// The one type that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    if let Some(path) = schema["$ref"].as_str() {
        return path.rsplit('/').next();
    }
    match schema["allOf"].as_array().map(Vec::as_slice) {
        Some([one]) => reference(one),
        _ => None,
    }
}

/// Every type that is named anywhere in a schema.
fn references(schema: &Value, found: &mut impl FnMut(&str)) {
    match schema {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|p| p.rsplit('/').next()) {
                found(name);
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn type_of(schemas: &Map<String, Value>, schema: &Value) -> String {
    if let Some(full) = reference(schema) {
        if let Some((_, scalar)) = SCALARS.iter().find(|(name, _)| *name == full) {
            return (*scalar).to_owned();
        }
        let known = short(full).filter(|_| structure(schemas, full).is_some());
        return known.unwrap_or("any").to_owned();
    }
    let format = schema["format"].as_str().unwrap_or_default();
    match schema["type"].as_str().unwrap_or_default() {
        "array" => format!("[{}]", type_of(schemas, &schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("{{{}}}", type_of(schemas, &schema["additionalProperties"]))
        }
        "string" => match format {
            "byte" => "bytes".into(),
            "date-time" => "time".into(),
            _ => "string".into(),
        },
        "integer" if format == "int32" => "int32".into(),
        "integer" => "int64".into(),
        "number" => "number".into(),
        "boolean" => "bool".into(),
        _ => "any".into(),
    }
}

/// How a field is merged, which values it takes and its default.
fn rules(property: &Value) -> String {
    let words = |list: &Value, between: &str| {
        let words: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        words.join(between)
    };
    let mut out = String::new();
    match property["x-kubernetes-list-type"].as_str() {
        Some("map") => {
            out.push_str(&format!(" map={}", words(&property["x-kubernetes-list-map-keys"], ",")));
        }
        Some("set") => out.push_str(" set"),
        _ => {}
    }
    out.push_str(atomic(property));
    let strategy = property["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
    if strategy.split(',').any(|word| word == "merge") {
        let key = property["x-kubernetes-patch-merge-key"].as_str();
        out.push_str(&key.map_or(" merge".to_owned(), |key| format!(" merge={key}")));
    }
    if strategy.split(',').any(|word| word == "retainKeys") {
        out.push_str(" retainKeys");
    }
    if property["enum"].is_array() {
        out.push_str(&format!(" enum={}", words(&property["enum"], "|")));
    }
    match property.get("default") {
        None => {}
        Some(default) if [json!({}), json!(""), json!(0), json!(false), json!(null)].contains(default) => {
            out.push_str(" zero");
        }
        Some(default) => out.push_str(&format!(" default={default}")),
    }
    out
}

fn atomic(schema: &Value) -> &'static str {
    if schema["x-kubernetes-map-type"] == "atomic" { " atomic" } else { "" }
}
