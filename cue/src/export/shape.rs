//! The known values that an expression admits, and how two such shapes meet.

use serde_json::Value as Json;

use super::label::label_name;
use crate::ast::{DeclKind, Expr, ExprKind, LiteralKind, UnaryOp};
use crate::literal;
use crate::number::Decimal;
use crate::regexp::Regexp;

/// The kinds a JSON value can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// The values that are admitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shape {
    /// None: any.
    pub(super) kind: Option<Kind>,
    pub(super) nullable: bool,
    pub(super) constants: Vec<Json>,
    pub(super) default: Option<Json>,
    pub(super) fields: Vec<Property>,
    /// Fields declared under conditions that are not decided yet.
    pub(super) conditional: Vec<Property>,
    /// The constraint on further fields.
    pub(super) others: Option<Box<Shape>>,
    pub(super) items: Option<Box<Shape>>,
    pub(super) minimum: Option<(Decimal, bool)>,
    pub(super) maximum: Option<(Decimal, bool)>,
    pub(super) patterns: Vec<String>,
    pub(super) format: Option<&'static str>,
    /// Least and most characters, elements or fields, as the kind is.
    pub(super) sizes: (Option<u64>, Option<u64>),
    /// Fields that are not named are refused.
    pub(super) closed: bool,
    /// Shapes of which one must hold; their fields are merged into this one when all are structs.
    pub(super) alternatives: Vec<Shape>,
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) required: bool,
    /// The text of each group of comments on it, a line break behind every line.
    pub(super) comments: Vec<String>,
    /// Under which condition it is declared, as written; only told where a schema describes a field to people.
    pub(super) condition: Option<String>,
    pub(super) shape: Shape,
}

/// Adds a field to those of a struct; one of that name must then admit both.
pub(super) fn add(fields: &mut Vec<Property>, property: Property) {
    match fields.iter_mut().find(|f| f.name == property.name) {
        Some(known) => {
            known.required |= property.required;
            known.comments.extend(property.comments);
            known.condition = match (known.condition.take(), property.condition) {
                (Some(one), Some(other)) if one != other => Some(format!("{one} || {other}")),
                (one, other) => one.and(other),
            };
            known.shape = both(std::mem::take(&mut known.shape), property.shape);
        }
        None => fields.push(property),
    }
}

/// The values that both shapes admit, as far as they are known.
pub(super) fn both(a: Shape, b: Shape) -> Shape {
    // A value that stands for itself decides, where the other one admits it.
    if let Some(value) = a.constant()
        && b.kind.is_some()
        && b.admits(value)
    {
        return a;
    }
    if let Some(value) = b.constant()
        && a.kind.is_some()
        && a.admits(value)
    {
        return b;
    }
    let mut fields = a.fields;
    for property in b.fields {
        add(&mut fields, property);
    }
    let mut conditional = a.conditional;
    conditional.extend(b.conditional);
    let join = |a: Option<Box<Shape>>, b: Option<Box<Shape>>| match (a, b) {
        (Some(a), Some(b)) => Some(Box::new(both(*a, *b))),
        (a, b) => a.or(b),
    };
    let kind = match (a.kind, b.kind) {
        (Some(Kind::Integer), Some(Kind::Number)) | (Some(Kind::Number), Some(Kind::Integer)) => {
            Some(Kind::Integer)
        }
        (a, b) => a.or(b),
    };
    let constants = match (a.constants.is_empty(), b.constants.is_empty()) {
        (false, false) => a.constants.into_iter().filter(|value| b.constants.contains(value)).collect(),
        (true, _) => b.constants,
        (_, true) => a.constants,
    };
    let mut patterns = a.patterns;
    patterns.extend(b.patterns);
    Shape {
        kind,
        nullable: a.nullable && b.nullable,
        constants,
        default: a.default.or(b.default),
        fields,
        conditional,
        others: join(a.others, b.others),
        items: join(a.items, b.items),
        minimum: b.minimum.or(a.minimum),
        maximum: b.maximum.or(a.maximum),
        patterns,
        format: a.format.or(b.format),
        sizes: (a.sizes.0.or(b.sizes.0), a.sizes.1.or(b.sizes.1)),
        closed: a.closed || b.closed,
        alternatives: if a.alternatives.is_empty() { b.alternatives } else { a.alternatives },
    }
}

/// Two shapes of one property of which either may hold: what they share, or anything.
pub(super) fn either(known: &mut Property, other: Property) {
    if known.shape.kind == Some(Kind::Object) && other.shape.kind == Some(Kind::Object) {
        for property in other.shape.fields {
            match known.shape.fields.iter_mut().find(|f| f.name == property.name) {
                Some(known) => either(known, property),
                None => known.shape.fields.push(property),
            }
        }
        known.shape.fields.iter_mut().for_each(|field| field.required = false);
        let new = other.shape.conditional.into_iter();
        let new: Vec<Property> = new.filter(|field| !known.shape.conditional.contains(field)).collect();
        known.shape.conditional.extend(new);
    } else if known.shape.kind != Some(Kind::Array) || other.shape.kind != Some(Kind::Array) {
        if known.shape == other.shape && known.required == other.required {
            return;
        }
        known.shape = Shape::default();
        known.comments = other.comments;
    }
}

/// The shape of one value.
pub(super) fn of_constant(value: Json) -> Shape {
    let nullable = value.is_null();
    Shape { kind: kind_of(&value), nullable, constants: vec![value], ..Shape::default() }
}

fn kind_of(value: &Json) -> Option<Kind> {
    Some(match value {
        Json::Null => Kind::Null,
        Json::Bool(_) => Kind::Bool,
        Json::Number(number) if number.is_f64() => Kind::Number,
        Json::Number(_) => Kind::Integer,
        Json::String(_) => Kind::String,
        Json::Array(_) => Kind::Array,
        Json::Object(_) => Kind::Object,
    })
}

/// Whether both kinds are one, numbers taken together.
pub(super) fn compatible(a: Option<Kind>, b: Option<Kind>) -> bool {
    let number = |k| matches!(k, Some(Kind::Integer | Kind::Number));
    a == b || (number(a) && number(b))
}

pub(super) fn bounded(operator: UnaryOp, bound: &Expr) -> Shape {
    match (operator, constant(bound)) {
        (UnaryOp::Match, Some(Json::String(pattern))) => {
            Shape { kind: Some(Kind::String), patterns: vec![pattern], ..Shape::default() }
        }
        (operator, Some(Json::Number(number))) => {
            let Ok(value) = Decimal::parse(&number.to_string()) else { return Shape::default() };
            let shape = Shape { kind: Some(Kind::Number), ..Shape::default() };
            match operator {
                UnaryOp::GreaterEqual => Shape { minimum: Some((value, true)), ..shape },
                UnaryOp::Greater => Shape { minimum: Some((value, false)), ..shape },
                UnaryOp::LessEqual => Shape { maximum: Some((value, true)), ..shape },
                UnaryOp::Less => Shape { maximum: Some((value, false)), ..shape },
                _ => shape,
            }
        }
        (_, Some(Json::String(_))) => Shape { kind: Some(Kind::String), ..Shape::default() },
        _ => Shape::default(),
    }
}

/// The value of a literal.
pub(super) fn constant(expr: &Expr) -> Option<Json> {
    match &expr.kind {
        ExprKind::Paren(inner) => constant(inner),
        ExprKind::Literal(LiteralKind::Null, _) => Some(Json::Null),
        ExprKind::Literal(LiteralKind::Bool, text) => Some(Json::Bool(text == "true")),
        ExprKind::Literal(LiteralKind::String | LiteralKind::Bytes, text) => literal::unquote(text)
            .ok()
            .map(|(_, bytes)| Json::String(String::from_utf8_lossy(&bytes).into_owned())),
        ExprKind::Literal(LiteralKind::Int | LiteralKind::Float, text) => {
            json_number(&literal::parse_number(text).ok()?.value)
        }
        ExprKind::Unary(UnaryOp::Minus, inner) => match &inner.kind {
            ExprKind::Literal(_, text) => json_number(&literal::parse_number(text).ok()?.value.neg()),
            _ => None,
        },
        ExprKind::List(list) => {
            let fixed = list.elements.iter().filter(|e| !matches!(e.kind, ExprKind::Ellipsis(_)));
            fixed.map(constant).collect::<Option<Vec<_>>>().map(Json::Array)
        }
        ExprKind::Struct(literal) => {
            let fields = literal.decls.iter().map(|decl| match &decl.kind {
                DeclKind::Field(field) => Some((label_name(&field.label)?, constant(&field.value)?)),
                _ => None,
            });
            fields.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
        }
        _ => None,
    }
}

pub(super) fn json_number(value: &Decimal) -> Option<Json> {
    match value.to_i64() {
        Some(integer) => Some(Json::from(integer)),
        None => serde_json::Number::from_f64(value.to_f64()).map(Json::Number),
    }
}

impl Shape {
    /// The same declared under a condition, of which constants and defaults alone say whether it holds.
    pub(super) fn under(self, condition: &str, holds: bool) -> Self {
        let mark = |field: Property| {
            let inner = field.condition.map_or_else(String::new, |inner| format!(" && {inner}"));
            Property { condition: Some(format!("{condition}{inner}")), ..field }
        };
        let fields: Vec<Property> = self.fields.into_iter().map(mark).collect();
        let conditional: Vec<Property> = self.conditional.into_iter().map(mark).collect();
        if holds {
            return Self { fields, conditional, ..self };
        }
        let conditional = fields.into_iter().chain(conditional).collect();
        Self { kind: Some(Kind::Object), conditional, ..Self::default() }
    }

    /// The scalar it stands for, if it admits only that.
    pub(super) fn constant(&self) -> Option<&Json> {
        match &self.constants[..] {
            [only] if self.default.is_none() && !self.nullable && !only.is_array() && !only.is_object() => {
                Some(only)
            }
            _ => None,
        }
    }

    /// Whether a value is among those admitted, as far as it can be told.
    pub(super) fn admits(&self, value: &Json) -> bool {
        if value.is_null() && self.nullable {
            return true;
        }
        let Some(kind) = self.kind else { return self.alternatives.iter().any(|a| a.admits(value)) };
        if !compatible(Some(kind), kind_of(value)) || (kind == Kind::Integer && value.is_f64()) {
            return false;
        }
        if !self.constants.is_empty() && !self.constants.contains(value) {
            return false;
        }
        match value {
            Json::Number(number) => {
                let Ok(number) = Decimal::parse(&number.to_string()) else { return false };
                let above =
                    |(least, equal): &(Decimal, bool)| number > *least || (*equal && number == *least);
                let below = |(most, equal): &(Decimal, bool)| number < *most || (*equal && number == *most);
                self.minimum.as_ref().is_none_or(above) && self.maximum.as_ref().is_none_or(below)
            }
            Json::String(text) => {
                let matches = |pattern: &String| Regexp::compile(pattern).is_ok_and(|p| p.is_match(text));
                let length = text.chars().count() as u64;
                self.patterns.iter().all(matches)
                    && self.sizes.0.is_none_or(|least| length >= least)
                    && self.sizes.1.is_none_or(|most| length <= most)
            }
            Json::Array(elements) => {
                elements.is_empty()
                    || self.items.as_ref().is_some_and(|s| elements.iter().all(|e| s.admits(e)))
            }
            Json::Object(given) => {
                let known = |name: &str| self.fields.iter().find(|field| field.name == name);
                self.fields.iter().all(|field| !field.required || given.contains_key(&field.name))
                    && given.iter().all(|(name, value)| match (known(name), &self.others) {
                        (Some(field), _) => field.shape.admits(value),
                        (None, Some(others)) => others.kind.is_none() || others.admits(value),
                        (None, None) => !self.closed,
                    })
            }
            _ => true,
        }
    }

    /// Whether everything the other one admits is admitted; false where that cannot be told.
    pub(super) fn subsumes(&self, other: &Self) -> bool {
        let Some(kind) = self.kind else { return *self == Self::default() };
        if !self.alternatives.is_empty()
            || !other.alternatives.is_empty()
            || !compatible(Some(kind), other.kind)
        {
            return self == other;
        }
        if kind != Kind::Object {
            let plain = Self { kind: self.kind, ..Self::default() };
            return self == other || *self == plain;
        }
        self.fields.iter().all(|field| match other.fields.iter().find(|f| f.name == field.name) {
            Some(own) => (own.required || !field.required) && field.shape.subsumes(&own.shape),
            None => !field.required,
        })
    }

    /// The one value that is admitted or chosen by default, if there is one.
    pub(super) fn value(&self) -> Option<Json> {
        if let Some(default) = &self.default {
            return Some(default.clone());
        }
        if self.nullable {
            return Some(Json::Null);
        }
        if let [only] = &self.constants[..] {
            return Some(only.clone());
        }
        match self.kind {
            Some(Kind::Null) => Some(Json::Null),
            Some(Kind::Array) if self.constants.is_empty() => Some(Json::Array(Vec::new())),
            Some(Kind::Object) if self.alternatives.is_empty() => {
                let needed = self.fields.iter().filter(|f| f.required);
                let fields = needed.map(|f| Some((f.name.clone(), f.shape.value()?)));
                fields.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
            }
            _ => None,
        }
    }
}
