//! Defaults of custom resources.
use serde_json::Value;

use super::Node;

pub(super) fn apply(node: &Node, value: &mut Value) {
    match value {
        Value::Object(map) => {
            // A null that may not be one is as good as absent: known fields lose it, defaults replace it.
            map.retain(|name, inner| {
                let known = node.properties.get(name).or(node.additional.as_deref());
                !(inner.is_null() && known.is_some_and(|k| !k.nullable && !allows_null(k)))
            });
            for (name, inner) in &node.properties {
                if let Some(default) = &inner.default
                    && !map.contains_key(name)
                {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, inner) in map.iter_mut() {
                if let Some(known) = node.properties.get(name).or(node.additional.as_deref()) {
                    apply(known, inner);
                }
            }
        }
        Value::Array(list) => {
            if let Some(item) = &node.items {
                for inner in list.iter_mut() {
                    apply(item, inner);
                }
            }
        }
        _ => {}
    }
}

fn allows_null(node: &Node) -> bool {
    node.ty.is_none() && node.preserve_unknown
}
