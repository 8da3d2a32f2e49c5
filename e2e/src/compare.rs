//! Compares recorded objects with live ones: maps are unordered, numbers compare by value, and what a cluster makes up
//! is left out.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::objects::text;

/// Where two objects differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The fields from the object down; empty when one of the objects is missing.
    pub path: Vec<String>,
    /// The recorded value.
    pub expected: Option<Value>,
    /// The live value.
    pub found: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.kind, self.name)?;
        for field in &self.path {
            write!(out, " › {field}")?;
        }
        let show = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(_) if self.path.is_empty() => "an object".to_owned(),
            Some(value) => shortened(&value.to_string()),
        };
        write!(out, ": expected {}, found {}", show(&self.expected), show(&self.found))
    }
}

/// Enough of a value to see what it is.
const SHOWN: usize = 240;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Fields that a cluster makes up or kubectl leaves behind, at any depth. The recorder left kubectl's out.
const MADE_UP: [&str; 11] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "uid",
    "resourceVersion",
    "managedFields",
    "creationTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "startTime",
    "endTime",
    "clusterIP",
    "clusterIPs",
];

/// The object without what a cluster makes up: times, ids, hashes, and the namespace, of which `namespace` is the name here.
pub fn comparable(object: &Value, namespace: &str) -> Value {
    let mut kept = pruned(object, namespace);
    if let Some(metadata) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
    }
    kept
}

fn pruned(value: &Value, namespace: &str) -> Value {
    match value {
        Value::Object(map) => {
            let mut kept = Map::new();
            for (field, value) in map {
                if MADE_UP.contains(&field.as_str()) {
                    continue;
                }
                let value = match value {
                    // An object inside of a text is compared as an object.
                    Value::String(inner) if field.ends_with("last-applied-configuration") => {
                        serde_json::from_str(inner).unwrap_or_else(|_| value.clone())
                    }
                    other => other.clone(),
                };
                let value = pruned(&value, namespace);
                if !is_empty(&value) {
                    kept.insert(field.clone(), value);
                }
            }
            Value::Object(kept)
        }
        Value::Array(list) => Value::Array(list.iter().map(|value| pruned(value, namespace)).collect()),
        Value::String(text) => Value::String(plain(text, namespace)),
        other => other.clone(),
    }
}

/// What an API server stores or leaves out as it likes.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// A pattern that is known when this is built: an invalid one finds nothing.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static ID: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
/// Kubernetes writes hashes in an alphabet without vowels and look-alikes; at least one digit tells them from words.
static HASH: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"-([bcdfghjklmnpqrstvwxz2456789]{8,10})\b"));
static LONG_HASH: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\b[0-9a-f]{14,16}\b"));
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b"));

static REPLICA_SET: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"ReplicaSet "[^"]*""#));

/// A text without ids, hashes, times and the namespace.
fn plain(text: &str, namespace: &str) -> String {
    let mut plain = text.replace(namespace, "NS");
    for (pattern, name) in
        [(&*ID, "ID"), (&*LONG_HASH, "HASH"), (&*TIME, "TIME"), (&*REPLICA_SET, "ReplicaSet \"…\"")]
    {
        if let Some(pattern) = pattern {
            plain = pattern.replace_all(&plain, name).into_owned();
        }
    }
    if let Some(pattern) = &*HASH {
        let named = |found: &regex::Captures<'_>| match found[1].contains(|c: char| c.is_ascii_digit()) {
            true => "-HASH".to_owned(),
            false => found[0].to_owned(),
        };
        plain = pattern.replace_all(&plain, named).into_owned();
    }
    plain
}

/// The differences between two sets of comparable objects. Versions of one kind are one kind.
pub fn differences(expected: &[Value], live: &[Value]) -> Vec<Difference> {
    let (expected, live) = (by_identity(expected), by_identity(live));
    let mut found = Vec::new();
    for (identity, object) in &expected {
        let at = Place { kind: &identity.1, name: &identity.2 };
        match live.get(identity) {
            Some(live) => at.compare(object, live, &mut Vec::new(), &mut found),
            None => found.push(at.difference(&[], Some(object), None)),
        }
    }
    for (identity, object) in live.iter().filter(|(identity, _)| !expected.contains_key(*identity)) {
        found.push(Place { kind: &identity.1, name: &identity.2 }.difference(&[], None, Some(object)));
    }
    found
}

/// Group, kind and name.
type Identity = (String, String, String);

fn by_identity(objects: &[Value]) -> BTreeMap<Identity, &Value> {
    let identity = |object: &Value| {
        let group = text(object, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        (group.to_owned(), text(object, "/kind").to_owned(), text(object, "/metadata/name").to_owned())
    };
    objects.iter().map(|object| (identity(object), object)).collect()
}

struct Place<'a> {
    kind: &'a str,
    name: &'a str,
}

impl Place<'_> {
    fn difference(&self, path: &[String], expected: Option<&Value>, found: Option<&Value>) -> Difference {
        Difference {
            kind: self.kind.to_owned(),
            name: self.name.to_owned(),
            path: path.to_vec(),
            expected: expected.cloned(),
            found: found.cloned(),
        }
    }

    fn compare(&self, expected: &Value, live: &Value, path: &mut Vec<String>, found: &mut Vec<Difference>) {
        match (expected, live) {
            (Value::Object(expected), Value::Object(live)) => {
                let fields: std::collections::BTreeSet<&String> =
                    expected.keys().chain(live.keys()).collect();
                for field in fields {
                    path.push(field.clone());
                    self.either(expected.get(field), live.get(field), path, found);
                    path.pop();
                }
            }
            (Value::Array(expected), Value::Array(live)) => {
                // What a status tells of services and their traits stands in the order in which it was found out.
                let is_unordered = path.first().is_some_and(|field| field == "status")
                    && path.last().is_some_and(|field| field == "services" || field == "traits");
                let (expected, live) = match is_unordered {
                    true => (sorted(expected), sorted(live)),
                    false => (keyed(expected), keyed(live)),
                };
                let keys: std::collections::BTreeSet<&String> = expected.keys().chain(live.keys()).collect();
                for key in keys {
                    path.push(format!("[{key}]"));
                    self.either(expected.get(key).copied(), live.get(key).copied(), path, found);
                    path.pop();
                }
            }
            _ if expected == live => {}
            (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => {}
            // Amounts of processors and memory are numbers with a unit: `0.5` is `500m`, `1Gi` is `1024Mi`.
            _ if path.iter().any(|field| field == "resources")
                && amount(expected) == amount(live)
                && amount(live).is_some() => {}
            _ => found.push(self.difference(path, Some(expected), Some(live))),
        }
    }

    fn either(
        &self,
        expected: Option<&Value>,
        live: Option<&Value>,
        path: &mut Vec<String>,
        found: &mut Vec<Difference>,
    ) {
        match (expected, live) {
            (Some(expected), Some(live)) => self.compare(expected, live, path, found),
            (None, None) => {}
            _ => found.push(self.difference(path, expected, live)),
        }
    }
}

/// The items of a list by their place once sorted by name, type and content.
fn sorted(list: &[Value]) -> BTreeMap<String, &Value> {
    let order = |item: &&Value| format!("{} {} {item}", item["name"], item["type"]);
    let mut items: Vec<&Value> = list.iter().collect();
    items.sort_by_key(order);
    items.into_iter().enumerate().map(|(index, item)| (format!("{index:02}"), item)).collect()
}

/// An amount with its unit in thousandths, as Kubernetes reads it.
fn amount(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let thousandths: i128 = match unit {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "M" => 1000 * 1000 * 1000,
        "G" => 1000 * 1000 * 1000 * 1000,
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000 << 40,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 3 {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let part: i128 = format!("{part:0<3}").parse().ok()?;
    Some(whole * thousandths + part * thousandths / 1000)
}

/// The items of a list by what they are called, where each has a name of its own; else by their place. Conditions
/// and owners have no order that means anything.
fn keyed(list: &[Value]) -> BTreeMap<String, &Value> {
    for keys in [&["type"][..], &["kind"], &["kind", "name"]] {
        let name = |item: &Value| -> Option<String> {
            let parts: Option<Vec<&str>> = keys.iter().map(|key| item.get(*key)?.as_str()).collect();
            Some(parts?.join(" "))
        };
        let names: Option<BTreeMap<String, &Value>> =
            list.iter().map(|item| Some((name(item)?, item))).collect();
        match names {
            Some(names) if names.len() == list.len() && !list.is_empty() => return names,
            _ => {}
        }
    }
    list.iter().enumerate().map(|(index, item)| (format!("{index:02}"), item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(namespace: &str, spec: Value) -> Value {
        comparable(
            &json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": namespace, "uid": "1", "resourceVersion": "7"},
                "spec": spec,
            }),
            namespace,
        )
    }

    #[test]
    fn what_a_cluster_makes_up_is_no_difference() {
        let one = object("one", json!({"a": "in one", "b": [], "hash": "web-5fffc9fccf", "n": 1}));
        let two = object("two", json!({"a": "in two", "hash": "web-84c965c77c", "n": 1.0}));
        assert_eq!(differences(&[one], &[two]), []);
    }

    #[test]
    fn less_more_and_other_are_differences() {
        let one = object("x1", json!({"a": 1, "b": 2, "list": [{"c": 1}, {"c": 2}]}));
        let two = object("x1", json!({"a": 2, "d": 3, "list": [{"c": 1}]}));
        let paths: Vec<String> = differences(std::slice::from_ref(&one), &[two])
            .iter()
            .map(|found| found.path.join("."))
            .collect();
        assert_eq!(paths, ["spec.a", "spec.b", "spec.d", "spec.list.[01]"]);
        assert_eq!(differences(&[one], &[]).len(), 1);
    }

    #[test]
    fn amounts_are_equal_by_value() {
        for (one, other) in [("0.5", "500m"), ("1Gi", "1024Mi"), ("1500m", "1.5")] {
            assert_eq!(amount(&json!(one)), amount(&json!(other)), "{one} {other}");
        }
        assert_eq!(amount(&json!("4")), amount(&json!(4)));
        assert_ne!(amount(&json!("1G")), amount(&json!("1Gi")));
        assert_eq!(amount(&json!("busybox")), None);
    }

    #[test]
    fn words_are_no_hashes() {
        assert_eq!(plain("rollout-demo-app-v1 cpu-stdlbrry", "ns1"), "rollout-demo-app-v1 cpu-stdlbrry");
    }
}
