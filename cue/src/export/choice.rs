//! The alternatives of a disjunction in, the shape of the values one of them admits out.

use serde_json::Value as Json;

use super::shape::{Kind, Property, Shape, compatible, either};

/// One alternative.
pub(super) struct Part {
    /// The admitted values.
    pub(super) shape: Shape,
    /// Whether `*` marks it as the default.
    pub(super) marked: bool,
}

/// The values that one of the parts admits. Inside a comprehension (`repeated`) upstream names the values that are not
/// the default a second time.
pub(super) fn of(parts: Vec<Part>, repeated: bool) -> Shape {
    let mut result = Shape { default: default(&parts), ..Shape::default() };
    let mut parts: Vec<Part> = parts.into_iter().flat_map(flattened).collect();
    result.nullable = parts.iter().any(|part| part.shape.nullable);
    parts.retain(|part| part.shape.kind != Some(Kind::Null));
    if parts.iter().any(|part| part.shape.kind.is_some()) {
        // A default that only evaluation knows says nothing about the shape.
        parts.retain(|part| part.shape.kind.is_some() || !part.marked);
    }
    let parts = without_covered(parts);
    if parts.iter().all(|part| is_value(&part.shape)) {
        result.kind = common_kind(&parts);
        result.constants = enumeration(&parts, repeated);
        return result;
    }
    if let [_] = &parts[..] {
        let only = parts.into_iter().next().map(|part| part.shape).unwrap_or_default();
        let default = result.default.or_else(|| only.default.clone());
        return Shape { nullable: result.nullable || only.nullable, default, ..only };
    }
    let kind = common_kind(&parts);
    let parts: Vec<Part> = parts
        .into_iter()
        .map(|part| Part { shape: Shape { nullable: false, ..part.shape }, ..part })
        .collect();
    match kind {
        Some(Kind::Object) => objects(parts, result),
        Some(Kind::Array) => {
            // A list of either kind is told as the first of them.
            let first = parts.into_iter().next().map(|part| part.shape).unwrap_or_default();
            Shape { nullable: result.nullable, default: result.default, ..first }
        }
        _ => {
            let values: Vec<Json> = constants(parts.iter().filter(|part| is_value(&part.shape)));
            if !values.is_empty() {
                result.alternatives.push(Shape { constants: values, ..Shape::default() });
            }
            let others = parts.into_iter().map(|part| part.shape).filter(|shape| !is_value(shape));
            result.alternatives.extend(others);
            result.kind = kind;
            result
        }
    }
}

/// The value of the one marked part.
fn default(parts: &[Part]) -> Option<Json> {
    let mut marked = parts.iter().filter(|part| part.marked);
    match (marked.next(), marked.next()) {
        (Some(only), None) => only.shape.value(),
        (None, _) => {
            let mut defaults = parts.iter().filter_map(|part| part.shape.default.clone());
            defaults.next().filter(|_| defaults.next().is_none())
        }
        _ => None,
    }
}

/// A part that is itself a choice of values or shapes is that many parts.
fn flattened(part: Part) -> Vec<Part> {
    let Part { shape, marked } = part;
    if !is_value(&shape) && (shape.kind == Some(Kind::Object) || shape.alternatives.is_empty()) {
        return vec![Part { shape, marked }];
    }
    let nullable = shape.nullable;
    let is_default = |value: &Json| marked || shape.default.as_ref() == Some(value);
    let values = shape.constants.iter().map(|value| Part {
        marked: is_default(value),
        shape: Shape { nullable, ..super::shape::of_constant(value.clone()) },
    });
    let mut parts: Vec<Part> = values.collect();
    parts.extend(shape.alternatives.into_iter().map(|shape| Part { shape, marked }));
    parts
}

/// Without the defaults that another part admits anyway.
fn without_covered(parts: Vec<Part>) -> Vec<Part> {
    let covered: Vec<bool> = parts
        .iter()
        .map(|part| {
            let value = part.shape.value().filter(|_| part.marked);
            value.is_some_and(|value| {
                parts
                    .iter()
                    .any(|other| !other.marked && !is_value(&other.shape) && other.shape.admits(&value))
            })
        })
        .collect();
    let mut covered = covered.into_iter();
    parts.into_iter().filter(|_| covered.next() != Some(true)).collect()
}

fn is_value(shape: &Shape) -> bool {
    !shape.constants.is_empty() && !matches!(shape.kind, Some(Kind::Array | Kind::Object))
}

fn common_kind(parts: &[Part]) -> Option<Kind> {
    let mut kinds = parts.iter().map(|part| part.shape.kind);
    let first = kinds.next().flatten()?;
    let all = parts.iter().all(|part| compatible(part.shape.kind, Some(first)));
    let number = parts.iter().any(|part| part.shape.kind == Some(Kind::Number));
    all.then_some(if number { Kind::Number } else { first })
}

fn constants<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<Json> {
    let mut values: Vec<Json> = Vec::new();
    for value in parts.flat_map(|part| &part.shape.constants) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    values
}

/// The values in the order upstream lists them: the default changes places with the first.
fn enumeration(parts: &[Part], repeated: bool) -> Vec<Json> {
    let mut values = constants(parts.iter());
    let default = parts.iter().find(|part| part.marked).and_then(|part| part.shape.constants.first());
    if let Some(default) = default {
        if repeated {
            values.extend(constants(parts.iter().filter(|part| !part.marked)));
        } else if let Some(at) = values.iter().position(|value| value == default) {
            values.swap(0, at);
        }
    }
    values
}

/// The fields of all alternatives together; which of them each one needs stands in the alternatives.
fn objects(parts: Vec<Part>, mut result: Shape) -> Shape {
    result.kind = Some(Kind::Object);
    let mut fields: Vec<Property> = Vec::new();
    for property in parts.iter().flat_map(|part| &part.shape.fields) {
        match fields.iter_mut().find(|known| known.name == property.name) {
            Some(known) => either(known, property.clone()),
            None => fields.push(property.clone()),
        }
    }
    for field in &mut fields {
        field.required = false;
    }
    result.fields = fields;
    for property in parts.iter().flat_map(|part| &part.shape.conditional) {
        if !result.conditional.contains(property) {
            result.conditional.push(property.clone());
        }
    }
    result.alternatives = parts.into_iter().map(|part| part.shape).collect();
    result
}
