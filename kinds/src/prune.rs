//! Unknown fields of built-in kinds: dropped and named; `null` means absent.
use std::fmt::Write as _;

use serde_json::Value;

use super::types::{self, Type};

/// Drops what the type does not know, and every `null`; the paths of the unknown fields come back.
pub fn prune(api_version: &str, kind: &str, object: &mut Value) -> Vec<String> {
    types::table().kind_type(api_version, kind).map_or_else(Vec::new, |ty| walk(object, ty, ""))
}

/// The same for a value of one type at a path, e.g. `metadata` of a custom resource.
pub fn walk(value: &mut Value, ty: &Type, path: &str) -> Vec<String> {
    let mut unknown = Vec::new();
    below(value, ty, &mut path.to_owned(), &mut unknown);
    unknown
}

fn below(value: &mut Value, ty: &Type, path: &mut String, unknown: &mut Vec<String>) {
    let length = path.len();
    match (ty, value) {
        (Type::Struct(at), Value::Object(map)) => {
            let Some(known) = types::table().get(*at) else { return };
            map.retain(|name, inner| {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                let field = known.field(name);
                match field {
                    Some(field) => below(inner, &field.ty, path, unknown),
                    None => unknown.push(path.clone()),
                }
                path.truncate(length);
                field.is_some() && !inner.is_null()
            });
        }
        (Type::List(item), Value::Array(list)) => {
            for (index, inner) in list.iter_mut().enumerate() {
                // A text takes every write.
                let _ = write!(path, "[{index}]");
                below(inner, item, path, unknown);
                path.truncate(length);
            }
        }
        (Type::Map(item), Value::Object(map)) => {
            for (name, inner) in map.iter_mut() {
                path.push('.');
                path.push_str(name);
                below(inner, item, path, unknown);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
