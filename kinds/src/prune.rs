//! Unknown fields of built-in kinds: dropped and named; `null` means absent.
use serde_json::Value;

use super::types::{self, Type};

/// Drops what the type does not know, and every `null`; the paths of the unknown fields come back.
pub fn prune(api_version: &str, kind: &str, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Some(ty) = types::table().kind_type(api_version, kind) {
        walk(object, ty, "", &mut unknown);
    }
    unknown
}

/// The same for a value of one type, e.g. `metadata` of a custom resource.
pub fn walk(value: &mut Value, ty: &Type, path: &str, unknown: &mut Vec<String>) {
    match (ty, value) {
        (Type::Struct(at), Value::Object(map)) => {
            let Some(known) = types::table().get(*at) else { return };
            map.retain(|name, inner| {
                let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let Some(field) = known.field(name) else {
                    unknown.push(here);
                    return false;
                };
                walk(inner, &field.ty, &here, unknown);
                !inner.is_null()
            });
        }
        (Type::List(item), Value::Array(list)) => {
            for (i, inner) in list.iter_mut().enumerate() {
                walk(inner, item, &format!("{path}[{i}]"), unknown);
            }
        }
        (Type::Map(item), Value::Object(map)) => {
            for (name, inner) in map.iter_mut() {
                walk(inner, item, &format!("{path}.{name}"), unknown);
            }
        }
        _ => {}
    }
}
