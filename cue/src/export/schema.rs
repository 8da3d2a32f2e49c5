//! Expressions of CUE in, the shape of the values they admit out.
//!
//! Names are resolved lexically and structs, disjunctions, bounds, lists and patterns are read symbolically; what needs
//! evaluation (comprehensions, calls of other packages) does not restrict the shape.

use serde_json::Value as Json;

use super::choice::{self, Part};
use super::label::label_name;
use super::shape::{Kind, Property, Shape, add, both, bounded, constant, of_constant};
use crate::ast::{
    BinaryOp, Clause, ClauseKind, CommentGroup, CommentPlace, Comprehension, Constraint, Decl, DeclKind,
    Expr, ExprKind, Field, File, Label, LabelKind, StructLit, UnaryOp,
};
use crate::format::format_expr;
use crate::number::Decimal;

/// Deepest nesting and longest chain of references that is followed; beyond it a value is left open.
const MAX_DEPTH: usize = 100;

/// Most expressions visited for one schema, so that definitions that mention each other cannot multiply.
const MAX_NODES: usize = 50_000;

/// The declarations in sight, innermost last.
#[derive(Clone, Copy)]
struct Scope<'a> {
    decls: &'a [Decl],
    parent: Option<&'a Scope<'a>>,
}

struct Reader {
    depth: usize,
    nodes: usize,
    /// Comprehensions around.
    conditional: usize,
    /// Fields are told whether their conditions hold or not.
    described: bool,
}

/// The shape of the value at a top-level field of these files, fields of that name in all of them unified. `described`
/// also tells the fields declared under conditions that may come to hold.
pub(super) fn field_shape(files: &[File], name: &str, described: bool) -> Option<(Shape, Vec<String>)> {
    let decls: Vec<Decl> = files.iter().flat_map(|f| f.decls.iter().cloned()).collect();
    let scope = Scope { decls: &decls, parent: None };
    let mut reader = Reader { depth: 0, nodes: 0, conditional: 0, described };
    let (mut result, mut notes): (Option<Shape>, Vec<String>) = (None, Vec::new());
    let mut join = |shape: Shape, decl: &Decl| {
        notes.extend(comments(decl));
        result = Some(match result.take() {
            Some(known) => both(known, shape),
            None => shape,
        });
    };
    let of_name = |field: &Field| label_name(&field.label).as_deref() == Some(name);
    for decl in &decls {
        match &decl.kind {
            DeclKind::Field(field) if of_name(field) => join(reader.shape(&field.value, &scope), decl),
            DeclKind::Embed(Expr { kind: ExprKind::Comprehension(comprehension), .. }) if described => {
                let (Some(condition), ExprKind::Struct(inner)) =
                    (condition_of(&comprehension.clauses), &comprehension.value.kind)
                else {
                    continue;
                };
                let holds = reader.holds(&comprehension.clauses, &scope) == Some(true);
                let scope = Scope { decls: &inner.decls, parent: Some(&scope) };
                for decl in &inner.decls {
                    if let DeclKind::Field(field) = &decl.kind
                        && of_name(field)
                    {
                        join(reader.shape(&field.value, &scope).under(&condition, holds), decl);
                    }
                }
            }
            _ => {}
        }
    }
    result.map(|shape| (shape, notes))
}

/// The conditions of a comprehension as one, as written; none where it repeats or binds something.
fn condition_of(clauses: &[Clause]) -> Option<String> {
    let mut all = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let ClauseKind::If(condition) = &clause.kind else { return None };
        let text = format_expr(condition).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_choice = matches!(condition.kind, ExprKind::Binary(BinaryOp::LogicalOr, ..));
        all.push(if is_choice { format!("({text})") } else { text });
    }
    Some(all.join(" && "))
}

fn comments(decl: &Decl) -> Vec<String> {
    decl.comments.iter().filter(|g| g.place == CommentPlace::Doc).map(text).collect()
}

/// The shape of a word of the language.
fn predeclared(name: &str) -> Shape {
    let of = |kind: Kind| Shape { kind: Some(kind), ..Shape::default() };
    let between = |least: i64, most: u64| Shape {
        minimum: Some((Decimal::from(least), true)),
        maximum: Some((Decimal::from(most), true)),
        ..of(Kind::Integer)
    };
    match name {
        "string" => of(Kind::String),
        "bytes" => Shape { format: Some("binary"), ..of(Kind::String) },
        "bool" => of(Kind::Bool),
        "int" => of(Kind::Integer),
        "uint" => Shape { minimum: Some((Decimal::ZERO, true)), ..of(Kind::Integer) },
        "int8" => between(i64::from(i8::MIN), 0x7f),
        "int16" => between(i64::from(i16::MIN), 0x7fff),
        "uint8" => between(0, 0xff),
        "uint16" => between(0, 0xffff),
        "uint32" => between(0, 0xffff_ffff),
        "uint64" => between(0, u64::MAX),
        "rune" => between(0, 0x10_ffff),
        "int32" => Shape { format: Some("int32"), ..of(Kind::Integer) },
        "int64" => Shape { format: Some("int64"), ..of(Kind::Integer) },
        "number" | "float" => of(Kind::Number),
        "float32" => Shape { format: Some("float"), ..of(Kind::Number) },
        "float64" => Shape { format: Some("double"), ..of(Kind::Number) },
        _ => Shape::default(),
    }
}

/// The text of a group: without slashes and the blank behind them, empty lines at most one at a time.
fn text(group: &CommentGroup) -> String {
    let mut out = String::new();
    for line in &group.lines {
        let line = line.text.strip_prefix("//").unwrap_or(&line.text);
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        if !line.is_empty() || !(out.is_empty() || out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
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
        predeclared(name)
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
                            match self.comprehended(comprehension, &scope) {
                                Some(shape) => shape,
                                None => continue,
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
        // The last comment before the closing brace belongs to the field above it.
        if let (Some(last), Some(group)) = (literal.decls.last(), literal.comments.last())
            && let DeclKind::Field(field) = &last.kind
            && let Some(name) = label_name(&field.label)
            && let Some(property) = shape.fields.iter_mut().find(|property| property.name == name)
        {
            property.comments.push(text(group));
        }
        shape
    }

    /// The result of a comprehension: its content where its conditions hold by constants and defaults alone, and where
    /// schemas describe also the fields that it declares otherwise.
    fn comprehended(&mut self, comprehension: &Comprehension, scope: &Scope<'_>) -> Option<Shape> {
        let holds = self.holds(&comprehension.clauses, scope) == Some(true);
        let condition = condition_of(&comprehension.clauses).filter(|_| self.described);
        if !holds && condition.is_none() {
            return None;
        }
        self.conditional += 1;
        let inner = self.shape(&comprehension.value, scope);
        self.conditional -= 1;
        match condition {
            Some(_) if inner.kind != Some(Kind::Object) => holds.then_some(inner),
            Some(condition) => Some(inner.under(&condition, holds)),
            None => Some(inner),
        }
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
            ExprKind::Binary(operator @ (BinaryOp::Equal | BinaryOp::NotEqual), _, left, right)
                if matches!(right.kind, ExprKind::Bottom) =>
            {
                let ExprKind::Ident(name) = &left.kind else { return None };
                let regular = is_present(name, scope)?;
                let shape = self.shape(left, scope);
                // A type is no value yet, so it counts as missing; structs and lists are values.
                let composed = matches!(shape.kind, Some(Kind::Object | Kind::Array));
                let given = regular && (composed || shape.value().is_some());
                Some(Json::Bool(given == (*operator == BinaryOp::NotEqual)))
            }
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
        let mut property = Property {
            required: field.constraint != Some(Constraint::Optional),
            comments: Vec::new(),
            condition: None,
            shape: self.shape(&field.value, scope),
            name,
        };
        annotate(&mut property, field, comments(decl));
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
                let of = |kind: Kind| Shape { kind: Some(kind), ..Shape::default() };
                let (string, list, object) = (of(Kind::String), of(Kind::Array), of(Kind::Object));
                match (package, label_name(label).as_deref()) {
                    ("strings", Some("MinRunes")) => Shape { sizes: (length(0), None), ..string },
                    ("strings", Some("MaxRunes")) => Shape { sizes: (None, length(0)), ..string },
                    ("list", Some("MinItems")) => Shape { sizes: (length(0), None), ..list },
                    ("list", Some("MaxItems")) => Shape { sizes: (None, length(0)), ..list },
                    ("struct", Some("MinFields")) => Shape { sizes: (length(0), None), ..object },
                    ("struct", Some("MaxFields")) => Shape { sizes: (None, length(0)), ..object },
                    ("time", Some("Duration")) => string,
                    _ => Shape::default(),
                }
            }
            _ => Shape::default(),
        }
    }

    fn disjunction(&mut self, expr: &Expr, scope: &Scope<'_>) -> Shape {
        let mut expressions = Vec::new();
        disjuncts(expr, false, &mut expressions);
        let mut parts = Vec::with_capacity(expressions.len());
        for (part, marked) in expressions {
            parts.push(Part { shape: self.shape(part, scope), marked });
        }
        choice::of(parts, self.conditional > 0)
    }
}

/// Gives a field its comments; those above `a: b: c` belong to the last field of the chain.
fn annotate(property: &mut Property, field: &Field, comments: Vec<String>) {
    let inner = match &field.value.kind {
        ExprKind::Struct(literal) if !literal.braces => literal.decls.first().map(|decl| &decl.kind),
        _ => None,
    };
    if let Some(DeclKind::Field(inner)) = inner
        && let Some(name) = label_name(&inner.label)
        && let Some(next) = property.shape.fields.iter_mut().find(|next| next.name == name)
    {
        return annotate(next, inner, comments);
    }
    property.comments.extend(comments);
}

/// Whether the innermost field of that name is there without being given.
fn is_present(name: &str, scope: &Scope<'_>) -> Option<bool> {
    let mut around = Some(scope);
    while let Some(scope) = around {
        let mut found = scope.decls.iter().filter_map(|decl| match &decl.kind {
            DeclKind::Field(field) if label_name(&field.label).as_deref() == Some(name) => Some(field),
            _ => None,
        });
        if let Some(first) = found.next() {
            let regular = |field: &Field| field.constraint != Some(Constraint::Optional);
            return Some(regular(first) || found.any(regular));
        }
        around = scope.parent;
    }
    None
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
