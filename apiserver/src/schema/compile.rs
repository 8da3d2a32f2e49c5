//! `openAPIV3Schema` → compiled schema, or why it is not structural.
use kube_cel::CompiledSchema;
use regex::RegexBuilder;
use serde_json::Value;

use super::node::{Kind, Node, Rules};
use crate::builtin::types::ListKind;
use crate::cause::Cause;

/// Schemas nested deeper than this are refused, so that walks stay within the stack.
const MAX_DEPTH: usize = 100;
/// A pattern may compile to at most this many bytes, so that one cannot take all memory.
const MAX_PATTERN_BYTES: usize = 1 << 20;

pub(super) fn compile(schema: &Value) -> Result<(Node, Option<CompiledSchema>), Vec<Cause>> {
    let mut causes = Vec::new();
    let root = node(schema, "", 0, false, &mut causes);
    if root.ty != Some(Kind::Object) {
        let found = schema.get("type").cloned().unwrap_or_else(|| "".into());
        causes.push(Cause::invalid("type", &found, "must be object at the root"));
    }
    if !causes.is_empty() {
        return Err(causes);
    }
    let rules = has_rules(schema, 0).then(|| kube_cel::compile_schema(schema));
    if let Some(rules) = &rules {
        for error in rules.compilation_errors() {
            causes.push(Cause::invalid(
                "x-kubernetes-validations",
                &Value::Null,
                format!("compilation failed: {error}"),
            ));
        }
    }
    if !causes.is_empty() {
        return Err(causes);
    }
    Ok((root, rules))
}

fn has_rules(schema: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    match schema {
        Value::Object(map) => {
            map.contains_key("x-kubernetes-validations") || map.values().any(|v| has_rules(v, depth + 1))
        }
        Value::Array(list) => list.iter().any(|v| has_rules(v, depth + 1)),
        _ => false,
    }
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// One place; `logical` is true below allOf, anyOf, oneOf and not, where types are not asked for.
fn node(schema: &Value, path: &str, depth: usize, logical: bool, causes: &mut Vec<Cause>) -> Node {
    let mut out = Node::default();
    if depth > MAX_DEPTH {
        causes.push(Cause::invalid(path, &Value::Null, format!("nested deeper than {MAX_DEPTH} levels")));
        return out;
    }
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
    out.nullable = flag("nullable");
    out.int_or_string = flag("x-kubernetes-int-or-string");
    out.preserve_unknown = flag("x-kubernetes-preserve-unknown-fields");
    out.embedded = flag("x-kubernetes-embedded-resource");
    out.map_atomic = schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    out.default = schema.get("default").cloned();
    out.ty = match schema.get("type").and_then(Value::as_str) {
        Some("object") => Some(Kind::Object),
        Some("array") => Some(Kind::Array),
        Some("string") => Some(Kind::String),
        Some("integer") => Some(Kind::Integer),
        Some("number") => Some(Kind::Number),
        Some("boolean") => Some(Kind::Boolean),
        None | Some("") => {
            if !logical && !out.int_or_string && !out.preserve_unknown {
                causes.push(Cause::required(
                    child(path, "type"),
                    "must not be empty for specified object fields",
                ));
            }
            None
        }
        Some(other) => {
            let allowed = ["array", "boolean", "integer", "number", "object", "string"];
            causes.push(Cause::not_supported(child(path, "type"), &other.into(), &allowed));
            None
        }
    };
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, inner) in properties {
            let at = format!("{}[{name}]", child(path, "properties"));
            // The metadata of an object is known; what the schema says of it are only further rules.
            let known = depth == 0 && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            let mut compiled = node(inner, &at, depth + 1, logical || known, causes);
            if known && name == "metadata" {
                compiled.preserve_unknown = true;
            }
            out.properties.insert(name.clone(), compiled);
        }
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(true)) => out.preserve_unknown = true,
        Some(inner @ Value::Object(_)) => {
            let at = child(path, "additionalProperties");
            out.additional = Some(Box::new(node(inner, &at, depth + 1, logical, causes)));
        }
        _ => {}
    }
    if let Some(inner) = schema.get("items") {
        let at = child(path, "items");
        out.items = Some(Box::new(node(inner, &at, depth + 1, logical, causes)));
    } else if out.ty == Some(Kind::Array) && !logical {
        causes.push(Cause::required(child(path, "items"), "must be specified"));
    }
    out.list = list_kind(schema, path, &out, causes);
    out.rules = rules(schema, path, depth, causes);
    out
}

fn list_kind(schema: &Value, path: &str, node: &Node, causes: &mut Vec<Cause>) -> ListKind {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys: Vec<String> = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default();
            if keys.is_empty() {
                let at = child(path, "x-kubernetes-list-map-keys");
                causes.push(Cause::required(at, "must not be empty if x-kubernetes-list-type is map"));
            }
            for key in &keys {
                if node.items.as_ref().is_some_and(|i| !i.properties.contains_key(key)) {
                    let at = child(path, "x-kubernetes-list-map-keys");
                    causes.push(Cause::invalid(
                        at,
                        &key.as_str().into(),
                        "entries have to be defined in items.properties",
                    ));
                }
            }
            ListKind::Map(keys)
        }
        _ => ListKind::Atomic,
    }
}

fn rules(schema: &Value, path: &str, depth: usize, causes: &mut Vec<Cause>) -> Rules {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let count = |name: &str| schema.get(name).and_then(Value::as_u64);
    let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
    let mut branches = |name: &str| -> Vec<Node> {
        let list = schema.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().map(|inner| node(inner, &child(path, name), depth + 1, true, causes)).collect()
    };
    let (all_of, any_of, one_of) = (branches("allOf"), branches("anyOf"), branches("oneOf"));
    let not =
        schema.get("not").map(|inner| Box::new(node(inner, &child(path, "not"), depth + 1, true, causes)));
    let pattern = schema.get("pattern").and_then(Value::as_str).filter(|p| !p.is_empty()).map(|text| {
        let compiled = RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build();
        if let Err(error) = &compiled {
            let detail = format!("must be a valid regular expression, but isn't: {error}");
            causes.push(Cause::invalid(child(path, "pattern"), &text.into(), detail));
        }
        (text.to_owned(), compiled.ok())
    });
    Rules {
        required: schema
            .get("required")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default(),
        allowed: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        format: schema.get("format").and_then(Value::as_str).unwrap_or_default().to_owned(),
        pattern,
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: number("minimum"),
        maximum: number("maximum"),
        exclusive_minimum: flag("exclusiveMinimum"),
        exclusive_maximum: flag("exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of,
        any_of,
        one_of,
        not,
    }
}
