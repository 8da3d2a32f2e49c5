//! The operand of an operator in; a diagnostic for one that no further input can make concrete out.
//!
//! A type written as an operand (`int + 1`) is refused wherever it stands, also where nothing evaluates it. A reference to
//! a field that is a type so far is another matter: the field may still get a value.

use super::Compiler;
use crate::{
    ast::{self, ExprKind},
    diagnostic::Code,
    ir::{Expr, ExprId},
};

impl Compiler<'_> {
    /// Compiles an operand that must become concrete.
    pub(super) fn operand(&mut self, operand: &ast::Expr) -> ExprId {
        let id = self.expr(operand);
        let is_type = match self.chunk.exprs.get(id.index()) {
            Some(Expr::Kinds(_) | Expr::Top | Expr::Bound(..)) => true,
            // `uint8` and its like are bounds under one name; a name of the program is compiled to a reference.
            Some(Expr::And(..)) => matches!(unwrapped(operand).kind, ExprKind::Ident(_)),
            _ => false,
        };
        if is_type {
            self.error(
                Code::Operation,
                "an operator needs a concrete operand, and this is a type",
                operand.span,
            );
        }
        id
    }
}

/// Without parentheses.
fn unwrapped(mut expr: &ast::Expr) -> &ast::Expr {
    while let ExprKind::Paren(inner) = &expr.kind {
        expr = inner;
    }
    expr
}
