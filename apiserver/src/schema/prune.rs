//! Unknown fields of custom resources: dropped and named.
use serde_json::Value;

use super::Node;
use crate::builtin;
use crate::builtin::types;

pub(super) fn prune(root: &Node, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    walk(root, object, "", true, &mut unknown);
    unknown
}

fn walk(node: &Node, value: &mut Value, path: &str, whole_object: bool, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.retain(|name, inner| {
            let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if whole_object || node.embedded {
                match name.as_str() {
                    "apiVersion" | "kind" => return true,
                    "metadata" => {
                        unknown.extend(builtin::prune_type(inner, types::table().object_meta(), &here));
                        return true;
                    }
                    _ => {}
                }
            }
            if let Some(known) = node.properties.get(name) {
                walk(known, inner, &here, false, unknown);
                return true;
            }
            if let Some(known) = &node.additional {
                walk(known, inner, &here, false, unknown);
                return true;
            }
            if node.preserve_unknown {
                return true;
            }
            unknown.push(here);
            false
        }),
        Value::Array(list) => {
            if let Some(item) = &node.items {
                for (i, inner) in list.iter_mut().enumerate() {
                    walk(item, inner, &format!("{path}[{i}]"), false, unknown);
                }
            }
        }
        _ => {}
    }
}
