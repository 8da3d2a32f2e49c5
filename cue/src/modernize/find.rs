//! A syntax tree and the operators that met lists in; the places to rewrite out.

use std::collections::BTreeSet;

use crate::{
    ast::{
        BinaryOp, Decl, DeclKind, Expr, ExprKind, File, LabelKind, LiteralKind, UnaryOp,
        visit::{Visitor, walk_decl, walk_expr, walk_file},
    },
    era::guard,
    source::{Source, Span},
};

/// The treatment of a place.
#[derive(Debug, Clone)]
pub(super) enum Rewrite {
    /// Operands of a chain of `+`, with the operators between them.
    Concat {
        operands: Vec<Span>,
        operators: Vec<Span>,
    },
    Repeat {
        list: Span,
        times: Span,
    },
    Division {
        name: &'static str,
        left: Span,
        right: Span,
    },
    SingleNumber(String),
    Guard(String),
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) span: Span,
    pub(super) rewrite: Rewrite,
}

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Vec<Place>,
    pub(super) undecided: Vec<Span>,
}

/// All places of a file. `operators` are the expressions that met lists when samples were evaluated. The tree is only
/// read: the visitor of the syntax asks for one that may be changed.
pub(super) fn places(file: &mut File, source: &Source, operators: &[Span]) -> Found {
    let mut finder = Finder {
        text: &source.text,
        lists: operators.iter().map(|s| (s.start, s.end)).collect(),
        parts: BTreeSet::new(),
        found: Found::default(),
    };
    walk_file(&mut finder, file);
    finder.found.places.sort_by_key(|place| (place.span.start, std::cmp::Reverse(place.span.end)));
    finder.found.undecided.sort();
    finder.found
}

/// How an operand is known to be.
#[derive(PartialEq, Eq)]
enum Operand {
    List,
    Scalar,
    Unknown,
}

struct Finder<'a> {
    text: &'a str,
    lists: BTreeSet<(u32, u32)>,
    /// Operators that are part of a longer chain already taken.
    parts: BTreeSet<(u32, u32)>,
    found: Found,
}

impl Visitor for Finder<'_> {
    fn decl(&mut self, decl: &mut Decl) {
        if let DeclKind::Field(field) = &decl.kind
            && let LabelKind::Ident(name) = &field.label.kind
        {
            self.guards(name, &field.value);
        }
        walk_decl(self, decl);
    }

    fn expr(&mut self, expr: &mut Expr) {
        if let ExprKind::Binary(op, _, left, right) = &expr.kind {
            self.binary(expr, *op, left, right);
        }
        walk_expr(self, expr);
    }
}

impl<'a> Finder<'a> {
    fn guards(&mut self, label: &str, value: &Expr) {
        for found in guard::guards(label, value) {
            let bounds: Vec<String> = found
                .bounds
                .iter()
                .map(|(op, limit)| format!("{}{}", op.text(), self.source(limit.span)))
                .collect();
            self.add(found.literal.span, Rewrite::Guard(bounds.join(" & ")));
        }
    }

    fn binary(&mut self, whole: &Expr, op: BinaryOp, left: &Expr, right: &Expr) {
        match op {
            BinaryOp::Div | BinaryOp::Mod | BinaryOp::Quo | BinaryOp::Rem => {
                self.add(
                    whole.span,
                    Rewrite::Division { name: op.text(), left: left.span, right: right.span },
                );
            }
            BinaryOp::And if !self.parts.contains(&key(whole.span)) => self.single_number(whole),
            BinaryOp::Add if !self.parts.contains(&key(whole.span)) => match self.joins(whole, left, right) {
                Operand::List => {
                    let (mut operands, mut operators) = (Vec::new(), Vec::new());
                    self.chain(whole, &mut operands, &mut operators);
                    self.add(whole.span, Rewrite::Concat { operands, operators });
                }
                Operand::Unknown => self.found.undecided.push(whole.span),
                Operand::Scalar => {}
            },
            BinaryOp::Multiply => match (self.joins(whole, left, right), operand(right)) {
                (Operand::List, Operand::List) => {
                    self.add(whole.span, Rewrite::Repeat { list: right.span, times: left.span });
                }
                (Operand::List, _) if operand(left) == Operand::Scalar => {
                    self.add(whole.span, Rewrite::Repeat { list: right.span, times: left.span });
                }
                (Operand::List, _) => {
                    self.add(whole.span, Rewrite::Repeat { list: left.span, times: right.span });
                }
                (Operand::Unknown, _) => self.found.undecided.push(whole.span),
                (Operand::Scalar, _) => {}
            },
            _ => {}
        }
    }

    /// Whether an operator works on lists: by what a sample showed, else by how its operands are written.
    fn joins(&self, whole: &Expr, left: &Expr, right: &Expr) -> Operand {
        if self.lists.contains(&key(whole.span)) {
            return Operand::List;
        }
        match (operand(left), operand(right)) {
            (Operand::List, _) | (_, Operand::List) => Operand::List,
            (Operand::Scalar, _) | (_, Operand::Scalar) => Operand::Scalar,
            _ => Operand::Unknown,
        }
    }

    /// The operands of `a + b + c` as far as they are lists.
    fn chain(&mut self, whole: &Expr, operands: &mut Vec<Span>, operators: &mut Vec<Span>) {
        if let ExprKind::Binary(BinaryOp::Add, operator, left, right) = &whole.kind {
            self.parts.insert(key(whole.span));
            self.chain(left, operands, operators);
            operators.push(*operator);
            operands.push(right.span);
        } else {
            operands.push(whole.span);
        }
    }

    fn single_number(&mut self, whole: &Expr) {
        let mut operands = Vec::new();
        self.conjuncts(whole, &mut operands);
        let bound = |wanted: UnaryOp| {
            operands.iter().find_map(|e| match &e.kind {
                ExprKind::Unary(op, limit) if *op == wanted => Some(self.source(limit.span)),
                _ => None,
            })
        };
        let (Some(low), Some(high)) = (bound(UnaryOp::GreaterEqual), bound(UnaryOp::LessEqual)) else {
            return;
        };
        let others = operands.iter().all(|e| match &e.kind {
            ExprKind::Unary(UnaryOp::GreaterEqual | UnaryOp::LessEqual, _) => true,
            ExprKind::Ident(name) => name == "int" || name == "number",
            _ => false,
        });
        let number = low.parse::<i64>().is_ok();
        if low == high && number && others {
            let number = low.to_owned();
            self.add(whole.span, Rewrite::SingleNumber(number));
        }
    }

    fn conjuncts<'t>(&mut self, whole: &'t Expr, out: &mut Vec<&'t Expr>) {
        match &whole.kind {
            ExprKind::Binary(BinaryOp::And, _, left, right) => {
                self.parts.insert(key(whole.span));
                self.conjuncts(left, out);
                self.conjuncts(right, out);
            }
            ExprKind::Paren(inner) => self.conjuncts(inner, out),
            _ => out.push(whole),
        }
    }

    fn add(&mut self, span: Span, rewrite: Rewrite) {
        self.found.places.push(Place { span, rewrite });
    }

    fn source(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
}

fn key(span: Span) -> (u32, u32) {
    (span.start, span.end)
}

/// The kind of an operand, by its writing alone.
fn operand(expr: &Expr) -> Operand {
    match &expr.kind {
        ExprKind::List(_) => Operand::List,
        ExprKind::Literal(kind, _) if *kind != LiteralKind::Null => Operand::Scalar,
        ExprKind::Interpolation(_) | ExprKind::Unary(UnaryOp::Plus | UnaryOp::Minus, _) => Operand::Scalar,
        ExprKind::Paren(inner) => operand(inner),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Multiply, _, left, right) => {
            match (operand(left), operand(right)) {
                (Operand::List, _) | (_, Operand::List) => Operand::List,
                (Operand::Scalar, _) | (_, Operand::Scalar) => Operand::Scalar,
                _ => Operand::Unknown,
            }
        }
        ExprKind::Binary(BinaryOp::Subtract | BinaryOp::Divide, ..) => Operand::Scalar,
        _ => Operand::Unknown,
    }
}
