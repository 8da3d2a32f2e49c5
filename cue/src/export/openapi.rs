//! A field of a CUE file in, the OpenAPI v3 schema of the values it admits out.

use serde_json::{Map, Value as Json, json};

use super::schema::field_shape;
use super::shape::{Kind, Property, Shape, json_number};
use crate::ast::File;

/// Words in comments between which the description of a field for people stands. Where a comment has none of them, and
/// where the caller names no such words, the whole comment is the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptionMarkers {
    /// The mark before the description, `+usage=` say.
    pub before: &'static str,
    /// The mark behind it, `+short` say.
    pub behind: &'static str,
}

/// The schema of the top-level field `name` of these files; that of any object when there is no such field.
///
/// Every property carries its name as title and its comment, or what stands between the markers in it, as description.
pub fn schema_of_field(files: &[File], name: &str, markers: Option<DescriptionMarkers>) -> Json {
    root(files, name, Style { titled: true, typed: false, markers })
}

/// The same for callers that describe the field to people: every alternative says its own type, which OpenAPI documents
/// of the real `cue` leave out, and the fields declared under conditions are told. One whose condition holds by
/// defaults stands among the others and has the condition at `x-if`; the others stand, with theirs, in the list
/// `x-conditional`.
pub fn typed_schema_of_field(files: &[File], name: &str, markers: Option<DescriptionMarkers>) -> Json {
    root(files, name, Style { titled: true, typed: true, markers })
}

/// The content of a schema beside the rules.
#[derive(Clone, Copy)]
struct Style {
    /// Titles, and descriptions without markers.
    titled: bool,
    /// The type of each alternative.
    typed: bool,
    markers: Option<DescriptionMarkers>,
}

impl Style {
    fn untitled(self) -> Self {
        Self { titled: false, ..self }
    }
}

fn root(files: &[File], name: &str, style: Style) -> Json {
    let Some((shape, comments)) = field_shape(files, name, style.typed) else {
        return json!({"type": "object"});
    };
    let mut schema = schema(&shape, style);
    if let Some(text) = description(&comments, style) {
        schema.insert("description".into(), Json::String(text));
    }
    Json::Object(schema)
}

fn schema(shape: &Shape, style: Style) -> Map<String, Json> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Json| {
        out.insert(key.to_string(), value);
    };
    let name = match shape.kind {
        Some(Kind::Bool) => Some("boolean"),
        Some(Kind::Integer) => Some("integer"),
        Some(Kind::Number) => Some("number"),
        Some(Kind::String) => Some("string"),
        Some(Kind::Array) => Some("array"),
        Some(Kind::Object) => Some("object"),
        Some(Kind::Null) | None => None,
    };
    if let Some(name) = name {
        put("type", json!(name));
    }
    if let Some(format) = shape.format {
        put("format", json!(format));
    }
    if shape.nullable {
        put("nullable", json!(true));
    }
    if !matches!(shape.kind, Some(Kind::Array | Kind::Object)) && !shape.constants.is_empty() {
        put("enum", json!(shape.constants));
    }
    if let Some(default) = shape
        .default
        .as_ref()
        .filter(|d| !d.is_null() && (style.typed || !d.as_array().is_some_and(Vec::is_empty)))
    {
        put("default", default.clone());
    }
    for (bound, key, exclusive_key) in
        [(&shape.minimum, "minimum", "exclusiveMinimum"), (&shape.maximum, "maximum", "exclusiveMaximum")]
    {
        if let Some((value, inclusive)) = bound {
            put(key, json_number(value).unwrap_or(Json::Null));
            if !inclusive {
                put(exclusive_key, json!(true));
            }
        }
    }
    match &shape.patterns[..] {
        [] => {}
        [only] => put("pattern", json!(only)),
        several => put("allOf", several.iter().map(|pattern| json!({"pattern": pattern})).collect()),
    }
    let (least, most) = match shape.kind {
        Some(Kind::Array) => ("minItems", "maxItems"),
        Some(Kind::Object) => ("minProperties", "maxProperties"),
        _ => ("minLength", "maxLength"),
    };
    for (key, size) in [(least, shape.sizes.0), (most, shape.sizes.1)] {
        if let Some(size) = size {
            put(key, json!(size));
        }
    }
    if let Some(items) = &shape.items {
        put("items", Json::Object(schema(items, style)));
    }
    if let Some(others) = &shape.others {
        put("additionalProperties", Json::Object(schema(others, style.untitled())));
    }
    if !shape.fields.is_empty() {
        put("properties", properties(&shape.fields, style));
    }
    if !shape.conditional.is_empty() {
        let one = |field: &Property| {
            let mut schema = property(field, style);
            schema.insert("title".into(), json!(field.name));
            schema.insert("x-required".into(), json!(field.required));
            Json::Object(schema)
        };
        put("x-conditional", shape.conditional.iter().map(one).collect());
    }
    let needed = required(&shape.fields);
    if !needed.is_empty() {
        put("required", json!(needed));
    }
    if !shape.alternatives.is_empty() {
        put("oneOf", alternatives(shape, style));
    }
    out
}

/// The demands of each alternative beyond those that all share.
fn alternatives(shape: &Shape, style: Style) -> Json {
    let objects = shape.kind == Some(Kind::Object);
    let schemas: Vec<Json> = shape
        .alternatives
        .iter()
        .map(|alternative| match required(&alternative.fields) {
            // The properties stand above; an alternative only says which of them it needs.
            needed if objects && needed.is_empty() => json!({}),
            needed if objects => json!({"required": needed}),
            _ => {
                let mut schema = schema(alternative, style.untitled());
                if !style.typed {
                    schema.remove("type");
                }
                Json::Object(schema)
            }
        })
        .collect();
    // Objects may have more fields than are named: one that admits another must say that it is not that one.
    let apart = |(index, own): (usize, &Shape)| {
        let covers = |&other: &usize| other != index && own.subsumes(&shape.alternatives[other]);
        let others = (0..schemas.len()).filter(|_| own.kind == Some(Kind::Object)).filter(covers);
        let others: Vec<&Json> = others.map(|other| &schemas[other]).collect();
        let schema = &schemas[index];
        if others.is_empty() {
            return schema.clone();
        }
        let not = json!({"not": {"anyOf": others}});
        if schema.as_object().is_some_and(Map::is_empty) { not } else { json!({"allOf": [schema, not]}) }
    };
    shape.alternatives.iter().enumerate().map(apart).collect()
}

fn required(fields: &[Property]) -> Vec<&str> {
    fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect()
}

fn properties(fields: &[Property], style: Style) -> Json {
    Json::Object(
        fields.iter().map(|field| (field.name.clone(), Json::Object(property(field, style)))).collect(),
    )
}

fn property(field: &Property, style: Style) -> Map<String, Json> {
    let mut schema = schema(&field.shape, style);
    if style.titled {
        schema.insert("title".into(), json!(field.name));
    }
    if let Some(text) = description(&field.comments, style) {
        schema.insert("description".into(), Json::String(text));
    }
    if let Some(condition) = &field.condition {
        schema.insert("x-if".into(), json!(condition));
    }
    schema
}

/// The comments as one text, or what stands between the markers in it.
fn description(comments: &[String], style: Style) -> Option<String> {
    let text = comments.join("\n\n");
    let mut text = text.trim();
    if let Some(markers) = style.markers.filter(|_| style.titled) {
        text = text.split(markers.before).nth(1).unwrap_or(text);
        if let Some((before, _)) = text.split_once(markers.behind) {
            text = before.trim();
        }
    }
    (!text.is_empty()).then(|| text.to_owned())
}
