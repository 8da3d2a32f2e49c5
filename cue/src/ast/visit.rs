//! A syntax tree in; every declaration, label and expression of it handed to a visitor that may change it.

use super::{
    Clause, ClauseKind, Comprehension, Decl, DeclKind, Expr, ExprKind, Field, File, InterpolationPart, Label,
    LabelKind, Let,
};

/// Gets the nodes of a tree, outer ones first. A method that calls its `walk_…` function goes on to the nodes inside.
pub trait Visitor {
    /// A declaration.
    fn decl(&mut self, decl: &mut Decl) {
        walk_decl(self, decl);
    }

    /// A label, also one behind a dot.
    fn label(&mut self, label: &mut Label) {
        walk_label(self, label);
    }

    /// An expression.
    fn expr(&mut self, expr: &mut Expr) {
        walk_expr(self, expr);
    }

    /// A clause of a comprehension.
    fn clause(&mut self, clause: &mut Clause) {
        walk_clause(self, clause);
    }
}

/// The declarations of a file.
pub fn walk_file<V: Visitor + ?Sized>(visitor: &mut V, file: &mut File) {
    for decl in &mut file.decls {
        visitor.decl(decl);
    }
}

/// The parts of a declaration.
pub fn walk_decl<V: Visitor + ?Sized>(visitor: &mut V, decl: &mut Decl) {
    match &mut decl.kind {
        DeclKind::Field(Field { label, value, .. }) => {
            visitor.label(label);
            visitor.expr(value);
        }
        DeclKind::Embed(expr) | DeclKind::Ellipsis(Some(expr)) => visitor.expr(expr),
        DeclKind::Let(Let { value, .. }) | DeclKind::Alias(Let { value, .. }) => visitor.expr(value),
        DeclKind::Ellipsis(None) | DeclKind::Attribute(_) | DeclKind::Import(_) | DeclKind::Bad => {}
    }
}

/// The expression in a label.
pub fn walk_label<V: Visitor + ?Sized>(visitor: &mut V, label: &mut Label) {
    match &mut label.kind {
        LabelKind::Interpolation(expr) | LabelKind::Dynamic(expr) | LabelKind::Pattern { expr, .. } => {
            visitor.expr(expr);
        }
        LabelKind::Ident(_) | LabelKind::String(_) => {}
    }
}

/// The parts of an expression.
pub fn walk_expr<V: Visitor + ?Sized>(visitor: &mut V, expr: &mut Expr) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || operands(visitor, expr));
}

fn operands<V: Visitor + ?Sized>(visitor: &mut V, expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::Bad
        | ExprKind::Ident(_)
        | ExprKind::Bottom
        | ExprKind::Literal(..)
        | ExprKind::Ellipsis(None) => {}
        ExprKind::Interpolation(interpolation) => {
            for part in &mut interpolation.parts {
                if let InterpolationPart::Expr(inner) = part {
                    visitor.expr(inner);
                }
            }
        }
        ExprKind::Struct(literal) => literal.decls.iter_mut().for_each(|decl| visitor.decl(decl)),
        ExprKind::List(literal) => literal.elements.iter_mut().for_each(|element| visitor.expr(element)),
        ExprKind::Unary(_, x)
        | ExprKind::Paren(x)
        | ExprKind::Alias(_, x)
        | ExprKind::Open(x)
        | ExprKind::Try(x)
        | ExprKind::Ellipsis(Some(x)) => visitor.expr(x),
        ExprKind::Binary(_, _, x, y) | ExprKind::Index(x, y) => {
            visitor.expr(x);
            visitor.expr(y);
        }
        ExprKind::Selector(x, label) => {
            visitor.expr(x);
            visitor.label(label);
        }
        ExprKind::Slice(x, low, high) => {
            visitor.expr(x);
            low.iter_mut().chain(high).for_each(|bound| visitor.expr(bound));
        }
        ExprKind::Call(function, arguments) => {
            visitor.expr(function);
            arguments.iter_mut().for_each(|argument| visitor.expr(argument));
        }
        ExprKind::Comprehension(comprehension) => {
            let Comprehension { clauses, value, fallback } = &mut **comprehension;
            clauses.iter_mut().for_each(|clause| visitor.clause(clause));
            visitor.expr(value);
            if let Some(fallback) = fallback {
                visitor.expr(&mut fallback.value);
            }
        }
    }
}

/// The parts of a clause.
pub fn walk_clause<V: Visitor + ?Sized>(visitor: &mut V, clause: &mut Clause) {
    match &mut clause.kind {
        ClauseKind::For { source, .. } => visitor.expr(source),
        ClauseKind::If(condition) => visitor.expr(condition),
        ClauseKind::Let(binding) | ClauseKind::Try(Some(binding)) => visitor.expr(&mut binding.value),
        ClauseKind::Try(None) => {}
    }
}

/// Takes comments and attributes away and forgets places, so that the canonical layout is printed.
pub struct Bare;

impl Visitor for Bare {
    fn decl(&mut self, decl: &mut Decl) {
        decl.comments.clear();
        decl.blank_before = false;
        walk_decl(self, decl);
        if let DeclKind::Field(field) = &mut decl.kind {
            field.attributes.clear();
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        expr.comments.clear();
        walk_expr(self, expr);
        match &mut expr.kind {
            ExprKind::Struct(literal) => {
                literal.comments.clear();
                literal.braces = true;
                literal.decls.retain(|decl| !matches!(decl.kind, DeclKind::Attribute(_)));
            }
            ExprKind::List(literal) => literal.comments.clear(),
            _ => {}
        }
    }

    fn clause(&mut self, clause: &mut Clause) {
        clause.comments.clear();
        walk_clause(self, clause);
    }
}
