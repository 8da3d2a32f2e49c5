//! Syntax that is made of values: what is printed, and expressions without places.

use rustc_hash::FxHashMap;

use super::{Evaluation, VertexId};
use crate::{
    ast::{self, BinaryOp, Expr as Syntax, ExprKind},
    source::{FileId, Span},
};

/// The printed parts of a value. Regular fields always are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// Take defaults instead of printing disjunctions with marks.
    pub defaults: bool,
    /// `#a`
    pub definitions: bool,
    /// `_a`
    pub hidden: bool,
    /// `a?`
    pub optional: bool,
    /// Comments above fields.
    pub docs: bool,
    /// `@a(b)` behind fields.
    pub attributes: bool,
    /// Errors as `_|_` with the message behind.
    pub errors: bool,
}

/// Makes the syntax of values.
pub(super) struct Printing<'e> {
    pub(super) evaluation: &'e mut Evaluation,
    pub(super) shown: Shown,
    pub(super) stack: Vec<VertexId>,
    /// Imports that printed expressions use, in the order of use.
    pub(super) imports: Vec<ast::ImportSpec>,
    /// The imports of each file.
    pub(super) known: FxHashMap<FileId, Vec<ast::ImportSpec>>,
}

pub(super) fn expr(kind: ExprKind) -> Syntax {
    Syntax::new(Span::NONE, kind)
}

pub(super) fn joined(op: BinaryOp, parts: impl IntoIterator<Item = Syntax>) -> Option<Syntax> {
    parts
        .into_iter()
        .reduce(|left, right| expr(ExprKind::Binary(op, Span::NONE, Box::new(left), Box::new(right))))
}
