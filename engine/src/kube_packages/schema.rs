//! Translates OpenAPI v3 schemas to CUE definitions.
//!
//! Structs stay open and bounds, patterns and defaults are left to the API server: the package gives names and types,
//! so that a field of the wrong type is told at its line, and refuses nothing that the server would accept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use vela_cue::literal::quote_string;

use super::error::Error;

/// Most schemas of one document; the core group of Kubernetes has fewer than 400.
const SCHEMAS_AT_MOST: usize = 5_000;
/// Deepest nesting within one schema.
const DEPTH_AT_MOST: usize = 64;
/// Where a reference points.
const PREFIX: &str = "#/components/schemas/";

struct Document<'a> {
    schemas: &'a Map<String, Json>,
    /// Schemas that are referred to and not written yet.
    wanted: BTreeSet<&'a str>,
    written: BTreeSet<&'a str>,
    too_deep: bool,
}

/// The text of the package: every kind of the group version under its name, and whatever these refer to.
pub(super) fn text(package: &str, api_version: &str, document: &Json) -> Result<String, Error> {
    let schemas = document.pointer("/components/schemas").and_then(Json::as_object);
    let schemas = schemas.ok_or_else(|| Error::NoSchemas { api_version: api_version.to_owned() })?;
    let too_large = || Error::TooLarge { api_version: api_version.to_owned(), limit: SCHEMAS_AT_MOST };
    if schemas.len() > SCHEMAS_AT_MOST {
        return Err(too_large());
    }
    let mut document =
        Document { schemas, wanted: BTreeSet::new(), written: BTreeSet::new(), too_deep: false };
    let mut text = format!("package {package}\n");
    for (kind, name) in kinds(schemas, api_version) {
        document.wanted.insert(name);
        write_kind(&mut text, &kind, api_version, &definition_name(name));
    }
    while let Some(name) = document.wanted.pop_first() {
        document.written.insert(name);
        let Some(schema) = schemas.get(name) else {
            // A reference to nothing: anything goes.
            let _ = write!(text, "\n{}: _\n", definition_name(name));
            continue;
        };
        let value = document.expression(schema, 0);
        let _ = write!(text, "\n{}: {value}\n", definition_name(name));
    }
    if document.too_deep { Err(too_large()) } else { Ok(text) }
}

/// The same of kinds of which nothing but the name is known.
pub(super) fn open_kinds(package: &str, api_version: &str, kinds: &[&str]) -> String {
    let mut text = format!("package {package}\n");
    for kind in kinds {
        write_kind(&mut text, kind, api_version, "{...}");
    }
    text
}

fn write_kind(text: &mut String, kind: &str, api_version: &str, target: &str) {
    let (version, word) = (quote_string(api_version), quote_string(kind));
    // Older templates name kinds without the mark of a definition.
    let _ = write!(text, "\n#{kind}: {target} & {{apiVersion: {version}, kind: {word}}}\n{kind}: #{kind}\n");
}

/// Kinds of the group version, each with its schema. Types of many groups (`DeleteOptions`) are none of its kinds.
fn kinds<'a>(schemas: &'a Map<String, Json>, api_version: &str) -> BTreeMap<String, &'a str> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let mut kinds = BTreeMap::new();
    for (name, schema) in schemas {
        let Some([one]) = schema["x-kubernetes-group-version-kind"].as_array().map(Vec::as_slice) else {
            continue;
        };
        if one["group"] == group
            && one["version"] == version
            && let Some(kind) = one["kind"].as_str()
            && kind.chars().all(|c| c.is_ascii_alphanumeric())
            && kind.starts_with(|c: char| c.is_ascii_uppercase())
        {
            kinds.insert(kind.to_owned(), name.as_str());
        }
    }
    kinds
}

/// `io.k8s.api.apps.v1.Deployment` → `#io_k8s_api_apps_v1_Deployment`.
fn definition_name(schema: &str) -> String {
    let name: String = schema.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("#{name}")
}

impl<'a> Document<'a> {
    fn expression(&mut self, schema: &'a Json, depth: usize) -> String {
        if depth > DEPTH_AT_MOST {
            self.too_deep = true;
            return "_".to_owned();
        }
        let value = self.bare(schema, depth);
        match schema["nullable"].as_bool() {
            Some(true) if value != "_" => format!("null | {value}"),
            _ => value,
        }
    }

    fn bare(&mut self, schema: &'a Json, depth: usize) -> String {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.reference(reference);
        }
        if schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string" {
            return "int | string".to_owned();
        }
        if let Some(values) = schema["enum"].as_array() {
            let scalar = |value: &Json| match value {
                Json::String(text) => quote_string(text),
                other => other.to_string(),
            };
            return values.iter().map(scalar).collect::<Vec<_>>().join(" | ");
        }
        if schema["type"].is_null() && schema["properties"].is_null() {
            for (word, operator) in [("allOf", " & "), ("oneOf", " | "), ("anyOf", " | ")] {
                if let Some(parts) = schema[word].as_array().filter(|parts| !parts.is_empty()) {
                    let parts: Vec<String> =
                        parts.iter().map(|part| format!("({})", self.expression(part, depth + 1))).collect();
                    return parts.join(operator);
                }
            }
        }
        match schema["type"].as_str() {
            Some("string") => "string".to_owned(),
            Some("integer") => "int".to_owned(),
            Some("number") => "number".to_owned(),
            Some("boolean") => "bool".to_owned(),
            Some("array") => format!("[...{}]", self.within(&schema["items"], depth)),
            Some("object") => self.structure(schema, depth),
            _ if schema["properties"].is_object() => self.structure(schema, depth),
            _ => "_".to_owned(),
        }
    }

    fn within(&mut self, schema: &'a Json, depth: usize) -> String {
        match schema {
            Json::Object(_) => format!("({})", self.expression(schema, depth + 1)),
            _ => "_".to_owned(),
        }
    }

    fn structure(&mut self, schema: &'a Json, depth: usize) -> String {
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let mut text = "{\n".to_owned();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let mark = if required.contains(name.as_str()) { "" } else { "?" };
            let value = self.expression(property, depth + 1);
            let _ = writeln!(text, "{}{mark}: {value}", quote_string(name));
        }
        match &schema["additionalProperties"] {
            more @ Json::Object(_) => {
                let value = self.within(more, depth);
                let _ = writeln!(text, "[string]: {value}");
            }
            _ => text.push_str("...\n"),
        }
        text.push('}');
        text
    }

    fn reference(&mut self, reference: &'a str) -> String {
        let Some(name) = reference.strip_prefix(PREFIX) else { return "_".to_owned() };
        // The key of the map lives as long as the document; a name that is no key is written as anything.
        let name = self.schemas.get_key_value(name).map_or(name, |(key, _)| key.as_str());
        if !self.written.contains(name) {
            self.wanted.insert(name);
        }
        definition_name(name)
    }
}
