//! A value of one evaluation in; an expression of another evaluation that gives the same value, out.
//!
//! References are resolved, everything else is kept: types, bounds, choices with their defaults, optional and required
//! fields, patterns, closedness, functions that judge. A part that still waits stays incomplete.

use std::{rc::Rc, sync::Arc};

use super::{Conjunct, Evaluation, Mark, Matcher, Shared, Term, VertexId};
use crate::{
    ir::{self, ArcKind, Builtin, Callee, Chunk, Decl, Expr, ExprId, INDEX_BITS, Label, List, Struct},
    packages::Kinds,
    source::Span,
};

/// Deepest level that is brought over; below it anything goes. Only types that hold themselves are deeper.
const MAX_DEPTH: u32 = 64;

/// Levels of fields that are only possible: a type may hold itself by each of them, so their number doubles.
const MAX_POSSIBLE: u32 = 4;

/// Most expressions of one value.
const MAX_EXPRS: usize = ir::MAX_VERTICES / 4;

impl Evaluation {
    /// Brings a value of another evaluation; nothing when it is too large.
    pub(crate) fn transfer(&mut self, from: &mut Self, vertex: VertexId) -> Option<ExprId> {
        let number = self.chunks.len();
        if number >= ir::MAX_CHUNKS {
            return None;
        }
        from.finalize(vertex);
        let base = (number as u32) << INDEX_BITS;
        let mut transfer = Transfer { from, into: self, chunk: Chunk::default(), base, possible: 0 };
        let id = transfer.value(vertex, 0);
        let chunk = transfer.chunk;
        if chunk.exprs.len() >= MAX_EXPRS {
            return None;
        }
        self.chunks.push(Rc::new(Shared(Arc::new(chunk))));
        Some(id)
    }
}

struct Transfer<'a> {
    from: &'a mut Evaluation,
    into: &'a mut Evaluation,
    chunk: Chunk,
    base: u32,
    possible: u32,
}

impl Transfer<'_> {
    fn push(&mut self, expr: Expr) -> ExprId {
        let id = ExprId(self.base + self.chunk.exprs.len() as u32);
        self.chunk.exprs.push(expr);
        self.chunk.spans.push(Span::NONE);
        id
    }

    fn label(&mut self, label: Label) -> Label {
        if label.as_index().is_some() {
            return label;
        }
        let text = self.from.label_text(label);
        let id = self.into.intern(&text);
        if label.is_definition() {
            Label::definition(id)
        } else if label.is_hidden() {
            Label::hidden(id)
        } else {
            Label::regular(id)
        }
    }

    fn value(&mut self, vertex: VertexId, depth: u32) -> ExprId {
        if depth > MAX_DEPTH || self.chunk.exprs.len() >= MAX_EXPRS {
            return self.push(Expr::Top);
        }
        self.from.finalize(vertex);
        let own = self.from.deref(vertex);
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.known(own, depth))
    }

    fn known(&mut self, own: VertexId, depth: u32) -> ExprId {
        if let Some(disjuncts) = self.from.v(own).disjuncts.clone() {
            let options =
                disjuncts.iter().map(|(d, mark)| (*mark == Mark::Default, self.value(*d, depth + 1)));
            let options = options.collect();
            return self.push(Expr::Or(options));
        }
        let v = self.from.v(own);
        let fault = v.fault.clone();
        if fault.as_ref().is_some_and(super::Fault::is_fatal) {
            return self.push(Expr::Bottom);
        }
        let (atom, is_list, kinds) = (v.atom.clone(), v.list.is_some(), v.kinds);
        let has_fields = v.arcs.iter().any(|a| a.label.as_index().is_none());
        let mut parts = Vec::new();
        if let Some(atom) = atom {
            parts.push(self.push(Expr::Atom(atom)));
        } else if is_list {
            parts.push(self.list(own, depth));
        } else if kinds == Kinds::STRUCT {
            parts.push(self.structure(own, None, depth));
        } else {
            parts.push(if kinds == Kinds::TOP {
                self.push(Expr::Top)
            } else {
                self.push(Expr::Kinds(kinds))
            });
            self.bounds(own, &mut parts);
        }
        self.checks(own, depth, &mut parts);
        if fault.is_some() {
            parts.push(self.waiting());
        }
        let whole = self.all(parts);
        if has_fields && kinds != Kinds::STRUCT {
            return self.structure(own, Some(whole), depth);
        }
        whole
    }

    /// All expressions at once.
    fn all(&mut self, parts: Vec<ExprId>) -> ExprId {
        let mut parts = parts.into_iter();
        let Some(mut whole) = parts.next() else { return self.push(Expr::Top) };
        for part in parts {
            whole = self.push(Expr::And(whole, part));
        }
        whole
    }

    /// An expression without a value, which may get none here: a field that an empty struct does not have.
    fn waiting(&mut self) -> ExprId {
        let empty = self.push(Expr::Struct(Struct { is_struct: true, ..Struct::default() }));
        let label = Label::regular(self.into.intern("value"));
        self.push(Expr::Selector(empty, label))
    }

    fn bounds(&mut self, own: VertexId, parts: &mut Vec<ExprId>) {
        for bound in self.from.v(own).bounds.clone() {
            let limit = self.push(Expr::Atom(bound.limit));
            parts.push(self.push(Expr::Bound(bound.op, limit)));
        }
    }

    fn checks(&mut self, own: VertexId, depth: u32, parts: &mut Vec<ExprId>) {
        for check in self.from.v(own).checks.clone() {
            let arguments = check
                .arguments
                .iter()
                .map(|argument| match argument {
                    Term::Atom(atom) => self.push(Expr::Atom(atom.clone())),
                    Term::Vertex(vertex) => self.value(*vertex, depth + 1),
                })
                .collect();
            parts.push(self.push(Expr::Call(check.callee, arguments)));
        }
    }

    fn list(&mut self, own: VertexId, depth: u32) -> ExprId {
        let elements = self.from.elements_of(own).into_iter().map(|e| self.value(e, depth + 1)).collect();
        let state = self.from.v(own).list.as_deref().cloned().unwrap_or_default();
        let ellipsis = state.closed.is_none().then(|| {
            let rest: Vec<ExprId> =
                state.rest.iter().map(|(_, conjunct)| self.possibly(*conjunct, own, depth)).collect();
            (!rest.is_empty()).then(|| self.all(rest))
        });
        self.push(Expr::List(List { elements, comprehensions: false, ellipsis }))
    }

    /// The value that a conjunct would have by itself, under another condition.
    fn possibly(&mut self, conjunct: Conjunct, around: VertexId, depth: u32) -> ExprId {
        if self.possible >= MAX_POSSIBLE {
            return self.push(Expr::Top);
        }
        self.possible += 1;
        let made = self.from.inline(conjunct, around);
        let id = self.value(made, depth + 1);
        self.possible -= 1;
        id
    }

    fn structure(&mut self, own: VertexId, embedded: Option<ExprId>, depth: u32) -> ExprId {
        let mut decls = Vec::new();
        for arc in self.from.shown(own) {
            if arc.label.as_index().is_some() {
                continue;
            }
            let possible = u32::from(arc.kind == ArcKind::Optional);
            let value = if self.possible + possible > MAX_POSSIBLE {
                self.push(Expr::Top)
            } else {
                self.possible += possible;
                let value = self.value(arc.vertex, depth + 1);
                self.possible -= possible;
                value
            };
            decls.push(Decl::Field { label: self.label(arc.label), kind: arc.kind, value });
        }
        for pattern in self.from.v(own).patterns.clone() {
            let matcher = match pattern.matcher {
                Matcher::Any => self.push(Expr::Kinds(Kinds::STRING)),
                Matcher::Text(text) => self.push(Expr::Atom(ir::Atom::String(text))),
                Matcher::Unify(conjunct) => self.possibly(conjunct, own, depth),
            };
            // A value that speaks of the label is already part of the fields that are there.
            let value = if pattern.labelled {
                self.push(Expr::Top)
            } else {
                self.possibly(pattern.value, own, depth)
            };
            decls.push(Decl::Pattern { pattern: matcher, value, labelled: false });
        }
        if self.from.v(own).has_ellipsis {
            decls.push(Decl::Ellipsis);
        }
        let embeds = embedded.is_some();
        decls.extend(embedded.map(Decl::Embed));
        let made = self.push(Expr::Struct(Struct { decls, is_struct: !embeds, embeds }));
        if self.from.is_closed(own) {
            return self.push(Expr::Call(Callee::Builtin(Builtin::Close), vec![made]));
        }
        made
    }
}
