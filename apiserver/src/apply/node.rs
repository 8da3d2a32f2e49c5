//! The properties of a value's type that merging needs: scalar or whole, object, set, or list with keys.
use serde_json::Value;

use super::set::Element;
use crate::builtin::types::{self, Field, ListKind, Scalar, Type};
use crate::schema;

/// A type, from whichever source it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node<'a> {
    /// A built-in type; the field it stands in says how lists and objects merge.
    BuiltIn(&'static Type, Option<&'static Field>),
    /// A part of a structural schema.
    Custom(&'a schema::Node),
    /// A whole custom resource: its metadata is a built-in type.
    CustomRoot(&'a schema::Node),
    /// An unknown type: objects merge, lists are replaced.
    Deduced,
}

/// How a value merges.
pub(crate) enum Shape<'a> {
    /// As a whole.
    Leaf,
    /// Field by field.
    Object,
    /// Item by item, told apart by their value.
    Set(Node<'a>),
    /// Item by item, told apart by these fields.
    Keyed(&'a [String], Node<'a>),
}

impl<'a> Node<'a> {
    /// How this value of the type merges.
    pub(crate) fn shape(&self, value: &Value) -> Shape<'a> {
        match *self {
            Node::Deduced => {
                if value.is_object() {
                    Shape::Object
                } else {
                    Shape::Leaf
                }
            }
            Node::CustomRoot(_) => Shape::Object,
            Node::BuiltIn(ty, field) => match ty {
                Type::Scalar(_) => Shape::Leaf,
                Type::Any => Node::Deduced.shape(value),
                Type::Struct(at) => {
                    let atomic = types::table().get(*at).is_some_and(|s| s.atomic);
                    if atomic || field.is_some_and(|f| f.atomic) { Shape::Leaf } else { Shape::Object }
                }
                Type::Map(_) if field.is_some_and(|f| f.atomic) => Shape::Leaf,
                Type::Map(_) => Shape::Object,
                Type::List(item) => match field.map(|f| &f.list) {
                    Some(ListKind::Set) => Shape::Set(Node::BuiltIn(item, None)),
                    Some(ListKind::Map(keys)) => Shape::Keyed(keys, Node::BuiltIn(item, None)),
                    _ => Shape::Leaf,
                },
            },
            Node::Custom(node) => {
                if node.map_atomic {
                    return Shape::Leaf;
                }
                match (&node.items, &node.list) {
                    (Some(item), ListKind::Set) => Shape::Set(Node::Custom(item)),
                    (Some(item), ListKind::Map(keys)) => Shape::Keyed(keys, Node::Custom(item)),
                    (Some(_), ListKind::Atomic) => Shape::Leaf,
                    (None, _) => match node.ty {
                        Some(schema::Kind::Object) => Shape::Object,
                        None if node.preserve_unknown => Node::Deduced.shape(value),
                        _ => Shape::Leaf,
                    },
                }
            }
        }
    }

    /// The type of a field, whether it is a declared one, or nothing where the type has no such field.
    pub(crate) fn field(&self, name: &str) -> Option<(Node<'a>, bool)> {
        const TEXT: Type = Type::Scalar(Scalar::String);
        static TEXT_TYPE: Type = TEXT;
        match *self {
            Node::Deduced => Some((Node::Deduced, false)),
            Node::BuiltIn(ty, _) => match ty {
                Type::Struct(at) => {
                    let field = types::table().get(*at)?.field(name)?;
                    Some((Node::BuiltIn(&field.ty, Some(field)), true))
                }
                Type::Map(value) => Some((Node::BuiltIn(value, None), false)),
                _ => Some((Node::Deduced, false)),
            },
            Node::CustomRoot(node) => match name {
                "metadata" => Some((Node::BuiltIn(types::table().object_meta(), None), true)),
                "apiVersion" | "kind" => Some((Node::BuiltIn(&TEXT_TYPE, None), true)),
                _ => Node::Custom(node).field(name),
            },
            Node::Custom(node) => {
                if node.embedded {
                    match name {
                        "metadata" => return Some((Node::BuiltIn(types::table().object_meta(), None), true)),
                        "apiVersion" | "kind" => return Some((Node::BuiltIn(&TEXT_TYPE, None), true)),
                        _ => {}
                    }
                }
                if let Some(inner) = node.properties.get(name) {
                    return Some((Node::Custom(inner), true));
                }
                if let Some(inner) = &node.additional {
                    return Some((Node::Custom(inner), false));
                }
                (node.preserve_unknown || node.ty.is_none()).then_some((Node::Deduced, false))
            }
        }
    }

    /// The value a key field of this item type has where it is absent.
    fn key_default(&self, key: &str) -> Option<Value> {
        match *self {
            Node::BuiltIn(Type::Struct(at), _) => {
                let field = types::table().get(*at)?.field(key)?;
                field.default.clone().or_else(|| field.zero.then(|| types::empty(&field.ty)))
            }
            Node::Custom(node) => node.properties.get(key)?.default.clone(),
            _ => None,
        }
    }

    /// The path element of a list item, or why it has none.
    pub(crate) fn key_of(&self, keys: &[String], item: &Value) -> Result<Element, String> {
        let mut pairs: Vec<(String, Value)> = keys
            .iter()
            .filter_map(|key| {
                let value = item.get(key).cloned().or_else(|| self.key_default(key))?;
                Some((key.clone(), value))
            })
            .collect();
        if pairs.is_empty() {
            let list = keys.iter().map(|k| format!("{k:?}")).collect::<Vec<_>>().join(" ");
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{list}] (and doesn't have default values for any key fields)"
            ));
        }
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Element::Key(pairs))
    }
}

impl<'a> Node<'a> {
    /// The type of the items of a list that merges as a whole.
    pub(crate) fn item(&self) -> Node<'a> {
        match *self {
            Node::BuiltIn(Type::List(item), _) => Node::BuiltIn(item, None),
            Node::Custom(node) => node.items.as_deref().map_or(Node::Deduced, Node::Custom),
            _ => Node::Deduced,
        }
    }

    /// Some(true) for objects, Some(false) for lists, nothing for the rest.
    pub(crate) fn container(&self) -> Option<bool> {
        match *self {
            Node::BuiltIn(Type::Struct(_) | Type::Map(_), _) | Node::CustomRoot(_) => Some(true),
            Node::BuiltIn(Type::List(_), _) => Some(false),
            Node::Custom(node) => match node.ty {
                Some(schema::Kind::Object) => Some(true),
                Some(schema::Kind::Array) => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// The scalar that belongs here, if this value is not one.
    pub(crate) fn expected_scalar(&self, value: &Value) -> Option<&'static str> {
        let (fits, expected) = match *self {
            Node::BuiltIn(Type::Scalar(scalar), _) => match scalar {
                Scalar::String | Scalar::Bytes | Scalar::Time => (value.is_string(), "string"),
                Scalar::Int32 | Scalar::Int64 | Scalar::Number => {
                    (value.is_number(), "numeric (int or float)")
                }
                Scalar::Bool => (value.is_boolean(), "boolean"),
                Scalar::Quantity | Scalar::IntOrString => (!value.is_object() && !value.is_array(), "scalar"),
            },
            Node::Custom(node) => match node.ty {
                Some(schema::Kind::String) => (value.is_string(), "string"),
                Some(schema::Kind::Integer | schema::Kind::Number) => {
                    (value.is_number(), "numeric (int or float)")
                }
                Some(schema::Kind::Boolean) => (value.is_boolean(), "boolean"),
                _ => return None,
            },
            _ => return None,
        };
        (!fits).then_some(expected)
    }
}
