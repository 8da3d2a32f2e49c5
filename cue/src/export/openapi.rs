//! A field of a CUE file in, the OpenAPI v3 schema of the values it admits out.

use serde_json::{Map, Value as Json, json};

use super::schema::{Kind, Property, Shape, field_shape, json_number};
use crate::ast::File;

/// The schema of the top-level field `name` of these files; none when there is no such field.
///
/// Every property carries its name as title and its `+usage=` text (or its comment) as description.
pub fn schema_of_field(files: &[File], name: &str) -> Option<Json> {
    let (shape, comments) = field_shape(files, name)?;
    let mut schema = schema(&shape, true);
    if let Some(text) = description(&comments) {
        schema.insert("description".into(), Json::String(text));
    }
    Some(Json::Object(schema))
}

fn schema(shape: &Shape, titled: bool) -> Map<String, Json> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Json| {
        out.insert(key.to_string(), value);
    };
    if let Some(kind) = shape.kind {
        let name = match kind {
            Kind::Bool => "boolean",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::String | Kind::Null => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        };
        put("type", json!(name));
    }
    if shape.nullable {
        put("nullable", json!(true));
    }
    if !matches!(shape.kind, Some(Kind::Array | Kind::Object)) && !shape.constants.is_empty() {
        put("enum", json!(shape.constants));
    }
    if let Some(default) =
        shape.default.as_ref().filter(|d| !d.is_null() && !d.as_array().is_some_and(Vec::is_empty))
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
    if let Some(pattern) = &shape.pattern {
        put("pattern", json!(pattern));
    }
    if let Some(least) = shape.lengths.0 {
        put("minLength", json!(least));
    }
    if let Some(most) = shape.lengths.1 {
        put("maxLength", json!(most));
    }
    if let Some(items) = &shape.items {
        put("items", Json::Object(schema(items, titled)));
    }
    if let Some(others) = &shape.others {
        put("additionalProperties", Json::Object(schema(others, false)));
    }
    if !shape.fields.is_empty() {
        put("properties", properties(&shape.fields, titled));
    }
    if shape.alternatives.is_empty() {
        let needed = required(&shape.fields);
        if !needed.is_empty() {
            put("required", json!(needed));
        }
    } else if shape.kind == Some(Kind::Object) {
        // The properties stand above; an alternative only says which of them it needs.
        let alternatives = shape.alternatives.iter().map(|a| match required(&a.fields) {
            needed if needed.is_empty() => json!({}),
            needed => json!({"required": needed}),
        });
        put("oneOf", alternatives.collect());
    } else {
        let alternatives = shape.alternatives.iter().map(|a| {
            let mut schema = schema(a, false);
            schema.remove("type");
            Json::Object(schema)
        });
        put("oneOf", alternatives.collect());
    }
    out
}

fn required(fields: &[Property]) -> Vec<&str> {
    fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect()
}

fn properties(fields: &[Property], titled: bool) -> Json {
    let schemas = fields.iter().map(|field| {
        let mut schema = schema(&field.shape, titled);
        if titled {
            schema.insert("title".into(), json!(field.name));
        }
        if let Some(text) = description(&field.comments).filter(|_| titled) {
            schema.insert("description".into(), Json::String(text));
        }
        (field.name.clone(), Json::Object(schema))
    });
    Json::Object(schemas.collect())
}

/// The text behind `+usage=`, or the plain comment.
fn description(comments: &[String]) -> Option<String> {
    let plain: Vec<&str> = comments.iter().map(|line| line.trim_start_matches('/').trim()).collect();
    if let Some(at) = plain.iter().position(|line| line.starts_with("+usage=")) {
        // The text goes on over the lines that follow; the short flag is not part of it.
        let mut text = vec![plain[at].trim_start_matches("+usage=")];
        text.extend(plain[at + 1..].iter().filter(|line| !line.starts_with("+short")));
        return Some(text.join("\n").trim().to_string());
    }
    let text: Vec<&str> = plain.into_iter().filter(|line| !line.starts_with('+')).collect();
    let text = text.join("\n").trim().to_string();
    (!text.is_empty()).then_some(text)
}
