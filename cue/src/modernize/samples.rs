//! A `parameter` in; inputs that take each of its branches at least once, as far as a few samples can, out.

use serde_json::{Map, Value as Json, json};

use crate::{
    ast::{BinaryOp, Constraint, DeclKind, Expr, ExprKind, LabelKind, LiteralKind, StructLit, UnaryOp},
    literal,
    value::Value,
};

use super::MAX_SAMPLES;

/// Deepest nesting of a sample.
const MAX_DEPTH: u32 = 12;

/// Values for `parameter`: only what is required, everything, and everything with each further alternative taken.
pub fn from_parameter(parameter: &Value) -> Vec<Json> {
    let syntax = parameter.syntax();
    let mut out: Vec<Json> = Vec::new();
    for (all, alternative) in std::iter::once((false, 0)).chain((0..MAX_SAMPLES / 4).map(|at| (true, at))) {
        let taste = Taste { all, alternative };
        let sample = taste.value(&syntax, MAX_DEPTH).unwrap_or_else(|| json!({}));
        if !out.contains(&sample) {
            out.push(sample);
        }
    }
    out
}

/// The inputs of a sample.
#[derive(Clone, Copy)]
struct Taste {
    /// Optional fields too.
    all: bool,
    /// Which alternative of each disjunction, counted round.
    alternative: usize,
}

impl Taste {
    fn value(self, expr: &Expr, depth: u32) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        match &expr.kind {
            ExprKind::Paren(inner) | ExprKind::Unary(UnaryOp::Default, inner) => self.value(inner, depth),
            ExprKind::Literal(kind, text) => constant(*kind, text),
            ExprKind::Ident(name) => self.kind(name),
            ExprKind::Unary(op, limit) => bound(*op, &self.value(limit, depth)?),
            ExprKind::Binary(BinaryOp::Or, ..) => {
                let mut alternatives = Vec::new();
                split(BinaryOp::Or, expr, &mut alternatives);
                let values: Vec<Json> = alternatives.iter().filter_map(|e| self.value(e, depth)).collect();
                let count = values.len();
                values.into_iter().nth(self.alternative.checked_rem(count)?)
            }
            ExprKind::Binary(BinaryOp::And, ..) => {
                let mut conjuncts = Vec::new();
                split(BinaryOp::And, expr, &mut conjuncts);
                // A bound says more than a type.
                let values: Vec<(bool, Json)> = conjuncts
                    .iter()
                    .filter_map(|e| Some((matches!(e.kind, ExprKind::Ident(_)), self.value(e, depth)?)))
                    .collect();
                values.iter().find(|(plain, _)| !plain).or(values.first()).map(|(_, value)| value.clone())
            }
            ExprKind::List(list) => {
                let mut items: Vec<Json> = Vec::new();
                for element in &list.elements {
                    match &element.kind {
                        ExprKind::Ellipsis(Some(kind)) if self.all => items.extend(self.value(kind, depth)),
                        ExprKind::Ellipsis(_) => {}
                        _ => items.push(self.value(element, depth)?),
                    }
                }
                Some(Json::Array(items))
            }
            ExprKind::Struct(literal) => Some(self.fields(literal, depth)),
            _ => None,
        }
    }

    fn kind(self, name: &str) -> Option<Json> {
        Some(match name {
            "string" => json!("text"),
            "int" | "number" | "float" | "uint" | "uint8" | "uint16" | "uint32" | "int8" | "int16"
            | "int32" | "int64" => json!(self.alternative + 1),
            "bool" => json!(self.alternative.is_multiple_of(2)),
            "null" => Json::Null,
            _ => return None,
        })
    }

    fn fields(self, literal: &StructLit, depth: u32) -> Json {
        let mut out = Map::new();
        for decl in &literal.decls {
            let DeclKind::Field(field) = &decl.kind else { continue };
            let name = match &field.label.kind {
                LabelKind::Ident(name) if name.starts_with(['_', '#']) => continue,
                LabelKind::Ident(name) => name.clone(),
                LabelKind::String(text) => match unquoted(text) {
                    Some(name) => name,
                    None => continue,
                },
                LabelKind::Pattern { .. } if self.all => "key".to_owned(),
                _ => continue,
            };
            if field.constraint == Some(Constraint::Optional) && !self.all {
                continue;
            }
            if let Some(value) = self.value(&field.value, depth) {
                out.insert(name, value);
            }
        }
        Json::Object(out)
    }
}

fn split<'a>(op: BinaryOp, expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match &expr.kind {
        ExprKind::Binary(found, _, left, right) if *found == op => {
            split(op, left, out);
            split(op, right, out);
        }
        _ => out.push(expr),
    }
}

fn constant(kind: LiteralKind, text: &str) -> Option<Json> {
    match kind {
        LiteralKind::Int | LiteralKind::Float => serde_json::from_str(text).ok(),
        LiteralKind::String => unquoted(text).map(Json::String),
        LiteralKind::Bool => Some(json!(text == "true")),
        LiteralKind::Null => Some(Json::Null),
        LiteralKind::Bytes => None,
    }
}

/// A value within a bound.
fn bound(op: UnaryOp, limit: &Json) -> Option<Json> {
    match (op, limit) {
        (UnaryOp::GreaterEqual | UnaryOp::LessEqual | UnaryOp::Equal, limit) => Some(limit.clone()),
        (UnaryOp::Greater, Json::Number(n)) => Some(json!(n.as_i64()? + 1)),
        (UnaryOp::Less, Json::Number(n)) => Some(json!(n.as_i64()? - 1)),
        (UnaryOp::Minus, Json::Number(n)) => Some(json!(-n.as_i64()?)),
        (UnaryOp::Plus, limit) => Some(limit.clone()),
        (UnaryOp::NotEqual, Json::String(s)) => Some(json!(format!("{s}x"))),
        (UnaryOp::NotEqual, Json::Number(n)) => Some(json!(n.as_i64()? + 1)),
        _ => None,
    }
}

fn unquoted(text: &str) -> Option<String> {
    literal::unquote(text).ok().and_then(|(_, bytes)| String::from_utf8(bytes).ok())
}
