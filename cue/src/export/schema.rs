//! Expressions of CUE in, the shape of the values they admit out.
//!
//! Names are resolved lexically and structs, disjunctions, bounds, lists and patterns are read symbolically; what needs
//! evaluation (comprehensions, calls of other packages) does not restrict the shape.

use serde_json::Value as Json;

use crate::ast::{
    BinaryOp, Clause, ClauseKind, CommentPlace, Constraint, Decl, DeclKind, Expr, ExprKind, Field, File,
    Label, LabelKind, LiteralKind, StructLit, UnaryOp,
};
use crate::literal;
use crate::number::Decimal;

/// Deepest nesting and longest chain of references that is followed; beyond it a value is left open.
const MAX_DEPTH: usize = 100;

/// Most expressions visited for one schema, so that definitions that mention each other cannot multiply.
const MAX_NODES: usize = 50_000;

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
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// None: any.
    pub(super) kind: Option<Kind>,
    pub(super) nullable: bool,
    pub(super) constants: Vec<Json>,
    pub(super) default: Option<Json>,
    pub(super) fields: Vec<Property>,
    /// What further fields must be.
    pub(super) others: Option<Box<Shape>>,
    pub(super) items: Option<Box<Shape>>,
    pub(super) minimum: Option<(Decimal, bool)>,
    pub(super) maximum: Option<(Decimal, bool)>,
    pub(super) pattern: Option<String>,
    pub(super) lengths: (Option<u64>, Option<u64>),
    /// Shapes of which one must hold; their fields are merged into this one when all are structs.
    pub(super) alternatives: Vec<Shape>,
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) comments: Vec<String>,
    pub(super) shape: Shape,
}

/// The declarations in sight, innermost last.
#[derive(Clone, Copy)]
struct Scope<'a> {
    decls: &'a [Decl],
    parent: Option<&'a Scope<'a>>,
}

struct Reader {
    depth: usize,
    nodes: usize,
}

/// The shape of the value at a top-level field of these files, fields of that name in all of them unified.
pub(super) fn field_shape(files: &[File], name: &str) -> Option<(Shape, Vec<String>)> {
    let decls: Vec<Decl> = files.iter().flat_map(|f| f.decls.iter().cloned()).collect();
    let scope = Scope { decls: &decls, parent: None };
    let mut reader = Reader { depth: 0, nodes: 0 };
    let (mut result, mut notes): (Option<Shape>, Vec<String>) = (None, Vec::new());
    for decl in &decls {
        let DeclKind::Field(field) = &decl.kind else { continue };
        if label_name(&field.label).as_deref() == Some(name) {
            let shape = reader.shape(&field.value, &scope);
            notes.extend(comments(decl));
            result = Some(match result {
                Some(known) => both(known, shape),
                None => shape,
            });
        }
    }
    result.map(|shape| (shape, notes))
}

fn label_name(label: &Label) -> Option<String> {
    match &label.kind {
        LabelKind::Ident(name) => Some(name.clone()),
        LabelKind::String(text) => {
            literal::unquote(text).ok().and_then(|(_, bytes)| String::from_utf8(bytes).ok())
        }
        _ => None,
    }
}

fn comments(decl: &Decl) -> Vec<String> {
    let above = decl.comments.iter().filter(|g| g.place == CommentPlace::Doc);
    above.flat_map(|g| g.lines.iter().map(|l| l.text.clone())).collect()
}

impl Reader {
    fn shape(&mut self, expr: &Expr, scope: &Scope<'_>) -> Shape {
        self.nodes += 1;
        if self.depth >= MAX_DEPTH || self.nodes > MAX_NODES {
            return Shape::default();
        }
        self.depth += 1;
        let shape = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.read(expr, scope));
        self.depth -= 1;
        shape
    }

    fn read(&mut self, expr: &Expr, scope: &Scope<'_>) -> Shape {
        match &expr.kind {
            ExprKind::Ident(name) => self.name(name, scope),
            ExprKind::Literal(..) | ExprKind::Interpolation(_) => {
                constant(expr).map_or_else(Shape::default, of_constant)
            }
            ExprKind::Struct(literal) => self.structure(literal, scope),
            ExprKind::List(list) => self.list(expr, list, scope),
            ExprKind::Paren(inner) | ExprKind::Open(inner) | ExprKind::Alias(_, inner) => {
                self.shape(inner, scope)
            }
            ExprKind::Unary(UnaryOp::Minus | UnaryOp::Plus, _) => {
                constant(expr).map_or_else(Shape::default, of_constant)
            }
            ExprKind::Unary(UnaryOp::Default, inner) => self.shape(inner, scope),
            ExprKind::Unary(operator, bound) => bounded(*operator, bound),
            ExprKind::Binary(BinaryOp::And, _, left, right) => {
                let left = self.shape(left, scope);
                let right = self.shape(right, scope);
                both(left, right)
            }
            ExprKind::Binary(BinaryOp::Or, ..) => self.disjunction(expr, scope),
            ExprKind::Call(function, arguments) => self.call(function, arguments, scope),
            ExprKind::Selector(operand, label) => self.selected(operand, label, scope),
            _ => Shape::default(),
        }
    }

    fn name(&mut self, name: &str, scope: &Scope<'_>) -> Shape {
        let mut around = Some(scope);
        while let Some(scope) = around {
            let mut found: Option<Shape> = None;
            for decl in scope.decls {
                let value = match &decl.kind {
                    DeclKind::Field(field) if matches!(&field.label.kind, LabelKind::Ident(label) if label == name) => {
                        Some(&field.value)
                    }
                    DeclKind::Field(field) if field.alias.as_ref().is_some_and(|a| a.name == name) => {
                        Some(&field.value)
                    }
                    DeclKind::Let(binding) | DeclKind::Alias(binding) if binding.name.name == name => {
                        Some(&*binding.value)
                    }
                    _ => None,
                };
                if let Some(value) = value {
                    let shape = self.shape(value, scope);
                    found = Some(match found {
                        Some(known) => both(known, shape),
                        None => shape,
                    });
                }
            }
            if let Some(shape) = found {
                return shape;
            }
            around = scope.parent;
        }
        let kind = match name {
            "string" | "bytes" => Kind::String,
            "bool" => Kind::Bool,
            "int" | "uint" | "rune" => Kind::Integer,
            "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64" => Kind::Integer,
            "number" | "float" | "float32" | "float64" => Kind::Number,
            _ => return Shape::default(),
        };
        let unsigned = name.starts_with('u');
        Shape { kind: Some(kind), minimum: unsigned.then_some((Decimal::ZERO, true)), ..Shape::default() }
    }

    fn selected(&mut self, operand: &Expr, label: &Label, scope: &Scope<'_>) -> Shape {
        let Some(name) = label_name(label) else { return Shape::default() };
        let parent = self.shape(operand, scope);
        parent.fields.into_iter().find(|f| f.name == name).map(|f| f.shape).unwrap_or_default()
    }

    fn structure(&mut self, literal: &StructLit, around: &Scope<'_>) -> Shape {
        let scope = Scope { decls: &literal.decls, parent: Some(around) };
        let mut shape = Shape { kind: Some(Kind::Object), ..Shape::default() };
        for decl in &literal.decls {
            match &decl.kind {
                DeclKind::Field(field) => self.member(&mut shape, decl, field, &scope),
                DeclKind::Embed(expr) => {
                    let embedded = match &expr.kind {
                        ExprKind::Comprehension(comprehension) => {
                            match self.holds(&comprehension.clauses, &scope) {
                                Some(true) => self.shape(&comprehension.value, &scope),
                                _ => continue,
                            }
                        }
                        _ => self.shape(expr, &scope),
                    };
                    // An embedded scalar makes the struct that scalar.
                    if embedded.kind.is_some_and(|k| k != Kind::Object) && shape.fields.is_empty() {
                        return embedded;
                    }
                    shape = both(shape, embedded);
                }
                DeclKind::Ellipsis(_) => {
                    shape.others.get_or_insert_with(Box::default);
                }
                _ => {}
            }
        }
        shape
    }

    /// Whether all conditions hold by constants and defaults alone; none when that cannot be told.
    fn holds(&mut self, clauses: &[Clause], scope: &Scope<'_>) -> Option<bool> {
        let mut all = true;
        for clause in clauses {
            let ClauseKind::If(condition) = &clause.kind else { return None };
            all &= self.condition(condition, scope)?.as_bool()?;
        }
        Some(all)
    }

    fn condition(&mut self, expr: &Expr, scope: &Scope<'_>) -> Option<Json> {
        match &expr.kind {
            ExprKind::Binary(operator @ (BinaryOp::Equal | BinaryOp::NotEqual), _, left, right) => {
                let equal = self.shape(left, scope).value()? == self.shape(right, scope).value()?;
                Some(Json::Bool(equal == (*operator == BinaryOp::Equal)))
            }
            ExprKind::Binary(operator @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), _, left, right) => {
                let (left, right) =
                    (self.condition(left, scope)?.as_bool()?, self.condition(right, scope)?.as_bool()?);
                Some(Json::Bool(if *operator == BinaryOp::LogicalAnd {
                    left && right
                } else {
                    left || right
                }))
            }
            ExprKind::Unary(UnaryOp::Not, inner) => {
                Some(Json::Bool(!self.condition(inner, scope)?.as_bool()?))
            }
            _ => self.shape(expr, scope).value(),
        }
    }

    fn member(&mut self, shape: &mut Shape, decl: &Decl, field: &Field, scope: &Scope<'_>) {
        if let LabelKind::Pattern { .. } = field.label.kind {
            let others = self.shape(&field.value, scope);
            shape.others = Some(Box::new(match shape.others.take() {
                Some(known) => both(*known, others),
                None => others,
            }));
            return;
        }
        let Some(name) = label_name(&field.label) else { return };
        let hidden = matches!(field.label.kind, LabelKind::Ident(_)) && name.starts_with(['_', '#']);
        if hidden {
            return;
        }
        let property = Property {
            required: field.constraint != Some(Constraint::Optional),
            comments: comments(decl),
            shape: self.shape(&field.value, scope),
            name,
        };
        add(&mut shape.fields, property);
    }

    fn list(&mut self, expr: &Expr, list: &crate::ast::ListLit, scope: &Scope<'_>) -> Shape {
        let element = list.elements.last().and_then(|last| match &last.kind {
            ExprKind::Ellipsis(element) => Some(element.as_deref()),
            _ => None,
        });
        let items = element.map(|e| Box::new(e.map_or_else(Shape::default, |e| self.shape(e, scope))));
        let constants = match constant(expr) {
            Some(value) if element.is_none() => vec![value],
            _ => Vec::new(),
        };
        Shape { kind: Some(Kind::Array), items, constants, ..Shape::default() }
    }

    fn call(&mut self, function: &Expr, arguments: &[Expr], scope: &Scope<'_>) -> Shape {
        let length = |index: usize| match arguments.get(index).and_then(constant) {
            Some(Json::Number(number)) => number.as_u64(),
            _ => None,
        };
        match &function.kind {
            ExprKind::Ident(name) if name == "close" => match arguments {
                [only] => self.shape(only, scope),
                _ => Shape::default(),
            },
            ExprKind::Selector(package, label) => {
                let package = match &package.kind {
                    ExprKind::Ident(name) => name.as_str(),
                    _ => "",
                };
                let string = Shape { kind: Some(Kind::String), ..Shape::default() };
                match (package, label_name(label).as_deref()) {
                    ("strings", Some("MinRunes")) => Shape { lengths: (length(0), None), ..string },
                    ("strings", Some("MaxRunes")) => Shape { lengths: (None, length(0)), ..string },
                    _ => Shape::default(),
                }
            }
            _ => Shape::default(),
        }
    }

    fn disjunction(&mut self, expr: &Expr, scope: &Scope<'_>) -> Shape {
        let mut parts = Vec::new();
        disjuncts(expr, false, &mut parts);
        let mut result = Shape::default();
        let mut shapes: Vec<(Shape, bool)> = Vec::new();
        for (part, marked) in parts {
            let shape = self.shape(part, scope);
            if shape.kind == Some(Kind::Null) {
                result.nullable = true;
            } else {
                shapes.push((shape, marked));
            }
        }
        if shapes.iter().any(|(shape, _)| shape.kind.is_some()) {
            // A default that only evaluation knows says nothing about the shape.
            shapes.retain(|(shape, marked)| shape.kind.is_some() || !*marked);
        }
        let marked: Vec<&Shape> =
            shapes.iter().filter(|(_, marked)| *marked).map(|(shape, _)| shape).collect();
        if let [only] = marked[..] {
            result.default = only.value();
        }
        let kinds: Vec<Option<Kind>> = shapes.iter().map(|(shape, _)| shape.kind).collect();
        let same = kinds.windows(2).all(|pair| compatible(pair[0], pair[1]));
        let all_objects = !kinds.is_empty() && kinds.iter().all(|k| *k == Some(Kind::Object));
        if shapes.len() == 1 {
            let default = result.default.take();
            let (only, _) = shapes.remove(0);
            return Shape {
                nullable: result.nullable || only.nullable,
                default: only.default.clone().or(default),
                ..only
            };
        }
        if all_objects {
            result.kind = Some(Kind::Object);
            for (shape, _) in &shapes {
                for field in &shape.fields {
                    add(&mut result.fields, field.clone());
                }
            }
            result.alternatives = shapes.into_iter().map(|(shape, _)| shape).collect();
            return result;
        }
        if same && !kinds.is_empty() {
            // A value beside its own kind is only a default; values alone are an enumeration.
            let general = shapes.iter().find(|(shape, _)| shape.constants.is_empty() && shape.kind.is_some());
            let mut joined = general.map_or_else(Shape::default, |(shape, _)| shape.clone());
            joined.kind = if kinds.contains(&Some(Kind::Number)) { Some(Kind::Number) } else { kinds[0] };
            if general.is_none() {
                for (shape, _) in &shapes {
                    for value in &shape.constants {
                        if !joined.constants.contains(value) {
                            joined.constants.push(value.clone());
                        }
                    }
                }
            }
            joined.nullable |= result.nullable;
            joined.default = result.default.or(joined.default);
            return joined;
        }
        // Marked values only give the default where their kind stands there too.
        let general: Vec<Shape> = shapes
            .iter()
            .filter(|(shape, marked)| {
                let covered = shapes
                    .iter()
                    .any(|(other, _)| other.constants.is_empty() && compatible(other.kind, shape.kind));
                !(*marked && !shape.constants.is_empty() && covered)
            })
            .map(|(shape, _)| shape.clone())
            .collect();
        result.alternatives = general;
        result
    }
}

fn compatible(a: Option<Kind>, b: Option<Kind>) -> bool {
    let number = |k| matches!(k, Some(Kind::Integer | Kind::Number));
    a == b || (number(a) && number(b))
}

fn disjuncts<'e>(expr: &'e Expr, marked: bool, parts: &mut Vec<(&'e Expr, bool)>) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Or, _, left, right) => {
            disjuncts(left, marked, parts);
            disjuncts(right, marked, parts);
        }
        ExprKind::Unary(UnaryOp::Default, inner) => disjuncts(inner, true, parts),
        ExprKind::Paren(inner) if matches!(inner.kind, ExprKind::Binary(BinaryOp::Or, ..)) => {
            disjuncts(inner, marked, parts)
        }
        _ => parts.push((expr, marked)),
    }
}

fn add(fields: &mut Vec<Property>, property: Property) {
    match fields.iter_mut().find(|f| f.name == property.name) {
        Some(known) => {
            known.required |= property.required;
            if known.comments.is_empty() {
                known.comments = property.comments;
            }
            known.shape = both(std::mem::take(&mut known.shape), property.shape);
        }
        None => fields.push(property),
    }
}

/// What both shapes admit, as far as it can be told.
fn both(a: Shape, b: Shape) -> Shape {
    let mut fields = a.fields;
    for property in b.fields {
        add(&mut fields, property);
    }
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
    Shape {
        kind,
        nullable: a.nullable && b.nullable,
        constants: if a.constants.is_empty() { b.constants } else { a.constants },
        default: a.default.or(b.default),
        fields,
        others: join(a.others, b.others),
        items: join(a.items, b.items),
        minimum: b.minimum.or(a.minimum),
        maximum: b.maximum.or(a.maximum),
        pattern: a.pattern.or(b.pattern),
        lengths: (a.lengths.0.or(b.lengths.0), a.lengths.1.or(b.lengths.1)),
        alternatives: if a.alternatives.is_empty() { b.alternatives } else { a.alternatives },
    }
}

fn of_constant(value: Json) -> Shape {
    let kind = match &value {
        Json::Null => Kind::Null,
        Json::Bool(_) => Kind::Bool,
        Json::Number(number) if number.is_f64() => Kind::Number,
        Json::Number(_) => Kind::Integer,
        Json::String(_) => Kind::String,
        Json::Array(_) => Kind::Array,
        Json::Object(_) => Kind::Object,
    };
    Shape { kind: Some(kind), constants: vec![value], ..Shape::default() }
}

fn bounded(operator: UnaryOp, bound: &Expr) -> Shape {
    match (operator, constant(bound)) {
        (UnaryOp::Match, Some(Json::String(pattern))) => {
            Shape { kind: Some(Kind::String), pattern: Some(pattern), ..Shape::default() }
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
fn constant(expr: &Expr) -> Option<Json> {
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
    /// The one value that is admitted or chosen by default, if there is one.
    fn value(&self) -> Option<Json> {
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
